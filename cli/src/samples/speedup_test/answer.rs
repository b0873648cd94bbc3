//! What the Speedup-Test says of the benchmarks of a configuration, as plain data: `--format json` prints it, and every
//! output file is a view of it.

mod proportion;
mod verdict;
mod weights;

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::Serialize;
use speedup_analysis::conclusion::{self, Protocol};
use speedup_analysis::inquiry::{DiagnosticsFinding, order_dependence};
use speedup_core::value::hint::Hinted;
use speedup_statistics::inference::ConfidenceLevel;
use speedup_statistics::protocol::speedup_test::{ObservedSpeedups, SpeedupTest};
use speedup_statistics::ratio::{
    Overall, RatioError, SpeedupMeans, SpeedupMeansError, SuiteError, SuiteMember, Summary,
};
use speedup_statistics::sample::Sample;
use speedup_statistics::test::{PrecisionError, ProportionError, ProportionMethod};
use thiserror::Error;

pub(crate) use self::proportion::ProportionAnswer;
use self::proportion::proportion;
pub(crate) use self::verdict::Verdict;
use self::verdict::{rules, verdicts};
use self::weights::weights;
use super::input::Loaded;
use super::input::configuration::Level;
use super::warning::Warning;

/// The version of the JSON value; it changes when a field changes its name or meaning.
const SCHEMA_VERSION: u32 = 1;

/// Whose verdicts to give
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// Those of the published program, quirks included
    #[default]
    Published,
    /// The best level in closed form, levels of the configuration first, coefficients unchanged
    Exact,
}

/// The weight of each benchmark in the overall gain and speedup
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Weighting {
    /// The coefficients of the configuration; equal if it has none
    #[default]
    Custom,
    /// All equal
    Equal,
    /// Its share of the baseline's time
    Fraction,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    /// Kolmogorov and Smirnov's test as R made it before 4.2: by its limit law whenever values are equal.
    pub(crate) legacy_ks: bool,
    /// The level of the command line.
    pub(crate) level: Option<ConfidenceLevel>,
    pub(crate) weighting: Weighting,
    /// The half-width of the proportion to which benchmarks are counted.
    pub(crate) precision: f64,
    /// An interval of the proportion beside the published and the recommended one.
    pub(crate) proportion_interval: Option<ProportionMethod>,
}

/// The whole answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    schema_version: u32,
    pub(crate) configuration: String,
    pub(crate) mode: Mode,
    legacy_ks: bool,
    /// The level of the command line.
    confidence: Option<ConfidenceLevel>,
    /// The weights that were used, which are not always those that were asked for.
    weights: Weighting,
    pub(crate) benchmarks: Vec<Benchmark>,
    /// By minimum, mean and median.
    pub(crate) overall: Vec<OverallAnswer>,
    /// Plain means of the benchmarks' speedups by minimum, mean and median, which are no overall speedups.
    pub(crate) speedup_means: Vec<SpeedupMeansAnswer>,
    /// On the mean and on the median.
    pub(crate) proportions: [ProportionAnswer; 2],
    /// Of the whole test; those of a benchmark are with it.
    pub(crate) warnings: Vec<Warning>,
    /// That runs depend on their order, which the Speedup-Test does not ask; absent where nothing says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) order: Option<conclusion::Warning>,
}

/// A line of the configuration.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Benchmark {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) state: State,
    pub(crate) warnings: Vec<Warning>,
}

/// What became of it.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum State {
    /// It was tested.
    Tested(Box<Tested>),
    /// Its samples could not be read.
    Ignored {
        /// The files of baseline and candidate.
        files: [String; 2],
    },
}

/// A benchmark that was tested.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tested {
    baseline: SampleFacts,
    candidate: SampleFacts,
    pub(crate) speedups: ObservedSpeedups,
    pub(crate) mean: Verdict,
    pub(crate) median: Verdict,
    /// The estimate of `P[X > Y]` + ½ `P[X = Y]`.
    pub(crate) probability_faster: f64,
    /// What it counts by minimum, mean and median: the weights are these divided by their sum.
    pub(crate) coefficients: [f64; 3],
}

#[derive(Clone, Debug, Serialize)]
struct SampleFacts {
    file: String,
    n: usize,
    min: f64,
    mean: f64,
    median: f64,
}

/// The overall gain and speedup by one summary of the times.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OverallAnswer {
    pub(crate) by: Summary,
    pub(crate) gain: f64,
    pub(crate) speedup: f64,
}

