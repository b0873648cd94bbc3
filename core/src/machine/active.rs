//! An experiment that is not finished, as the machine keeps it.

use std::{cmp::Reverse, collections::BTreeMap, collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize};

use super::{ABANDONED_IN_A_ROW, COORDINATOR, queue::Queue};
use crate::experiment::{Rule, build::Product};
use crate::machine::{event::Change, event::Tally};
use crate::run::{HostNumber, RunState, Settlement};
use crate::value::{id::Attempt, id::ExperimentId, id::RunIndex, time::Span, time::Timestamp};
use crate::{fingerprint::ClassId, independence::Independence, plan::Plan};

/// An experiment that is not finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    pub(super) kept: ActiveRecord,
    /// State of each run. A checkpoint has them run-length encoded.
    pub(super) states: Vec<RunState>,
    pub(super) queue: Queue,
    /// Number of runs in each state, so that no question walks them. A checkpoint has only the attempts lost.
    pub(super) tally: Tally,
    /// Number of hosts that reboot, or have rebooted, to begin a new visit.
    pub(super) reserved: u32,
    /// Number of live leases of gangs' hosts that do not start the program.
    pub(super) members: u32,
}

/// State of an active experiment that cannot be derived from its plan and the states of its runs; a checkpoint has it as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ActiveRecord {
    #[serde(serialize_with = "Plan::serialize", deserialize_with = "shared_plan")]
    pub(super) plan: Arc<Plan>,
    pub(super) submitted: Timestamp,
    pub(super) by: String,
    pub(super) phase: Phase,
    /// The latest words of its rule, or why it was cancelled.
    pub(super) words: String,
    /// Hosts that tried each run which lost an attempt, so that it goes to another.
    pub(super) tried: BTreeMap<u32, Vec<HostNumber>>,
    /// Number of attempts of each run that an engine ended, which do not count against its limit.
    pub(super) excused: BTreeMap<u32, u32>,
    /// Hosts that began a visit in each lane whose visits need different hosts, each with the visit's group.
    pub(super) visitors: BTreeMap<u32, BTreeMap<HostNumber, RunIndex>>,
    /// Sets of hosts, each ascending, that served together under each key of the scope, if the policy is of sets.
    pub(super) sets: BTreeMap<u32, BTreeSet<Vec<HostNumber>>>,
    /// Result of each settled build.
    pub(super) built: BTreeMap<RunIndex, BuildResult>,
    /// Number of runs abandoned since one was executed; [`ABANDONED_IN_A_ROW`] pause the experiment.
    pub(super) abandoned_in_a_row: u32,
    /// Number of attempts, since one was executed, that the plan or an owner's limits prevented. A gang's attempt counts once.
    pub(super) turned_down_in_a_row: u32,
    /// Losses on each host since an attempt was executed there: by them hosts are given up.
    pub(super) troubles: BTreeMap<HostNumber, HostLosses>,
    pub(super) attempts: u64,
    /// Host time of the attempts that ended.
    pub(super) host_time: Span,
    /// Classes whose hosts may take part, if hosts have to be identical. Empty until the first is pinned.
    pub(super) classes: BTreeSet<ClassId>,
}

fn shared_plan<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Plan>, D::Error> {
    Plan::deserialize(from).map(Arc::new)
}

/// Attempts of one experiment lost on one host since one was executed there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLosses {
    pub lost: u32,
    /// Attempts that the host or its agent prevented.
    pub by_host: u32,
    /// Attempts that the plan or an owner's limits prevented, since the experiment was last executed on any host.
    pub turned_down: u32,
    /// When the latest was lost.
    pub latest: Timestamp,
    /// Why the latest was lost.
    pub words: String,
}

/// What may happen to an active experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Its runs are given out.
    Running,
    /// None is given out until it is resumed.
    Paused { reason: String },
    /// All are settled; its rule has to say whether they are enough.
    Deciding,
    /// Its rule said that they are enough.
    Decided,
    /// None is given out any more; those under way end.
    Cancelled,
}

