//! What agent and coordinator say to each other. A message is made to be sent, so it is moved; a report is also kept
//! in the outbox, so it can be borrowed.

use prost::Message as _;
use speedup_core::agent::message::{AgentMessage, AttemptReport, CoordinatorMessage, Grant};
use speedup_core::host::HostFacts;
use speedup_core::value::id::{AgentEpoch, Attempt, LeaseEpoch, RunIndex};

use super::field::{chosen, reason, required};
use super::id::{agent_id, experiment_id, id_bytes};
use super::malformed::{Malformed, Why, Within};
use super::{encoded_record, read_record};
use crate::{encoded, v1};
use v1::{agent_message::Message as FromAgent, coordinator_message::Message as FromCoordinator};

impl From<AgentMessage> for v1::AgentMessage {
    fn from(message: AgentMessage) -> Self {
        let message = match message {
            AgentMessage::Join { facts, agent, epoch } => FromAgent::Join(Box::new(v1::Join {
                facts: Some(facts.as_ref().into()),
                agent: id_bytes(agent.0),
                agent_epoch: epoch.0,
            })),
            AgentMessage::Ask => FromAgent::Ask(v1::Ask {}),
            AgentMessage::Ready { lease } => FromAgent::Ready(v1::Ready { lease: lease.0 }),
            AgentMessage::Started { lease } => FromAgent::Started(v1::Started { lease: lease.0 }),
            AgentMessage::Report(report) => FromAgent::Report(report.as_ref().into()),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<v1::AgentMessage> for AgentMessage {
    type Error = Malformed;

    fn try_from(wire: v1::AgentMessage) -> Result<Self, Malformed> {
        match chosen(wire.message, "message")? {
            FromAgent::Join(join) => (*join).try_into().within("join"),
            FromAgent::Ask(v1::Ask {}) => Ok(Self::Ask),
            FromAgent::Ready(v1::Ready { lease }) => Ok(Self::Ready { lease: LeaseEpoch(lease) }),
            FromAgent::Started(v1::Started { lease }) => Ok(Self::Started { lease: LeaseEpoch(lease) }),
            FromAgent::Report(report) => {
                report.try_into().map(|report| Self::Report(Box::new(report))).within("report")
            }
        }
    }
}

impl TryFrom<v1::Join> for AgentMessage {
    type Error = Malformed;

    fn try_from(wire: v1::Join) -> Result<Self, Malformed> {
        let facts: HostFacts = required(wire.facts, "facts")?;
        let agent = agent_id(&wire.agent, "agent")?;
        Ok(Self::Join { facts: Box::new(facts), agent, epoch: AgentEpoch(wire.agent_epoch) })
    }
}

impl From<&AttemptReport> for encoded::SentReport {
    fn from(AttemptReport { lease, executed_by, record }: &AttemptReport) -> Self {
        let record = Some(encoded_record(record).into());
        Self { lease: lease.0, executed_by: executed_by.0, record }
    }
}

impl TryFrom<encoded::SentReport> for AttemptReport {
    type Error = Malformed;

    fn try_from(wire: encoded::SentReport) -> Result<Self, Malformed> {
        let record = wire.record.ok_or_else(|| Malformed::new("record", Why::Missing))?;
        Ok(Self {
            lease: LeaseEpoch(wire.lease),
            executed_by: AgentEpoch(wire.executed_by),
            record: read_record(&record).within("record")?,
        })
    }
}

impl From<CoordinatorMessage> for v1::CoordinatorMessage {
    fn from(message: CoordinatorMessage) -> Self {
        let message = match message {
            CoordinatorMessage::Welcome { next_lease } => {
                FromCoordinator::Welcome(v1::Welcome { next_lease: next_lease.0 })
            }
            CoordinatorMessage::TurnedAway { reason, known_epoch, is_lasting } => {
                let known_epoch = known_epoch.map(|epoch| epoch.0);
                FromCoordinator::TurnedAway(v1::TurnedAway { reason, known_epoch, is_lasting })
            }
            CoordinatorMessage::Grant(grant) => FromCoordinator::Grant((*grant).into()),
            CoordinatorMessage::Begin { lease } => FromCoordinator::Begin(v1::Begin { lease: lease.0 }),
            CoordinatorMessage::End { lease } => FromCoordinator::End(v1::End { lease: lease.0 }),
            CoordinatorMessage::Reboot { reason } => FromCoordinator::Reboot(v1::Reboot { reason }),
            CoordinatorMessage::Dismissed { reason } => FromCoordinator::Dismissed(v1::Dismissed { reason }),
            CoordinatorMessage::Acknowledged { lease } => {
                FromCoordinator::Acknowledged(v1::Acknowledged { lease: lease.0 })
            }
            CoordinatorMessage::Refused { lease, reason } => {
                FromCoordinator::Refused(v1::Refused { lease: lease.0, reason })
            }
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<v1::CoordinatorMessage> for CoordinatorMessage {
    type Error = Malformed;

    fn try_from(wire: v1::CoordinatorMessage) -> Result<Self, Malformed> {
        Ok(match chosen(wire.message, "message")? {
            FromCoordinator::Welcome(v1::Welcome { next_lease }) => {
                Self::Welcome { next_lease: LeaseEpoch(next_lease) }
            }
            FromCoordinator::TurnedAway(v1::TurnedAway { reason: text, known_epoch, is_lasting }) => {
                Self::TurnedAway {
                    reason: reason(text),
                    known_epoch: known_epoch.map(AgentEpoch),
                    is_lasting,
                }
            }
            FromCoordinator::Grant(grant) => Self::Grant(Box::new(grant.try_into().within("grant")?)),
            FromCoordinator::Begin(v1::Begin { lease }) => Self::Begin { lease: LeaseEpoch(lease) },
            FromCoordinator::End(v1::End { lease }) => Self::End { lease: LeaseEpoch(lease) },
            FromCoordinator::Reboot(v1::Reboot { reason: text }) => Self::Reboot { reason: reason(text) },
            FromCoordinator::Dismissed(v1::Dismissed { reason: text }) => {
                Self::Dismissed { reason: reason(text) }
            }
            FromCoordinator::Acknowledged(v1::Acknowledged { lease }) => {
                Self::Acknowledged { lease: LeaseEpoch(lease) }
            }
            FromCoordinator::Refused(v1::Refused { lease, reason: text }) => {
                Self::Refused { lease: LeaseEpoch(lease), reason: reason(text) }
            }
        })
    }
}

impl From<Grant> for encoded::SentGrant {
    fn from(grant: Grant) -> Self {
        let Grant { lease, agent_epoch, experiment, run, attempt, order } = grant;
        Self {
            lease: lease.0,
            agent_epoch: agent_epoch.0,
            experiment: id_bytes(experiment.0),
            run: run.0,
            attempt: attempt.0,
            order: Some(v1::WorkOrder::from(order).encode_to_vec().into()),
        }
    }
}

impl TryFrom<encoded::SentGrant> for Grant {
    type Error = Malformed;

    fn try_from(wire: encoded::SentGrant) -> Result<Self, Malformed> {
        let order = wire.order.ok_or_else(|| Malformed::new("order", Why::Missing))?;
        let order = v1::WorkOrder::decode(order).map_err(|error| Malformed::new("order", error))?;
        Ok(Self {
            lease: LeaseEpoch(wire.lease),
            agent_epoch: AgentEpoch(wire.agent_epoch),
            experiment: experiment_id(&wire.experiment, "experiment")?,
            run: RunIndex(wire.run),
            attempt: Attempt(wire.attempt),
            order: order.try_into().within("order")?,
        })
    }
}
