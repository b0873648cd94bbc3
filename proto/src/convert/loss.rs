//! The loss of an attempt: why, and what becomes of its run.

use speedup_core::run::{AfterLoss, LossReason};

use super::malformed::{Malformed, Within};
use super::record::{not_executed, reason_and_obstacle};
use super::wire::oneof;
use crate::v1;
use v1::after_loss::{Abandoned, After, Cancelled};
use v1::loss_reason::{AgentRestarted, Expired, HostLost, JobEnded, Reason};

oneof!(LossReason, v1::LossReason { reason: Reason }, [
    Expired = Expired(Expired {}),
    HostLost = HostLost(HostLost {}),
    AgentRestarted = AgentRestarted(AgentRestarted {}),
    JobEnded { words } = JobEnded(JobEnded { words }),
], by hand [NotExecuted { reason, obstacle } = NotExecuted(not_executed, not_executed_in)]);

fn not_executed_in(wire: v1::NotExecuted) -> Result<LossReason, Malformed> {
    let (reason, obstacle) = reason_and_obstacle(wire).within("not_executed")?;
    Ok(LossReason::NotExecuted { reason, obstacle })
}

oneof! {
    AfterLoss, v1::AfterLoss { after: After }, [
        Again(attempt) = AgainAttempt(attempt),
        Abandoned = Abandoned(Abandoned {}),
        Cancelled = Cancelled(Cancelled {}),
    ]
}
