//! The coordinator's machine: it decides who executes which run when, and keeps no time, file or socket.
//!
//! [`Machine::handle`] takes one command: it decides (`decide` may refuse, and changes nothing), evolves (`evolve` may
//! not refuse; recovery replays it), and follows up what became possible (`follow_up`: an asking host meets a waiting
//! run, an experiment is complete). The shell makes the events durable before it performs the effects.
//!
//! In reading order: [`command`](self) below, `queue` (which run is next for a host), `decide`, `follow_up`, `evolve`,
//! `check` (every invariant, re-derived), `explain`.

mod check;
mod decide;
mod evolve;
mod explain;
mod follow_up;
mod pool;
mod queue;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;

pub use explain::{Explanation, WaitingFor};
pub use queue::hosts_needed;

use crate::event::{AttemptEnd, Change, EndedAttempt, Event, Superseded, Tally};
use crate::host::{Host, HostFacts};
use crate::id::{AgentEpoch, AgentId, ExperimentId, HostId, LeaseEpoch, RunIndex};
use crate::lease::Lease;
use crate::message::Report;
use crate::plan::Plan;
use crate::run::{HostNumber, RunState};
use crate::time::{Span, Timestamp};
use queue::Queue;

/// Most experiments that may be active at once: each is looked at when a host asks.
pub const MAX_ACTIVE: usize = 1_000;
/// Most hosts a pool may have ever known.
pub const MAX_HOSTS: usize = 200_000;
/// Runs abandoned one after another, with none executed between, after which an experiment is paused: something is
/// wrong with all of it, and going on would only spend hosts.
pub const ABANDONED_IN_A_ROW: u32 = 5;

/// How the machine behaves where the plan is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a host may be away before the attempt it holds is given up.
    pub host_grace: Span,
}

impl Default for Settings {
    fn default() -> Self {
        Self { host_grace: Span::from_secs(60) }
    }
}

/// What is asked of the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// The process started.
    Start,
    /// Take an experiment.
    Submit {
        /// Its new id.
        experiment: ExperimentId,
        /// Every run of it.
        plan: Arc<Plan>,
        /// Who asks.
        by: String,
        /// Take it even when the pool is too small for it now.
        wait_for_hosts: bool,
    },
    /// Give out no runs of it for now.
    Pause(Request),
    /// Go on with it.
    Resume(Request),
    /// Give out no further runs of it.
    Cancel(Request),
    /// Append runs to it.
    Extend {
        /// Which, and who asks.
        request: Request,
        /// How many further runs of each cell.
        more: u32,
    },
    /// An agent connected.
    Join {
        /// What it says of its host.
        facts: HostFacts,
        /// Which agent.
        agent: AgentId,
        /// Which start of it.
        epoch: AgentEpoch,
    },
    /// An agent's connection ended.
    Leave(Speaker),
    /// An agent wants work.
    Ask(Speaker),
    /// An agent begins a run.
    Started {
        /// Who.
        speaker: Speaker,
        /// Under which lease.
        lease: LeaseEpoch,
    },
    /// An agent reports an attempt.
    Report {
        /// Who.
        speaker: Speaker,
        /// What.
        report: Box<Report>,
    },
    /// Time passed.
    Tick,
}

/// Something asked for an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which.
    pub experiment: ExperimentId,
    /// Who asks.
    pub by: String,
}

/// The agent that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// For which host.
    pub host: HostId,
    /// Which start of it.
    pub epoch: AgentEpoch,
}

/// What the shell has to do once the events are durable.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send the host its work.
    Grant {
        /// The lease.
        lease: Lease,
        /// The plan it belongs to.
        plan: Arc<Plan>,
    },
    /// Tell the host that the report is kept.
    Acknowledge {
        /// To whom.
        host: HostId,
        /// Whose report.
        lease: LeaseEpoch,
    },
}

