//! How the hosts that are missing are divided among several queues: jobs that are under way are together no more than hosts are
//! missing, and each queue has as many of them as any other that has room.
//!
//! Jobs in a queue are moved by that, too: where one queue gives out hosts and the other lets jobs wait, half of what still
//! waits in the slow one is asked of the fast one, time and again.

use std::collections::BTreeMap;

use super::{Job, JobState, Ledger, Note, ProvisionLimits};
use crate::value::id::{JobId, QueueName};
use crate::value::time::{Span, Timestamp};

/// How long the jobs of an engine that does not answer still count: after that the others are asked for what they were to bring.
pub const OUT_OF_SIGHT: Span = Span::from_secs(60);

/// What one queue has under way towards the hosts that are missing, and how much it could have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Jobs whose agents are to join and that are not given up: they have a node.
    pub starting: u32,
    /// Jobs that wait for a node.
    pub queued: u32,
    /// Most jobs that it may have under way, with these.
    pub room: u32,
}

impl Claim {
    /// Of a queue whose ledger has observed the same jobs.
    pub fn of(now: Timestamp, limits: &ProvisionLimits, ledger: &Ledger, jobs: &[Job]) -> Self {
        let with_node = jobs.iter().filter(|job| has_node(job)).count() as u32;
        let alive = |state: JobState| {
            let jobs = jobs.iter().filter(move |job| job.state == state);
            let notes = jobs.filter_map(|job| ledger.jobs.get(&job.id));
            notes.filter(|note| note.cancelled.is_none())
        };
        let starting = alive(JobState::Running).filter(|note| !note.joined).count() as u32;
        // With those that were asked for since the engine was.
        let is_new = |(id, note): &(&JobId, &Note)| {
            !note.joined && note.cancelled.is_none() && !jobs.iter().any(|job| job.id == **id)
        };
        let queued = alive(JobState::Queued).count() + ledger.jobs.iter().filter(is_new).count();
        let queued = queued as u32;
        let room = match ledger.stands_still(now, limits) {
            Some(_) => 0,
            None => starting + limits.jobs.saturating_sub(with_node).min(limits.queued),
        };
        Self { starting, queued, room }
    }

    /// Of a queue whose engine has not been asked since the start: what its ledger knows of may still be there.
    pub fn unheard(now: Timestamp, limits: &ProvisionLimits, ledger: &Ledger) -> Self {
        let queued = ledger.expected();
        let may_ask = ledger.stands_still(now, limits).is_none();
        Self { starting: 0, queued, room: if may_ask { limits.jobs.min(limits.queued) } else { 0 } }
    }

    /// Of a queue whose engine does not answer, and last did at `heard`: nothing can be asked of it, and nothing given up.
    #[must_use]
    pub fn unanswered(self, now: Timestamp, heard: Timestamp) -> Self {
        if now - heard > OUT_OF_SIGHT {
            return Self::default();
        }
        Self { starting: self.under_way(), queued: 0, room: 0 }
    }

    /// Once so many agents have joined, before the engine says that their jobs have nodes.
    #[must_use]
    pub fn joined(self, many: u32) -> Self {
        let starting = self.starting.saturating_sub(many);
        let queued = self.queued.saturating_sub(many - (self.starting - starting));
        Self { starting, queued, room: self.room.saturating_sub(many) }
    }

    /// Jobs asked for whose agents have not joined yet.
    pub fn under_way(&self) -> u32 {
        self.starting + self.queued
    }

    /// The least and the most that it may be given.
    fn bounds(&self) -> (u32, u32) {
        (self.starting, self.room.max(self.starting))
    }
}

/// Whether a job has a node; one that is about to end has it still, and may come back into the queue.
pub(super) fn has_node(job: &Job) -> bool {
    matches!(job.state, JobState::Running | JobState::Ending)
}

/// How many of the missing hosts one queue is to have under way now. What it is to have beyond what it has waits until the
/// others have given it up: no host is asked for twice.
pub fn share(missing: u32, claims: &BTreeMap<QueueName, Claim>, mine: &QueueName) -> u32 {
    let Some(claim) = claims.get(mine) else { return 0 };
    let has = claim.under_way();
    let due = even(missing, claims).remove(mine).unwrap_or(0);
    if due <= has {
        return due;
    }
    let all = claims.values().map(Claim::under_way).fold(0, u32::saturating_add);
    has + (due - has).min(missing.saturating_sub(all))
}

/// As many for each as for any other, as far as it has room and can give up what it has; one more for the first by name where it
/// does not come out even.
fn even(missing: u32, claims: &BTreeMap<QueueName, Claim>) -> BTreeMap<QueueName, u32> {
    let at = |level: u32| claims.values().map(move |claim| given(claim, level));
    let fits = |level: u32| at(level).fold(0, u32::saturating_add) <= missing;
    // Of the levels from 0 to `missing` those that fit come first.
    let (mut level, mut above) = (0, missing.saturating_add(1));
    while above - level > 1 {
        let middle = level + (above - level) / 2;
        if fits(middle) { level = middle } else { above = middle }
    }
    let mut rest = missing.saturating_sub(at(level).fold(0, u32::saturating_add));
    let each = claims.iter().map(|(name, claim)| {
        let more = (given(claim, level.saturating_add(1)) - given(claim, level)).min(rest);
        rest -= more;
        (name.clone(), given(claim, level) + more)
    });
    each.collect()
}

fn given(claim: &Claim, level: u32) -> u32 {
    let (least, most) = claim.bounds();
    level.clamp(least, most)
}
