//! The Speedup-Test on the benchmarks that a configuration names, as the program of Touati 2010 §6 makes it.
//!
//! It differs from the method of an [`Inquiry`](super::Inquiry) in what it is asked: benchmarks have a level and a coefficient
//! each, files may be missing, and each protocol answers one question, whether the candidate is faster. The answer is plain
//! data, which is written as JSON as it stands; `speedup_report::paper` writes the published program's files from it.
//!
//! In reading order: [`ConfiguredBenchmark`] and [`ConfiguredOptions`], what goes in; [`ConfiguredAnswer`], what comes out;
//! `warning`, the sentences beside the numbers.

mod warning;

use super::proportion::{AcceleratedShare, ShareQuestion};
use super::{DiagnosticsFinding, SpeedupTestMode, diagnostics::order_dependence};
use crate::conclusion::{Protocol, Warning};
use serde::Serialize;
use speedup_core::experiment::Weights;
use speedup_statistics::protocol::speedup_test::{
    ObservedSpeedups, ProtocolVerdict, Question, Rules, SpeedupTest, published,
};
use speedup_statistics::ratio::{
    BenchmarkWeights, Overall, RatioError, SpeedupMeans, SpeedupMeansError, SuiteError, SuiteMember, Summary,
};
use speedup_statistics::test::{PrecisionError, ProportionError, ProportionMethod, Selection};
use speedup_statistics::{
    inference::Caveat, inference::ConfidenceLevel, inference::Interval, sample::Sample,
};
use thiserror::Error;

/// The version of the answer's shape; it changes when a field changes its name or meaning.
const SCHEMA_VERSION: u32 = 1;

/// A benchmark of the configuration, with its samples.
#[derive(Clone, Debug)]
pub struct ConfiguredBenchmark {
    pub entry: ConfigurationEntry,
    /// What its files hold, or those that cannot be read.
    pub samples: Result<[Sample; 2], Vec<UnreadableFile>>,
}

/// A benchmark as the configuration describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigurationEntry {
    /// The line on which it begins, from 1.
    pub line: u64,
    pub name: String,
    /// The files of baseline and candidate.
    pub files: [String; 2],
    /// The level of its tests.
    pub level: ConfiguredLevel,
    /// The coefficient of the weight, a finite number.
    pub coefficient: Option<f64>,
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

/// The Speedup-Test of all benchmarks of a configuration.
#[derive(Clone, Debug, Serialize)]
pub struct ConfiguredAnswer {
    schema_version: u32,
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
    pub warnings: Vec<Warning>,
    /// That runs depend on their order, which the Speedup-Test does not ask; absent where nothing says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Warning>,
}

