//! Input and output of the machine: commands, which it may refuse, notices, which it may not, and
//! effects for the shell.

use std::sync::Arc;

use crate::machine::{event::RequestKey, provision::EngineNote};
use crate::plan::{Extension, Plan};
use crate::value::{id::AgentEpoch, id::AgentId, id::ExperimentId, id::HostId, id::JobId, id::LeaseEpoch};
use crate::{agent::message::AttemptReport, host::HostFacts, run::lease::Lease};

/// Request to the machine, which it may refuse.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Submit {
        experiment: ExperimentId,
        plan: Arc<Plan>,
        by: String,
        /// Whether to accept it even if the pool is too small now.
        wait_for_hosts: bool,
        /// Key of the request, if the client may repeat it.
        request: Option<RequestKey>,
    },
    /// Give out no runs of the experiment until it is resumed.
    Pause(Request),
    Resume(Request),
    /// Give out no further runs of the experiment.
    Cancel(Request),
    Extend {
        request: Request,
        /// Number of further runs of each cell.
        more: u32,
    },
    /// Decide for the rule of an experiment whether its runs are enough.
    Decide {
        /// Experiment, and who decides.
        request: Request,
        /// Number of runs that the plan had when this was computed; another number makes the decision stale.
        from: u32,
        decision: Decision,
        words: String,
    },
    /// Accept hosts of the class of this host for the experiment as well.
    Approve {
        /// Experiment, and who asks.
        request: Request,
        host: HostId,
    },
    /// Give a host no more runs.
    Drain(HostRequest),
    /// Give a host no more runs, because something is wrong with it.
    Quarantine {
        /// Which, and who asks.
        request: HostRequest,
        reason: String,
    },
    /// Give a host runs again.
    ResumeHost(HostRequest),
    /// Release a host id from its machine and agent: the next agent to join with it is the host.
    ResetHost(HostRequest),
    Join {
        facts: HostFacts,
        agent: AgentId,
        epoch: AgentEpoch,
    },
    /// An agent asks for work.
    Ask(Speaker),
    /// An agent of a gang is prepared and waits for the others.
    Ready {
        speaker: Speaker,
        lease: LeaseEpoch,
    },
    /// An agent starts a run.
    Started {
        speaker: Speaker,
        lease: LeaseEpoch,
    },
    Report {
        speaker: Speaker,
        report: Box<AttemptReport>,
    },
}

/// Something that happened, which the machine cannot refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    Start,
    /// An agent's connection ended.
    Leave(Speaker),
    /// The engine reports the end of the job in which a host's agent ran: there is nothing to wait for.
    JobEnded {
        host: HostId,
        job: JobId,
        words: String,
        /// Whether the engine ended it for others' sake.
        is_excused: bool,
    },
    /// Note for the event log on an engine.
    Engine(EngineNote),
    /// Time passed: hosts lose what is due, and others may have rested.
    Tick,
    /// Time passed, and hosts may have rested; none loses anything.
    Rest,
}

/// Decision of a rule on the runs so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Enough,
    /// Append these runs.
    Extend(Extension),
}

/// User request concerning an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub experiment: ExperimentId,
    pub by: String,
}

/// User request concerning a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRequest {
    pub host: HostId,
    pub by: String,
}

/// Sender of an agent's message, by host and start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    pub host: HostId,
    pub epoch: AgentEpoch,
}

/// Action of the shell once the events are durable.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send the host its work.
    Grant { lease: Box<Lease>, plan: Arc<Plan> },
    /// Tell the host that all hosts of its gang are prepared: it starts the program.
    Begin { host: HostId, lease: LeaseEpoch },
    /// Tell the host that the run of its gang is over, or given up: it ends its part.
    End { host: HostId, lease: LeaseEpoch },
    /// Have the agent of the host say again what it has reported and what was not acknowledged.
    Remind { host: HostId },
    /// Tell the host that the report is kept.
    Acknowledge { host: HostId, lease: LeaseEpoch },
    /// Tell the host to boot anew.
    Reboot { host: HostId, reason: String },
    /// Tell the agent of a host that goes back to its engine to end.
    Dismiss { host: HostId },
}
