//! Why a run is not running: the state of the run, and for each connected host what keeps it from taking it; and whether a
//! whole experiment stands still for want of hosts. `experiment` says what all its runs wait for.

mod experiment;

use serde::Serialize;

pub use experiment::{KeptHosts, MAX_EXPLAINED, NAMED_HOSTS, NamedHost, Outlook, Waits};

use super::eligibility::{boots_before, boots_in_visits, holds, rests_until, violation};
use super::lane::{lane_of, use_of};
use super::{Active, MAX_DRIFTED, Machine, Phase};
use crate::experiment::gang::Gang;
use crate::host::{Host, Standing};
use crate::independence::Violation;
use crate::run::{HostNumber, LossReason, RunState, Settlement};
use crate::value::id::{Attempt, ExperimentId, HostId, HostName, LeaseEpoch, RunIndex};
use crate::value::time::Timestamp;

/// What a run is doing, or what it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Explanation {
    Waiting {
        attempt: Attempt,
        /// Why nobody has taken it.
        waiting_for: WaitingFor,
    },
    Held {
        host: HostId,
        host_name: Option<HostName>,
        lease: LeaseEpoch,
        /// Whether the agent said that it began.
        begun: bool,
        connected: bool,
        /// When it is given up.
        deadline: Timestamp,
    },
    Settled(Settlement),
}

/// Most lost attempts that are told of an experiment: the reasons of the latest, as many as fit a screen beside what waits.
pub const LATEST_LOSSES: usize = 5;

/// An attempt at a run that was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostAttempt {
    pub run: RunIndex,
    pub attempt: Attempt,
    pub host: HostId,
    /// What people call that.
    pub host_name: Option<HostName>,
    pub at: Timestamp,
    pub reason: LossReason,
}

/// Why nobody has taken a waiting run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum WaitingFor {
    Resume {
        reason: String,
    },
    /// Builds: it is planned when all of them are there.
    Builds {
        made: u32,
        builds: u32,
    },
    Hosts(Hindrances),
}

crate::words! {
    /// What keeps a host from a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Hindrance {
        /// Nothing but earlier runs, or that it has not asked yet.
        Able,
        /// At work on another run.
        Busy,
        Resting,
        Rebooting,
        /// In an allocation that may end before the run would.
        Ending,
        /// Waiting for what other hosts make of the experiment.
        HeldBack,
        GivenUp,
        /// Serving, or wanted for, another visit of the same cell.
        Visited,
        /// Used before in the scope of the policy.
        NotFresh,
        /// Used before, and never fresh again for want of allocation ids.
        NoAllocation,
        /// In need of a new boot, and without a command for it.
        CannotReboot,
        /// Tried with this very run before.
        Tried,
        /// Of a class that the experiment does not take.
        OtherClass,
        OutOfService,
        Away,
    }
    /// All of them, in the order in which they are told.
    const ALL;
}

impl Hindrance {
    /// Whether the host will take the run without anything being done about it.
    pub const fn passes(self) -> bool {
        matches!(self, Self::Able | Self::Busy | Self::Resting | Self::Rebooting)
    }
}

/// Hosts, counted by what keeps them from a run. Each counts once, under the first that applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hindrances {
    pub rebooting: u32,
    pub away: u32,
    pub out_of_service: u32,
    /// Of a class that the experiment does not take.
    pub other_class: u32,
    /// Given up by the experiment: it lost one attempt after another there.
    pub given_up: u32,
    /// Waiting for what other hosts make of the experiment: an attempt was lost there through no fault of theirs.
    pub held_back: u32,
    /// They serve, or have served, another visit of the same cell, or are needed for one: the plan wants different hosts.
    pub visited: u32,
    /// Used before in the scope of the policy.
    pub not_fresh: u32,
    /// Used before in the scope of the policy, and without allocation ids, so that they can never serve a second time.
    pub no_allocation: u32,
    /// They would have to boot anew, and have no command for it.
    pub cannot_reboot: u32,
    /// Tried with this very run before.
    pub tried: u32,
    /// At work on another run.
    pub busy: u32,
    pub resting: u32,
    /// In an allocation that may end before the run would.
    pub ending: u32,
    /// They have begun the visit that the run belongs to, or could begin it, but earlier runs go first or they have not asked
    /// yet.
    pub able: u32,
    /// The facts in which hosts of other classes differ, of the first such host.
    pub differing: Vec<String>,
    /// How many of them the run wants at once, of one class; 0 where it wants one.
    pub together: u32,
    /// Whether these have to be in one job of their engine.
    pub in_one_job: bool,
    /// Whether all sets of the hosts that are able have served, where the policy wants new ones.
    pub sets_spent: bool,
}