/// The plain means of the benchmarks' speedups by one summary of the times (Touati 2010 §3.2, example 3.1).
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SpeedupMeansAnswer {
    pub(crate) by: Summary,
    #[serde(flatten)]
    pub(crate) means: SpeedupMeans,
    caveats: [conclusion::Warning; 1],
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub(crate) enum AnswerError {
    #[error("none of the samples can be read: {0}")]
    NothingReadable(String),
    #[error("line {line}: Coef is {value}, which is not a positive number")]
    Coefficient { line: u64, value: f64 },
    #[error("line {line}: Coef is missing, and other benchmarks have one")]
    MissingCoefficient { line: u64 },
    #[error("line {line}: ConfLevel {level} does not lie strictly between 0 and 1")]
    Level { line: u64, level: f64 },
    #[error("the benchmark {name:?} has no speedup")]
    Ratio { name: String, source: RatioError },
    #[error("the benchmarks have no overall speedup")]
    Suite(#[from] SuiteError),
    #[error("the benchmarks have no mean of speedups")]
    SpeedupMeans(#[from] SpeedupMeansError),
    #[error("the benchmarks have no proportion")]
    Proportion(#[from] ProportionError),
    #[error("the precision is none")]
    Precision(#[from] PrecisionError),
}

impl AnswerError {
    /// What the user can do.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NothingReadable(_) => Some(
                "names of sample files start from the working directory, or from the configuration's folder if the former has none of them",
            ),
            Self::Coefficient { .. } => {
                Some("leave out benchmarks that must not count, or use --weight equal")
            }
            Self::MissingCoefficient { .. } => Some("give all coefficients or none, or use --weight equal"),
            Self::Level { .. } => Some("95 % is written 0.95; leave the field empty for the best level"),
            Self::Ratio { source, .. } => source.hint(),
            Self::Suite(error) => error.hint(),
            Self::Precision(error) => error.hint(),
            Self::SpeedupMeans(_) | Self::Proportion(_) => None,
        }
    }
}

impl Answer {
    /// What the samples of `loaded`, which `configuration` names, say.
    pub(crate) fn new(
        configuration: String,
        loaded: &[Loaded],
        options: &Options,
    ) -> Result<Self, AnswerError> {
        let mut warnings = warnings_of_all(loaded, options)?;
        let (weights, weighting) = weights(loaded, options, &mut warnings)?;
        let members: Vec<_> = loaded.iter().filter_map(member).collect();
        if members.is_empty() {
            return Err(AnswerError::NothingReadable(first_cause(loaded)));
        }
        let mut coefficients = Summary::ALL.map(|_| Vec::new().into_iter());
        let (mut overall, mut speedup_means) = (Vec::new(), Vec::new());
        for (summary, coefficients) in Summary::ALL.into_iter().zip(&mut coefficients) {
            *coefficients = weights.coefficients(summary, &members)?.into_iter();
            let Overall { gain, speedup, .. } = Overall::new(&members, summary, &weights)?;
            overall.push(OverallAnswer { by: summary, gain, speedup });
            let means = SpeedupMeans::new(&members, summary)?;
            let caveats = [conclusion::Warning::from(&SpeedupMeans::CAVEAT)];
            speedup_means.push(SpeedupMeansAnswer { by: summary, means, caveats });
        }
        let mut next = || coefficients.each_mut().map(|of_tested| of_tested.next().unwrap_or(f64::NAN));
        let benchmarks: Result<Vec<_>, _> =
            loaded.iter().map(|one| benchmark(one, options, &mut next)).collect();
        let benchmarks = benchmarks?;
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            configuration,
            mode: options.mode,
            legacy_ks: options.legacy_ks,
            confidence: options.level,
            weights: weighting,
            proportions: [
                proportion(Protocol::Mean, &benchmarks, (&members, &weights), options)?,
                proportion(Protocol::Median, &benchmarks, (&members, &weights), options)?,
            ],
            benchmarks,
            overall,
            speedup_means,
            warnings,
            order: order(loaded, options),
        })
    }
}

/// What the order of the runs of all samples says, together.
fn order(loaded: &[Loaded], options: &Options) -> Option<conclusion::Warning> {
    let level = options.level.unwrap_or(ConfidenceLevel::USUAL);
    let of = |one: &Loaded| {
        let sides = ["the baseline", "the candidate"].into_iter().zip(one.samples.as_ref().ok()?);
        let found = |(version, sample)| DiagnosticsFinding::of_runs(version, &one.entry.name, sample, level);
        Some(sides.map(found).collect::<Vec<_>>())
    };
    order_dependence(&loaded.iter().filter_map(of).flatten().collect::<Vec<_>>(), level)
}

impl Benchmark {
    /// The answers of its protocols, if it was tested.
    pub(crate) fn tested(&self) -> Option<&Tested> {
        match &self.state {
            State::Tested(tested) => Some(tested),
            State::Ignored { .. } => None,
        }
    }
}

