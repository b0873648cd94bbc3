//! Requests of users. The name of a requester is cut to a length that fits a log line.

use speedup_core::experiment::Experiment;
use speedup_core::machine::{Command, Decision, Request};
use speedup_core::plan::Extension;
use speedup_core::value::id::ExperimentId;
use uuid::Uuid;

use super::experiment::plan;
use super::wire::field::{by, chosen, reason, required};
use super::wire::id::{experiment_named, id_text, uuid};
use super::wire::malformed::Malformed;
use super::wire::{Cut, Wire, oneof, structure, wire};
use crate::{limits::MAX_BY_BYTES, v1};
use v1::check_request::Plan as CheckedPlan;
use v1::decide_request::{Decision as WireDecision, Enough};
use v1::submit_request::Plan as SubmittedPlan;

/// A plan as it is submitted or checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Proposal {
    /// An experiment with all defaults filled in, not yet checked.
    Experiment(Box<Experiment>),
    /// The text of a plan file.
    Toml(String),
    Json(String),
}

/// The submission of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    pub plan: Proposal,
    /// Accept the plan even if the pool is too small for it now.
    pub wait_for_hosts: bool,
    pub by: String,
    /// The id of the request, if it may be repeated.
    pub request: Option<Uuid>,
}

structure!(
    Submission,
    v1::SubmitRequest,
    [plan, request = request_id, wait_for_hosts, by => Cut(MAX_BY_BYTES)]
);
oneof! {
    Proposal, SubmittedPlan, [
        Experiment(experiment) = Experiment(experiment),
        Toml(text) = Toml(text),
        Json(text) = Json(text),
    ]
}

wire! {
    Option<Uuid> as String:
        |request| request.map(id_text).unwrap_or_default(),
        |text, field| (!text.is_empty()).then(|| uuid(&text, field)).transpose();
}

impl TryFrom<v1::CheckRequest> for Proposal {
    type Error = Malformed;

    fn try_from(wire: v1::CheckRequest) -> Result<Self, Malformed> {
        let plan = wire.plan.map(|plan| match plan {
            CheckedPlan::Experiment(experiment) => SubmittedPlan::Experiment(experiment),
            CheckedPlan::Toml(text) => SubmittedPlan::Toml(text),
            CheckedPlan::Json(text) => SubmittedPlan::Json(text),
        });
        Self::from_wire(plan, "plan")
    }
}

impl TryFrom<v1::GetRequest> for ExperimentId {
    type Error = Malformed;

    fn try_from(wire: v1::GetRequest) -> Result<Self, Malformed> {
        experiment_named(&wire.experiment, "experiment")
    }
}

structure!(Request, v1::ChangeRequest, [experiment, by => Cut(MAX_BY_BYTES)]);

/// The command that decides whether the runs of an experiment are enough.
impl TryFrom<v1::DecideRequest> for Command {
    type Error = Malformed;

    fn try_from(wire: v1::DecideRequest) -> Result<Self, Malformed> {
        let experiment = experiment_named(&wire.experiment, "experiment")?;
        let decision = match chosen(wire.decision, "decision")? {
            WireDecision::Enough(Enough {}) => Decision::Enough,
            WireDecision::Extension(extension) => Decision::Extend(required(Some(extension), "extension")?),
        };
        let request = Request { experiment, by: by(wire.by) };
        Ok(Self::Decide { request, from: wire.from, decision, words: reason(wire.words) })
    }
}

/// The decision of a stopping rule, as it is sent to the coordinator.
impl From<Decision> for WireDecision {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Enough => Self::Enough(Enough {}),
            Decision::Extend(extension) => Self::Extension(extension.into()),
        }
    }
}

structure!(Extension, v1::Extension, [order => (Vec::clone, plan::order), shape]);

/// The command to append runs.
impl TryFrom<v1::ExtendRequest> for Command {
    type Error = Malformed;

    fn try_from(wire: v1::ExtendRequest) -> Result<Self, Malformed> {
        let experiment = experiment_named(&wire.experiment, "experiment")?;
        Ok(Self::Extend { request: Request { experiment, by: by(wire.by) }, more: wire.runs })
    }
}
