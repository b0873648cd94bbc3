//! How the hosts that are missing are divided among several queues: jobs that are under way are together no more than hosts are
//! missing, and each queue has as many of them as any other that has room.
//!
//! Jobs in a queue are moved by that, too: where one queue gives out hosts and the other lets jobs wait, half of what still
//! waits in the slow one is asked of the fast one, time and again.
//!
//! A job that has waited beyond the patience of its queue is overdue: it may never start. It keeps its place, for a job that was given up
//! and asked for again would stand at the end. Other queues are asked for its host as well, and its own for no more while they have room.
//! So only a host for which a job is overdue may be asked for twice; which comes first is taken, and the other is given up.

use std::collections::BTreeMap;

use super::{Job, JobState, Ledger, Note, ProvisionLimits};
use crate::{value::id::QueueName, value::time::Span, value::time::Timestamp};

/// How long the jobs of an engine that does not answer still count: after that the others are asked for what they were to bring.
pub(super) const OUT_OF_SIGHT: Span = Span::from_secs(60);

/// What one queue has under way towards the hosts that are missing, and how much it could have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Jobs whose agents are to join and that are not given up: they have a node.
    pub starting: u32,
    /// Jobs that wait for a node.
    pub queued: u32,
    /// Of these, the ones that have waited beyond the patience of their queue.
    pub overdue: u32,
    /// Most jobs that it may have under way, with these.
    pub room: u32,
}

impl Claim {
    /// Of a queue whose ledger has observed the same jobs, and that is to bring so many hosts together.
    pub fn of(
        now: Timestamp,
        limits: &ProvisionLimits,
        ledger: &Ledger,
        jobs: &[Job],
        together: u32,
    ) -> Self {
        let with_node = jobs.iter().filter(|job| has_node(job)).count() as u32;
        let starting = alive(ledger, jobs, JobState::Running).filter(|(_, note)| !note.joined).count() as u32;
        let mut queued = 0;
        let mut overdue = 0;
        for (_, note) in alive(ledger, jobs, JobState::Queued) {
            queued += 1;
            overdue += u32::from(note.queued_since.is_some_and(|since| now - since > limits.patience));
        }
        // Jobs that were requested since the engine was asked count as well.
        for (id, note) in &ledger.jobs {
            let is_new = !note.joined && note.cancelled.is_none() && !jobs.iter().any(|job| job.id == *id);
            queued += u32::from(is_new);
        }
        let room = match ledger.stands_still(now, limits) {
            Some(_) => 0,
            // It requests nothing for now, and others have its part.
            None if ledger.is_set_back(now) => starting + queued,
            None => starting + limits.jobs.saturating_sub(with_node).min(limits.queued.max(together)),
        };
        Self { starting, queued, overdue, room }
    }

    /// Of a queue whose engine has not been asked since the start: what its ledger knows of may still be there.
    pub fn unheard(now: Timestamp, limits: &ProvisionLimits, ledger: &Ledger) -> Self {
        let queued = ledger.expected();
        let may_ask = ledger.stands_still(now, limits).is_none();
        let room = if may_ask { limits.jobs.min(limits.queued) } else { 0 };
        Self { starting: 0, queued, overdue: 0, room }
    }

    /// Of a queue whose engine does not answer, and last did at `heard`: nothing can be asked of it, and nothing given up.
    #[must_use]
    pub fn unanswered(self, now: Timestamp, heard: Timestamp) -> Self {
        if now - heard > OUT_OF_SIGHT {
            return Self::default();
        }
        Self { starting: self.under_way(), ..Self::default() }
    }

    /// Once so many agents have joined, before the engine says that their jobs have nodes.
    #[must_use]
    pub fn joined(self, many: u32) -> Self {
        let starting = self.starting.saturating_sub(many);
        let queued = self.queued.saturating_sub(many - (self.starting - starting));
        let overdue = self.overdue.min(queued);
        Self { starting, queued, overdue, room: self.room.saturating_sub(many) }
    }

    /// Jobs asked for whose agents have not joined yet.
    pub fn under_way(&self) -> u32 {
        self.starting + self.queued
    }

    /// Those that others count on: they have not waited too long.
    pub fn counted_on(&self) -> u32 {
        self.under_way() - self.overdue.min(self.queued)
    }

