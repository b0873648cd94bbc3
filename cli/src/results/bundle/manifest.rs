//! What a bundle says of itself.

use serde::{Deserialize, Serialize};
use speedup_core::value::id::ExperimentId;
use speedup_proto::{convert::id_text, v1};

use crate::results::report::ReportOptions;

/// The version of the bundle's shape.
pub(crate) const SCHEMA_VERSION: u32 = 1;
/// The release of this command.
pub(crate) const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// The first file of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    pub(crate) release: String,
    pub(crate) experiment: ExperimentId,
    pub(crate) name: String,
    /// All randomness of the plan comes from here.
    pub(crate) seed: u64,
    pub(crate) report: Asked,
    /// The other files, in their order.
    pub(crate) files: Vec<Listed>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// Another confidence level than the plan's.
    pub(crate) confidence: Option<f64>,
    /// Whether the clusters of every cell are described.
    pub(crate) mixtures: bool,
    /// Whether it has what plots are drawn from.
    pub(crate) figures: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) blake3: String,
}

impl Listed {
    pub(crate) fn new(name: &str, content: &[u8]) -> Self {
        let blake3 = blake3::hash(content).to_hex().to_string();
        Self { name: name.to_owned(), bytes: content.len() as u64, blake3 }
    }
}

impl From<ReportOptions> for Asked {
    fn from(ReportOptions { confidence, noise_threshold: _, mixtures, figures }: ReportOptions) -> Self {
        Self { confidence, mixtures, figures }
    }
}

impl Asked {
    /// As the analysis is asked.
    pub(crate) fn request(self, experiment: ExperimentId) -> v1::ReportRequest {
        let Self { confidence, mixtures, figures } = self;
        v1::ReportRequest {
            experiment: id_text(experiment.0),
            confidence,
            mixtures,
            figures,
            ..Default::default()
        }
    }
}
