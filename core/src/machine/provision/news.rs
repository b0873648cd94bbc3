//! What the event log says of an engine: what people asked of it, and what became of its jobs; and of hosts that are reached by ssh.

use super::{Job, JobEnd, JobState, Ledger, Note};
use crate::value::id::{HostId, JobId};

/// Most characters of a note: a line of a table.
const MAX_CHARACTERS: usize = 1_000;

/// What happened between this coordinator and an engine that gives out hosts, or a host that it reaches by ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineNote {
    pub kind: EngineNoteKind,
    /// With which host, where it is one that is reached by ssh.
    pub host: Option<HostId>,
    /// Who did it; empty where the coordinator did.
    pub by: String,
    pub words: String,
}

crate::words! {
    /// What happened between this coordinator and an engine, or a host that it reaches by ssh.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EngineNoteKind {
        /// Somebody had it asked for hosts.
        Added,
        Removed,
        JobsAsked,
        JobBegan,
        JobEnded,
        /// A job ended other than by its time or on request.
        JobFailed,
        /// No more jobs are asked for.
        Stopped,
        /// Somebody had an agent started by ssh, and kept running.
        SshAdded,
        SshRemoved,
        SshStarted,
    }
    const ALL;
}

impl EngineNote {
    /// What somebody did.
    pub fn by(by: &str, kind: EngineNoteKind, words: &str) -> Self {
        Self { kind, host: None, by: by.to_owned(), words: words.chars().take(MAX_CHARACTERS).collect() }
    }

    /// What the coordinator itself saw or did.
    pub fn own(kind: EngineNoteKind, words: &str) -> Self {
        Self::by("", kind, words)
    }

    /// The same, of a host that is reached by ssh.
    #[must_use]
    pub fn of(self, host: &HostId) -> Self {
        Self { host: Some(host.clone()), ..self }
    }
}

/// What is new of the jobs since a ledger was as it was `before`.
pub fn news(before: &Ledger, jobs: &[Job], after: &Ledger) -> Vec<EngineNote> {
    let mut notes = Vec::new();
    for (id, note) in &after.jobs {
        let known = before.jobs.get(id).and_then(|note| note.started);
        if note.started.is_some() && known != note.started {
            let job = jobs.iter().find(|job| job.id == *id);
            let words = format!("job {id}{}", job.map(on_node).unwrap_or_default());
            notes.push(EngineNote::own(EngineNoteKind::JobBegan, &words));
        }
    }
    for (id, note) in &before.jobs {
        if !after.jobs.contains_key(id) {
            notes.push(end_of(id, note, jobs));
        }
    }
    if before.stopped.is_none()
        && let Some(why) = &after.stopped
    {
        notes.push(EngineNote::own(EngineNoteKind::Stopped, why));
    }
    notes
}

/// The note on a job that is over.
fn end_of(id: &JobId, note: &Note, jobs: &[Job]) -> EngineNote {
    let Some(job) = jobs.iter().find(|job| job.id == *id) else {
        let words = format!("job {id}: the engine no longer knows it");
        return EngineNote::own(EngineNoteKind::JobEnded, &words);
    };
    let is_well = match job.state {
        JobState::Ended(JobEnd::Completed) => note.joined || note.cancelled.is_some(),
        JobState::Ended(JobEnd::Cancelled) => note.cancelled.is_some(),
        JobState::Ended(JobEnd::Failed | JobEnd::TimedOut | JobEnd::Preempted) => false,
        JobState::Queued | JobState::Running | JobState::Ending => true,
    };
    let kind = if is_well { EngineNoteKind::JobEnded } else { EngineNoteKind::JobFailed };
    EngineNote::own(kind, &format!("job {id}{}: {}", on_node(job), job.words))
}

fn on_node(job: &Job) -> String {
    job.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default()
}
