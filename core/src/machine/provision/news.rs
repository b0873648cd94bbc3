//! What the event log says of an engine: what people asked of it, and what became of its jobs; and of hosts that are reached by ssh.

use super::{Job, JobEnd, JobState, Ledger};
use crate::value::id::HostId;

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
    let job = |id: &_| jobs.iter().find(|job| job.id == *id);
    let began = after.jobs.iter().filter(|(id, note)| {
        let known = before.jobs.get(*id).and_then(|note| note.started);
        note.started.is_some() && known != note.started
    });
    let began = began.map(|(id, _)| {
        let node = job(id).and_then(|job| job.node.as_ref()).map(|node| format!(" on {node}"));
        EngineNote::own(EngineNoteKind::JobBegan, &format!("job {id}{}", node.unwrap_or_default()))
    });
    let ended = before.jobs.iter().filter(|(id, _)| !after.jobs.contains_key(*id)).map(|(id, note)| {
        let Some(job) = job(id) else {
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
        let node = job.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default();
        EngineNote::own(kind, &format!("job {id}{node}: {}", job.words))
    });
    let stopped = after.stopped.as_ref().filter(|_| before.stopped.is_none());
    let stopped = stopped.map(|why| EngineNote::own(EngineNoteKind::Stopped, why));
    began.chain(ended).chain(stopped).collect()
}
