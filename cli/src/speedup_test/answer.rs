//! What the Speedup-Test says of the benchmarks of a configuration, as plain data: `--output json` prints it, and every
//! output file is a view of it.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::Serialize;
use speedup_analysis::speedup_test::{
    Conclusion, ObservedSpeedups, Outcome, Question, Rules,
    published::{self, PublishedVerdict},
};
use speedup_analysis::{
    ConfidenceLevel, Interval, Overall, PrecisionError, Proportion, ProportionError, ProportionMethod,
    RatioError, Selection, SpeedupTest, SuiteError, SuiteMember, Summary, Weights, benchmarks_by_wald,
    benchmarks_by_wilson,
};
use thiserror::Error;

use super::input::Loaded;
use super::input::configuration::Level;
use super::warning::Warning;

/// The version of the JSON value; it changes when a field changes its name or meaning.
const SCHEMA: u32 = 1;
/// The confidence level of the proportions where the command line gives none (000 §6.2.4).
const USUAL_OF_PROPORTIONS: ConfidenceLevel = ConfidenceLevel::USUAL;
const FASTER: Question = Question::CandidateFaster;

/// Whose verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// Those of the published program, quirks included
    #[default]
    Published,
    /// Ours: the best level in closed form, levels of the configuration first, coefficients as they stand
    Exact,
}

/// What each benchmark counts in the overall gain and speedup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Weighting {
    /// By the coefficients of the configuration; equal where it has none
    #[default]
    Custom,
    /// All the same
    Equal,
    /// By its share of the baseline's time
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
}

/// The whole answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    schema: u32,
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
    /// On the mean and on the median.
    pub(crate) proportions: [ProportionAnswer; 2],
    /// Of the whole test; those of a benchmark are with it.
    pub(crate) warnings: Vec<Warning>,
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
    probability_faster: f64,
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

/// The two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Protocol {
    Mean,
    Median,
}

/// What a protocol says of a benchmark.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    /// Whether the speedup is statistically significant; absent where nothing can be concluded.
    pub(crate) significant: Option<bool>,
    /// The confidence level of that.
    pub(crate) confidence: Option<f64>,
    /// The protocol at the last risk tried, with all its tests.
    conclusion: Conclusion,
}

/// The overall gain and speedup by one summary of the times.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OverallAnswer {
    pub(crate) by: Summary,
    pub(crate) gain: f64,
    pub(crate) speedup: f64,
}

/// The proportion of accelerated benchmarks by one protocol.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProportionAnswer {
    pub(crate) by: Protocol,
    pub(crate) accelerated: u64,
    pub(crate) benchmarks: u64,
    pub(crate) estimate: f64,
    /// The published interval.
    pub(crate) interval: Interval,
    /// The interval that is recommended for so many benchmarks (Brown, Cai, DasGupta 2001).
    pub(crate) recommended: Interval,
    /// a(1 − a/b) > 5.
    pub(crate) condition_holds: bool,
    pub(crate) precision: f64,
    /// Benchmarks to draw for that precision by the published formula, which knows nothing of proportions 0 and 1.
    pub(crate) benchmarks_needed: Option<u64>,
    /// The same by Wilson's interval.
    pub(crate) benchmarks_needed_by_wilson: u64,
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
                Some("leave a benchmark out that is not to count, or use --weight equal")
            }
            Self::MissingCoefficient { .. } => Some("give all coefficients or none, or use --weight equal"),
            Self::Level { .. } => Some("95 % is written 0.95; leave the field empty for the best level"),
            Self::Ratio { .. } | Self::Suite(_) | Self::Proportion(_) | Self::Precision(_) => None,
        }
    }
}

impl Protocol {
    /// The word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
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
        let mut overall = Vec::new();
        for (summary, coefficients) in Summary::ALL.into_iter().zip(&mut coefficients) {
            *coefficients = weights.coefficients(summary, &members)?.into_iter();
            let Overall { gain, speedup, .. } = Overall::new(&members, summary, &weights)?;
            overall.push(OverallAnswer { by: summary, gain, speedup });
        }
        let mut next = || coefficients.each_mut().map(|of_tested| of_tested.next().unwrap_or(f64::NAN));
        let benchmarks: Result<Vec<_>, _> =
            loaded.iter().map(|one| benchmark(one, options, &mut next)).collect();
        let benchmarks = benchmarks?;
        Ok(Self {
            schema: SCHEMA,
            configuration,
            mode: options.mode,
            legacy_ks: options.legacy_ks,
            confidence: options.level,
            weights: weighting,
            proportions: [
                proportion(Protocol::Mean, &benchmarks, options)?,
                proportion(Protocol::Median, &benchmarks, options)?,
            ],
            benchmarks,
            overall,
            warnings,
        })
    }
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