/// Phase of an experiment as its status and its reports show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusPhase {
    /// Its runs are given out.
    Running,
    /// Its runs would be given out, but no connected host can take any of them.
    WaitingForHosts,
    /// No run is given out until it is resumed.
    Paused { reason: String },
    /// All its runs are settled; its rule has to say whether they are enough.
    Deciding,
    /// It was cancelled; runs under way end.
    Cancelling,
    /// Nothing changes any more.
    Finished { at: Timestamp, cancelled: bool },
}

impl From<&Phase> for StatusPhase {
    fn from(phase: &Phase) -> Self {
        match phase {
            // Its rule has decided: it finishes at once.
            Phase::Running | Phase::Decided => Self::Running,
            Phase::Deciding => Self::Deciding,
            Phase::Paused { reason } => Self::Paused { reason: reason.clone() },
            Phase::Cancelled => Self::Cancelling,
        }
    }
}

impl StatusPhase {
    /// When it finished, if it has.
    pub fn finished(&self) -> Option<Timestamp> {
        match self {
            Self::Finished { at, cancelled: _ } => Some(*at),
            Self::Running
            | Self::WaitingForHosts
            | Self::Paused { .. }
            | Self::Deciding
            | Self::Cancelling => None,
        }
    }
}

/// What became of a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BuildResult {
    /// It made this, ascending by name.
    Made(Vec<Product>),
    /// It made nothing that can be used, because of this.
    Not(String),
}

/// Who goes first: of the highest priority the one with the fewest live leases.
pub(super) type OfferOrder = (Reverse<i32>, u32);

impl Active {
    pub(super) fn new(plan: Arc<Plan>, submitted: Timestamp, by: String) -> Self {
        Self {
            states: vec![RunState::Waiting { attempt: Attempt(1) }; plan.runs() as usize],
            queue: Queue::new(&plan),
            tally: Tally { waiting: plan.runs(), ..Tally::default() },
            reserved: 0,
            members: 0,
            kept: ActiveRecord {
                plan,
                submitted,
                by,
                phase: Phase::Running,
                words: String::new(),
                tried: BTreeMap::new(),
                excused: BTreeMap::new(),
                visitors: BTreeMap::new(),
                sets: BTreeMap::new(),
                built: BTreeMap::new(),
                abandoned_in_a_row: 0,
                turned_down_in_a_row: 0,
                troubles: BTreeMap::new(),
                attempts: 0,
                host_time: Span(0),
                classes: BTreeSet::new(),
            },
        }
    }

