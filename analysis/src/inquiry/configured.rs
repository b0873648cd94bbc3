//! The Speedup-Test on the benchmarks that a configuration names, as the program of Touati 2010 §6 makes it.
//!
//! It differs from the method of an [`Inquiry`](super::Inquiry) in what it is asked: benchmarks have a level and a coefficient
//! each, files may be missing, and each protocol answers one question, whether the candidate is faster. What it finds is plain
//! data; `speedup_report::paper` tells it.
//!
//! In reading order: [`ConfiguredBenchmark`] and [`ConfiguredOptions`], what goes in; [`ConfiguredAnswer`], what comes out; `verdict`
//! and `warning`, its parts.

mod verdict;
mod warning;

pub use self::{verdict::ProtocolVerdict, warning::BenchmarkWarning, warning::ConfigurationWarning};

use self::{verdict::rules, verdict::verdicts};
use super::proportion::{AcceleratedShare, Asking};
use super::{DiagnosticsFinding, SpeedupTestMode, order_dependence};
use crate::conclusion::{Protocol, Warning};
use serde::Serialize;
use speedup_core::experiment::Weights;
use speedup_statistics::protocol::speedup_test::{ObservedSpeedups, SpeedupTest, published};
use speedup_statistics::ratio::{
    BenchmarkWeights, Overall, RatioError, SpeedupMeans, SpeedupMeansError, SuiteError, SuiteMember, Summary,
};
use speedup_statistics::test::{PrecisionError, ProportionError, ProportionMethod, Selection};
use speedup_statistics::{inference::ConfidenceLevel, inference::Interval, sample::Sample};
use thiserror::Error;

/// A line of the configuration, with what it names.
#[derive(Clone, Debug)]
pub struct ConfiguredBenchmark {
    /// The line on which it begins, from 1.
    pub line: u64,
    pub name: String,
    /// The level of its tests.
    pub level: ConfiguredLevel,
    /// The coefficient of the weight, a finite number.
    pub coefficient: Option<f64>,
    /// The files of baseline and candidate.
    pub files: [String; 2],
    /// What they hold, or those that cannot be read.
    pub samples: Result<[Sample; 2], Vec<UnreadableFile>>,
}

/// What the column `ConfLevel` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConfiguredLevel {
    Omitted,
    Given(ConfidenceLevel),
    /// A number that is no confidence level: the published program takes it as omitted (Touati 2010 §6.2.2).
    OutOfRange(f64),
}

/// A file of samples that cannot be opened or read.
#[derive(Clone, Debug, PartialEq)]
pub struct UnreadableFile {
    pub path: String,
    pub cause: String,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct ConfiguredOptions {
    pub mode: SpeedupTestMode,
    /// Kolmogorov and Smirnov's test as R made it before 4.2: by its limit law whenever values are equal.
    pub legacy_ks: bool,
    /// The level of the command line.
    pub level: Option<ConfidenceLevel>,
    /// The weight of each benchmark in the overall gain and speedup.
    pub weights: Weights,
    /// The half-width of the proportion to which benchmarks are counted.
    pub precision: f64,
    /// An interval of the proportion beside the published and the recommended one.
    pub proportion_interval: Option<ProportionMethod>,
}

/// The whole answer.
#[derive(Clone, Debug)]
pub struct ConfiguredAnswer {
    /// What the configuration is called.
    pub configuration: String,
    /// Whose verdicts these are.
    pub mode: SpeedupTestMode,
    /// Whether Kolmogorov and Smirnov's test is that of R before 4.2.
    pub legacy_ks: bool,
    /// The level of the command line.
    pub confidence: Option<ConfidenceLevel>,
    /// The weights that were used, which are not always those that were asked for.
    pub weights: Weights,
    /// The benchmarks, in the order of the configuration.
    pub benchmarks: Vec<BenchmarkAnswer>,
    /// By minimum, mean and median.
    pub overall: Vec<OverallGain>,
    /// Plain means of the benchmarks' speedups by minimum, mean and median, which are no overall speedups.
    pub speedup_means: Vec<MeansOfSpeedups>,
    /// On the mean and on the median.
    pub proportions: [AcceleratedShare<Interval, OverallGain>; 2],
    /// Of the whole test; those of a benchmark are with it.
    pub warnings: Vec<ConfigurationWarning>,
    /// That runs depend on their order, which the Speedup-Test does not ask; absent where nothing says so.
    pub order: Option<Warning>,
}

/// What is said of a line of the configuration.
#[derive(Clone, Debug)]
pub struct BenchmarkAnswer {
    pub name: String,
    /// What became of it.
    pub state: BenchmarkState,
    pub warnings: Vec<BenchmarkWarning>,
}

/// What became of a benchmark.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BenchmarkState {
    Tested(Box<TestedBenchmark>),
    /// Its samples could not be read.
    Ignored {
        /// The files of baseline and candidate.
        files: [String; 2],
    },
}