impl Tested {
    /// The runs of baseline and candidate.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        [self.baseline.n, self.candidate.n]
    }

    /// Minimum, mean or median of baseline and candidate.
    pub(crate) fn summaries(&self, by: Summary) -> [f64; 2] {
        [&self.baseline, &self.candidate].map(|facts| match by {
            Summary::Min => facts.min,
            Summary::Mean => facts.mean,
            Summary::Median => facts.median,
        })
    }

    /// The answer of a protocol.
    pub(crate) fn verdict(&self, protocol: Protocol) -> &Verdict {
        match protocol {
            Protocol::Mean => &self.mean,
            Protocol::Median => &self.median,
        }
    }
}

fn member(loaded: &Loaded) -> Option<SuiteMember<'_>> {
    let [baseline, candidate] = loaded.samples.as_ref().ok()?;
    Some(SuiteMember { baseline, candidate })
}

fn first_cause(loaded: &[Loaded]) -> String {
    let first = loaded.iter().filter_map(|one| one.samples.as_ref().err()?.first()).next();
    first.map_or_else(String::new, |one| format!("{}: {}", one.path.display(), one.cause))
}

fn warnings_of_all(loaded: &[Loaded], options: &Options) -> Result<Vec<Warning>, AnswerError> {
    let mut warnings = Vec::new();
    let mut lines_of = BTreeMap::new();
    for Loaded { entry, .. } in loaded {
        if let Some(first) = lines_of.insert(entry.name.as_str(), entry.line) {
            warnings.push(Warning::NameTwice { name: entry.name.clone(), lines: [first, entry.line] });
        }
        match (entry.level, options.mode) {
            (Level::OutOfRange(level), Mode::Published) => {
                warnings.push(Warning::LevelOutOfRange { line: entry.line, level });
            }
            (Level::OutOfRange(level), Mode::Exact) => {
                return Err(AnswerError::Level { line: entry.line, level });
            }
            (Level::Omitted | Level::Given(_), Mode::Published | Mode::Exact) => {}
        }
    }
    let other = |one: &Loaded| matches!(one.entry.level, Level::Given(own) if Some(own) != options.level);
    if options.mode == Mode::Published && options.level.is_some() && loaded.iter().any(other) {
        warnings.push(Warning::LevelsOverridden);
    }
    Ok(warnings)
}

fn benchmark(
    loaded: &Loaded,
    options: &Options,
    next_coefficients: &mut impl FnMut() -> [f64; 3],
) -> Result<Benchmark, AnswerError> {
    let Loaded { entry, paths, samples } = loaded;
    let name = entry.name.clone();
    let files = paths.each_ref().map(|path| path.display().to_string());
    let [baseline, candidate] = match samples {
        Ok(samples) => samples,
        Err(unreadable) => {
            let not_readable = unreadable.iter().map(|one| Warning::NotReadable {
                path: one.path.display().to_string(),
                cause: one.cause.to_string(),
            });
            let warnings = not_readable.chain([Warning::SamplesUnavailable]).collect();
            return Ok(Benchmark { name, state: State::Ignored { files }, warnings });
        }
    };
    let test = SpeedupTest::with_rules(baseline, candidate, rules(options));
    let test = test.map_err(|source| AnswerError::Ratio { name: name.clone(), source })?;
    let own = match entry.level {
        Level::Given(level) => Some(level),
        Level::Omitted | Level::OutOfRange(_) => None,
    };
    let [mean, median] = verdicts(&test, own, options);
    let sizes = [baseline.len(), candidate.len()];
    let mut warnings = Warning::of_samples([baseline, candidate]);
    warnings.extend(warnings_of(Protocol::Mean, &mean, sizes, options.mode));
    warnings.extend(warnings_of(Protocol::Median, &median, sizes, options.mode));
    let [baseline_file, candidate_file] = files;
    let facts = |file: String, sample: &Sample| SampleFacts {
        file,
        n: sample.len(),
        min: sample.min(),
        mean: sample.mean(),
        median: sample.median(),
    };
    let tested = Tested {
        baseline: facts(baseline_file, baseline),
        candidate: facts(candidate_file, candidate),
        speedups: test.speedups,
        mean,
        median,
        probability_faster: test.median.probability_faster(),
        coefficients: next_coefficients(),
    };
    Ok(Benchmark { name, state: State::Tested(Box::new(tested)), warnings })
}

fn warnings_of(protocol: Protocol, verdict: &Verdict, sizes: [usize; 2], mode: Mode) -> Vec<Warning> {
    Warning::of_outcome(protocol, &verdict.conclusion.outcome, sizes)
        .into_iter()
        .chain(
            verdict
                .conclusion
                .caveats
                .iter()
                .filter_map(|caveat| Warning::of_caveat(protocol, *caveat, mode)),
        )
        .collect()
}
