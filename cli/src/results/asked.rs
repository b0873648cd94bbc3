//! The report of an experiment, as the coordinator's analysis makes it.

use speedup_core::value::id::ExperimentId;
use speedup_proto::{convert::id_text, v1};

use crate::{connection::Connection, exit::failure::Failure};

/// What is asked of a report besides its experiment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) confidence: Option<f64>,
    /// The slowdown that gates ignore.
    pub(crate) noise_threshold: Option<f64>,
    pub(crate) mixtures: bool,
    pub(crate) figures: bool,
}

/// The report of an experiment, as JSON.
pub(crate) async fn report(
    connection: &Connection,
    experiment: ExperimentId,
    wanted: Wanted,
) -> Result<String, Failure> {
    let Wanted { confidence, noise_threshold, mixtures, figures } = wanted;
    let request = v1::ReportRequest {
        experiment: id_text(experiment.0),
        confidence,
        noise_threshold,
        mixtures,
        figures,
        ..Default::default()
    };
    let answer = connection.analysis().report(request).await;
    let answer = answer.map_err(|status| Failure::status("cannot make the report", &status))?;
    Ok(answer.into_inner().json)
}
