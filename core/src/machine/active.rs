//! An experiment that is not finished, as the machine keeps it.

use std::{cmp::Reverse, collections::BTreeMap, collections::BTreeSet, sync::Arc};

use super::{ABANDONED_IN_A_ROW, COORDINATOR, queue::Queue};
use crate::{
    experiment::Rule, experiment::build::Product, fingerprint::ClassId, independence::Independence,
    machine::event::Change, machine::event::Tally, plan::Plan, run::HostNumber, run::RunState,
    run::Settlement, value::id::Attempt, value::id::ExperimentId, value::id::RunIndex, value::time::Span,
    value::time::Timestamp,
};

/// An experiment that is not finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    pub(super) kept: Kept,
    /// Of each run. A checkpoint tells it in short.
    pub(super) states: Vec<RunState>,
    pub(super) queue: Queue,
    /// How many runs are in which state. Of this a checkpoint keeps the attempts lost alone.
    pub(super) tally: Tally,
    /// Hosts that boot, or have booted, for a visit that nobody has begun yet.
    pub(super) reserved: u32,
    /// Live leases of hosts that serve a run which another has started.
    pub(super) members: u32,
}

/// What cannot be derived of an active experiment, beside the states of its runs: it stands in a checkpoint as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub plan: Arc<Plan>,
    pub submitted: Timestamp,
    pub by: String,
    pub phase: Phase,
    /// The latest words of its rule, or why it was cancelled.
    pub words: String,
    /// Hosts on which a run was tried before, for runs that lost an attempt.
    pub tried: BTreeMap<u32, Vec<HostNumber>>,
    /// Attempts that an engine ended, by run: they do not count.
    pub excused: BTreeMap<u32, u32>,
    /// Where visits of a cell want different hosts: by lane, the hosts that began one, each with its group.
    pub visitors: BTreeMap<u32, BTreeMap<HostNumber, RunIndex>>,
    /// Where runs want new sets of hosts: by their use, those that have served, each ascending.
    pub sets: BTreeMap<u32, BTreeSet<Vec<HostNumber>>>,
    /// What became of its settled builds.
    pub built: BTreeMap<RunIndex, Built>,
    /// Runs abandoned since one was executed.
    pub abandoned_in_a_row: u32,
    /// Attempts lost since one was executed, in whose way the plan or an owner's limits stood; that of a gang counts once.
    pub turned_down_in_a_row: u32,
    /// Hosts on which an attempt was lost since one was executed there.
    pub troubles: BTreeMap<HostNumber, HostLosses>,
    pub attempts: u64,
    /// Time on hosts of the attempts that ended.
    pub host_time: Span,
    /// Classes whose hosts may take part, where they have to be identical; none before the first is pinned.
    pub classes: BTreeSet<ClassId>,
}

/// Attempts of one experiment that were lost on one host, with none of it executed there since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostLosses {
    pub lost: u32,
    /// Those in whose way the host or its agent stood.
    pub by_host: u32,
    /// Those in whose way the plan or an owner's limits stood, since the experiment was last executed on any host.
    pub turned_down: u32,
    /// When the latest was lost.
    pub latest: Timestamp,
    /// Why the latest was lost.
    pub words: String,
}

/// What may happen to an active experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// It made this, ascending by name.
    Made(Vec<Product>),
    /// It made nothing that can be used, because of this.
    Not(String),
}

/// Who goes first: of the highest priority the one with the fewest live leases.
pub(super) type Turn = (Reverse<i32>, u32);

impl Active {
    pub(super) fn new(plan: Arc<Plan>, submitted: Timestamp, by: String) -> Self {
        Self {
            states: vec![RunState::Waiting { attempt: Attempt(1) }; plan.runs() as usize],
            queue: Queue::new(&plan),
            tally: Tally { waiting: plan.runs(), ..Tally::default() },
            reserved: 0,
            members: 0,
            kept: Kept {
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
    pub(super) fn turn(&self) -> Option<Turn> {
        let offers = self.kept.phase == Phase::Running && self.queue.visits() > 0;
        let leases = self.tally.leased + self.tally.running + self.members;
        offers.then(|| (Reverse(self.priority()), leases))
    }

    pub(super) fn priority(&self) -> i32 {
        self.kept.plan.experiment.priority
    }

    /// What became of its settled builds.
    pub fn built(&self) -> &BTreeMap<RunIndex, Built> {
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
        let by = || COORDINATOR.to_owned();
        if let Some(reason) = self.spent().filter(|_| tally.waiting > 0) {
            return Some(Change::Cancelled { experiment, by: by(), reason });
        }
        let stuck = self.kept.abandoned_in_a_row >= ABANDONED_IN_A_ROW && self.kept.phase == Phase::Running;
        let reason = || format!("{ABANDONED_IN_A_ROW} runs in a row could not be executed on any host");
        stuck.then(|| Change::Paused { experiment, by: by(), reason: reason() })
    }

    /// What follows from its builds: the end of all where one is not to be had that it needs, else the first runs once all are there.
    fn after_builds(&self, experiment: ExperimentId) -> Option<Change> {
        let by = || COORDINATOR.to_owned();
        let plan = &self.kept.plan;
        let lacking = |(run, built): (&RunIndex, &'_ Built)| match built {
            Built::Not(_) if plan.experiment.can_do_without(plan.task(*run).version()) => None,
            Built::Not(reason) => Some((*run, reason.clone())),
            Built::Made(_) => None,
        };
        let is_lacking = self.tally.failed + self.tally.abandoned > 0;
        if let Some((run, reason)) = is_lacking.then(|| self.kept.built.iter().find_map(lacking)).flatten() {
            let reason = format!("{}: {reason}", plan.build_in_words(run));
            return Some(Change::Cancelled { experiment, by: by(), reason });
        }
        let is_done =
            self.tally.open() == 0 && plan.has_all_builds() && plan.experiment.bisection().is_none();
        let (from, appended) = is_done.then(|| (plan.runs(), plan.draw_runs()))?;
        Some(Change::Extended { experiment, from, appended, by: by() })
    }

    /// Which of its limits it has reached.
    fn spent(&self) -> Option<String> {
        let limits = self.kept.plan.experiment.limits;
        let attempts = limits.all_attempts.filter(|most| self.kept.attempts >= *most);
        let attempts = attempts.map(|most| format!("its {most} attempts are spent"));
        let time = limits.host_time.filter(|most| self.kept.host_time >= *most);
        attempts.or_else(|| time.map(|most| format!("its {most} of time on hosts are spent")))
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
            RunState::Settled(settlement) => self.tally.of(settlement),
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
