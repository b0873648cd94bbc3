//! The answer as one JSON value.

use serde::Serialize;
use speedup_analysis::conclusion::Warning;
use speedup_analysis::inquiry::configured::{
    BenchmarkAnswer, BenchmarkState, ConfiguredAnswer, MeansOfSpeedups, OverallGain,
};
use speedup_analysis::inquiry::{AcceleratedShare, SpeedupTestMode};
use speedup_core::experiment::Weights;
use speedup_statistics::inference::{ConfidenceLevel, Interval};
use speedup_statistics::ratio::{SpeedupMeans, Summary};

use super::warning::{of_benchmark, of_configuration};

/// Its version; it changes when a field changes its name or meaning.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct WrittenAnswer<'a> {
    schema_version: u32,
    configuration: &'a str,
    mode: SpeedupTestMode,
    legacy_ks: bool,
    confidence: Option<ConfidenceLevel>,
    weights: Weights,
    benchmarks: Vec<WrittenBenchmark<'a>>,
    overall: &'a [OverallGain],
    speedup_means: Vec<WrittenMeans>,
    proportions: &'a [AcceleratedShare<Interval, OverallGain>; 2],
    warnings: Vec<Warning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<&'a Warning>,
}

#[derive(Serialize)]
struct WrittenBenchmark<'a> {
    name: &'a str,
    #[serde(flatten)]
    state: &'a BenchmarkState,
    warnings: Vec<Warning>,
}

#[derive(Serialize)]
struct WrittenMeans {
    by: Summary,
    #[serde(flatten)]
    means: SpeedupMeans,
    caveats: [Warning; 1],
}

/// The value.
pub fn json(answer: &ConfiguredAnswer) -> impl Serialize {
    WrittenAnswer {
        schema_version: SCHEMA_VERSION,
        configuration: &answer.configuration,
        mode: answer.mode,
        legacy_ks: answer.legacy_ks,
        confidence: answer.confidence,
        weights: answer.weights,
        benchmarks: answer.benchmarks.iter().map(WrittenBenchmark::from).collect(),
        overall: &answer.overall,
        speedup_means: answer.speedup_means.iter().map(WrittenMeans::from).collect(),
        proportions: &answer.proportions,
        warnings: answer.warnings.iter().map(of_configuration).collect(),
        order: answer.order.as_ref(),
    }
}

impl<'a> From<&'a BenchmarkAnswer> for WrittenBenchmark<'a> {
    fn from(BenchmarkAnswer { name, state, warnings }: &'a BenchmarkAnswer) -> Self {
        Self { name, state, warnings: warnings.iter().map(of_benchmark).collect() }
    }
}

impl From<&MeansOfSpeedups> for WrittenMeans {
    fn from(&MeansOfSpeedups { by, means }: &MeansOfSpeedups) -> Self {
        Self { by, means, caveats: [Warning::from(&SpeedupMeans::CAVEAT)] }
    }
}
