//! The gRPC door of the analysis: reports of what the coordinator's export says, once or as observations arrive; the
//! observations as a table; any of the methods on samples that a request brings; advice on how many runs to plan.
//!
//! It is a client of the coordinator and keeps nothing, so it runs in the coordinator's process ([`routes`]) or on its own
//! ([`start`]). It computes nothing itself: [`speedup_analysis`] does, apart from the event loop and a few at once.
//!
//! In reading order: [`routes`] and [`Service`]; `door` (requests), `reporter` (reports of what the
//! coordinator has), `intake` (an export becomes a study), `watch` (reports as observations arrive), `observations` (the
//! table of them), `compare`, `advise`, `limiter` (how many compute at once); [`Advisor`]
//! (the rules of repetition, applied for the coordinator); [`recompute`] (a report without a coordinator).

mod advise;
mod advisor;
mod compare;
mod door;
mod intake;
mod limiter;
mod observations;
mod reporter;
mod service;
mod watch;

pub use advisor::Advisor;
pub use reporter::recompute;
pub use service::{AnalysisStartError, Options, Service, start};

use speedup_core::{value::causes::with_causes, value::hint::Hinted, value::hint::with_hint};
use speedup_proto::{limits, v1::analysis_server::AnalysisServer, v1::experiments_client::ExperimentsClient};
use speedup_statistics::inference::{ConfidenceLevel, Threshold};
use tonic::{Code, Status, service::Routes, transport::Channel};

/// `routes` with the service `speedup.v1.Analysis`, which asks the coordinator through `coordinator`.
pub fn routes(coordinator: Channel, routes: Routes) -> Routes {
    routes.add_service(service_of(coordinator))
}

/// Applies the rules of the experiments of a coordinator, until the answer is dropped.
///
/// # Panics
/// Outside a tokio runtime.
pub fn advisor(coordinator: Channel, held: impl Send + 'static) -> Advisor {
    Advisor::start(coordinator, held)
}

fn experiments_of(coordinator: Channel) -> ExperimentsClient<Channel> {
    ExperimentsClient::new(coordinator)
        .max_encoding_message_size(limits::MAX_REQUEST_BYTES)
        .max_decoding_message_size(limits::MAX_ANSWER_BYTES)
}

/// The service, which asks the coordinator through a channel.
fn service_of(coordinator: Channel) -> AnalysisServer<door::AnalysisDoor> {
    AnalysisServer::new(door::AnalysisDoor::new(experiments_of(coordinator)))
        .max_decoding_message_size(limits::MAX_REQUEST_BYTES)
        .max_encoding_message_size(limits::MAX_ANSWER_BYTES)
}

/// A confidence level that was given.
pub(crate) fn level(confidence: Option<f64>) -> Result<Option<ConfidenceLevel>, Status> {
    confidence.map(ConfidenceLevel::new).transpose().map_err(|error| invalid(&error))
}

/// A noise threshold that was given.
pub(crate) fn threshold(noise: Option<f64>) -> Result<Threshold, Status> {
    Threshold::new(noise.unwrap_or(0.0)).map_err(|error| invalid(&error))
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
