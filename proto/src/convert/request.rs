//! What users ask for. Who asks is cut to what a log line bears.

use speedup_core::experiment::Experiment;
use speedup_core::machine::{Command, Decision, Request};
use speedup_core::plan::Extension;
use speedup_core::value::id::ExperimentId;

use super::field::{by, chosen, reason, required};
use super::id::experiment_id;
use super::malformed::Malformed;
use super::plan::order;
use crate::v1;
use v1::decide_request::{Decision as WireDecision, Enough};

/// An experiment that is submitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The experiment, not yet checked.
    pub experiment: Experiment,
    /// Take it even when the pool is too small for it now.
    pub wait_for_hosts: bool,
    /// Who asks.
    pub by: String,
}

impl From<&Submission> for v1::SubmitRequest {
    fn from(submission: &Submission) -> Self {
        let Submission { experiment, wait_for_hosts, by } = submission;
        Self { experiment: Some(experiment.into()), wait_for_hosts: *wait_for_hosts, by: by.clone() }
    }
}

impl TryFrom<v1::SubmitRequest> for Submission {
    type Error = Malformed;

    fn try_from(wire: v1::SubmitRequest) -> Result<Self, Malformed> {
        let experiment = required(wire.experiment, "experiment")?;
        Ok(Self { experiment, wait_for_hosts: wire.wait_for_hosts, by: by(wire.by) })
    }
}

impl TryFrom<v1::CheckRequest> for Experiment {
    type Error = Malformed;

    fn try_from(wire: v1::CheckRequest) -> Result<Self, Malformed> {
        required(wire.experiment, "experiment")
    }
}

impl TryFrom<v1::GetRequest> for ExperimentId {
    type Error = Malformed;

    fn try_from(wire: v1::GetRequest) -> Result<Self, Malformed> {
        experiment_id(&wire.experiment, "experiment")
    }
}

impl TryFrom<v1::ChangeRequest> for Request {
    type Error = Malformed;

    fn try_from(wire: v1::ChangeRequest) -> Result<Self, Malformed> {
        Ok(Self { experiment: experiment_id(&wire.experiment, "experiment")?, by: by(wire.by) })
    }
}

/// The command that says whether the runs of an experiment are enough.
impl TryFrom<v1::DecideRequest> for Command {
    type Error = Malformed;

    fn try_from(wire: v1::DecideRequest) -> Result<Self, Malformed> {
        let experiment = experiment_id(&wire.experiment, "experiment")?;
        let decision = match chosen(wire.decision, "decision")? {
            WireDecision::Enough(Enough {}) => Decision::Enough,
            WireDecision::Extension(v1::Extension { order: runs, shape }) => Decision::Extend(Extension {
                order: order(runs, "extension.order")?,
                shape: required(shape, "extension.shape")?,
            }),
        };
        let request = Request { experiment, by: by(wire.by) };
        Ok(Self::Decide { request, from: wire.from, decision, words: reason(wire.words) })
    }
}

/// What a rule says, on its way to the coordinator.
impl From<Decision> for WireDecision {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Enough => Self::Enough(Enough {}),
            Decision::Extend(Extension { order, shape }) => {
                Self::Extension(v1::Extension { order, shape: Some(shape.into()) })
            }
        }
    }
}

/// The command to append runs.
impl TryFrom<v1::ExtendRequest> for Command {
    type Error = Malformed;

    fn try_from(wire: v1::ExtendRequest) -> Result<Self, Malformed> {
        let experiment = experiment_id(&wire.experiment, "experiment")?;
        Ok(Self::Extend { request: Request { experiment, by: by(wire.by) }, more: wire.runs })
    }
}
