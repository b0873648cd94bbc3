//! The Speedup-Test: is the speedup of the mean, or of the median, statistically significant?
//!
//! Touati 2010 §4, Figs. 1 and 2. Both protocols first check, at the main test's own risk, what their main test
//! assumes; every sub-test stays visible. The answer is significant, not significant, or that the data do not
//! allow one.
//!
//! * [`MeanTest`]: Shapiro–Wilk on small samples, F to choose, then Student's or Welch's t.
//! * [`MedianTest`]: Kolmogorov–Smirnov on median-centred samples, then the rank sum; also `P[X > Y]`.
//! * [`ProtocolConclusion`]: an answer with its risk, assumptions and caveats; [`ProtocolVerdict`]: what is reported of it.
//! * [`published`]: the verdicts of the original program, bit for bit where that makes sense.

mod conclusion;
mod mean;
mod median;
pub mod published;

use crate::{ratio::RatioError, ratio::mean::require_positive, sample::Sample, test::ExactRule};
pub use conclusion::{
    Assumption, AssumptionCheck, AssumptionOutcome, ProtocolConclusion, ProtocolOutcome, ProtocolVerdict,
    Question, StopReason, SubTest, SubTestRefusal,
};
pub use mean::{Beyond5000, MeanTest};
pub use median::MedianTest;
use serde::Serialize;

/// Samples of more runs than this are large (Touati 2010 §4.1, App. C).
pub const LARGE_ABOVE: usize = 30;
/// The search for the best confidence level stops here: no level of one half or less is reported (Touati 2010
/// §6.2.2).
pub const LARGEST_RISK: f64 = 0.5;

/// The Speedup-Test of one benchmark: observed speedups and both protocols.
///
/// ```
/// use speedup_statistics::protocol::speedup_test::{ProtocolOutcome, Question, SpeedupTest};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Touati 2010 §6.3.2, benchmark 1.
/// let baseline = Sample::new(vec![2.02, 2.25, 2.3, 2.251, 2.01])?;
/// let candidate = Sample::new(vec![1.02, 2.05, 2.3, 2.071, 1.05])?;
/// let test = SpeedupTest::new(&baseline, &candidate)?;
/// assert!((test.speedups.mean - 1.276).abs() < 5e-4 && (test.speedups.median - 1.098).abs() < 5e-4);
/// // At the risk that the t test of the means would need, 8 %, so few runs are found not normal.
/// let of_mean = test.mean.best(Question::CandidateFaster);
/// assert!(matches!(of_mean.outcome, ProtocolOutcome::CannotConclude { .. }));
/// // The median is faster at a level of 76.98 %; the paper tells whole percents, 76 %.
/// let of_median = test.median.best(Question::CandidateFaster);
/// assert!(of_median.confidence().is_some_and(|level| (level - 0.7698).abs() < 5e-5));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SpeedupTest {
    pub speedups: ObservedSpeedups,
    /// The protocol of the mean.
    pub mean: MeanTest,
    /// The protocol of the median.
    pub median: MedianTest,
}

/// Baseline over candidate: above 1, the candidate is faster (Touati 2010 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ObservedSpeedups {
    /// Of the least times; its reproducibility cannot be tested (Touati 2010 App. A).
    pub min: f64,
    pub mean: f64,
    pub median: f64,
}

/// Where our protocol and the published program differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// What happens to samples that Shapiro–Wilk cannot test for their size.
    pub beyond_5000: Beyond5000,
    /// When Kolmogorov–Smirnov is exact.
    pub kolmogorov_smirnov: ExactRule,
    /// What equal times are to the protocol of the median.
    pub ties: TieRule,
}

/// What equal times are to the protocol of the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TieRule {
    /// They are conditioned on, so that no impossible significance is claimed; centred times that differ by rounding are equal.
    Conditional,
    /// They make the rank sum's law the normal one, as 50 runs do; centred times are equal where subtraction leaves them so.
    AsR,
}

impl Rules {
    /// Ours: more than 5000 runs are a large sample; tests of ranks are exact, given the ties, wherever that can be counted.
    pub const OURS: Self = Self {
        beyond_5000: Beyond5000::Large,
        kolmogorov_smirnov: ExactRule::SmallProduct,
        ties: TieRule::Conditional,
    };
    /// The tests of the original program, searched exactly: more than 5000 runs are a large sample.
    pub const PUBLISHED_TESTS: Self = Self { beyond_5000: Beyond5000::Large, ..Self::PUBLISHED };
    /// The original program on R 4.2: more than 5000 runs are never significant on the mean.
    pub const PUBLISHED: Self = Self {
        beyond_5000: Beyond5000::Refused,
        kolmogorov_smirnov: ExactRule::SmallProduct,
        ties: TieRule::AsR,
    };
    /// The original program on the R of its time: Kolmogorov–Smirnov by its limit law whenever values are
    /// equal.
    pub const PUBLISHED_BEFORE_R_4_2: Self =
        Self { kolmogorov_smirnov: ExactRule::SmallProductWithoutTies, ..Self::PUBLISHED };
}

impl SpeedupTest {
    /// Tests `baseline` against `candidate` by our rules.
    ///
    /// # Errors
    /// [`RatioError::NotPositive`] for times that are not positive. What a sub-test cannot do is part of the
    /// answers.
    pub fn new(baseline: &Sample, candidate: &Sample) -> Result<Self, RatioError> {
        Self::with_rules(baseline, candidate, Rules::OURS)
    }

    /// Tests `baseline` against `candidate` by `rules`.
    ///
    /// # Errors
    /// [`RatioError::NotPositive`] for times that are not positive.
    pub fn with_rules(baseline: &Sample, candidate: &Sample, rules: Rules) -> Result<Self, RatioError> {
        Ok(Self {
            speedups: ObservedSpeedups::new(baseline, candidate)?,
            mean: MeanTest::new(baseline, candidate, rules.beyond_5000),
            median: MedianTest::new(baseline, candidate, rules),
        })
    }
}

impl ObservedSpeedups {
    /// The speedups of `candidate` over `baseline`.
    ///
    /// # Errors
    /// [`RatioError::NotPositive`] for times that are not positive.
    pub fn new(baseline: &Sample, candidate: &Sample) -> Result<Self, RatioError> {
        require_positive(baseline, candidate)?;
        Ok(Self {
            min: baseline.min() / candidate.min(),
            mean: baseline.mean() / candidate.mean(),
            median: baseline.median() / candidate.median(),
        })
    }
}