impl Hindrances {
    /// How many hosts this keeps.
    pub fn of(&self, hindrance: Hindrance) -> u32 {
        // The count is found by one table, for reading as for counting.
        *self.clone().count(hindrance)
    }

    fn count(&mut self, hindrance: Hindrance) -> &mut u32 {
        match hindrance {
            Hindrance::Able => &mut self.able,
            Hindrance::Busy => &mut self.busy,
            Hindrance::Resting => &mut self.resting,
            Hindrance::Rebooting => &mut self.rebooting,
            Hindrance::Ending => &mut self.ending,
            Hindrance::HeldBack => &mut self.held_back,
            Hindrance::GivenUp => &mut self.given_up,
            Hindrance::Visited => &mut self.visited,
            Hindrance::NotFresh => &mut self.not_fresh,
            Hindrance::NoAllocation => &mut self.no_allocation,
            Hindrance::CannotReboot => &mut self.cannot_reboot,
            Hindrance::Tried => &mut self.tried,
            Hindrance::OtherClass => &mut self.other_class,
            Hindrance::OutOfService => &mut self.out_of_service,
            Hindrance::Away => &mut self.away,
        }
    }
}

impl Machine {
    /// Whether runs of an experiment wait, none is under way, and no connected host could be given any of them.
    pub fn lacks_hosts(&self, experiment: ExperimentId) -> bool {
        let Some(active) = self.experiments.get(&experiment) else { return false };
        let tally = active.tally;
        if active.kept.phase != Phase::Running || tally.waiting == 0 || tally.leased + tally.running > 0 {
            return false;
        }
        let numbered = (0..).map(HostNumber).zip(&self.hosts);
        // What waits was offered to a host that asked in vain; it is looked at again only once it has rested.
        let is_ineligible =
            |number, host: &Host| self.ineligible.contains(&number) && host.rested_at().is_none();
        let mut hosts = numbered.filter(|(number, host)| {
            (host.is_here() || host.reboot.is_some()) && !is_ineligible(*number, host)
        });
        !hosts.any(|(number, host)| {
            let begun = host.visits.get(&experiment).map(|visit| visit.next);
            active
                .queue
                .openings()
                .chain(begun)
                .any(|run| self.hindrance(number, experiment, active, run).passes())
        })
    }

    /// Why a run of an active experiment is not running; nothing when there is no such run.
    pub fn explain(&self, experiment: ExperimentId, run: RunIndex) -> Option<Explanation> {
        let active = self.experiments.get(&experiment)?;
        let Some(state) = active.states.get(run.0 as usize) else {
            return waits_for_builds(active, run);
        };
        Some(match *state {
            RunState::Settled(settlement) => Explanation::Settled(settlement),
            RunState::Leased { host, .. } => self.held(host, false)?,
            RunState::Running { host, .. } => self.held(host, true)?,
            RunState::Waiting { attempt } => {
                Explanation::Waiting { attempt, waiting_for: self.waiting_for(experiment, active, run) }
            }
        })
    }

    fn held(&self, number: HostNumber, begun: bool) -> Option<Explanation> {
        let host = self.host_at(number);
        let lease = host.lease.as_ref()?;
        Some(Explanation::Held {
            host: lease.host.clone(),
            host_name: host.facts.name(),
            lease: lease.epoch,
            begun,
            connected: host.is_here(),
            deadline: host.loss_deadline()?,
        })
    }

