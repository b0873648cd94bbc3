//! What coordinator and agent say to each other, whatever carries it. Any message may be lost, doubled, late or out of
//! order; the epochs in it tell.

use crate::host::HostFacts;
use crate::run::lease::Lease;
use crate::run::record::Record;
use crate::run::work::WorkOrder;
use crate::value::id::{AgentEpoch, AgentId, Attempt, ExperimentId, LeaseEpoch, RunIndex};

/// What an agent says.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentMessage {
    /// It is there, for this host. The first message of a session.
    Join {
        facts: Box<HostFacts>,
        agent: AgentId,
        epoch: AgentEpoch,
    },
    /// It has nothing to do, and no report that it has not sent in this session.
    Ask,
    /// It is prepared for its part of a run that several hosts serve together, and waits for the others.
    Ready {
        lease: LeaseEpoch,
    },
    /// It begins; silence follows until the run is over.
    Started {
        lease: LeaseEpoch,
    },
    Report(Box<AttemptReport>),
}

/// An attempt is over.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptReport {
    pub lease: LeaseEpoch,
    /// Which start of the agent executed it; an earlier one than the speaker's after a restart.
    pub executed_by: AgentEpoch,
    pub record: Record,
}

/// What the coordinator says.
#[derive(Clone, Debug, PartialEq)]
pub enum CoordinatorMessage {
    Welcome {
        /// The next lease that will be given: what an agent saw from there on was another journal's.
        next_lease: LeaseEpoch,
    },
    /// The host may not join; the session ends.
    TurnedAway {
        reason: String,
        /// The latest known start of its agent, when the claimed one is not later.
        known_epoch: Option<AgentEpoch>,
        /// It would be turned away again and again: a person has to do something first.
        is_lasting: bool,
    },
    Grant(Box<Grant>),
    /// All hosts of the gang are prepared: the agent starts the program.
    Begin {
        lease: LeaseEpoch,
    },
    /// The run of the gang is over, or given up: the agent ends its part.
    End {
        lease: LeaseEpoch,
    },
    /// The host is to boot anew before its next run.
    Reboot {
        reason: String,
    },
    /// The host goes back to the engine that gave it out: the agent ends.
    Dismissed {
        reason: String,
    },
    /// The report is durable; the agent may forget it.
    Acknowledged {
        lease: LeaseEpoch,
    },
    /// The report is refused for good; the agent may forget it.
    Refused {
        lease: LeaseEpoch,
        reason: String,
    },
}

impl CoordinatorMessage {
    /// The agent's host is given back.
    pub fn dismissed() -> Self {
        Self::Dismissed { reason: "no plan needs this host any more: it is given back".to_owned() }
    }
}

/// Work for an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    pub lease: LeaseEpoch,
    /// Which start of the agent it was given to; another does not execute it.
    pub agent_epoch: AgentEpoch,
    /// Of which experiment: its input directory and setup.
    pub experiment: ExperimentId,
    /// Which run, for the logs.
    pub run: RunIndex,
    /// Which try, for the logs.
    pub attempt: Attempt,
    pub order: WorkOrder,
}

impl Grant {
    /// The grant of a lease.
    pub fn new(lease: &Lease, order: WorkOrder) -> Self {
        Self {
            lease: lease.epoch,
            agent_epoch: lease.agent_epoch,
            experiment: lease.experiment,
            run: lease.run,
            attempt: lease.attempt,
            order,
        }
    }
}
