//! Why an inquiry has no answer, and the limits on what it may ask for.

use crate::{count::counted, gate::Conclusion};
use speedup_core::experiment::endpoint::MAX_QUANTILES;
use speedup_statistics::inference::{LevelError, ThresholdError};
use speedup_statistics::mixture::goodness_of_fit::{FEWEST_RESAMPLES, MOST_RESAMPLES};
use speedup_statistics::test::{PrecisionError, ProportionError};
use speedup_statistics::{
    levels::LevelsError, levels::MOST_DRAWS, ratio::SuiteError, ratio::TrimShareError, sample::SampleError,
};
use thiserror::Error;

/// The most versions of an inquiry: more than anybody compares, few enough to compare each with the baseline.
pub const MOST_VERSIONS: usize = 256;
/// The most values of all samples together: 128 MiB of them, held a few times over.
pub const MOST_VALUES: usize = 16 << 20;
/// The least value: far below any measurement, and squares of differences in its last digits are still doubles.
pub(super) const LEAST_VALUE: f64 = 1e-100;
/// The largest value, likewise: the ratio of any two is a double.
pub(super) const LARGEST_VALUE: f64 = 1e100;

/// The most quantiles, and the most probabilities, of a sample: a curve that fills a screen.
pub(super) const MOST_ASKED: usize = 1_000;

/// The most amounts that are asked for: each is an analysis of its own.
pub(super) const MOST_SHARES: usize = 16;

speedup_core::words! {
    /// Why an inquiry has no answer: input that cannot be meant.
    #[derive(Clone, Debug, PartialEq, Error)]
    pub enum InquiryError {
        #[error("a comparison needs two versions, but there is {versions}")]
        TooFewVersions {
            versions: usize,
        } = "too_few_versions",
        /// More than [`MOST_VERSIONS`].
        #[error("a comparison has at most {MOST_VERSIONS} versions, not {versions}")]
        TooManyVersions {
            versions: usize,
        } = "too_many_versions",
        /// More than [`MOST_VALUES`].
        #[error("a comparison has at most {MOST_VALUES} values")]
        TooManyValues = "too_many_values",
        #[error("two versions are called {version:?}")]
        VersionTwice { version: String } = "version_twice",
        #[error("{version} has no benchmarks")]
        NoBenchmarks { version: String } = "no_benchmarks",
        #[error("{version} has the benchmark {benchmark:?} twice")]
        BenchmarkTwice { version: String, benchmark: String } = "benchmark_twice",
        #[error("no benchmark is in all versions: {examples}")]
        NothingInCommon {
            /// The first benchmark of the first two versions.
            examples: String,
        } = "nothing_in_common",
        /// What is missing leaves nothing to compare.
        #[error("no benchmark has a result in every version: {listed}")]
        NoResults {
            listed: String,
            /// What gates make of it.
            gates: Vec<Conclusion>,
        } = "no_results",
        #[error("{benchmark} of {version} has no values, or a run without any")]
        NoValues { version: String, benchmark: String } = "no_values",
        /// A value that is not a number, or infinite.
        #[error("value {at} of {benchmark} of {version} is {value}, which is not a finite number")]
        NotFinite {
            version: String,
            benchmark: String,
            /// Its position, from 1.
            at: usize,
            value: f64,
        } = "not_finite",
        #[error("value {at} of {benchmark} of {version} is {value}, which is not positive")]
        NotPositive {
            version: String,
            benchmark: String,
            /// Its position, from 1.
            at: usize,
            value: f64,
        } = "not_positive",
        /// A value whose squares or ratios would not be doubles.
        #[error(
            "value {at} of {benchmark} of {version} is {value:e}, outside {LEAST_VALUE:e} to {LARGEST_VALUE:e}"
        )]
        OutOfRange {
            version: String,
            benchmark: String,
            /// Its position, from 1.
            at: usize,
            value: f64,
        } = "out_of_range",
        /// Blocks that are not those of the runs.
        #[error("the blocks of {benchmark} of {version} do not match its runs one to one")]
        Blocks { version: String, benchmark: String } = "blocks",
        #[error("a margin must be above 0 and below 1, not {0}")]
        Margin(f64) = "margin",
        /// A share to leave out that is none.
        #[error(transparent)]
        Trim(TrimShareError) = "trim",
        #[error("nothing is left out of a {0}: the share is of a trimmed mean")]
        TrimOfOtherCenter(&'static str) = "trim_of_other_center",
        #[error("the values are not a sample")]
        Sample(#[source] SampleError) = "no_sample",
        #[error("the runs and their values do not form levels")]
        Levels(#[source] LevelsError) = "no_levels",
        /// A level outside (0, 1).
        #[error(transparent)]
        Confidence(LevelError) = "confidence",
        /// A threshold out of range.
        #[error(transparent)]
        Threshold(#[from] ThresholdError) = "threshold",
        /// A speedup under test that is no positive number.
        #[error("a speedup under test must be between 1e-6 and 1e6, not {0:?}")]
        SpeedupUnderTest(f64) = "speedup_under_test",
        #[error("a bootstrap makes 1 to {MOST_DRAWS} draws, not {0}")]
        Draws(u32) = "draws",
        #[error(
            "a goodness-of-fit test takes {FEWEST_RESAMPLES} to {MOST_RESAMPLES} resamples, or 0 for no test, not {0}"
        )]
        Resamples(u32) = "resamples",
        /// A Δ that is no number in range.
        #[error("a difference between runs must be a number of the size of the values, not {0:?}")]
        Delta(f64) = "delta",
        #[error("at most {MOST_SHARES} amounts of a speedup can be asked about, not {0}")]
        TooManyShares(usize) = "too_many_shares",
        #[error("by how much a candidate is faster must be a share from 0 to 1000000, not {0:?}")]
        FasterBy(f64) = "faster_by",
        #[error("no share of benchmarks is known by {0}")]
        SharesOfMethod(&'static str) = "shares_of_method",
        /// A probability at which no law has a quantile.
        #[error("the probability of a quantile must be above 0 and below 1, not {0:?}")]
        Probability(f64) = "probability",
        /// More than [`MAX_QUANTILES`] quantiles with verdicts.
        #[error("at most {MAX_QUANTILES} quantiles get verdicts, not {0}")]
        TooManyQuantiles(usize) = "too_many_quantiles",
        #[error("the quantile {0} is given twice")]
        QuantileTwice(f64) = "quantile_twice",
        #[error("there is no version {asked:?} for the control; the versions are {}", versions.join(", "))]
        NoControl { asked: String, versions: Vec<String> } = "no_control",
        #[error("{0:?} is the baseline, and a control is the same program measured again")]
        ControlIsBaseline(String) = "control_is_baseline",
        #[error("besides the baseline there is only the control {0:?}")]
        NoCandidate(String) = "no_candidate",
        /// A bound that is no number in range.
        #[error("a bound of a probability must be a number of the size of the values, not {0:?}")]
        Bound(f64) = "bound",
        /// More than [`MOST_ASKED`] quantiles or probabilities.
        #[error("at most {MOST_ASKED} quantiles and as many probabilities can be computed at a time, not {0}")]
        TooManyAsked(usize) = "too_many_asked",
        /// The precision of the proportion is none.
        #[error(transparent)]
        Precision(#[from] PrecisionError) = "precision",
        /// Fewer benchmarks in the population than there are.
        #[error(transparent)]
        Proportion(#[from] ProportionError) = "proportion",
        #[error(
            "got {} for {} of the baseline",
            counted(*weights as u64, "weight"),
            counted(*benchmarks as u64, "benchmark")
        )]
        WeightCount { weights: usize, benchmarks: usize } = "weight_count",
        /// A weight that is not positive, or out of range.
        #[error(
            "the weight of {benchmark} is {weight:?}, which is not a positive number between 1e-100 and 1e100"
        )]
        Weight { benchmark: String, weight: f64 } = "weight",
        /// A share of the baseline's time, where values are not times.
        #[error("weights by the share of the baseline's time need times, and larger values are better here")]
        FractionOfScores = "fraction_of_scores",
        #[error("the benchmarks have no overall speedup")]
        Suite(#[from] SuiteError) = "no_overall_speedup",
    }
    /// A short name that stays the same between releases.
    fn code(&self);
}