/// Why a command was refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No active experiment has this id.
    #[error("no active experiment has the id {0}")]
    NotActive(ExperimentId),
    /// There is one with this id already.
    #[error("there is an experiment {0} already")]
    Exists(ExperimentId),
    /// Too many are active.
    #[error("{MAX_ACTIVE} experiments are active already")]
    TooManyActive,
    /// It was cancelled.
    #[error("experiment {0} was cancelled")]
    Cancelled(ExperimentId),
    /// More runs than an experiment may have.
    #[error("{runs} runs are more than the {max} an experiment may have")]
    TooManyRuns {
        /// How many there would be.
        runs: u64,
        /// How many there may be.
        max: u64,
    },
    /// The pool cannot satisfy the plan's policy.
    #[error("the plan needs {needed} fresh hosts, the pool has {here}")]
    PoolTooSmall {
        /// How many fresh hosts the plan needs.
        needed: u32,
        /// How many are connected.
        here: u32,
    },
    /// Another agent serves the host.
    #[error("host {host} is served by another agent ({agent}) already")]
    HostClaimed {
        /// The host.
        host: HostId,
        /// Who serves it.
        agent: AgentId,
    },
    /// A later start of the agent is known.
    #[error("host {host} was served by agent start {known} already, {claimed} is older")]
    StaleAgent {
        /// The host.
        host: HostId,
        /// The latest known start.
        known: AgentEpoch,
        /// The one that was claimed.
        claimed: AgentEpoch,
    },
    /// Too many hosts.
    #[error("{MAX_HOSTS} hosts are known already")]
    TooManyHosts,
    /// The host has not joined, or its agent started anew since.
    #[error("host {0} has not joined with this agent start")]
    NotJoined(HostId),
    /// A report for a lease that was never given to this agent.
    #[error("lease {lease} was never given to this start of the agent of host {host}")]
    NotYourLease {
        /// Who reported.
        host: HostId,
        /// For which lease.
        lease: LeaseEpoch,
    },
}

impl Refusal {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::PoolTooSmall { .. } => Some(
                "start more agents, or submit with --wait-for-hosts, or set policy = \"any\" in [independence], \
                 which gives up independence",
            ),
            Self::HostClaimed { .. } => {
                Some("stop the other agent, or give this one its own --host-id if it is another machine")
            }
            Self::NotActive(_) => {
                Some("`speedup list` shows the experiments; a finished one cannot be changed")
            }
            Self::TooManyActive => Some("wait for some to finish, or cancel some"),
            Self::Exists(_)
            | Self::Cancelled(_)
            | Self::TooManyRuns { .. }
            | Self::StaleAgent { .. }
            | Self::TooManyHosts
            | Self::NotJoined(_)
            | Self::NotYourLease { .. } => None,
        }
    }
}

/// What came of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What changed; the machine has evolved already.
    pub events: Vec<Event>,
    /// What to do once the kept events are durable.
    pub effects: Vec<Effect>,
    /// Attempts that ended, for the index.
    pub ended: Vec<EndedAttempt>,
}

/// An experiment that is not finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    plan: Arc<Plan>,
    submitted: Timestamp,
    by: String,
    phase: Phase,
    states: Vec<RunState>,
    queue: Queue,
    tally: Tally,
    /// Hosts on which a run was tried before, for runs that lost an attempt.
    tried: BTreeMap<u32, Vec<HostNumber>>,
    abandoned_in_a_row: u32,
}

/// What may happen to an active experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its runs are given out.
    Running,
    /// None is given out until it is resumed.
    Paused {
        /// Why.
        reason: String,
    },
    /// None is given out any more; those under way end.
    Cancelled,
}

impl Active {
    /// Every run of it.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// When it was submitted, and by whom.
    pub fn submitted(&self) -> (Timestamp, &str) {
        (self.submitted, &self.by)
    }

    /// What may happen to it.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// How many runs are in which state.
    pub fn tally(&self) -> Tally {
        self.tally
    }
}