/// The answer on one benchmark of the configuration.
#[derive(Clone, Debug, Serialize)]
pub struct BenchmarkAnswer {
    pub name: String,
    #[serde(flatten)]
    state: BenchmarkState,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum BenchmarkState {
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
#[derive(Clone, Debug, Serialize)]
pub struct MeansOfSpeedups {
    pub by: Summary,
    #[serde(flatten)]
    pub means: SpeedupMeans,
    /// The caveat that a plain mean is no overall speedup.
    caveats: [Warning; 1],
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
    /// Tests `benchmarks`, which `configuration` lists.
    ///
    /// # Errors
    /// [`ConfiguredError`] for a configuration that the mode refuses, and where nothing can be read.
    pub fn new(
        configuration: String,
        benchmarks: &[ConfiguredBenchmark],
        options: &ConfiguredOptions,
    ) -> Result<Self, ConfiguredError> {
        let mut warnings = warning::line_warnings(benchmarks, options)?;
        let weights = weights(benchmarks, options, &mut warnings)?;
        let members: Vec<_> = benchmarks.iter().filter_map(member).collect();
        if members.is_empty() {
            return Err(ConfiguredError::NothingReadable(first_cause(benchmarks)));
        }
        let mut overall = Vec::new();
        let mut speedup_means = Vec::new();
        for summary in Summary::ALL {
            overall.push(Overall::new(&members, summary, &weights)?.into());
            speedup_means.push(MeansOfSpeedups {
                by: summary,
                means: SpeedupMeans::new(&members, summary)?,
                caveats: [Warning::from(&SpeedupMeans::CAVEAT)],
            });
        }
        let [by_minimum, by_mean, by_median] = Summary::ALL.map(|by| weights.coefficients(by, &members));
        let [by_minimum, by_mean, by_median] = [by_minimum?, by_mean?, by_median?];
        let mut answers = Vec::with_capacity(benchmarks.len());
        // Coefficients are those of the tested benchmarks alone, in their order.
        let mut tested = 0;
        for benchmark in benchmarks {
            answers.push(match &benchmark.samples {
                Ok(samples) => {
                    let coefficients = [by_minimum[tested], by_mean[tested], by_median[tested]];
                    tested += 1;
                    BenchmarkAnswer::tested_on(samples, &benchmark.entry, options, coefficients)?
                }
                Err(unreadable) => BenchmarkAnswer::ignored(&benchmark.entry, unreadable),
            });
        }
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            configuration,
            mode: options.mode,
            legacy_ks: options.legacy_ks,
            confidence: options.level,
            proportions: [
                proportion(Protocol::Mean, &answers, &members, &weights, options)?,
                proportion(Protocol::Median, &answers, &members, &weights, options)?,
            ],
            weights: match weights {
                BenchmarkWeights::Equal => Weights::Equal,
                BenchmarkWeights::Fraction => Weights::Fraction,
                BenchmarkWeights::Custom(_) => Weights::Custom,
            },
            benchmarks: answers,
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
    let question = ShareQuestion {
        by,
        members,
        weights,
        level: options.level.unwrap_or(ConfidenceLevel::USUAL),
        precision: options.precision,
        interval: options.proportion_interval,
        selection: Selection::Drawn,
    };
    AcceleratedShare::new(&accelerated, &question, |interval| interval)
}

/// What the order of the runs of all samples says, together.
fn order(benchmarks: &[ConfiguredBenchmark], options: &ConfiguredOptions) -> Option<Warning> {
    let level = options.level.unwrap_or(ConfidenceLevel::USUAL);
    let mut findings = Vec::new();
    for benchmark in benchmarks {
        if let Ok([baseline, candidate]) = &benchmark.samples {
            let name = &benchmark.entry.name;
            findings.push(DiagnosticsFinding::for_runs("the baseline", name, baseline, level));
            findings.push(DiagnosticsFinding::for_runs("the candidate", name, candidate, level));
        }
    }
    order_dependence(&findings, level)
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
    fn ignored(entry: &ConfigurationEntry, unreadable: &[UnreadableFile]) -> Self {
        let mut warnings: Vec<Warning> = unreadable.iter().map(warning::not_readable).collect();
        warnings.push(warning::samples_unavailable());
        Self {
            name: entry.name.clone(),
            state: BenchmarkState::Ignored { files: entry.files.clone() },
            warnings,
        }
    }

    fn tested_on(
        samples: &[Sample; 2],
        entry: &ConfigurationEntry,
        options: &ConfiguredOptions,
        coefficients: [f64; 3],
    ) -> Result<Self, ConfiguredError> {
        let [baseline, candidate] = samples;
        let test = SpeedupTest::with_rules(baseline, candidate, rules(options))
            .map_err(|source| ConfiguredError::Ratio { name: entry.name.clone(), source })?;
        let [mean, median] = verdicts(&test, entry.level.given(), options);
        let sizes = [baseline.len(), candidate.len()];
        let mut warnings = warning::sample_warnings(samples);
        warnings.extend(warning::conclusion_warnings(Protocol::Mean, &mean.conclusion, sizes, options.mode));
        warnings.extend(warning::conclusion_warnings(
            Protocol::Median,
            &median.conclusion,
            sizes,
            options.mode,
        ));
        let tested = TestedBenchmark {
            baseline: FileFacts::new(&entry.files[0], baseline),
            candidate: FileFacts::new(&entry.files[1], candidate),
            speedups: test.speedups,
            mean,
            median,
            probability_faster: test.median.probability_faster(),
            coefficients,
        };
        Ok(Self { name: entry.name.clone(), state: BenchmarkState::Tested(Box::new(tested)), warnings })
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

/// The sub-tests' rules: those of the program that is reproduced.
fn rules(options: &ConfiguredOptions) -> Rules {
    match options.mode {
        SpeedupTestMode::Exact => Rules::PUBLISHED_TESTS,
        SpeedupTestMode::Published if options.legacy_ks => Rules::PUBLISHED_BEFORE_R_4_2,
        SpeedupTestMode::Published => Rules::PUBLISHED,
    }
}

/// The verdicts on the mean and on the median, at the level of the configuration's line or of the command line, or at
/// the best one.
fn verdicts(
    test: &SpeedupTest,
    own: Option<ConfidenceLevel>,
    options: &ConfiguredOptions,
) -> [ProtocolVerdict; 2] {
    let faster = Question::CandidateFaster;
    // The published program lets the command line override the configuration.
    if options.mode == SpeedupTestMode::Published {
        let level = options.level.or(own);
        let verdicts = [
            published::verdict(level, |risk| test.mean.at_risk(faster, risk)),
            published::verdict(level, |risk| test.median.at_risk(faster, risk)),
        ];
        return verdicts.map(|mut verdict| {
            if verdict.no_level_above_half {
                verdict.conclusion.caveats.push(Caveat::NoLevelAboveHalf);
            }
            verdict
        });
    }
    match own.or(options.level) {
        Some(level) => [test.mean.at(faster, level), test.median.at(faster, level)]
            .map(|conclusion| ProtocolVerdict::new(Some(level.get()), conclusion)),
        None => [test.mean.best(faster), test.median.best(faster)].map(|conclusion| {
            // A risk too small for a double does not make certainty.
            let confidence = conclusion.confidence().map(|level| level.min(1.0 - f64::EPSILON / 2.0));
            ProtocolVerdict::new(confidence, conclusion)
        }),
    }
}

/// The weights of the benchmarks that can be tested.
fn weights(
    benchmarks: &[ConfiguredBenchmark],
    options: &ConfiguredOptions,
    warnings: &mut Vec<Warning>,
) -> Result<BenchmarkWeights, ConfiguredError> {
    match options.weights {
        Weights::Equal => return Ok(BenchmarkWeights::Equal),
        Weights::Fraction => return Ok(BenchmarkWeights::Fraction),
        Weights::Custom => {}
    }
    let coefficients: Vec<_> = benchmarks.iter().map(|one| one.entry.coefficient).collect();
    for ConfiguredBenchmark { entry, .. } in benchmarks {
        if let Some(value) = entry.coefficient.filter(|value| *value <= 0.0) {
            return Err(ConfiguredError::Coefficient { line: entry.line, value });
        }
    }
    let missing = coefficients.iter().filter(|coefficient| coefficient.is_none()).count();
    if missing == coefficients.len() {
        return Ok(BenchmarkWeights::Equal);
    }
    if missing > 0 {
        if options.mode == SpeedupTestMode::Exact {
            let first = benchmarks.iter().find(|one| one.entry.coefficient.is_none());
            return Err(ConfiguredError::MissingCoefficient { line: first.map_or(0, |one| one.entry.line) });
        }
        warnings.push(warning::missing_coefficients(missing));
        return Ok(BenchmarkWeights::Equal);
    }
    // The published program reads a column of whole numbers as another type, and weighs equally.
    if options.mode == SpeedupTestMode::Published
        && published::weights(&coefficients) == BenchmarkWeights::Equal
    {
        if coefficients.windows(2).any(|two| two[0] != two[1]) {
            warnings.push(warning::whole_coefficients());
        }
        return Ok(BenchmarkWeights::Equal);
    }
    let tested = benchmarks.iter().filter(|one| one.samples.is_ok());
    Ok(BenchmarkWeights::Custom(tested.filter_map(|one| one.entry.coefficient).collect()))
}
