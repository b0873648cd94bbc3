//! Why the machine refuses a command.

use thiserror::Error;

use super::{MAX_ACTIVE, MAX_EPOCH_LEAD, MAX_HOSTS};
use crate::host::{Identifier, MAX_BOOTS};
use crate::machine::feasibility::Shortage;
use crate::plan::PlanError;
use crate::value::id::{AgentEpoch, AgentId, BootId, ExperimentId, HostId, LeaseEpoch, RunIndex};
use crate::value::time::{Span, Timestamp};

/// Why a command was refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("no active experiment has the id {0}")]
    NotActive(ExperimentId),
    #[error("there is an experiment {0} already")]
    Exists(ExperimentId),
    #[error("{MAX_ACTIVE} experiments are active already")]
    TooManyActive,
    #[error("{most} experiments of {by} are active, which is the share of one user")]
    TooManyOfUser { by: String, most: u64 },
    #[error("experiment {0} was cancelled")]
    Cancelled(ExperimentId),
    #[error("experiment {0} is still building: its runs are planned when all builds are there")]
    Building(ExperimentId),
    #[error("experiment {0} is a bisection: it alone says which runs follow")]
    Bisecting(ExperimentId),
    #[error("run {run} needs {build}, which there is not")]
    NotBuilt { run: RunIndex, build: String },
    #[error("{runs} runs are more than the {max} an experiment may have")]
    TooManyRuns { runs: u64, max: u64 },
    #[error("{runs} runs of a cell are more than the {max} that the experiment's rule allows")]
    BeyondRule { runs: u32, max: u32 },
    #[error("these runs cannot be appended: {0}")]
    Unfit(PlanError),
    #[error("to go on means further runs, but there are none")]
    NothingAppended,
    #[error("experiment {0} awaits no decision of its rule")]
    NotDeciding(ExperimentId),
    #[error(
        "the decision on experiment {experiment} was computed from {computed_from} runs, and it has {runs}"
    )]
    StaleDecision { experiment: ExperimentId, computed_from: u32, runs: u32 },
    #[error("experiment {0} takes hosts of any class")]
    AnyClass(ExperimentId),
    /// The pool cannot satisfy the plan's policy.
    #[error("{0}")]
    PoolTooSmall(Shortage),
    #[error("no host {0} ever joined")]
    UnknownHost(HostId),
    #[error("host {host} is served by another agent ({agent}) already")]
    HostClaimed { host: HostId, agent: AgentId },
    #[error("another machine joined as host {host}: its {by} is {other}")]
    AnotherMachine {
        host: HostId,
        by: Identifier,
        /// What it is on the machine that is known.
        other: String,
    },
    #[error("this machine has joined as host {other}, which has the same {by} id")]
    SameMachine { other: HostId, by: Identifier },
    #[error("host {host} was in boot {boot} before its latest: a boot does not come back")]
    OldBoot { host: HostId, boot: BootId },
    #[error("host {0} has had {MAX_BOOTS} boots or allocations")]
    TooManyBoots(HostId),
    #[error("host {host} was served by agent start {known} already, {claimed} is older")]
    StaleAgent { host: HostId, known: AgentEpoch, claimed: AgentEpoch },
    #[error(
        "the agent of host {host} claims to have started {:.0} days after the coordinator's time, and {:.0} are the most",
        in_days(Timestamp(claimed.0) - *now), in_days(MAX_EPOCH_LEAD)
    )]
    FutureAgent { host: HostId, claimed: AgentEpoch, now: Timestamp },
    #[error("{MAX_HOSTS} hosts are known already")]
    TooManyHosts,
    #[error("host {0} has not joined with this agent start")]
    NotJoined(HostId),
    #[error("lease {lease} was never given to this start of the agent of host {host}")]
    NotYourLease { host: HostId, lease: LeaseEpoch },
}

fn in_days(span: Span) -> f64 {
    span.as_secs_f64() / 86_400.0
}

impl Refusal {
    /// Whether an agent that is refused at its Join would be refused again and again, until a person has done something.
    /// What passes is another connection that is not noticed to be gone yet, and a start that is raised above a later one.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::AnotherMachine { by, .. } => *by == Identifier::Hardware,
            Self::SameMachine { .. }
            | Self::OldBoot { .. }
            | Self::TooManyBoots(_)
            | Self::TooManyHosts
            | Self::FutureAgent { .. } => true,
            Self::HostClaimed { .. }
            | Self::StaleAgent { .. }
            | Self::NotActive(_)
            | Self::Exists(_)
            | Self::TooManyActive
            | Self::TooManyOfUser { .. }
            | Self::Cancelled(_)
            | Self::Building(_)
            | Self::Bisecting(_)
            | Self::NotBuilt { .. }
            | Self::TooManyRuns { .. }
            | Self::BeyondRule { .. }
            | Self::Unfit(_)
            | Self::NothingAppended
            | Self::NotDeciding(_)
            | Self::StaleDecision { .. }
            | Self::AnyClass(_)
            | Self::PoolTooSmall(_)
            | Self::UnknownHost(_)
            | Self::NotJoined(_)
            | Self::NotYourLease { .. } => false,
        }
    }

    /// The latest known start of the agent, where the claimed one is not later.
    pub fn known_epoch(&self) -> Option<AgentEpoch> {
        if let Self::StaleAgent { known, .. } = self { Some(*known) } else { None }
    }
}

crate::hints! { Refusal:
    Self::PoolTooSmall(shortage) => shortage.hint(),
    Self::HostClaimed { .. } =>
        "stop the other agent, or give this one its own --host-id if it is another machine",
    Self::AnotherMachine { .. } =>
        "it may be a copy of that machine's image: give it its own machine id (systemd-machine-id-setup) \
            or --host-id; if the machine was replaced, `speedup hosts reset` releases its id",
    Self::SameMachine { .. } =>
        "one machine is one host: stop the other agent; where several hosts are to be on one machine, start every \
            agent there with --share-machine, and reports say that they were one machine",
    Self::FutureAgent { .. } =>
        "set the clocks of both machines; if the agent's was wrong, start it with a new --state directory",
    Self::OldBoot { .. } => "a machine that was restored from a snapshot has to reboot",
    Self::TooManyBoots(_) => "give it a new --host-id",
    Self::NotActive(_) => "`speedup list` shows the experiments; a finished one cannot be changed",
    Self::UnknownHost(_) => "`speedup hosts list` shows them",
    Self::Building(_) => "extend it when its builds are done; `speedup list` shows its progress",
    Self::Bisecting(_) => "start another bisection with a larger --max-runs",
    Self::TooManyActive | Self::TooManyOfUser { .. } => "wait for some to finish, or cancel some",
}