/// The weights of the benchmarks that can be tested, and what they are called.
fn weights(
    loaded: &[Loaded],
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<(Weights, Weighting), AnswerError> {
    match options.weighting {
        Weighting::Equal => return Ok((Weights::Equal, Weighting::Equal)),
        Weighting::Fraction => return Ok((Weights::Fraction, Weighting::Fraction)),
        Weighting::Custom => {}
    }
    let coefficients: Vec<_> = loaded.iter().map(|one| one.entry.coefficient).collect();
    for Loaded { entry, .. } in loaded {
        if let Some(value) = entry.coefficient.filter(|value| *value <= 0.0) {
            return Err(AnswerError::Coefficient { line: entry.line, value });
        }
    }
    let missing = coefficients.iter().filter(|coefficient| coefficient.is_none()).count();
    if missing == coefficients.len() {
        return Ok((Weights::Equal, Weighting::Equal));
    }
    if missing > 0 {
        if options.mode == Mode::Exact {
            let first = loaded.iter().find(|one| one.entry.coefficient.is_none());
            return Err(AnswerError::MissingCoefficient { line: first.map_or(0, |one| one.entry.line) });
        }
        warnings.push(Warning::MissingCoefficients { missing });
        return Ok((Weights::Equal, Weighting::Equal));
    }
    let equally = options.mode == Mode::Published && published::weights(&coefficients) == Weights::Equal;
    if equally {
        if coefficients.windows(2).any(|two| two[0] != two[1]) {
            warnings.push(Warning::WholeCoefficients);
        }
        return Ok((Weights::Equal, Weighting::Equal));
    }
    let tested = loaded.iter().filter(|one| one.samples.is_ok());
    Ok((Weights::Custom(tested.filter_map(|one| one.entry.coefficient).collect()), Weighting::Custom))
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
    let mut warnings = warnings_of(Protocol::Mean, &mean, sizes, options.mode);
    warnings.extend(warnings_of(Protocol::Median, &median, sizes, options.mode));
    let [baseline_file, candidate_file] = files;
    let facts = |file: String, sample: &speedup_analysis::Sample| SampleFacts {
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

fn rules(options: &Options) -> Rules {
    match options.mode {
        Mode::Exact => Rules::OURS,
        Mode::Published if options.legacy_ks => Rules::PUBLISHED_BEFORE_R_4_2,
        Mode::Published => Rules::PUBLISHED,
    }
}

/// The verdicts on the mean and on the median, at the level of the configuration's line or of the command line, or at
/// the best one.
fn verdicts(test: &SpeedupTest, own: Option<ConfidenceLevel>, options: &Options) -> [Verdict; 2] {
    match options.mode {
        Mode::Published => match options.level.or(own) {
            Some(level) => [
                published::at(level, |risk| test.mean.at_risk(FASTER, risk)).into(),
                published::at(level, |risk| test.median.at_risk(FASTER, risk)).into(),
            ],
            None => [
                published::search(|risk| test.mean.at_risk(FASTER, risk)).into(),
                published::search(|risk| test.median.at_risk(FASTER, risk)).into(),
            ],
        },
        Mode::Exact => match own.or(options.level) {
            Some(level) => [test.mean.at(FASTER, level), test.median.at(FASTER, level)]
                .map(|conclusion| Verdict::new(Some(level.get()), conclusion)),
            None => [test.mean.best(FASTER), test.median.best(FASTER)].map(|conclusion| {
                // A risk too small for a double does not make certainty.
                let confidence = conclusion.confidence().map(|level| level.min(1.0 - f64::EPSILON / 2.0));
                Verdict::new(confidence, conclusion)
            }),
        },
    }
}

impl From<PublishedVerdict> for Verdict {
    fn from(verdict: PublishedVerdict) -> Self {
        let PublishedVerdict { significant, confidence, no_level_above_half, mut conclusion } = verdict;
        if no_level_above_half {
            conclusion.caveats.push(speedup_analysis::Caveat::NoLevelAboveHalf);
        }
        Self { significant, confidence, conclusion }
    }
}

impl Verdict {
    fn new(confidence: Option<f64>, conclusion: Conclusion) -> Self {
        let significant = match &conclusion.outcome {
            Outcome::Significant => Some(true),
            Outcome::NotSignificant => Some(false),
            Outcome::CannotConclude { .. } => None,
        };
        Self { significant, confidence, conclusion }
    }
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

fn proportion(
    by: Protocol,
    benchmarks: &[Benchmark],
    options: &Options,
) -> Result<ProportionAnswer, AnswerError> {
    let tested = || benchmarks.iter().filter_map(Benchmark::tested);
    let accelerated = tested().filter(|one| one.verdict(by).significant == Some(true)).count() as u64;
    let all = tested().count() as u64;
    let level = options.level.unwrap_or(USUAL_OF_PROPORTIONS);
    let proportion = Proportion::new(accelerated, all, Selection::Drawn)?;
    let (estimate, precision) = (proportion.estimate(), options.precision);
    let needed = benchmarks_by_wald(estimate, precision, level, Selection::Drawn)?;
    Ok(ProportionAnswer {
        by,
        accelerated,
        benchmarks: all,
        estimate,
        interval: proportion.interval(ProportionMethod::WilsonCorrected, level),
        recommended: proportion.interval(ProportionMethod::recommended(all), level),
        condition_holds: proportion.satisfies_condition(),
        precision,
        benchmarks_needed: (needed > 0).then_some(needed),
        benchmarks_needed_by_wilson: benchmarks_by_wilson(estimate, precision, level, Selection::Drawn)?,
    })
}
