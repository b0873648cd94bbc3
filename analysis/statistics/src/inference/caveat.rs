//! What a reader must know beside a number: one code and one sentence each.

use serde::Serialize;
use speedup_core::value::count::counted;

speedup_core::words! {
    /// Which of the two samples.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Side {
        /// The papers' X, the times of C.
        Baseline = "baseline",
        /// The papers' Y, the times of C′.
        Candidate = "candidate",
    }
    fn name;
}

/// A condition that weakens an answer without forbidding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Caveat {
    /// More than 30 runs that are not normal: the t test's risk is approximate (Touati 2010 §4.1).
    NotNormalLarge { side: Side, n: usize },
    /// More than 30 pairs whose differences are not normal: the paired t test's risk is approximate.
    PairsNotNormal { n: usize },
    /// More runs than Shapiro–Wilk can test: taken as a large sample.
    NormalityUntested { side: Side, n: usize },
    /// More than 30 runs each that differ by more than a shift: the rank-sum test's risk is approximate (Touati 2010
    /// §4.2).
    NoLocationShift,
    /// Equal observations: the rank-sum test is approximate.
    Ties,
    /// No confidence level above one half makes the difference significant (Touati 2010 §6.2.2).
    NoLevelAboveHalf,
    /// The level was searched for in the data: it is a p-value, not a risk fixed beforehand.
    LevelFromData,
    /// The interval of the median ratio holds where the versions differ by a factor.
    AssumesScaleShift,
    /// The interval is by a normal approximation.
    NormalApproximation,
    /// The law is that of many observations, its limit.
    LimitLaw,
    /// Exact for normal observations, and sensitive to others.
    AssumesNormal,
    /// a(1 − a/b) is not above 5, so the normal approximation of the proportion is doubtful (Touati 2010 §5).
    ProportionCondition { accelerated: u64, benchmarks: u64 },
    /// The benchmarks were chosen, not drawn: the interval says nothing of other programs (Touati 2010 §5).
    BenchmarksChosen,
    /// Benchmarks with so few runs that not even a complete separation of their scores is significant (Chen 2012
    /// §4.1).
    TooFewRunsToWin { benchmarks: u64 },
    /// The two sides have different numbers of runs, where Chen 2012 §4.1 has the same.
    UnequalRuns,
    /// No benchmark has a significant difference, so there is nothing to rank (Chen 2012 §4.1).
    NoBenchmarkDiffers,
    /// The units of a level have different counts, as after lost runs: means of units are weighted alike.
    Unbalanced,
    /// The versions' highest levels have different counts, and the smaller gives the degrees of freedom.
    UnequalUnits {
        /// Units of the baseline's highest level.
        n: usize,
        /// Units of the candidate's.
        m: usize,
    },
    /// The mean of a version is not positive: the ratio is none of times.
    MeanNotPositive { side: Side },
    /// The interval's ends lie beyond what so few draws can show.
    FewDraws { draws: u32 },
    /// A percentile interval of a bootstrap over few units of the highest level, which is too narrow.
    FewUnits {
        /// The fewer of the two versions' units.
        units: usize,
    },
    /// The probability is by seeded draws, and no finer than they.
    ByDraws { draws: u64 },
    /// The splits are of one pool of runs: they do not vary as new runs would.
    OnePool,
    /// Splits of a pool that the test refused, counted as not rejected.
    SplitsRefused { refused: u64, splits: u64 },
    /// The observations differ in their last digits only.
    SpreadOfRounding,
    /// A plain mean of the speedups of different programs, which is no overall speedup (Touati 2010 §3.2).
    MeanOfSpeedups,
    /// The verdict asks one direction and the interval both, so that it covers 1 beside faster or slower.
    IntervalCoversOne,
}

impl Side {
    /// The other of the two.
    pub fn other(self) -> Self {
        match self {
            Self::Baseline => Self::Candidate,
            Self::Candidate => Self::Baseline,
        }
    }
}

impl Caveat {
    /// The same of two samples that were given in the other order.
    pub fn exchanged(self) -> Self {
        match self {
            Self::NotNormalLarge { side, n } => Self::NotNormalLarge { side: side.other(), n },
            Self::NormalityUntested { side, n } => Self::NormalityUntested { side: side.other(), n },
            Self::MeanNotPositive { side } => Self::MeanNotPositive { side: side.other() },
            Self::UnequalUnits { n, m } => Self::UnequalUnits { n: m, m: n },
            Self::PairsNotNormal { .. }
            | Self::NoLocationShift
            | Self::Ties
            | Self::NoLevelAboveHalf
            | Self::LevelFromData
            | Self::AssumesScaleShift
            | Self::NormalApproximation
            | Self::LimitLaw
            | Self::AssumesNormal
            | Self::ProportionCondition { .. }
            | Self::BenchmarksChosen
            | Self::TooFewRunsToWin { .. }
            | Self::UnequalRuns
            | Self::NoBenchmarkDiffers
            | Self::Unbalanced
            | Self::FewDraws { .. }
            | Self::ByDraws { .. }
            | Self::FewUnits { .. }
            | Self::OnePool
            | Self::SplitsRefused { .. }
            | Self::SpreadOfRounding
            | Self::MeanOfSpeedups
            | Self::IntervalCoversOne => self,
        }
    }

