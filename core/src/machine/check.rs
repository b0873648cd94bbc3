//! Every invariant of the machine, re-derived from scratch. Tests and the simulation call it after each step.

use std::collections::{BTreeMap, BTreeSet};

use super::queue::lane_of;
use super::{Active, Machine};
use crate::event::Tally;
use crate::experiment::Policy;
use crate::host::{Asking, Presence};
use crate::id::{ExperimentId, RunIndex};
use crate::run::{HostNumber, RunState};

impl Machine {
    /// Asserts all invariants: at most one live lease per run and host, both ends of a lease agree, no host serves two
    /// runs that the policy forbids, tallies add up to the plan, queues hold exactly what waits, and every index (deadlines,
    /// asking hosts, numbers) is what the states say.
    ///
    /// # Panics
    /// When one does not hold: that is a bug.
    pub fn check(&self) {
        for (id, active) in &self.experiments {
            self.check_states(*id, active);
            active.check_queue();
        }
        self.check_leases();
        self.check_policies();
        self.check_indices();
    }

    fn check_states(&self, id: ExperimentId, active: &Active) {
        assert_eq!(active.states.len(), active.plan.runs() as usize, "a state for each run");
        let mut tally = Tally { lost_attempts: active.tally.lost_attempts, ..Tally::default() };
        for (run, state) in (0..).map(RunIndex).zip(&active.states) {
            match *state {
                RunState::Waiting { attempt } => {
                    tally.waiting += 1;
                    assert!(
                        attempt.0 <= active.plan.experiment.limits.attempts,
                        "attempts stay within the limit"
                    );
                }
                RunState::Leased { lease, host } | RunState::Running { lease, host } => {
                    let running = matches!(state, RunState::Running { .. });
                    *(if running { &mut tally.running } else { &mut tally.leased }) += 1;
                    let held =
                        self.host_at(host).lease.as_ref().expect("the host of a leased run holds a lease");
                    assert_eq!((held.epoch, held.experiment, held.run), (lease, id, run), "both ends agree");
                    assert_eq!(held.started.is_some(), running, "begun on both ends");
                }
                RunState::Settled(settlement) => *tally.of(settlement) += 1,
            }
        }
        assert_eq!(tally, active.tally, "the tally is the count of the states");
    }

    fn check_leases(&self) {
        let mut epochs = BTreeSet::new();
        for (number, host) in (0..).map(HostNumber).zip(&self.hosts) {
            let Some(lease) = &host.lease else { continue };
            assert!(epochs.insert(lease.epoch), "one host a lease");
            assert!(lease.epoch.0 < self.next_lease, "epochs grow");
            assert_eq!(lease.host, host.facts.host, "a lease lies with its host");
            assert!(lease.agent_epoch <= host.epoch, "agent starts grow");
            match self.experiments[&lease.experiment].states[lease.run.0 as usize] {
                RunState::Leased { host, .. } | RunState::Running { host, .. } => assert_eq!(host, number),
                RunState::Waiting { .. } | RunState::Settled(_) => {
                    panic!("a live lease on a run that has none")
                }
            }
        }
        assert!(
            self.superseded.keys().all(|epoch| !epochs.contains(epoch)),
            "a superseded lease is not live"
        );
    }

    fn check_policies(&self) {
        for host in &self.hosts {
            for (id, lanes) in &host.used {
                let active = &self.experiments[id];
                if active.plan.experiment.independence.policy == Policy::Distinct {
                    assert!(lanes.values().all(|uses| *uses == 1), "a fresh host serves once in the scope");
                }
            }
        }
    }

    fn check_indices(&self) {
        let numbered = (0..).map(HostNumber).zip(&self.hosts);
        let deadlines = numbered.clone().filter_map(|(number, host)| Some((host.deadline()?, number)));
        assert_eq!(self.deadlines, deadlines.collect(), "deadlines are those of the hosts");
        let asking = |wanted: Asking| -> BTreeSet<HostNumber> {
            let is = |presence| matches!(presence, Presence::Here { asking } if asking == wanted);
            numbered.clone().filter(|(_, host)| is(host.presence)).map(|(number, _)| number).collect()
        };
        assert_eq!(self.asking, asking(Asking::Yes), "asking hosts are those that ask");
        assert_eq!(self.in_vain, asking(Asking::InVain), "and those that asked in vain");
        for number in &self.in_vain {
            let suits = self.match_for(*number, self.host_at(*number));
            assert!(suits.is_none(), "a host waits in vain only for what does not suit it");
        }
        assert_eq!(self.here as usize, self.hosts.iter().filter(|host| host.is_here()).count());
        let numbers: BTreeMap<_, _> =
            numbered.map(|(number, host)| (host.facts.host.clone(), number)).collect();
        assert_eq!(self.numbers, numbers, "every host has its number");
    }
}

impl Active {
    fn check_queue(&self) {
        let waiting: BTreeSet<(u32, u32)> = (0..)
            .zip(&self.states)
            .filter(|(_, state)| matches!(state, RunState::Waiting { .. }))
            .map(|(run, _)| (lane_of(&self.plan, RunIndex(run)), run))
            .collect();
        assert_eq!(self.queue.waiting().collect::<BTreeSet<_>>(), waiting, "the queue holds what waits");
        assert_eq!(self.queue.waiting().count(), waiting.len(), "and each once");
    }
}
