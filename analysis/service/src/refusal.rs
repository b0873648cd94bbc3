//! What is refused, and what the coordinator refused, as statuses.

use speedup_core::{value::causes::with_causes, value::hint::Hinted, value::hint::with_hint};
use speedup_statistics::inference::ConfidenceLevel;
use tonic::{Code, Status};

/// A confidence level that was given.
pub(crate) fn level(confidence: Option<f64>) -> Result<Option<ConfidenceLevel>, Status> {
    confidence.map(ConfidenceLevel::new).transpose().map_err(|error| invalid(&error))
}

/// What was asked for cannot be meant.
pub(crate) fn invalid(error: &dyn Hinted) -> Status {
    Status::invalid_argument(with_hint(with_causes(error), error.hint()))
}

/// What the coordinator answered, said from here: its refusals pass, its absence is told.
pub(crate) fn from_coordinator(status: &Status) -> Status {
    match status.code() {
        Code::Unavailable | Code::Unknown => Status::unavailable(with_hint(
            format_args!("the analysis cannot reach the coordinator: {}", status.message()),
            Some("is it running?"),
        )),
        code => Status::new(code, status.message()),
    }
}
