//! What is remembered of jobs from one look to the next, and over a restart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Demand, Engaged, FAILURES_IN_A_ROW, Job, JobEnd, JobState, Nodes, Provided, ProvisionLimits,
    RefusedAgent, UnreachedAgent, Worth,
};
use crate::value::id::{BootId, JobId, NodeName};
use crate::value::time::{Span, Timestamp};

/// What is remembered of the jobs asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Time on nodes of the jobs that ended.
    pub node_time: Span,
    /// Jobs that failed, with no agent joining between.
    pub failures_in_a_row: u32,
    /// Jobs that were too short for any run, with none given out between.
    pub futile_in_a_row: u32,
    /// Why no more are asked for.
    pub stopped: Option<String>,
    /// Why nodes are not told to boot anew.
    pub cannot_reboot: Option<String>,
    pub jobs: BTreeMap<JobId, Note>,
    /// Nodes that were told to boot anew, with the boot that they are to leave.
    pub rebooting: BTreeMap<NodeName, BootId>,
    /// Nodes whose agents were turned away for good, with the reasons; none in files of earlier releases.
    #[serde(default)]
    pub refused: BTreeMap<NodeName, String>,
    /// What went wrong with the latest job whose agent did not join, until one joins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjoined: Option<String>,
    /// How often a job failed since the coordinator started, for who counts it; not kept over a restart.
    #[serde(skip)]
    pub failures: BTreeMap<JobFailure, u64>,
}

crate::words! {
    /// How a job failed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum JobFailure {
        /// The engine did not accept it.
        Refused = "refused",
        /// It ended before its agent joined.
        Ended = "ended",
        /// Its agent did not join, or stayed away.
        Silent = "silent",
        /// It was too short for any run.
        TooShort = "too_short",
    }
    /// Its name for programs.
    fn code;
    const ALL;
}

/// What is remembered of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub excluded: Nodes,
    /// Since when it waits for its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_since: Option<Timestamp>,
    /// When it started; a job that is put back into the queue starts again.
    pub started: Option<Timestamp>,
    pub ends: Option<Timestamp>,
    /// Whether its agent ever joined.
    pub joined: bool,
    /// Whether its host was given anything.
    pub has_served: bool,
    /// Since when nothing is heard of its agent.
    pub silent_since: Option<Timestamp>,
    /// Since when nothing that waits suits its host.
    pub idle_since: Option<Timestamp>,
    /// Since when its host is given back, and why: it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_back: Option<GivenBack>,
    /// Why it was cancelled by us.
    pub cancelled: Option<Cancelled>,
    /// Whether its agent was turned away for good.
    #[serde(default)]
    pub is_refused: bool,
    /// That its agent cannot reach the coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreached: Option<Unreached>,
}

/// That an agent cannot reach the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreached {
    pub since: Timestamp,
    /// What it tried, and why that failed.
    pub reason: String,
}

/// That a host is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenBack {
    pub since: Timestamp,
    pub why: Cancelled,
}

/// Why a job was ended by us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cancelled {
    Unneeded,
    /// Its agent did not join, or stayed away.
    Silent,
    /// Its agent says that it cannot reach the coordinator.
    Unreached,
    /// Its allocation ends too soon for any run, and it never held one.
    TooShort,
}

impl Ledger {
    /// Takes in what the engine and the machine say now.
    pub fn observe(&mut self, now: Timestamp, jobs: &[Job], demand: &Demand) {
        self.compare_ids(jobs);
        for job in jobs {
            match job.state {
                JobState::Queued => self.queued(now, job),
                JobState::Running => self.running(now, job, demand),
                JobState::Ending => drop(self.jobs.entry(job.id.clone()).or_default()),
                JobState::Ended(end) => self.ended(now, job, end, demand.longest),
            }
        }
        let gone = |id: &&JobId| !jobs.iter().any(|job| job.id == **id);
        for id in self.jobs.keys().filter(gone).cloned().collect::<Vec<_>>() {
            self.vanished(now, &id, demand.longest);
        }
        self.verify_boots(demand);
    }

