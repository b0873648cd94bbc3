//! What is remembered of jobs from one look to the next, and over a restart.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    ASK_AGAIN, Demand, FAILURES_IN_A_ROW, Job, JobEnd, JobState, LEFT_OUT, MAX_ASK_AGAIN, MAX_LEFT_OUT,
    MOST_LEFT_OUT, Nodes, ProvidedHost, ProvisionLimits, RefusedAgent, SETBACKS_IN_A_ROW, ServiceState,
    UnreachedAgent, Worth,
};
use crate::value::count::counted;
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
    /// Nodes on which jobs failed, until an agent joins there; none in files of earlier releases.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<NodeName, NodeExclusion>,
    /// Why jobs are requested only after a pause, until an agent joins; none in files of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setback: Option<Setback>,
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

/// A node on which jobs failed. No job is requested there until a time; then one may try it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeExclusion {
    /// How many failed there one after another, without those that were in the queue before the node was left out.
    pub failed: u32,
    pub since: Timestamp,
    pub until: Timestamp,
    /// What became of the latest.
    pub words: String,
}

/// A pause before the next request: the engine forgot jobs, somebody else cancelled them, or all nodes that are left are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setback {
    /// How often jobs were forgotten or cancelled one after another.
    pub times: u32,
    /// Until when no job is requested.
    pub until: Timestamp,
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
    /// The node that it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
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
        // The script of a job for several hosts is executed on its first node: where no agent came of it, the others say nothing.
        let mut unstarted = BTreeSet::new();
        for (id, note) in &self.jobs {
            if id.node_number() == Some(0) && !note.joined {
                unstarted.insert(id.whole().to_owned());
            }
        }
        for job in jobs {
            let is_other = job.id.node_number().is_some_and(|number| number > 0);
            match job.state {
                JobState::Queued => self.queued(now, job),
                JobState::Running => self.running(now, job, demand),
                JobState::Ending => drop(self.jobs.entry(job.id.clone()).or_default()),
                JobState::Ended(_) if is_other && unstarted.contains(job.id.whole()) => {
                    if let Some(note) = self.jobs.remove(&job.id) {
                        self.account(&note, job.ends.unwrap_or(now).min(now));
                    }
                }
                JobState::Ended(end) => self.ended(now, job, end, demand.longest),
            }
        }
        let unlisted = self.jobs.keys().filter(|id| !jobs.iter().any(|job| job.id == **id));
        let vanished: Vec<JobId> = unlisted.cloned().collect();
        for id in vanished {
            self.vanished(now, &id, demand.longest);
        }
        // Times on the disk are those of a clock that may have been set back since.
        let latest = now + MAX_LEFT_OUT;
        self.left_out.retain(|_, left_out| now < left_out.until + MAX_LEFT_OUT && left_out.until <= latest);
        self.setback = self.setback.filter(|setback| setback.until <= latest);
        self.verify_boots(demand);
    }

    /// Time on nodes until now, with that of the jobs that run.
    pub fn spent(&self, now: Timestamp) -> Span {
        let running = self.jobs.values().filter_map(|note| Some(now - note.started?));
        running.fold(self.node_time, |sum, more| sum + more)
    }

    /// Why no more jobs are asked for, if that is so.
    pub fn stands_still(&self, now: Timestamp, limits: &ProvisionLimits) -> Option<String> {
        if self.stopped.is_some() {
            return self.stopped.clone();
        }
        let most = limits.node_time.filter(|most| self.spent(now) >= *most)?;
        Some(format!("the {:.2} node hours that it may use are spent", hours(most)))
    }

    /// That jobs may be asked for again, after somebody has looked into what was wrong.
    pub fn start_afresh(&mut self) {
        self.failures_in_a_row = 0;
        self.futile_in_a_row = 0;
        self.stopped = None;
        self.cannot_reboot = None;
        self.unjoined = None;
        self.refused.clear();
        self.left_out.clear();
        self.setback = None;
    }

    /// That the queue is ended, for which these jobs were cancelled: what became of the others before says nothing of the queue that
    /// may come in its place.
    pub fn withdrawn(&mut self, now: Timestamp, cancelled: &[JobId]) {
        for (id, note) in std::mem::take(&mut self.jobs) {
            if cancelled.contains(&id) {
                self.jobs.insert(id, Note { cancelled: Some(Cancelled::Unneeded), ..note });
            } else {
                self.account(&note, note.ends.map_or(now, |ends| ends.min(now)));
            }
        }
    }

    /// That somebody lets a node in again: a pause for want of nodes is over.
    pub fn let_in(&mut self, node: &NodeName) {
        if self.setback.take().is_some() {
            self.unjoined = None;
        }
        self.left_out.remove(node);
        self.refused.remove(node);
    }

    /// The nodes on which jobs failed, while none is requested.
    pub(super) fn left_out(&self, now: Timestamp) -> impl Iterator<Item = &NodeName> {
        self.left_out.iter().filter(move |(_, left_out)| now < left_out.until).map(|(node, _)| node)
    }

    /// The nodes that are not requested, each with the reason.
    pub fn kept_out(&self, now: Timestamp) -> BTreeMap<NodeName, String> {
        let mut kept_out = BTreeMap::new();
        for (node, NodeExclusion { failed, until, words, since: _ }) in &self.left_out {
            if now < *until {
                let minutes = (*until - now).as_secs_f64() / 60.0;
                let jobs = counted((*failed).into(), "job");
                let words = format!(
                    "{jobs} failed there in a row, and it is left out for {minutes:.0} more minutes: {words}"
                );
                kept_out.insert(node.clone(), words);
            }
        }
        for (node, reason) in &self.refused {
            kept_out.insert(node.clone(), format!("the coordinator rejects its agent: {reason}"));
        }
        kept_out
    }

    /// Whether a job is to be requested only later.
    pub(super) fn is_set_back(&self, now: Timestamp) -> bool {
        self.setback.is_some_and(|setback| now < setback.until)
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

    /// That the engine refused a job that may not have these nodes. Where some of them are left out for a time, up to which the first is
    /// known, too few others are what may be wrong: the next request waits for it.
    pub fn refused(&mut self, now: Timestamp, words: &str, first: Option<Timestamp>) {
        let own = self.left_out.values().map(|left_out| left_out.until);
        let Some(until) = own.chain(first).filter(|until| now < *until).min() else {
            return self.failed(JobFailure::Refused, &format!("a job was not accepted: {words}"));
        };
        self.count(JobFailure::Refused);
        let times = self.setback.map_or(0, |setback| setback.times);
        self.setback = Some(Setback { times, until });
        let minutes = (until - now).as_secs_f64() / 60.0;
        self.unjoined = Some(format!(
            "no job is requested for the next {minutes:.0} minutes, because the nodes that are left out may be what is missing: \
             {words}"
        ));
    }

    /// That a job was submitted whose id is not known: as nothing is known of it, the next could be asked for in its place, without
    /// end.
    pub fn unidentified(&mut self, words: &str) {
        self.count(JobFailure::Refused);
        self.stopped.get_or_insert_with(|| format!("it does not report the ids of new jobs: {words}"));
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
                let is_new = !note.joined;
                note.joined = true;
                note.unreached = None;
                note.has_served |= host.has_served || host.is_busy;
                if is_new {
                    self.has_joined(&host.node);
                }
            }
        }
    }

    /// That an agent has joined. Only then: one that is there for long says nothing of jobs that fail meanwhile.
    fn has_joined(&mut self, node: &NodeName) {
        self.unjoined = None;
        self.setback = None;
        self.left_out.remove(node);
    }

    /// Jobs asked for whose agents have not joined yet.
    pub fn expected(&self) -> u32 {
        let expected = self.jobs.values().filter(|note| !note.joined && note.cancelled.is_none());
        expected.count() as u32
    }

    /// That a job was cancelled. Of one for several hosts all parts end with it, whichever is the reason.
    pub fn cancelled(&mut self, job: &JobId, why: Cancelled) {
        for (id, note) in &mut self.jobs {
            if id == job {
                note.cancelled = Some(why);
            } else if id.whole() == job.whole() {
                note.cancelled.get_or_insert(Cancelled::Unneeded);
            }
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
        note.node.clone_from(&job.node);
        let Some(host) = demand.host_of(job).filter(|host| host.is_here) else {
            note.silent_since.get_or_insert(now);
            note.idle_since = None;
            return;
        };
        note.silent_since = None;
        let is_new = !note.joined;
        (note.joined, note.unreached) = (true, None);
        note.has_served |= host.has_served || host.is_busy;
        if host.engaged != ServiceState::GivenBack {
            note.given_back = None;
        }
        note.idle_since = match note.idle_since {
            _ if host.is_busy || host.worth == Worth::Now => None,
            Some(since) => Some(since),
            None => Some(now),
        };
        if note.has_served {
            self.futile_in_a_row = 0;
        }
        self.failures_in_a_row = 0;
        self.refused.remove(&host.node);
        if is_new {
            self.has_joined(&host.node);
        }
    }

    fn ended(&mut self, now: Timestamp, job: &Job, end: JobEnd, longest: Span) {
        let Some(mut note) = self.jobs.remove(&job.id) else { return };
        self.account(&note, job.ends.unwrap_or(now).min(now));
        note.node = job.node.clone().or(note.node);
        let is_ours = note.cancelled.is_some() || note.given_back.is_some();
        let has_come = note.joined || note.is_refused;
        let excused = match end {
            JobEnd::Preempted => true,
            // Nobody but a person cancels what is not cancelled here.
            JobEnd::Cancelled => {
                if !has_come && !is_ours {
                    let words = format!("job {} ended before its agent joined: {}", job.id, job.words);
                    self.set_back(now, words);
                }
                true
            }
            // An agent that joins and dies without a run is none either: it would be requested for ever.
            JobEnd::Failed => note.is_refused || note.joined && note.has_served,
            JobEnd::Completed | JobEnd::TimedOut => has_come,
        };
        if is_ours || !excused {
            self.judge(now, &job.id, &note, &job.words, longest);
        }
    }

    /// A job that the engine has forgotten lasted until now at most, and no longer than it was allowed to.
    fn vanished(&mut self, now: Timestamp, id: &JobId, longest: Span) {
        let Some(note) = self.jobs.remove(id) else { return };
        self.account(&note, note.ends.map_or(now, |ends| ends.min(now)));
        let is_ours = note.cancelled.is_some() || note.given_back.is_some();
        let has_come = note.joined || note.is_refused;
        let words = "the engine no longer knows it";
        // Slurm tells of a job for minutes after its end: one that it forgets was lost in a restart of its controller. Other systems
        // may tell only of jobs that have not ended.
        if is_ours || !has_come && !id.system().is_empty() {
            self.judge(now, id, &note, words, longest);
        } else if !has_come {
            self.set_back(now, format!("job {id} is gone, and another is requested: {words}"));
        }
    }

    fn account(&mut self, note: &Note, until: Timestamp) {
        if let Some(started) = note.started {
            self.node_time = self.node_time + (until - started);
        }
    }

    /// What a job says that has ended, unless it is excused: its host, its node, or its time was not of use.
    fn judge(&mut self, now: Timestamp, id: &JobId, note: &Note, words: &str, longest: Span) {
        let node = note.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default();
        match note.cancelled.or(note.given_back.map(|given_back| given_back.why)) {
            Some(Cancelled::Unneeded) => {}
            Some(Cancelled::TooShort) => self.was_futile(longest),
            Some(Cancelled::Silent) => {
                let words = format!("the agent of job {id}{node} did not join");
                self.failed_on(now, note, JobFailure::Silent, &words);
            }
            Some(Cancelled::Unreached) => {
                let reason = note.unreached.as_ref().map_or("", |unreached| unreached.reason.as_str());
                let words = format!("the agent of job {id}{node} could not reach the coordinator: {reason}");
                self.failed_on(now, note, JobFailure::Silent, &words);
            }
            None => {
                let before = if note.joined { "it served anything" } else { "its agent joined" };
                let words = format!("job {id}{node} ended before {before}: {words}");
                self.failed_on(now, note, JobFailure::Ended, &words);
            }
        }
    }

    /// That a job failed, where its node is known on that node. One bad node takes jobs faster than a good one, so it counts once
    /// among failures in a row, unless the engine gives it out against what it was told.
    fn failed_on(&mut self, now: Timestamp, note: &Note, how: JobFailure, words: &str) {
        let Some(node) = &note.node else { return self.failed(how, words) };
        let before = self.left_out.get(node);
        let is_defied = note.excluded.contains(node);
        let is_new = before.is_none();
        // Jobs that were in the queue when the node was left out fail there as well, and say nothing new.
        if before.is_none_or(|before| is_defied || now >= before.until) {
            let failed = before.map_or(0, |before| before.failed) + 1;
            let since = before.map_or(now, |before| before.since);
            let until = now + doubled(LEFT_OUT, failed).min(MAX_LEFT_OUT);
            self.left_out
                .insert(node.clone(), NodeExclusion { failed, since, until, words: words.to_owned() });
        }
        if self.left_out.len() > MOST_LEFT_OUT
            && let Some(first) = self.left_out.iter().min_by_key(|(_, left_out)| left_out.until)
        {
            let first = first.0.clone();
            self.left_out.remove(&first);
        }
        if is_new || is_defied { self.failed(how, words) } else { self.count(how) }
    }

    /// What happens within a pause is one setback.
    fn set_back(&mut self, now: Timestamp, words: String) {
        if !self.is_set_back(now) {
            let times = self.setback.map_or(0, |setback| setback.times) + 1;
            self.setback = Some(Setback { times, until: now + doubled(ASK_AGAIN, times).min(MAX_ASK_AGAIN) });
            if times >= SETBACKS_IN_A_ROW && self.stopped.is_none() {
                self.stopped = Some(format!(
                    "{times} times in a row jobs were gone before their agents joined, the last: {words}"
                ));
            }
        }
        self.unjoined = Some(words);
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

    fn failed(&mut self, how: JobFailure, words: &str) {
        self.count(how);
        self.failures_in_a_row += 1;
        if self.failures_in_a_row >= FAILURES_IN_A_ROW && self.stopped.is_none() {
            self.stopped = Some(format!("{FAILURES_IN_A_ROW} jobs in a row failed, the last: {words}"));
        }
    }

    fn count(&mut self, how: JobFailure) {
        *self.failures.entry(how).or_default() += 1;
    }
}

impl Demand {
    /// The host of a job, if its agent ever joined.
    pub fn host_of(&self, job: &Job) -> Option<&ProvidedHost> {
        self.hosts.iter().find(|host| host.job.as_ref() == Some(&job.id))
    }
}

/// A pause that doubles each time.
pub(in crate::machine) fn doubled(first: Span, times: u32) -> Span {
    first.times(1 << times.saturating_sub(1).min(20))
}

pub(super) fn hours(span: Span) -> f64 {
    span.as_secs_f64() / 3_600.0
}
