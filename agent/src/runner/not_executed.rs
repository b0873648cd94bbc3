//! Why a run was not executed, and who stood in the way.

use speedup_core::{run::Obstacle, run::record::Outcome, value::causes::with_causes};

use super::cut;
use crate::{files::StagingError, limits::NotAllowed};

/// Why a run was not executed.
#[derive(Debug)]
pub(crate) struct NotExecuted {
    pub(super) reason: String,
    /// Who stood in the way.
    pub(super) obstacle: Obstacle,
}

impl NotExecuted {
    /// For want of something that the host has not, or that failed.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), obstacle: Obstacle::Host }
    }

    /// For want of something that the plan asks for: this host may well execute other plans.
    pub(crate) fn through_plan(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), obstacle: Obstacle::Plan }
    }

    /// What the record says.
    pub(super) fn outcome(self) -> Outcome {
        Outcome::NotExecuted { reason: cut(self.reason), obstacle: self.obstacle }
    }
}

impl From<&StagingError> for NotExecuted {
    fn from(error: &StagingError) -> Self {
        let reason = with_causes(error);
        match error {
            StagingError::TooLarge { .. } | StagingError::Differs { .. } => Self::through_plan(reason),
            StagingError::Fetch { .. }
            | StagingError::Put { .. }
            | StagingError::Disk { .. }
            | StagingError::NotUtf8
            | StagingError::Stopped => Self::new(reason),
        }
    }
}

impl From<NotAllowed> for NotExecuted {
    fn from(not: NotAllowed) -> Self {
        match not {
            NotAllowed::Refused(reason) => Self { reason, obstacle: Obstacle::Owner },
            NotAllowed::NotThere(reason) => Self::through_plan(reason),
        }
    }
}