    /// Time on nodes until now, with that of the jobs that run.
    pub fn spent(&self, now: Timestamp) -> Span {
        let running = self.jobs.values().filter_map(|note| Some(now - note.started?));
        running.fold(self.node_time, |sum, more| sum + more)
    }

    /// Why no more jobs are asked for, if that is so.
    pub fn stands_still(&self, now: Timestamp, limits: &ProvisionLimits) -> Option<String> {
        let spent = limits.node_time.filter(|most| self.spent(now) >= *most);
        let spent = spent.map(|most| format!("the {:.2} node hours that it may use are spent", hours(most)));
        self.stopped.clone().or(spent)
    }

    /// That jobs may be asked for again, after somebody has looked into what was wrong.
    pub fn start_afresh(&mut self) {
        (self.failures_in_a_row, self.futile_in_a_row) = (0, 0);
        (self.stopped, self.cannot_reboot, self.unjoined) = (None, None, None);
        self.refused.clear();
    }

    /// That agents were turned away for good: what is wrong is wrong with their nodes, not with the jobs. An agent says in
    /// which job it lives; which node that has the engine says.
    pub fn turned_away(&mut self, refused: Vec<RefusedAgent>, jobs: &[Job]) {
        for RefusedAgent { job: id, node, reason } in refused {
            let Some(note) = self.jobs.get_mut(&id) else { continue };
            note.is_refused = true;
            let told = jobs.iter().find(|job| job.id == id).and_then(|job| job.node.clone());
            self.refused.insert(told.unwrap_or(node), reason);
        }
    }

    /// That agents of jobs cannot reach the coordinator, which is there. One that was there before may come back.
    pub fn unreached(&mut self, now: Timestamp, agents: Vec<UnreachedAgent>) {
        for UnreachedAgent { job: id, reason } in agents {
            let Some(note) = self.jobs.get_mut(&id).filter(|note| !note.joined) else { continue };
            self.unjoined = Some(format!(
                "the agent of job {id} cannot reach the coordinator: {reason} (`speedup coordinator start --advertise` \
                 says where agents look for it)"
            ));
            let since = note.unreached.as_ref().map_or(now, |unreached| unreached.since);
            note.unreached = Some(Unreached { since, reason });
        }
    }

    /// What the log of a job says whose agent did not join.
    pub fn logged(&mut self, id: &JobId, words: &str) {
        if self.jobs.get(id).is_some_and(|note| !note.joined && !note.is_refused && note.cancelled.is_none())
        {
            self.unjoined = Some(format!("the log of job {id}, whose agent did not join, ends: {words}"));
        }
    }

    /// That a job was asked for.
    pub fn asked(&mut self, job: JobId, excluded: Nodes) {
        self.jobs.insert(job, Note { excluded, ..Note::default() });
    }

    /// That the engine refused a job.
    pub fn refused(&mut self, words: &str) {
        self.failed(JobFailure::Refused, |_| format!("it accepts no jobs: {words}"));
    }

    /// That a job was submitted whose id is not known: as nothing is known of it, the next could be asked for in its place, without
    /// end.
    pub fn unidentified(&mut self, words: &str) {
        self.count(JobFailure::Refused);
        self.stopped.get_or_insert_with(|| format!("it does not tell the ids of new jobs: {words}"));
    }

    /// That a queued job may not have these nodes.
    pub fn excluded(&mut self, job: &JobId, nodes: &Nodes) {
        for (_, note) in self.jobs.iter_mut().filter(|(known, _)| known.whole() == job.whole()) {
            note.excluded.clone_from(nodes);
        }
    }

    /// That the host of a job is given back.
    pub fn given_back(&mut self, now: Timestamp, job: &JobId, why: Cancelled) {
        if let Some(note) = self.jobs.get_mut(job) {
            note.given_back = Some(GivenBack { since: now, why });
        }
    }

