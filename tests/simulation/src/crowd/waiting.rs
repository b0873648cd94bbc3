//! How long gangs wait, and for how long they may. Hosts are held for one gang at a time, and a host that is held takes only what
//! ends before the gang can be complete. So from when hosts are held for a gang, it waits until the last lease of that moment ends
//! at the latest. An experiment that has no host is the next one for which hosts are held, or waits for those that had none
//! before it: one hold each.

use std::{collections::BTreeMap, sync::Arc};

use speedup_core::machine::event::Change;
use speedup_core::plan::Plan;
use speedup_core::run::lease::Lease;
use speedup_core::value::id::{ExperimentId, LeaseEpoch, RunIndex};
use speedup_core::value::time::{Span, Timestamp};

use super::Story;

/// Within what time a free host asks.
const ASKS_WITHIN: Span = Span::from_secs(1);

/// What waits, and what the events said before.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    plans: BTreeMap<ExperimentId, Arc<Plan>>,
    /// Live leases, by the first of their gangs and their own numbers.
    live: BTreeMap<LeaseEpoch, Lease>,
    leases: BTreeMap<ExperimentId, usize>,
    /// Since when hosts are held for a gang, and by when the last lease of that moment ended.
    held: BTreeMap<(ExperimentId, RunIndex), (Timestamp, Timestamp)>,
    /// Since when an experiment has had no lease, and how many experiments there were then.
    without: BTreeMap<ExperimentId, (Timestamp, u64)>,
    /// The longest lease that there ever was.
    longest: Span,
    pub(super) story: Story,
}

impl Waiting {
    pub(super) fn plan(&self, experiment: ExperimentId) -> Arc<Plan> {
        self.plans[&experiment].clone()
    }

    /// How long the program of a live lease may take.
    pub(super) fn timeout(&self, lease: LeaseEpoch) -> Span {
        let lease = &self.live[&lease];
        super::timeout(&self.plans[&lease.experiment], lease.run)
    }

    pub(super) fn hear(&mut self, at: Timestamp, change: &Change) {
        match change {
            Change::Submitted { experiment, plan, .. } => {
                self.plans.insert(*experiment, plan.clone());
                self.leases.insert(*experiment, 0);
                self.without.insert(*experiment, (at, self.leases.len() as u64));
            }
            Change::Finished { experiment, .. } => {
                assert_eq!(self.leases.remove(experiment), Some(0), "what is finished has no lease");
                self.without.remove(experiment);
            }
            Change::HostHeld { experiment, run, .. } => {
                // What was lost of its own is before it again.
                self.held.retain(|(of, later), _| of != experiment || later <= run);
                let live = &self.live;
                let last = || live.values().map(|lease| lease.deadline).max().unwrap_or(at);
                self.held.entry((*experiment, *run)).or_insert_with(|| (at, last().max(at) + ASKS_WITHIN));
            }
            Change::LeaseGranted(lease) => {
                self.story.backfilled += u32::from(!self.held.is_empty());
                self.granted(at, std::slice::from_ref(lease));
            }
            Change::GangGranted(leases) => {
                let size = self.plans[&leases[0].experiment].hosts_of(leases[0].run) as usize;
                assert_eq!(leases.len(), size, "a gang is granted as one");
                self.story.gangs += 1;
                self.story.largest = self.story.largest.max(size as u32);
                if let Some((since, by)) = self.held.remove(&(leases[0].experiment, leases[0].run)) {
                    let waited = at - since;
                    self.story.held += 1;
                    self.story.longest_hold = self.story.longest_hold.max(waited);
                    assert!(
                        at <= by,
                        "hosts were held for {waited} for {size} hosts of {}, and {} at most was promised",
                        leases[0].experiment,
                        by - since
                    );
                }
                self.granted(at, leases);
            }
            Change::RunReported { lease, .. } | Change::PartEnded { lease, .. } => {
                self.ended(at, *lease);
            }
            Change::AttemptLost { lease, .. } => {
                let leader = self.live[lease].leader();
                let gang = self.live.range(leader..).take_while(|(_, other)| other.leader() == leader);
                let gang: Vec<LeaseEpoch> = gang.map(|(epoch, _)| *epoch).collect();
                self.story.lost += u32::from(gang.len() > 1);
                gang.into_iter().for_each(|lease| self.ended(at, lease));
            }
            _ => {}
        }
    }

    fn granted(&mut self, at: Timestamp, leases: &[Lease]) {
        let experiment = leases[0].experiment;
        for lease in leases {
            self.longest = self.longest.max(lease.deadline - lease.granted);
            self.live.insert(lease.epoch, lease.clone());
        }
        *self.leases.get_mut(&experiment).expect("submitted before") += leases.len();
        if let Some((since, experiments)) = self.without.remove(&experiment) {
            let (waited, most) = (at - since, (self.longest + ASKS_WITHIN).times(experiments));
            self.story.longest_wait = self.story.longest_wait.max(waited);
            assert!(waited <= most, "{experiment} waited for {waited}, and {most} at most was promised");
        }
    }

    fn ended(&mut self, at: Timestamp, lease: LeaseEpoch) {
        let Some(lease) = self.live.remove(&lease) else { return };
        let leases = self.leases.get_mut(&lease.experiment).expect("submitted before");
        *leases -= 1;
        if *leases == 0 {
            self.without.insert(lease.experiment, (at, self.leases.len() as u64));
        }
    }
}
