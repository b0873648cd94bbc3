//! Why there is no answer.

use super::word::{ReportWord, Word};
use serde::{Deserialize, Serialize};
use speedup_core::value::hint::Hinted;
use speedup_statistics::{inference::Unbounded, protocol::speedup_test::StopReason, ratio::RatioError};

/// Why there is no answer: a code that stays the same between releases, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Its name.
    pub code: Word<ReasonCode>,
    /// A sentence for a person, with a next step where there is one.
    pub sentence: String,
}

speedup_core::words! {
    /// The names of reasons.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ReasonCode {
        /// All pairs are of equal values.
        AllZero = "all_zero",
        /// The baseline is zero, of which there is no ratio.
        BaselineZero = "baseline_zero",
        /// Benchmarks are significantly faster and slower at once.
        BenchmarksOppose = "benchmarks_oppose",
        Constant = "constant",
        /// A pilot whose runs do not vary.
        ConstantPilot = "constant_pilot",
        /// The ratio's denominator cannot be told from zero.
        DenominatorNearZero = "denominator_near_zero",
        /// The bootstrap cannot make so many draws.
        Draws = "draws",
        /// What varies is rounding.
        EssentiallyConstant = "essentially_constant",
        /// A half-width that is none.
        HalfWidth = "half_width",
        /// No host ran a cell twice, so hosts cannot be told from runs.
        HostServedOnce = "host_served_once",
        /// The looks go on.
        LookOpen = "look_open",
        /// The next look awaits its runs.
        LookPending = "look_pending",
        /// A look has runs on which no test can be made.
        LookWithoutTest = "look_without_test",
        /// The verdicts are those of planned looks.
        LookedSequentially = "looked_sequentially",
        /// The looks ended before one decided.
        LooksBrokenOff = "looks_broken_off",
        /// A plain mean of speedups is no overall speedup; it stands as a caveat in reports.
        MeanOfSpeedups = "mean_of_speedups",
        /// The means cannot be compared.
        Means = "means",
        /// No class of hosts has runs of both versions.
        NoCommonClass = "no_common_class",
        /// The pairs have no differences to compute with.
        NoDifferences = "no_differences",
        /// The levels allow no effect size.
        NoEffectSize = "no_effect_size",
        /// A mean has no error, from which intervals are made.
        NoError = "no_error",
        NoFit = "no_fit",
        /// There is no interval.
        NoInterval = "no_interval",
        /// A test within classes has no interval.
        NoIntervalByClasses = "no_interval_by_classes",
        /// The values are not of equal levels.
        NoLevels = "no_levels",
        /// No mixture was fitted.
        NoMixture = "no_mixture",
        /// One version ran better than the other in every run, which leaves no error to estimate.
        NoOverlap = "no_overlap",
        /// No block has runs of both versions.
        NoPairs = "no_pairs",
        /// The pilot has no ratio.
        NoRatio = "no_ratio",
        /// Neither mean can be told from zero.
        NoRatioExcluded = "no_ratio_excluded",
        /// At the risk of a look the interval has no ends.
        NoRepeatedInterval = "no_repeated_interval",
        /// There are no values of which to make a sample.
        NoSample = "no_sample",
        /// The values make no scores.
        NoScores = "no_scores",
        /// The observations are not single runs, of which quantiles are.
        NoSingleRuns = "no_single_runs",
        /// Looks are of benchmarks, not of suites.
        NoSuiteByLooks = "no_suite_by_looks",
        /// A version has no value.
        NoValues = "no_values",
        /// Normality cannot be tested.
        NormalityUntested = "normality_untested",
        /// There is no test.
        NotEnoughData = "not_enough_data",
        /// A version was not measured.
        NotMeasured = "not_measured",
        /// A value is not positive.
        NotPositive = "not_positive",
        /// No cell has runs that vary.
        NothingVaries = "nothing_varies",
        /// One build was measured, where builds are what is independent.
        OneBuildMeasured = "one_build_measured",
        /// All runs were made on one host.
        OneHost = "one_host",
        /// One independent unit was measured.
        OneUnit = "one_unit",
        /// A power that is none.
        Power = "power",
        /// A benchmark's rank-sum test cannot be made.
        RankSum = "rank_sum",
        /// The ratio is beyond the numbers.
        RatioTooLarge = "ratio_too_large",
        /// The test of fit takes another number of resamples.
        Resamples = "resamples",
        /// The values differ by rounding.
        Rounding = "rounding",
        /// Runs of the plan are outstanding, and a verdict read while they arrive has no confidence level.
        RunsOutstanding = "runs_outstanding",
        /// Scores are beyond the numbers once they are divided.
        ScoresOutOfRange = "scores_out_of_range",
        /// All runs of one version are better than all of the other.
        Separated = "separated",
        /// Few runs whose laws differ by more than a shift.
        SmallNoLocationShift = "small_no_location_shift",
        /// Few runs that are not normal.
        SmallNotNormal = "small_not_normal",
        /// Few pairs whose differences are not normal.
        SmallPairsNotNormal = "small_pairs_not_normal",
        /// A pilot of too few runs.
        SmallPilot = "small_pilot",
        /// A speedup that is none.
        Speedup = "speedup",
        /// The speedup under test is none.
        SpeedupUnderTest = "speedup_under_test",
        /// A mean and a spread that are none.
        Spread = "spread",
        /// A test within the protocol cannot be made.
        SubTestRefused = "sub_test_refused",
        /// Equal or unchanged pairs, which an exact test does not take.
        TiesOrZeros = "ties_or_zeros",
        /// With so few benchmarks no outcome is significant.
        TooFewBenchmarks = "too_few_benchmarks",
        /// With so few pairs no outcome is significant.
        TooFewPairs = "too_few_pairs",
        /// There are too few runs.
        TooFewRuns = "too_few_runs",
        /// There are too few independent units.
        TooFewUnits = "too_few_units",
        /// There are more pairs than the test takes.
        TooManyPairs = "too_many_pairs",
        /// The search would take too many speedups.
        TooManySpeedups = "too_many_speedups",
        /// So many times are equal that nothing can be significant.
        TooManyTies = "too_many_ties",
        /// Hosts ran no cells in common.
        Unmatched = "unmatched",
        /// More runs than are allowed.
        Unreachable = "unreachable",
        /// The versions have different numbers of runs, which make no pairs.
        Unpaired = "unpaired",
        /// The weights do not fit the benchmarks.
        Weights = "weights",
    }
    impl ReportWord::name;
    const ALL;
}