    /// Takes in which agents are there, between two looks.
    pub fn hear(&mut self, demand: &Demand) {
        for host in demand.hosts.iter().filter(|host| host.is_here) {
            if let Some(note) = host.job.as_ref().and_then(|job| self.jobs.get_mut(job)) {
                if !note.joined {
                    self.unjoined = None;
                }
                (note.joined, note.unreached) = (true, None);
                note.has_served |= host.has_served || host.is_busy;
            }
        }
    }

    /// Jobs asked for whose agents have not joined yet.
    pub fn expected(&self) -> u32 {
        let expected = self.jobs.values().filter(|note| !note.joined && note.cancelled.is_none());
        expected.count() as u32
    }

    /// That a job was cancelled.
    pub fn cancelled(&mut self, job: &JobId, why: Cancelled) {
        if let Some(note) = self.jobs.get_mut(job) {
            note.cancelled = Some(why);
        }
    }

    /// That a node was told to boot anew, or why it was not.
    pub fn told_to_reboot(&mut self, node: NodeName, leaves: BootId, told: Result<(), String>) {
        match told {
            Ok(()) => drop(self.rebooting.insert(node, leaves)),
            Err(words) => self.cannot_reboot = Some(format!("{node} was not rebooted: {words}")),
        }
    }

    /// Whether the engine lists the jobs that were asked for under the ids by which it answered.
    fn compare_ids(&mut self, jobs: &[Job]) {
        let mut foreign = None;
        for job in jobs {
            if !job.state.is_over() && !self.jobs.contains_key(&job.id) {
                foreign = Some(&job.id);
                break;
            }
        }
        // There usually is none: a job that nobody wrote down is left by a coordinator that was killed.
        let Some(foreign) = foreign else { return };
        let mut unseen = None;
        for (id, note) in &self.jobs {
            let was_seen = note.queued_since.is_some() || note.started.is_some();
            if !was_seen && !jobs.iter().any(|job| job.id == *id) {
                unseen = Some(format!("it answered with {id} to the request for a job, and lists {foreign}"));
                break;
            }
        }
        if let Some(words) = unseen {
            self.unidentified(&words);
        }
    }

    /// Only the boot id says whether a node has booted.
    fn verify_boots(&mut self, demand: &Demand) {
        for host in demand.hosts.iter().filter(|host| host.is_here) {
            let is_old_job = host
                .job
                .as_ref()
                .and_then(|job| self.jobs.get(job))
                .is_none_or(|note| note.cancelled.is_some() || note.given_back.is_some());
            if is_old_job {
                continue;
            }
            match self.rebooting.remove(&host.node) {
                Some(left) if left == host.boot => {
                    let words = format!(
                        "{} came back in the boot that it was to leave: the engine says it reboots nodes and does not",
                        host.node
                    );
                    self.cannot_reboot = Some(words);
                }
                Some(_) | None => {}
            }
        }
    }

    fn queued(&mut self, now: Timestamp, job: &Job) {
        let note = self.jobs.entry(job.id.clone()).or_default();
        if let Some(started) = note.started {
            // It was put back into the queue.
            self.node_time = self.node_time + (now - started);
            *note = Note {
                excluded: std::mem::take(&mut note.excluded),
                cancelled: note.cancelled,
                ..Note::default()
            };
        }
        note.queued_since.get_or_insert(now);
    }

    fn running(&mut self, now: Timestamp, job: &Job, demand: &Demand) {
        let note = self.jobs.entry(job.id.clone()).or_default();
        // Not every engine says when; then it is when the job was first seen to run.
        let started = job.started.or(note.started).unwrap_or(now).min(now);
        if let Some(before) = note.started.filter(|before| *before < started) {
            // It was put back into the queue, and started again since the last look.
            self.node_time = self.node_time + (started - before);
            *note = Note {
                excluded: std::mem::take(&mut note.excluded),
                cancelled: note.cancelled,
                ..Note::default()
            };
        }
        (note.started, note.ends) = (Some(started), job.ends);
        let Some(host) = demand.host_of(job).filter(|host| host.is_here) else {
            note.silent_since.get_or_insert(now);
            note.idle_since = None;
            return;
        };
        note.silent_since = None;
        if !note.joined {
            self.unjoined = None;
        }
        (note.joined, note.unreached) = (true, None);
        self.refused.remove(&host.node);
        note.has_served |= host.has_served || host.is_busy;
        note.given_back = note.given_back.filter(|_| host.engaged == Engaged::GivenBack);
        note.idle_since = match note.idle_since {
            _ if host.is_busy || host.worth == Worth::Now => None,
            Some(since) => Some(since),
            None => Some(now),
        };
        self.failures_in_a_row = 0;
        if note.has_served {
            self.futile_in_a_row = 0;
        }
    }