    /// Every run of it.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.kept.plan
    }

    /// When it was submitted, and by whom.
    pub fn submitted(&self) -> (Timestamp, &str) {
        (self.kept.submitted, &self.kept.by)
    }

    /// What may happen to it.
    pub fn phase(&self) -> &Phase {
        &self.kept.phase
    }

    /// The latest words of its rule, or why it was cancelled; empty before.
    pub fn words(&self) -> &str {
        &self.kept.words
    }

    /// How many runs are in which state.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The classes whose hosts may take part, where they have to be identical; none before the first is pinned.
    pub fn classes(&self) -> &BTreeSet<ClassId> {
        &self.kept.classes
    }

    /// Whether it takes hosts of this class.
    pub fn admits(&self, class: ClassId) -> bool {
        self.independence().hosts.admits(&self.kept.classes, class)
    }

    /// What its plan says of freshness.
    pub(super) fn independence(&self) -> &Independence {
        &self.kept.plan.experiment.independence
    }

    /// Whether a host may be given again what was lost on it: any may build again.
    pub(super) fn may_come_again(&self) -> bool {
        self.independence().policy.reuses_hosts() || self.kept.plan.is_building()
    }

    /// Whether nothing was executed yet on the classes that it takes, and nothing is about to be: a class is pinned for the
    /// sake of what was measured on it.
    pub(super) fn may_pin_anew(&self) -> bool {
        let tally = self.tally;
        self.independence().hosts.pins_classes()
            && tally.leased + tally.running + tally.measured + tally.failed == 0
    }

    /// When it is its turn, if it has visits to give out.
    pub(super) fn turn(&self) -> Option<OfferOrder> {
        let offers = self.kept.phase == Phase::Running && self.queue.visits() > 0;
        let leases = self.tally.leased + self.tally.running + self.members;
        offers.then_some((Reverse(self.priority()), leases))
    }

    pub(super) fn priority(&self) -> i32 {
        self.kept.plan.experiment.priority
    }

    /// What became of its settled builds.
    pub fn built(&self) -> &BTreeMap<RunIndex, BuildResult> {
        &self.kept.built
    }

    /// What follows for the experiment from its state alone.
    pub(super) fn next_step(&self, experiment: ExperimentId) -> Option<Change> {
        let tally = self.tally;
        let is_building = self.kept.plan.is_building() && self.kept.phase != Phase::Cancelled;
        if is_building && let Some(change) = self.after_builds(experiment) {
            return Some(change);
        }
        // In a bisection the rule says what follows a build, also one that failed.
        if tally.open() == 0
            && self.members == 0
            && (!is_building || self.kept.plan.experiment.bisection().is_some())
        {
            let fixed = self.kept.plan.experiment.rule == Rule::Fixed;
            return match self.kept.phase {
                Phase::Cancelled => Some(Change::Finished { experiment, tally, cancelled: true }),
                Phase::Decided => Some(Change::Finished { experiment, tally, cancelled: false }),
                Phase::Running | Phase::Paused { .. } if fixed => {
                    Some(Change::Finished { experiment, tally, cancelled: false })
                }
                Phase::Running => Some(Change::AwaitingDecision { experiment }),
                Phase::Paused { .. } | Phase::Deciding => None,
            };
        }
        if tally.waiting > 0
            && let Some(reason) = self.spent_limit()
        {
            return Some(Change::Cancelled { experiment, by: COORDINATOR.to_owned(), reason });
        }
        if self.kept.abandoned_in_a_row >= ABANDONED_IN_A_ROW && self.kept.phase == Phase::Running {
            let reason = format!("{ABANDONED_IN_A_ROW} runs in a row could not be executed on any host");
            return Some(Change::Paused { experiment, by: COORDINATOR.to_owned(), reason });
        }
        None
    }

    /// What follows from its builds: its end if a build that it needs failed, otherwise the first runs once all builds are made.
    fn after_builds(&self, experiment: ExperimentId) -> Option<Change> {
        let plan = &self.kept.plan;
        // Without a failed build there is none to look for, and the builds may be many.
        if self.tally.failed + self.tally.abandoned > 0 {
            for (run, built) in &self.kept.built {
                if let BuildResult::Not(reason) = built
                    && !plan.experiment.can_do_without(plan.task(*run).version())
                {
                    let reason = format!("{}: {reason}", plan.build_in_words(*run));
                    return Some(Change::Cancelled { experiment, by: COORDINATOR.to_owned(), reason });
                }
            }
        }
        if self.tally.open() > 0 || !plan.has_all_builds() || plan.experiment.bisection().is_some() {
            return None;
        }
        let by = COORDINATOR.to_owned();
        Some(Change::Extended { experiment, from: plan.runs(), appended: plan.draw_runs(), by })
    }

    /// Why it may have no more attempts: a limit of all of them is reached.
    fn spent_limit(&self) -> Option<String> {
        let limits = self.kept.plan.experiment.limits;
        if let Some(most) = limits.all_attempts
            && self.kept.attempts >= most
        {
            return Some(format!("its {most} attempts are spent"));
        }
        let most = limits.host_time.filter(|most| self.kept.host_time >= *most)?;
        Some(format!("its {most} of time on hosts are spent"))
    }

    /// Changes the state of a run and keeps the tally in step.
    pub(super) fn set(&mut self, run: RunIndex, state: RunState) {
        let before = std::mem::replace(&mut self.states[run.0 as usize], state);
        *self.counter(before) -= 1;
        *self.counter(state) += 1;
    }

    fn counter(&mut self, state: RunState) -> &mut u32 {
        match state {
            RunState::Waiting { .. } => &mut self.tally.waiting,
            RunState::Leased { .. } => &mut self.tally.leased,
            RunState::Running { .. } => &mut self.tally.running,
            RunState::Settled(settlement) => self.tally.counter(settlement),
        }
    }

    /// Settles all that wait as cancelled.
    pub(super) fn cancel_waiting(&mut self) {
        for state in &mut self.states {
            if matches!(state, RunState::Waiting { .. }) {
                *state = RunState::Settled(Settlement::Cancelled);
            }
        }
        self.tally.cancelled += self.tally.waiting;
        self.tally.waiting = 0;
        self.queue.clear();
    }
}