speedup_core::hints! { InquiryError:
    Self::TooFewVersions { .. } => "give a second file, or one that holds several versions",
    Self::TooManyValues => "ask for fewer benchmarks at a time",
    Self::NothingInCommon { .. } => "benchmarks are matched by name",
    Self::NoResults { .. } => "benchmarks are matched by name; mend what failed, and measure again",
    Self::NotFinite { .. } => "leave out the runs that have no value, and say so where you publish",
    Self::NotPositive { .. } => "a speedup is a ratio of positive numbers",
    Self::OutOfRange { .. } => "give the values in another unit",
    Self::Margin(_) => "1 % is written 0.01",
    Self::TrimOfOtherCenter(_) => "take the trimmed mean, which is the default",
    Self::Blocks { .. } => "the values of a version in one block are one run",
    Self::TooManyShares(_) => "ask for fewer at a time",
    Self::FasterBy(_) => "50 % faster is 0.5 or 50%",
    Self::SharesOfMethod(_) => "ask by --method ratio",
    Self::TooManyQuantiles(_) => "more make each verdict weaker",
    Self::QuantileTwice(_) => "each is one verdict of the family",
    Self::NoControl { .. } => "a control is one of the versions in the files",
    Self::ControlIsBaseline(_) => "name the other version",
    Self::NoCandidate(_) => "give a candidate, or compare the two without --control",
    Self::Sample(error) => error.hint(),
    Self::Levels(error) => error.hint(),
    Self::Confidence(error) => error.hint(),
    Self::Threshold(error) => error.hint(),
    Self::Precision(error) => error.hint(),
    Self::Suite(error) => error.hint(),
    Self::SpeedupUnderTest(_) => "5 % faster is written 1.05",
    Self::Draws(_) => "1000 are usual",
    Self::Delta(_) => "it is in the unit of the values, and 0 without the option",
    Self::Probability(_) => "the 95th percentile is 0.95",
    Self::Bound(_) => "it is in the unit of the values",
    Self::WeightCount { .. } => "give one weight per benchmark, in the baseline's order",
    Self::Weight { .. } => "leave out benchmarks that must not count",
    Self::FractionOfScores => "take equal weights",
}