    fn ended(&mut self, now: Timestamp, job: &Job, end: JobEnd, longest: Span) {
        let Some(note) = self.jobs.remove(&job.id) else { return };
        let until = job.ends.unwrap_or(now).min(now);
        self.account(&note, until);
        let excused = match end {
            JobEnd::Preempted => true,
            JobEnd::Completed | JobEnd::Cancelled | JobEnd::Failed | JobEnd::TimedOut => {
                note.joined || note.is_refused
            }
        };
        self.judge(&job.id, &note, excused, &job.words, longest);
    }

    /// A job that the engine has forgotten lasted until now at most, and no longer than it was allowed to.
    fn vanished(&mut self, now: Timestamp, id: &JobId, longest: Span) {
        let Some(note) = self.jobs.remove(id) else { return };
        self.account(&note, note.ends.map_or(now, |ends| ends.min(now)));
        self.judge(id, &note, note.joined || note.is_refused, "the engine no longer knows it", longest);
    }

    fn account(&mut self, note: &Note, until: Timestamp) {
        if let Some(started) = note.started {
            self.node_time = self.node_time + (until - started);
        }
    }

    fn judge(&mut self, id: &JobId, note: &Note, excused: bool, words: &str, longest: Span) {
        match note.cancelled.or(note.given_back.map(|given_back| given_back.why)) {
            Some(Cancelled::Unneeded) => {}
            Some(Cancelled::TooShort) => self.was_futile(longest),
            Some(Cancelled::Silent) => self.failed(JobFailure::Silent, |many| {
                format!("{many} ended without an agent that joined; nothing was heard of that of job {id}")
            }),
            Some(Cancelled::Unreached) => {
                let reason = note.unreached.as_ref().map_or("", |unreached| unreached.reason.as_str());
                self.failed(JobFailure::Silent, |many| {
                    format!(
                        "{many} ended without an agent that joined; that of job {id} could not reach the coordinator: \
                         {reason}"
                    )
                });
            }
            None if excused => {}
            None => self.failed(JobFailure::Ended, |many| {
                format!("{many} ended before their agents joined, the last being {id}: {words}")
            }),
        }
    }

    fn was_futile(&mut self, longest: Span) {
        self.count(JobFailure::TooShort);
        self.futile_in_a_row += 1;
        if self.futile_in_a_row >= FAILURES_IN_A_ROW && self.stopped.is_none() {
            let minutes = longest.as_secs_f64() / 60.0;
            self.stopped = Some(format!(
                "{FAILURES_IN_A_ROW} jobs in a row were too short for any run that waits: what one host has to hold may \
                 take {minutes:.1} minutes, with timeouts, warm-ups and setup, and a job has to last longer"
            ));
        }
    }

    fn failed(&mut self, how: JobFailure, words: impl FnOnce(&str) -> String) {
        self.count(how);
        self.failures_in_a_row += 1;
        if self.failures_in_a_row >= FAILURES_IN_A_ROW && self.stopped.is_none() {
            self.stopped = Some(words(&format!("{FAILURES_IN_A_ROW} jobs in a row")));
        }
    }

    fn count(&mut self, how: JobFailure) {
        *self.failures.entry(how).or_default() += 1;
    }
}

impl Demand {
    /// The host of a job, if its agent ever joined.
    pub fn host_of(&self, job: &Job) -> Option<&Provided> {
        self.hosts.iter().find(|host| host.job.as_ref() == Some(&job.id))
    }
}

pub(super) fn hours(span: Span) -> f64 {
    span.as_secs_f64() / 3_600.0
}
