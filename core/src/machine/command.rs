//! What is asked of the machine, what it is told, and what it has the shell do.

use std::sync::Arc;

use crate::machine::{event::RequestKey, provision::EngineNote};
use crate::plan::{Extension, Plan};
use crate::value::{id::AgentEpoch, id::AgentId, id::ExperimentId, id::HostId, id::JobId, id::LeaseEpoch};
use crate::{agent::message::AttemptReport, host::HostFacts, run::lease::Lease};

/// What is asked of the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Submit {
        experiment: ExperimentId,
        plan: Arc<Plan>,
        by: String,
        /// Take it even when the pool is too small for it now.
        wait_for_hosts: bool,
        /// Which request it is, where it may be repeated.
        request: Option<RequestKey>,
    },
    /// Give out no runs of it for now.
    Pause(Request),
    Resume(Request),
    /// Give out no further runs of it.
    Cancel(Request),
    Extend {
        /// Which, and who asks.
        request: Request,
        /// How many further runs of each cell.
        more: u32,
    },
    /// Say for the rule of an experiment that awaits it whether its runs are enough.
    Decide {
        /// Which, and who says so.
        request: Request,
        /// How many runs the plan had when this was computed.
        from: u32,
        decision: Decision,
        words: String,
    },
    /// Take hosts of the class of this one for the experiment too.
    Approve {
        /// Which experiment, and who asks.
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
    /// Forget which machine and agent a host id belongs to: the next to join with it is the host.
    ResetHost(HostRequest),
    Join {
        facts: HostFacts,
        agent: AgentId,
        epoch: AgentEpoch,
    },
    /// An agent wants work.
    Ask(Speaker),
    /// An agent of a gang is prepared, and waits for the others.
    Ready {
        speaker: Speaker,
        lease: LeaseEpoch,
    },
    /// An agent begins a run.
    Started {
        speaker: Speaker,
        lease: LeaseEpoch,
    },
    Report {
        speaker: Speaker,
        report: Box<AttemptReport>,
    },
}

/// What happened, whatever the machine says to it: nothing of it is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    Start,
    /// An agent's connection ended.
    Leave(Speaker),
    /// The job in which a host's agent lived has ended, by its engine's word: nothing is left to wait for.
    JobEnded {
        host: HostId,
        job: JobId,
        words: String,
        /// Whether the engine ended it for others' sake.
        is_excused: bool,
    },
    /// What the event log is to say of an engine.
    Engine(EngineNote),
    /// Time passed: it takes what is due from hosts, and they may have rested.
    Tick,
    /// Time passed, and takes nothing: hosts may have rested.
    Rest,
}

/// What a rule says of the runs that were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Enough,
    /// These are to be appended.
    Extend(Extension),
}

/// Something asked for an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub experiment: ExperimentId,
    pub by: String,
}

/// Something asked for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRequest {
    pub host: HostId,
    pub by: String,
}

/// The agent that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    pub host: HostId,
    pub epoch: AgentEpoch,
}

/// What the shell has to do once the events are durable.
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
