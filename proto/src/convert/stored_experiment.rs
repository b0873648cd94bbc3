//! What the store holds of an experiment.

use std::sync::Arc;

use speedup_core::plan::Plan;

use super::field::required;
use super::malformed::Malformed;
use super::status::ExperimentStatus;
use crate::journal::v1 as journal;

/// What the store holds of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredExperiment {
    /// Every run of it.
    pub plan: Arc<Plan>,
    /// How it stood when it was stored.
    pub status: ExperimentStatus,
}

impl From<&StoredExperiment> for journal::StoredExperiment {
    fn from(stored: &StoredExperiment) -> Self {
        Self { plan: Some(stored.plan.as_ref().into()), status: Some((&stored.status).into()) }
    }
}

impl TryFrom<journal::StoredExperiment> for StoredExperiment {
    type Error = Malformed;

    fn try_from(wire: journal::StoredExperiment) -> Result<Self, Malformed> {
        let plan: Plan = required(wire.plan, "plan")?;
        Ok(Self { plan: Arc::new(plan), status: required(wire.status, "status")? })
    }
}