/// The coordinator's machine.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Machine {
    settings: Settings,
    latest: Timestamp,
    experiments: BTreeMap<ExperimentId, Active>,
    hosts: Vec<Host>,
    numbers: BTreeMap<HostId, HostNumber>,
    /// Hosts that hold a lease, by when it is given up.
    deadlines: BTreeSet<(Timestamp, HostNumber)>,
    /// Asking hosts that are to be looked at.
    asking: BTreeSet<HostNumber>,
    /// Asking hosts that nothing suited.
    in_vain: BTreeSet<HostNumber>,
    here: u32,
    superseded: BTreeMap<LeaseEpoch, Superseded>,
    next_lease: u64,
}

impl Machine {
    /// A machine that knows nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Decides a command, evolves, and follows up. A refusal changes nothing.
    pub fn handle(&mut self, now: Timestamp, command: Command) -> Result<Outcome, Refusal> {
        let now = now.max(self.latest);
        let (events, effects) = self.decide(now, command)?;
        let mut outcome =
            Outcome { events: Vec::with_capacity(events.len() + 2), effects, ended: Vec::new() };
        for event in events {
            self.take(event, &mut outcome);
        }
        while let Some((event, effect)) = self.follow_up(now) {
            outcome.effects.extend(effect);
            self.take(event, &mut outcome);
        }
        Ok(outcome)
    }

    /// Replays one event of the journal.
    pub fn replay(&mut self, event: &Event) {
        self.evolve(event);
    }

    fn take(&mut self, event: Event, outcome: &mut Outcome) {
        outcome.ended.extend(self.ended_by(&event));
        self.evolve(&event);
        outcome.events.push(event);
    }

    /// When [`Command::Tick`] is due.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The latest time an event carries: time may not go on from before it.
    pub fn latest(&self) -> Timestamp {
        self.latest
    }

    /// The ids of the active experiments.
    pub fn active(&self) -> impl Iterator<Item = ExperimentId> + '_ {
        self.experiments.keys().copied()
    }

    /// An active experiment.
    pub fn experiment(&self, id: ExperimentId) -> Option<&Active> {
        self.experiments.get(&id)
    }

    /// The next lease that will be given.
    pub fn next_lease(&self) -> LeaseEpoch {
        LeaseEpoch(self.next_lease)
    }

    /// How many hosts are connected.
    pub fn hosts_here(&self) -> u32 {
        self.here
    }

    /// The state of a run of an active experiment.
    pub fn run(&self, id: ExperimentId, run: RunIndex) -> Option<RunState> {
        self.experiments.get(&id)?.states.get(run.0 as usize).copied()
    }

    /// All hosts ever joined.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// A host by its id.
    pub fn host(&self, id: &HostId) -> Option<&Host> {
        self.numbers.get(id).map(|number| &self.hosts[number.0 as usize])
    }

    fn host_at(&self, number: HostNumber) -> &Host {
        &self.hosts[number.0 as usize]
    }

    /// The attempt that an event ends, for the index; ask before the event is replayed.
    pub fn ended_by(&self, event: &Event) -> Option<EndedAttempt> {
        let (host, epoch, end) = match &event.change {
            Change::RunReported { host, lease, record } => {
                (host, lease, AttemptEnd::Reported(record.clone()))
            }
            Change::AttemptLost { host, lease, reason, after } => {
                (host, lease, AttemptEnd::Lost { reason: reason.clone(), after: *after, late: None })
            }
            Change::CoordinatorStarted
            | Change::Submitted { .. }
            | Change::Paused { .. }
            | Change::Resumed { .. }
            | Change::Cancelled { .. }
            | Change::Extended { .. }
            | Change::Finished { .. }
            | Change::HostJoined { .. }
            | Change::HostLeft { .. }
            | Change::HostAsked { .. }
            | Change::HostPassed { .. }
            | Change::LeaseGranted(_)
            | Change::RunStarted { .. }
            | Change::LateReport { .. } => return None,
        };
        let lease = self.host(host)?.lease.clone().filter(|lease| lease.epoch == *epoch)?;
        let cell = self.experiments.get(&lease.experiment)?.plan.cell_number(lease.run);
        Some(EndedAttempt { lease, cell, ended: event.at, end })
    }
}