/// A benchmark that was tested.
#[derive(Clone, Debug, Serialize)]
pub struct TestedBenchmark {
    baseline: FileFacts,
    candidate: FileFacts,
    /// By minimum, mean and median.
    pub speedups: ObservedSpeedups,
    pub mean: ProtocolVerdict,
    pub median: ProtocolVerdict,
    /// The estimate of `P[X > Y]` + ½ `P[X = Y]`.
    pub probability_faster: f64,
    /// What it counts by minimum, mean and median: the weights are these divided by their sum.
    pub coefficients: [f64; 3],
}

#[derive(Clone, Debug, Serialize)]
struct FileFacts {
    file: String,
    n: usize,
    min: f64,
    mean: f64,
    median: f64,
}

/// The overall gain and speedup by one summary of the times.
#[derive(Clone, Debug, Serialize)]
pub struct OverallGain {
    pub by: Summary,
    /// G, the share of the weighted baseline time that is saved.
    pub gain: f64,
    /// S = 1/(1 − G).
    pub speedup: f64,
}

/// The plain means of the benchmarks' speedups by one summary of the times (Touati 2010 §3.2, example 3.1).
#[derive(Clone, Copy, Debug)]
pub struct MeansOfSpeedups {
    pub by: Summary,
    pub means: SpeedupMeans,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ConfiguredError {
    #[error("none of the samples can be read: {0}")]
    NothingReadable(String),
    #[error("line {line}: Coef is {value}, which is not a positive number")]
    Coefficient { line: u64, value: f64 },
    /// Some benchmarks have a coefficient, and this one has none.
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

speedup_core::hints! { ConfiguredError:
    Self::NothingReadable(_) =>
        "names of sample files start from the working directory, or from the configuration's folder if the former has none of them",
    Self::Coefficient { .. } => "leave out benchmarks that must not count, or use --weight equal",
    Self::MissingCoefficient { .. } => "give all coefficients or none, or use --weight equal",
    Self::Level { .. } => "95 % is written 0.95; leave the field empty for the best level",
    Self::Ratio { source, .. } => source.hint(),
    Self::Suite(error) => error.hint(),
    Self::Precision(error) => error.hint(),
}

impl ConfiguredAnswer {
    /// What the samples of `benchmarks`, which `configuration` names, say.
    ///
    /// # Errors
    /// [`ConfiguredError`] for a configuration that the mode refuses, and where nothing can be read.
    pub fn new(
        configuration: String,
        benchmarks: &[ConfiguredBenchmark],
        options: &ConfiguredOptions,
    ) -> Result<Self, ConfiguredError> {
        let mut warnings = ConfigurationWarning::of_lines(benchmarks, options)?;
        let (weights, weighted) = weights(benchmarks, options, &mut warnings)?;
        let members: Vec<_> = benchmarks.iter().filter_map(member).collect();
        if members.is_empty() {
            return Err(ConfiguredError::NothingReadable(first_cause(benchmarks)));
        }
        let mut coefficients = Summary::ALL.map(|_| Vec::new().into_iter());
        let (mut overall, mut speedup_means) = (Vec::new(), Vec::new());
        for (summary, coefficients) in Summary::ALL.into_iter().zip(&mut coefficients) {
            *coefficients = weights.coefficients(summary, &members)?.into_iter();
            overall.push(Overall::new(&members, summary, &weights)?.into());
            speedup_means.push(MeansOfSpeedups { by: summary, means: SpeedupMeans::new(&members, summary)? });
        }
        let mut next = || coefficients.each_mut().map(|of_tested| of_tested.next().unwrap_or(f64::NAN));
        let found: Result<Vec<_>, _> =
            benchmarks.iter().map(|one| BenchmarkAnswer::new(one, options, &mut next)).collect();
        let found = found?;
        Ok(Self {
            configuration,
            mode: options.mode,
            legacy_ks: options.legacy_ks,
            confidence: options.level,
            weights: weighted,
            proportions: [
                proportion(Protocol::Mean, &found, &members, &weights, options)?,
                proportion(Protocol::Median, &found, &members, &weights, options)?,
            ],
            benchmarks: found,
            overall,
            speedup_means,
            warnings,
            order: order(benchmarks, options),
        })
    }

    /// How many warnings there are, those of benchmarks included.
    pub fn count_warnings(&self) -> u64 {
        let of_benchmarks = self.benchmarks.iter().map(|benchmark| benchmark.warnings.len());
        (self.warnings.len() + of_benchmarks.sum::<usize>()) as u64
    }
}

/// The proportion of accelerated benchmarks, of all that were tested. Those of a configuration count as drawn, and without a
/// level of the command line the interval has the usual one (Touati 2010 §6.2.4).
fn proportion(
    by: Protocol,
    found: &[BenchmarkAnswer],
    members: &[SuiteMember<'_>],
    weights: &BenchmarkWeights,
    options: &ConfiguredOptions,
) -> Result<AcceleratedShare<Interval, OverallGain>, ConfiguredError> {
    let tested = found.iter().filter_map(BenchmarkAnswer::tested);
    let accelerated: Vec<bool> = tested.map(|one| one.verdict(by).significant == Some(true)).collect();
    let asking = Asking {
        by,
        members,
        weights,
        level: options.level.unwrap_or(ConfidenceLevel::USUAL),
        precision: options.precision,
        interval: options.proportion_interval,
        selection: Selection::Drawn,
    };
    AcceleratedShare::new(&accelerated, &asking, |interval| interval)
}

/// What the order of the runs of all samples says, together.
fn order(benchmarks: &[ConfiguredBenchmark], options: &ConfiguredOptions) -> Option<Warning> {
    let level = options.level.unwrap_or(ConfidenceLevel::USUAL);
    let of = |one: &ConfiguredBenchmark| {
        let sides = ["the baseline", "the candidate"].into_iter().zip(one.samples.as_ref().ok()?);
        let found = |(version, sample)| DiagnosticsFinding::of_runs(version, &one.name, sample, level);
        Some(sides.map(found).collect::<Vec<_>>())
    };
    order_dependence(&benchmarks.iter().filter_map(of).flatten().collect::<Vec<_>>(), level)
}

fn member(configured: &ConfiguredBenchmark) -> Option<SuiteMember<'_>> {
    let [baseline, candidate] = configured.samples.as_ref().ok()?;
    Some(SuiteMember { baseline, candidate })
}

fn first_cause(benchmarks: &[ConfiguredBenchmark]) -> String {
    let first = benchmarks.iter().filter_map(|one| one.samples.as_ref().err()?.first()).next();
    first.map_or_else(String::new, |one| format!("{}: {}", one.path, one.cause))
}

impl ConfiguredLevel {
    /// The level, where it is one.
    fn given(self) -> Option<ConfidenceLevel> {
        match self {
            Self::Given(level) => Some(level),
            Self::Omitted | Self::OutOfRange(_) => None,
        }
    }
}

impl From<Overall> for OverallGain {
    fn from(Overall { summary, gain, speedup, .. }: Overall) -> Self {
        Self { by: summary, gain, speedup }
    }
}

impl BenchmarkAnswer {
    fn new(
        configured: &ConfiguredBenchmark,
        options: &ConfiguredOptions,
        next_coefficients: &mut impl FnMut() -> [f64; 3],
    ) -> Result<Self, ConfiguredError> {
        let ConfiguredBenchmark { name, files, .. } = configured;
        let [baseline, candidate] = match &configured.samples {
            Ok(samples) => samples,
            Err(unreadable) => {
                let not_readable = unreadable.iter().cloned().map(BenchmarkWarning::NotReadable);
                return Ok(Self {
                    name: name.clone(),
                    state: BenchmarkState::Ignored { files: files.clone() },
                    warnings: not_readable.chain([BenchmarkWarning::SamplesUnavailable]).collect(),
                });
            }
        };
        let test = SpeedupTest::with_rules(baseline, candidate, rules(options));
        let test = test.map_err(|source| ConfiguredError::Ratio { name: name.clone(), source })?;
        let [mean, median] = verdicts(&test, configured.level.given(), options);
        let samples = [baseline, candidate];
        let mut warnings = BenchmarkWarning::of_samples(samples);
        for (protocol, verdict) in [(Protocol::Mean, &mean), (Protocol::Median, &median)] {
            let sizes = samples.map(Sample::len);
            let more = BenchmarkWarning::of_conclusion(protocol, &verdict.conclusion, sizes, options.mode);
            warnings.extend(more);
        }
        let tested = TestedBenchmark {
            baseline: FileFacts::new(&files[0], baseline),
            candidate: FileFacts::new(&files[1], candidate),
            speedups: test.speedups,
            mean,
            median,
            probability_faster: test.median.probability_faster(),
            coefficients: next_coefficients(),
        };
        Ok(Self { name: name.clone(), state: BenchmarkState::Tested(Box::new(tested)), warnings })
    }

    /// The answers of its protocols, if it was tested.
    pub fn tested(&self) -> Option<&TestedBenchmark> {
        match &self.state {
            BenchmarkState::Tested(tested) => Some(tested),
            BenchmarkState::Ignored { .. } => None,
        }
    }
}

impl TestedBenchmark {
    /// The runs of baseline and candidate.
    pub fn sizes(&self) -> [usize; 2] {
        [self.baseline.n, self.candidate.n]
    }

    /// Minimum, mean or median of baseline and candidate.
    pub fn summaries(&self, by: Summary) -> [f64; 2] {
        [&self.baseline, &self.candidate].map(|facts| match by {
            Summary::Min => facts.min,
            Summary::Mean => facts.mean,
            Summary::Median => facts.median,
        })
    }

    /// The answer of a protocol.
    pub fn verdict(&self, protocol: Protocol) -> &ProtocolVerdict {
        match protocol {
            Protocol::Mean => &self.mean,
            Protocol::Median => &self.median,
        }
    }
}

impl FileFacts {
    fn new(file: &str, sample: &Sample) -> Self {
        Self {
            file: file.to_owned(),
            n: sample.len(),
            min: sample.min(),
            mean: sample.mean(),
            median: sample.median(),
        }
    }
}

/// The weights of the benchmarks that can be tested, and what they are called.
fn weights(
    benchmarks: &[ConfiguredBenchmark],
    options: &ConfiguredOptions,
    warnings: &mut Vec<ConfigurationWarning>,
) -> Result<(BenchmarkWeights, Weights), ConfiguredError> {
    match options.weights {
        Weights::Equal => return Ok((BenchmarkWeights::Equal, Weights::Equal)),
        Weights::Fraction => return Ok((BenchmarkWeights::Fraction, Weights::Fraction)),
        Weights::Custom => {}
    }
    let coefficients: Vec<_> = benchmarks.iter().map(|one| one.coefficient).collect();
    for one in benchmarks {
        if let Some(value) = one.coefficient.filter(|value| *value <= 0.0) {
            return Err(ConfiguredError::Coefficient { line: one.line, value });
        }
    }
    let missing = coefficients.iter().filter(|coefficient| coefficient.is_none()).count();
    if missing == coefficients.len() {
        return Ok((BenchmarkWeights::Equal, Weights::Equal));
    }
    if missing > 0 {
        if options.mode == SpeedupTestMode::Exact {
            let first = benchmarks.iter().find(|one| one.coefficient.is_none());
            return Err(ConfiguredError::MissingCoefficient { line: first.map_or(0, |one| one.line) });
        }
        warnings.push(ConfigurationWarning::MissingCoefficients { missing });
        return Ok((BenchmarkWeights::Equal, Weights::Equal));
    }
    let equally = options.mode == SpeedupTestMode::Published
        && published::weights(&coefficients) == BenchmarkWeights::Equal;
    if equally {
        if coefficients.windows(2).any(|two| two[0] != two[1]) {
            warnings.push(ConfigurationWarning::WholeCoefficients);
        }
        return Ok((BenchmarkWeights::Equal, Weights::Equal));
    }
    let tested = benchmarks.iter().filter(|one| one.samples.is_ok());
    Ok((BenchmarkWeights::Custom(tested.filter_map(|one| one.coefficient).collect()), Weights::Custom))
}