    fn waiting_for(&self, experiment: ExperimentId, active: &Active, run: RunIndex) -> WaitingFor {
        if let Phase::Paused { reason } = &active.kept.phase {
            return WaitingFor::Resume { reason: reason.clone() };
        }
        let gang = active.kept.plan.gang_of_task(active.kept.plan.task(run)).filter(|gang| gang.hosts > 1);
        let mut counts = Hindrances {
            together: gang.map_or(0, |gang| gang.hosts),
            in_one_job: gang.is_some_and(Gang::is_in_one_job),
            ..Hindrances::default()
        };
        let mut able = Vec::new();
        for (number, host) in (0..).map(HostNumber).zip(&self.hosts) {
            let class_differs = !active.admits(host.class);
            if class_differs && counts.differing.is_empty() {
                counts.differing = self.differing(host, experiment);
            }
            let hindrance = self.hindrance(number, experiment, active, run);
            *counts.count(hindrance) += 1;
            able.extend((hindrance == Hindrance::Able).then_some((number, host)));
        }
        let lane = lane_of(&active.kept.plan, run);
        counts.sets_spent = counts.together > 1 && active.has_spent_sets(lane, able.into_iter());
        WaitingFor::Hosts(counts)
    }

    /// The names of the facts in which a host differs from those that an experiment takes.
    fn differing(&self, host: &Host, experiment: ExperimentId) -> Vec<String> {
        let differences = self.passed(&host.facts.host, experiment).unwrap_or_default();
        differences.into_iter().map(|difference| difference.fact).take(MAX_DRIFTED).collect()
    }

    /// What keeps a host from a run: the first that applies.
    fn hindrance(
        &self,
        number: HostNumber,
        experiment: ExperimentId,
        active: &Active,
        run: RunIndex,
    ) -> Hindrance {
        let host = self.host_at(number);
        let used = use_of(&active.kept.plan, run).and_then(|key| host.used(experiment, key));
        let goes_on =
            host.visits.get(&experiment).is_some_and(|visit| (visit.next..visit.end).contains(&run));
        let group = active.kept.plan.place(run).group;
        let began = active.states[group.0 as usize] != RunState::Waiting { attempt: Attempt(1) };
        let lane = lane_of(&active.kept.plan, run);
        let violation = violation(host, active, lane, used).filter(|_| !goes_on);
        let wants_boot = if goes_on {
            host.visits.get(&experiment).is_some_and(|visit| boots_before(active, visit.next))
                && used.is_some_and(|used| used.boot == host.boot())
        } else {
            violation == Some(Violation::NotRebooted) || boots_in_visits(active)
        };
        // What keeps the host from every run comes first, then what keeps it from this run; what passes by itself is last.
        if host.reboot.is_some() {
            Hindrance::Rebooting
        } else if !host.is_here() {
            Hindrance::Away
        } else if host.standing != Standing::Serving {
            Hindrance::OutOfService
        } else if !active.admits(host.class) {
            Hindrance::OtherClass
        } else if self.has_given_up(self.latest, active, number) {
            Hindrance::GivenUp
        } else if self.is_held_back(experiment, active, number) {
            Hindrance::HeldBack
        } else if !goes_on && self.nesting_excludes(active, number, run, began) {
            Hindrance::Visited
        } else if wants_boot && !host.facts.can_reboot {
            Hindrance::CannotReboot
        } else if let Some(violation) = violation {
            let never = violation == Violation::NoAllocation && host.facts.allocation.is_none();
            if never { Hindrance::NoAllocation } else { Hindrance::NotFresh }
        } else if began && !goes_on && !self.may_retry(active, number, run.0) {
            Hindrance::Tried
        } else if host.lease.is_some() {
            Hindrance::Busy
        } else if rests_until(host, active).is_some_and(|until| until > self.latest) {
            Hindrance::Resting
        } else if !goes_on && !holds(self.latest, host, active, lane) {
            Hindrance::Ending
        } else {
            Hindrance::Able
        }
    }
}

/// What a run waits for that is planned when all builds are there; nothing when it will not be.
fn waits_for_builds(active: &Active, run: RunIndex) -> Option<Explanation> {
    let plan = &active.kept.plan;
    let made = active.tally.measured;
    // In a bisection nobody knows which runs follow.
    let is_expected =
        plan.is_building() && active.kept.phase != Phase::Cancelled && plan.experiment.bisection().is_none();
    let is_planned = is_expected && run.0 < plan.with_first_runs().runs();
    let waiting_for = WaitingFor::Builds { made, builds: plan.builds() };
    is_planned.then_some(Explanation::Waiting { attempt: Attempt(1), waiting_for })
}
