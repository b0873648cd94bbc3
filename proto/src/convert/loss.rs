//! The loss of an attempt: why, and what becomes of its run.

use speedup_core::{run::AfterLoss, run::LossReason, value::id::Attempt};

use super::field::chosen;
use super::malformed::{Malformed, Within};
use super::record::{not_executed, reason_and_obstacle};
use crate::v1;
use v1::after_loss::{Abandoned, After, Cancelled};
use v1::loss_reason::{AgentRestarted, Expired, HostLost, JobEnded, Reason};

impl From<&LossReason> for v1::LossReason {
    fn from(reason: &LossReason) -> Self {
        let reason = match reason {
            LossReason::Expired => Reason::Expired(Expired {}),
            LossReason::HostLost => Reason::HostLost(HostLost {}),
            LossReason::AgentRestarted => Reason::AgentRestarted(AgentRestarted {}),
            LossReason::JobEnded { words } => Reason::JobEnded(JobEnded { words: words.clone() }),
            LossReason::NotExecuted { reason, obstacle } => {
                Reason::NotExecuted(not_executed(reason, *obstacle))
            }
        };
        Self { reason: Some(reason) }
    }
}

impl TryFrom<v1::LossReason> for LossReason {
    type Error = Malformed;

    fn try_from(wire: v1::LossReason) -> Result<Self, Malformed> {
        Ok(match chosen(wire.reason, "reason")? {
            Reason::Expired(Expired {}) => Self::Expired,
            Reason::HostLost(HostLost {}) => Self::HostLost,
            Reason::AgentRestarted(AgentRestarted {}) => Self::AgentRestarted,
            Reason::JobEnded(JobEnded { words }) => Self::JobEnded { words },
            Reason::NotExecuted(wire) => {
                let (reason, obstacle) = reason_and_obstacle(wire).within("not_executed")?;
                Self::NotExecuted { reason, obstacle }
            }
        })
    }
}

impl From<AfterLoss> for v1::AfterLoss {
    fn from(after: AfterLoss) -> Self {
        let after = match after {
            AfterLoss::Again(attempt) => After::AgainAttempt(attempt.0),
            AfterLoss::Abandoned => After::Abandoned(Abandoned {}),
            AfterLoss::Cancelled => After::Cancelled(Cancelled {}),
        };
        Self { after: Some(after) }
    }
}

impl TryFrom<v1::AfterLoss> for AfterLoss {
    type Error = Malformed;

    fn try_from(wire: v1::AfterLoss) -> Result<Self, Malformed> {
        Ok(match chosen(wire.after, "after")? {
            After::AgainAttempt(attempt) => Self::Again(Attempt(attempt)),
            After::Abandoned(Abandoned {}) => Self::Abandoned,
            After::Cancelled(Cancelled {}) => Self::Cancelled,
        })
    }
}