    /// Without what is overdue. A queue that lets jobs wait so long is first given nothing more.
    fn in_time(&self) -> Self {
        let Self { starting, queued, overdue, room } = *self;
        let queued = queued.saturating_sub(overdue);
        let room = if overdue > 0 { room.min(starting + queued) } else { room };
        Self { starting, queued, overdue: 0, room }
    }

    /// What is overdue alone, with the room that is left beside the rest.
    fn late(&self) -> Self {
        let room = if self.overdue > 0 { self.room.saturating_sub(self.in_time().room) } else { 0 };
        Self { starting: 0, queued: self.overdue, overdue: self.overdue, room }
    }

    /// The least and the most that it may be given.
    fn bounds(&self) -> (u32, u32) {
        (self.starting, self.room.max(self.starting))
    }
}

/// Jobs in a state that were requested and not cancelled by us.
pub(super) fn alive<'a>(
    ledger: &'a Ledger,
    jobs: &'a [Job],
    state: JobState,
) -> impl DoubleEndedIterator<Item = (&'a Job, &'a Note)> {
    let in_state = jobs.iter().filter(move |job| job.state == state);
    let noted = in_state.filter_map(|job| Some((job, ledger.jobs.get(&job.id)?)));
    noted.filter(|(_, note)| note.cancelled.is_none())
}

/// Whether a job has a node; one that is about to end has it still, and may come back into the queue.
pub(super) fn has_node(job: &Job) -> bool {
    matches!(job.state, JobState::Running | JobState::Ending)
}

/// How many of the missing hosts one queue is to have under way now. What it is to have beyond what it has waits until the
/// others have given it up: no host is asked for twice, but for those for which another's job is overdue.
pub fn share(missing: u32, claims: &BTreeMap<QueueName, Claim>, mine: &QueueName) -> u32 {
    let Some(claim) = claims.get(mine) else { return 0 };
    let has = claim.under_way();
    let (_, most) = claim.bounds();
    let due = due(missing, claims, mine, claim.overdue).min(most);
    if due <= has {
        return due;
    }
    let others = claims.iter().filter(|(name, _)| *name != mine).map(|(_, claim)| claim.counted_on());
    let all = others.fold(has, u32::saturating_add);
    has + (due - has).min(missing.saturating_sub(all))
}

/// Among those whose jobs start in time first; what these have no room for, among the others. What is overdue stays in its queue as long
/// as hosts are missing.
fn due(missing: u32, claims: &BTreeMap<QueueName, Claim>, mine: &QueueName, overdue: u32) -> u32 {
    let punctual = claims.iter().map(|(name, claim)| (name.clone(), claim.in_time())).collect();
    let in_time = even(missing, &punctual);
    let left = missing.saturating_sub(in_time.values().copied().fold(0, u32::saturating_add));
    let unpunctual = claims.iter().map(|(name, claim)| (name.clone(), claim.late())).collect();
    let late = even(left, &unpunctual).remove(mine).unwrap_or(0);
    let in_time = in_time.get(mine).copied().unwrap_or(0);
    in_time.max(missing.min(in_time.saturating_add(late.max(overdue))))
}

/// As many for each as for any other, as far as it has room and can give up what it has; one more for the first by name where it
/// does not come out even.
fn even(missing: u32, claims: &BTreeMap<QueueName, Claim>) -> BTreeMap<QueueName, u32> {
    // Of the levels from 0 to `missing` those that fit come first.
    let mut level = 0;
    let mut above = missing.saturating_add(1);
    while above - level > 1 {
        let middle = level + (above - level) / 2;
        if given_at(middle, claims) <= missing { level = middle } else { above = middle }
    }
    let mut rest = missing.saturating_sub(given_at(level, claims));
    let mut shares = BTreeMap::new();
    for (name, claim) in claims {
        let more = (given(claim, level.saturating_add(1)) - given(claim, level)).min(rest);
        rest -= more;
        shares.insert(name.clone(), given(claim, level) + more);
    }
    shares
}

/// Hosts that all queues get at a level.
fn given_at(level: u32, claims: &BTreeMap<QueueName, Claim>) -> u32 {
    claims.values().map(|claim| given(claim, level)).fold(0, u32::saturating_add)
}

fn given(claim: &Claim, level: u32) -> u32 {
    let (least, most) = claim.bounds();
    level.clamp(least, most)
}
