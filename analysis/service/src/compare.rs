//! Samples that a request brings become an inquiry.

use speedup_analysis::inquiry::{
    Answer, Inquiry, MOST_VALUES, MOST_VERSIONS, Method, MethodEffort, NamedSample, Preference, Suite,
};
use speedup_core::{value::hint::with_hint, value::seed::Seed};
use speedup_proto::v1::{self, compare_request::Weighting};
use speedup_statistics::{inference::ConfidenceLevel, ratio::BenchmarkWeights, test::Selection};
use tonic::Status;

use crate::{invalid, level, threshold};

/// The longest name of a version or a benchmark: both are often paths.
const MOST_NAME_BYTES: usize = 1 << 10;
/// The longest JSON of a method: every option once, and room for spaces.
const MOST_METHOD_BYTES: usize = 4 << 10;
/// The most benchmarks of a version: as many as an experiment may have.
const MOST_BENCHMARKS: usize = 100_000;
/// Values that all resamples of all mixtures may have: minutes of two processors.
const MOST_RESAMPLED_VALUES: u64 = 20_000_000;
/// Values that all draws of all bootstraps may have, likewise.
const MOST_DRAWN_VALUES: u64 = 10_000_000_000;

/// The answer to a request, made when its turn comes.
pub(crate) fn answer(request: v1::CompareRequest) -> Result<Answer, Status> {
    let inquiry = inquiry(request)?;
    check_effort(&inquiry)?;
    inquiry.answer().map_err(|error| invalid(&error))
}

fn inquiry(request: v1::CompareRequest) -> Result<Inquiry, Status> {
    let v1::CompareRequest {
        versions,
        method,
        confidence,
        higher_is_better,
        weighting,
        weights,
        drawn,
        population,
        seed,
        noise_threshold,
    } = request;
    at_most("versions", versions.len(), MOST_VERSIONS)?;
    at_most("method", method.len(), MOST_METHOD_BYTES)?;
    let method: Method = serde_json::from_str(&method).map_err(|error| {
        Status::invalid_argument(with_hint(
            format_args!("method: {error}"),
            Some("{\"kind\":\"speedup_test\"}"),
        ))
    })?;
    let mut room = MOST_VALUES;
    let suites: Result<Vec<Suite>, Status> =
        versions.into_iter().enumerate().map(|(at, version)| suite(version, at, &mut room)).collect();
    Ok(Inquiry {
        suites: suites?,
        method,
        confidence: level(confidence)?.map(ConfidenceLevel::get),
        noise_threshold: threshold(noise_threshold)?,
        faster_by: Vec::new(),
        better: if higher_is_better { Preference::Higher } else { Preference::Lower },
        weights: benchmark_weights(weighting, weights)?,
        selection: selection(drawn, population)?,
        seed: Seed(seed),
    })
}

fn suite(version: v1::SampledVersion, at: usize, room: &mut usize) -> Result<Suite, Status> {
    let field = format!("versions[{at}]");
    let v1::SampledVersion { name, benchmarks } = version;
    at_most(&format!("{field}.name"), name.len(), MOST_NAME_BYTES)?;
    at_most(&format!("{field}.benchmarks"), benchmarks.len(), MOST_BENCHMARKS)?;
    let benchmarks = benchmarks.into_iter().enumerate().map(|(at, benchmark)| {
        let field = format!("{field}.benchmarks[{at}]");
        *room = room.checked_sub(benchmark.values.len()).ok_or_else(|| {
            Status::invalid_argument(format!("{field}: more than {MOST_VALUES} values in all"))
        })?;
        named_sample(benchmark, &field)
    });
    Ok(Suite::new(name, benchmarks.collect::<Result<_, Status>>()?))
}

fn named_sample(benchmark: v1::SampledBenchmark, field: &str) -> Result<NamedSample, Status> {
    let v1::SampledBenchmark { name, values, values_of_runs } = benchmark;
    at_most(&format!("{field}.name"), name.len(), MOST_NAME_BYTES)?;
    if values_of_runs.is_empty() {
        return Ok(NamedSample::new(name, values.into_iter().map(|value| vec![value]).collect()));
    }
    let counted: u64 = values_of_runs.iter().map(|count| u64::from(*count)).sum();
    if counted != values.len() as u64 || values_of_runs.contains(&0) {
        return Err(Status::invalid_argument(format!(
            "{field}.values_of_runs: runs have at least one value each and {} in all, and these have {counted}",
            values.len()
        )));
    }
    let mut rest = values.as_slice();
    let runs = values_of_runs.iter().map(|count| {
        let (run, after) = rest.split_at(*count as usize);
        rest = after;
        run.to_vec()
    });
    Ok(NamedSample::new(name, runs.collect()))
}

fn benchmark_weights(weighting: i32, weights: Vec<f64>) -> Result<BenchmarkWeights, Status> {
    let weighting = Weighting::try_from(weighting).map_err(|_| {
        Status::invalid_argument(format!("weighting: {weighting} is a value that only a newer release knows"))
    })?;
    match weighting {
        Weighting::Custom => Ok(BenchmarkWeights::Custom(weights)),
        Weighting::Unspecified | Weighting::Equal | Weighting::Fraction if !weights.is_empty() => {
            Err(Status::invalid_argument("weights: they are given with WEIGHTING_CUSTOM alone"))
        }
        Weighting::Unspecified | Weighting::Equal => Ok(BenchmarkWeights::Equal),
        Weighting::Fraction => Ok(BenchmarkWeights::Fraction),
    }
}

fn selection(drawn: bool, population: u64) -> Result<Selection, Status> {
    match (drawn, population) {
        (false, 0) => Ok(Selection::Chosen),
        (false, _) => Err(Status::invalid_argument("population: it is given of drawn benchmarks alone")),
        (true, 0) => Ok(Selection::Drawn),
        (true, size) => Ok(Selection::DrawnFromFinite { size }),
    }
}

/// Refuses what would keep the processors of a shared service for longer than anybody waits.
fn check_effort(inquiry: &Inquiry) -> Result<(), Status> {
    let benchmarks = inquiry.suites.iter().flat_map(|suite| &suite.benchmarks);
    let values: u64 = benchmarks.flat_map(|benchmark| &benchmark.runs).map(|run| run.len() as u64).sum();
    let (drawn, most) = match inquiry.method.effort() {
        MethodEffort::Fitted(resamples) => (u64::from(resamples), MOST_RESAMPLED_VALUES),
        MethodEffort::Drawn(replicates) => (u64::from(replicates), MOST_DRAWN_VALUES),
        MethodEffort::Computed => (0, u64::MAX),
    };
    if values.saturating_mul(drawn) > most {
        let words = format!(
            "{drawn} draws of {values} values are more than the {most} values that are drawn for one request"
        );
        let hint = "`speedup compare` on your own machine has no such bound";
        return Err(Status::resource_exhausted(with_hint(words, Some(hint))));
    }
    Ok(())
}

fn at_most(field: &str, size: usize, most: usize) -> Result<(), Status> {
    if size > most {
        return Err(Status::invalid_argument(format!(
            "{field}: {size} is more than the {most} that are taken"
        )));
    }
    Ok(())
}