impl Reason {
    pub(crate) fn new(code: ReasonCode, sentence: impl Into<String>) -> Self {
        Self { code: code.into(), sentence: one_sentence(&sentence.into()) }
    }

    /// Why there is no verdict while runs are to come.
    pub(crate) fn runs_outstanding() -> Self {
        Self::new(
            ReasonCode::RunsOutstanding,
            "Runs of the plan are outstanding: there is a verdict when all are there, and none before",
        )
    }

    /// Why a version without values is not compared.
    pub(crate) fn no_values() -> Self {
        Self::new(ReasonCode::NoValues, "A version has no run with a value of it")
    }

    /// Of an error that a report tells, with its hint.
    pub(crate) fn of(code: ReasonCode, error: &impl Hinted) -> Self {
        Self::new(code, error.in_a_sentence())
    }
}

impl From<&StopReason> for Reason {
    fn from(reason: &StopReason) -> Self {
        let code = match reason {
            StopReason::SmallNotNormal { .. } => ReasonCode::SmallNotNormal,
            StopReason::SmallNoLocationShift { .. } => ReasonCode::SmallNoLocationShift,
            StopReason::SubTestRefused { .. } => ReasonCode::SubTestRefused,
        };
        Self::new(code, reason.sentence())
    }
}

impl From<Unbounded> for Reason {
    fn from(reason: Unbounded) -> Self {
        let code = match reason {
            Unbounded::DenominatorNearZero => ReasonCode::DenominatorNearZero,
            Unbounded::NoRatioExcluded => ReasonCode::NoRatioExcluded,
            Unbounded::TooFewRuns => ReasonCode::TooFewRuns,
        };
        Self::new(code, reason.sentence())
    }
}

impl From<&RatioError> for Reason {
    fn from(error: &RatioError) -> Self {
        let code = match error {
            RatioError::NotPositive { .. } => ReasonCode::NotPositive,
            RatioError::TooFew { .. } => ReasonCode::TooFewRuns,
            RatioError::Constant => ReasonCode::Constant,
            RatioError::EssentiallyConstant => ReasonCode::EssentiallyConstant,
        };
        Self::of(code, error)
    }
}

/// A text as a sentence: a capital first, a full stop last.
fn one_sentence(text: &str) -> String {
    let mut letters = text.chars();
    let capital = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{capital}{}{stop}", letters.as_str())
}
