//! An attempt that ended: a row of the index and of the export.

use std::sync::Arc;

use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::run::record::Record;
use speedup_core::run::{AfterLoss, LossReason};
use speedup_core::value::time::Timestamp;

use super::{field::chosen, field::optional, field::required, malformed::Malformed, malformed::Within};
use crate::v1;
use v1::ended_attempt::{End, Lost};

impl From<&EndedAttempt> for v1::EndedAttempt {
    fn from(attempt: &EndedAttempt) -> Self {
        Self {
            lease: Some((&attempt.lease).into()),
            cell: attempt.cell,
            ended_ns: attempt.ended.0,
            end: Some((&attempt.end).into()),
        }
    }
}

impl TryFrom<v1::EndedAttempt> for EndedAttempt {
    type Error = Malformed;

    fn try_from(wire: v1::EndedAttempt) -> Result<Self, Malformed> {
        Ok(Self {
            lease: required(wire.lease, "lease")?,
            cell: wire.cell,
            ended: Timestamp(wire.ended_ns),
            end: chosen(wire.end, "end")?.try_into()?,
        })
    }
}

impl From<&AttemptEnd> for End {
    fn from(end: &AttemptEnd) -> Self {
        match end {
            AttemptEnd::Reported(record) => Self::Reported(Box::new(record.as_ref().into())),
            AttemptEnd::Lost { reason, after, late } => Self::Lost(lost(reason, *after, late.as_deref())),
        }
    }
}

/// An attempt that was given up.
pub(super) fn lost(reason: &LossReason, after: AfterLoss, late: Option<&Record>) -> Lost {
    Lost { reason: Some(reason.into()), after: Some(after.into()), late: late.map(Into::into) }
}

impl TryFrom<End> for AttemptEnd {
    type Error = Malformed;

    fn try_from(wire: End) -> Result<Self, Malformed> {
        match wire {
            End::Reported(record) => Record::try_from(*record).map(Self::reported).within("reported"),
            End::Lost(lost) => lost.try_into().within("lost"),
        }
    }
}

impl TryFrom<Lost> for AttemptEnd {
    type Error = Malformed;

    fn try_from(wire: Lost) -> Result<Self, Malformed> {
        Ok(Self::Lost {
            reason: required(wire.reason, "reason")?,
            after: required(wire.after, "after")?,
            late: optional(wire.late, "late")?.map(Arc::new),
        })
    }
}