    /// A sentence for a person, with a next step.
    pub fn sentence(&self) -> String {
        match self {
            Self::NotNormalLarge { side, n } => format!(
                "The {} seems not to be normally distributed; with {n} runs the t test is usual but its confidence \
                 level is approximate: prefer the verdict on the median.",
                side.name()
            ),
            Self::NormalityUntested { side, n } => format!(
                "Normality of the {} was not tested, since the test ends at 5000 runs and there are {n}: \
                 look at its distribution before trusting the verdict on the mean.",
                side.name()
            ),
            Self::PairsNotNormal { n } => format!(
                "The differences of the pairs seem not to be normally distributed; with {n} pairs the paired t test is usual but \
                 its confidence level is approximate: prefer the verdict on the median."
            ),
            Self::NoLocationShift => "The two versions differ by more than a shift, so the confidence level \
                of the rank-sum test is approximate: compare their distributions."
                .to_owned(),
            Self::Ties => "Some times are equal, so the rank-sum test is by its normal approximation: use a \
                finer clock or a longer run."
                .to_owned(),
            Self::NoLevelAboveHalf => {
                "No confidence level above 50 % makes this significant: plan more runs, or take it that \
                 there is no difference."
                    .to_owned()
            }
            Self::LevelFromData => "This is the best level that these data allow, found after seeing them: \
                for a risk that is kept over many experiments, fix the level in the plan."
                .to_owned(),
            Self::AssumesScaleShift => "The interval holds if the versions' times differ by a factor: where \
                the location-shift test rejects, compare quantiles instead."
                .to_owned(),
            Self::LimitLaw => {
                "The p-value is by the law of many observations: with fewer of them the exact one applies.".to_owned()
            }
            Self::AssumesNormal => "This is exact for normal observations and sensitive to others: look at their \
                distribution, or take a method by ranks."
                .to_owned(),
            Self::NormalApproximation => {
                "The level is approximate, by a normal law: with fewer ties or runs an exact one applies."
                    .to_owned()
            }
            Self::ProportionCondition { accelerated, benchmarks } => format!(
                "With {accelerated} of {} a(1 − a/b) is not above 5, so the interval may be inaccurate: take \
                 Clopper–Pearson's exact one, or draw more benchmarks.",
                counted(*benchmarks, "benchmark")
            ),
            Self::BenchmarksChosen => "The benchmarks were chosen, not drawn at random, so the interval is \
                not valid for other programs: draw them from a population to claim more."
                .to_owned(),
            Self::TooFewRunsToWin { benchmarks } => format!(
                "{benchmarks} of the benchmarks have too few runs to show any difference and count as ties: \
                 plan at least three runs of each version, better five."
            ),
            Self::UnequalRuns => "The versions have different numbers of runs; the published test has the \
                same for both, here each counts as it is."
                .to_owned(),
            Self::NoBenchmarkDiffers => "No benchmark shows a difference, so the confidence says nothing: \
                plan more runs, or take it that there is no difference."
                .to_owned(),
            Self::Unbalanced => "Some units have fewer runs than others; each unit's mean counts alike \
                whatever its runs, and the confidence level is approximate: repeat the runs that were lost."
                .to_owned(),
            Self::UnequalUnits { n, m } => format!(
                "The highest level has {} of the baseline and {m} of the candidate; the degrees of freedom are those of \
                 the smaller, so the interval is rather too wide: repeat both alike.",
                counted(*n as u64, "unit")
            ),
            Self::MeanNotPositive { side } => format!(
                "The mean of the {} is not positive, so the ratio says nothing of speed: check the metric.",
                side.name()
            ),
            Self::FewDraws { draws } => format!(
                "With {} the ends of the interval are the extremes of the draws: make more draws, or ask for a lower \
                 level.",
                counted(u64::from(*draws), "draw")
            ),
            Self::FewUnits { units } => format!(
                "With {units} units of the highest level the bootstrap's percentile interval is too narrow, and covers less \
                 often than its level says: go by Fieller's interval, or repeat the highest level ten times or more."
            ),
            Self::ByDraws { draws } => format!(
                "The probability is from {} at random, seeded, and no finer than one of them: draw more for more digits.",
                counted(*draws, "draw")
            ),
            Self::OnePool => {
                "All splits are of the same runs, so the rate speaks of this pool as it was measured: \
                measure it again to see how much the pool itself varies."
                    .to_owned()
            }
            Self::IntervalCoversOne => {
                "The verdict asks one direction and the interval both, so an interval that just covers 1 may stand \
                 beside faster or slower: the difference is small against its noise; plan more runs."
                    .to_owned()
            }
            Self::SplitsRefused { refused, splits } => format!(
                "The test refused {refused} of {}, which count as not different: its rate says little of this pool; go by \
                 the other test.",
                counted(*splits, "split")
            ),
            Self::SpreadOfRounding => {
                "The values differ only in their last digits, so the results describe rounding: subtract the \
                    common part before recording."
                    .to_owned()
            }
            Self::MeanOfSpeedups => {
                "No mean of the speedups of different programs is an overall speedup (Touati 2010 §3.2): it \
                counts a benchmark of seconds like one of days; quote the overall speedup and the weights."
                    .to_owned()
            }
        }
    }
}
