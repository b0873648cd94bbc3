//! The methods and their options.

use super::suite::LARGEST_VALUE;
use super::{InquiryError, RatioOptions};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::endpoint::MAX_QUANTILES;
use speedup_statistics::inference::{Adjustment, Threshold};
use speedup_statistics::levels::{MOST_DRAWS, Statistic};
use speedup_statistics::mixture::goodness_of_fit::{
    FEWEST_RESAMPLES, MOST_RESAMPLES, ResampleSize, USUAL_RESAMPLES,
};
use speedup_statistics::protocol::hierarchical_performance_test::{
    HierarchicalPerformanceTest, RankSumRule, ScoreReference,
};
use speedup_statistics::protocol::{EarlierProtocol, NormalityReading};
use speedup_statistics::test::{BrunnerMunzel, HalfIntegers, PrecisionError, ProportionMethod};

/// A method with its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Method {
    /// The ratio of medians or means with its two-sided interval, and what follows for the suite.
    Ratio(RatioOptions),
    /// The Speedup-Test (Touati 2010).
    SpeedupTest(SpeedupTestOptions),
    /// The hierarchical performance test (Chen 2012).
    PerformanceTest(PerformanceTestOptions),
    /// Effect sizes of experiments with levels (Kalibera 2012).
    Effect(EffectOptions),
    /// Gaussian mixtures and the metrics of variability (Worms 2016).
    Mixture(MixtureOptions),
    /// Wilcoxon's signed-rank test of pairs that the design made.
    SignedRank,
    /// The Brunner–Munzel test of which version tends to be faster.
    BrunnerMunzel,
    /// The authors' earlier protocol (Touati 2009).
    Earlier(EarlierOptions),
    /// Quantiles, probabilities and clusters of each sample (Worms 2016 §6).
    Distribution(DistributionOptions),
    /// Whether the runs are what the methods take them for.
    Diagnostics,
}

/// Whose verdicts of the Speedup-Test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpeedupTestMode {
    /// Those of the published program, bit for bit.
    Published,
    /// Ours: best levels in closed form, caveats where the program is silent.
    #[default]
    Exact,
}

/// Options of the Speedup-Test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpeedupTestOptions {
    /// Whose verdicts.
    pub mode: SpeedupTestMode,
    /// How p-values are adjusted for the number of benchmarks and candidates, beside those that are not.
    pub adjust: Option<Adjustment>,
    /// The half-width to which the proportion of accelerated benchmarks is to be known.
    pub precision: f64,
    /// An interval of the proportion beside the published and the recommended one.
    pub proportion_interval: Option<ProportionMethod>,
}

/// Options of the hierarchical performance test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PerformanceTestOptions {
    /// γ: is the candidate more than so many times faster?
    pub speedup_under_test: f64,
    /// By which rank-sum test a benchmark has a winner.
    pub rank_sum: RankSumRule,
    /// What becomes of half ranks over the benchmarks.
    pub half_integers: HalfIntegers,
    /// What times are divided into to give scores.
    pub reference: ScoreReference,
}

/// Options of effect sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EffectOptions {
    /// The least relative difference of the times that matters.
    pub threshold: f64,
    /// Draws of the hierarchical bootstrap; none is made without it.
    pub bootstrap: Option<u32>,
    /// What is computed from each draw.
    pub statistic: Statistic,
}

/// Options of mixtures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MixtureOptions {
    /// How far the likelihood is climbed.
    pub fit: speedup_statistics::mixture::FitMethod,
    /// Resamples of the test of fit; 0 leaves it out.
    pub resamples: u32,
    /// Their size.
    pub resample_size: ResampleSize,
    /// Δ of I₂: by how much a run may be slower and still count, in the unit of the values.
    pub delta: f64,
}

/// What is asked of the law of each sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DistributionOptions {
    /// The probabilities of the quantiles.
    pub probabilities: Vec<f64>,
    /// How probably is a run at most each of these, in the unit of the values?
    pub bounds: Vec<f64>,
    /// Whether the cluster of each observation is told.
    pub clusters: bool,
    /// How far the likelihood of the mixture is climbed.
    pub fit: speedup_statistics::mixture::FitMethod,
}

/// Options of the earlier protocol.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EarlierOptions {
    /// How a small sample is found normal.
    pub normality: NormalityReading,
}

impl Default for SpeedupTestOptions {
    fn default() -> Self {
        Self { mode: SpeedupTestMode::Exact, adjust: None, precision: 0.05, proportion_interval: None }
    }
}

impl Default for PerformanceTestOptions {
    fn default() -> Self {
        Self {
            speedup_under_test: 1.0,
            rank_sum: RankSumRule::default(),
            half_integers: HalfIntegers::default(),
            reference: ScoreReference::default(),
        }
    }
}

impl Default for EffectOptions {
    fn default() -> Self {
        Self { threshold: 0.0, bootstrap: None, statistic: Statistic::Mean }
    }
}

impl Default for MixtureOptions {
    fn default() -> Self {
        Self {
            fit: speedup_statistics::mixture::FitMethod::default(),
            resamples: USUAL_RESAMPLES,
            resample_size: ResampleSize::default(),
            delta: 0.0,
        }
    }
}

impl Default for DistributionOptions {
    fn default() -> Self {
        Self {
            probabilities: vec![0.5, 0.9, 0.99],
            bounds: Vec::new(),
            clusters: false,
            fit: speedup_statistics::mixture::FitMethod::default(),
        }
    }
}

impl Default for EarlierOptions {
    fn default() -> Self {
        Self { normality: NormalityReading::NotRejected }
    }
}

/// The speedups that may be put under test: far beyond any that is claimed, near enough that scores stay scores.
const SPEEDUPS_UNDER_TEST: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// The most quantiles, and the most probabilities, of a sample: a curve that fills a screen.
pub const MOST_ASKED: usize = 1_000;

/// The least precision: what is finer asks for more benchmarks than can be counted.
const LEAST_PRECISION: f64 = 1e-6;

/// Quantiles that get verdicts, as a plan has them.
fn check_quantiles(quantiles: &[f64]) -> Result<(), InquiryError> {
    if quantiles.len() > MAX_QUANTILES {
        return Err(InquiryError::TooManyQuantiles(quantiles.len()));
    }
    for (at, quantile) in quantiles.iter().enumerate() {
        if !(*quantile > 0.0 && *quantile < 1.0) {
            return Err(InquiryError::Probability(*quantile));
        }
        if quantiles[..at].contains(quantile) {
            return Err(InquiryError::QuantileTwice(*quantile));
        }
    }
    Ok(())
}

impl Method {
    /// The ratio of the centres with the usual options.
    pub fn ratio() -> Self {
        Self::Ratio(RatioOptions::default())
    }

    /// The Speedup-Test with the usual options.
    pub fn speedup_test() -> Self {
        Self::SpeedupTest(SpeedupTestOptions::default())
    }

    /// A short name that stays the same between releases.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Ratio(_) => "ratio",
            Self::SpeedupTest(_) => "speedup_test",
            Self::PerformanceTest(_) => "performance_test",
            Self::Effect(_) => "effect",
            Self::Mixture(_) => "mixture",
            Self::SignedRank => "signed_rank",
            Self::BrunnerMunzel => "brunner_munzel",
            Self::Earlier(_) => "earlier",
            Self::Distribution(_) => "distribution",
            Self::Diagnostics => "diagnostics",
        }
    }

    /// The full name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ratio(_) => "ratio of the declared centres, two-sided",
            Self::SpeedupTest(options) => match options.mode {
                SpeedupTestMode::Published => "Speedup-Test (Touati, Worms, Briais 2010), as published",
                SpeedupTestMode::Exact => "Speedup-Test (Touati, Worms, Briais 2010), exact levels",
            },
            Self::PerformanceTest(_) => HierarchicalPerformanceTest::NAME,
            Self::Effect(_) => "ratio of mean times by levels of repetition (Kalibera and Jones 2012)",
            Self::Mixture(options) => options.fit.name(),
            Self::SignedRank => "Wilcoxon signed-rank test of paired log ratios",
            Self::BrunnerMunzel => BrunnerMunzel::NAME,
            Self::Earlier(_) => EarlierProtocol::NAME,
            Self::Distribution(_) => {
                "quantiles, probabilities and clusters, observed and of a Gaussian mixture"
            }
            Self::Diagnostics => "diagnostics of run order and granularity",
        }
    }

    /// Where it is from.
    pub fn sources(&self) -> Vec<String> {
        const SPEEDUP_TEST: &str = "Touati, Worms, Briais: The Speedup-Test, 2010";
        const EFFECT: &str =
            "Kalibera, Jones: Quantifying Performance Changes with Effect Size Confidence Intervals, 2012";
        const MIXTURE: &str = "Worms, Touati: Modelling Program's Performance with Gaussian Mixtures for Parametric Statistics, 2016";
        let sources: &[&str] = match self {
            Self::Ratio(_) => &[
                "Zou, Donner: Construction of Confidence Limits about Effect Measures, 2008",
                "David, Nagaraja: Order Statistics, 2003",
                EFFECT,
                "DerSimonian, Laird: Meta-Analysis in Clinical Trials, 1986",
                "Knapp, Hartung: Improved Tests for a Random Effects Meta-Regression, 2003",
            ],
            Self::SpeedupTest(_) => &[
                SPEEDUP_TEST,
                EFFECT,
                "Hodges, Lehmann: Estimates of Location Based on Rank Tests, 1963",
                "Brown, Cai, DasGupta: Interval Estimation for a Binomial Proportion, 2001",
            ],
            Self::PerformanceTest(_) => {
                &["Chen et al.: Statistical Performance Comparisons of Computers, 2012"]
            }
            Self::Effect(_) => &[EFFECT],
            Self::Mixture(_) => &[MIXTURE],
            Self::Distribution(_) => &[
                MIXTURE,
                "David, Nagaraja: Order Statistics, 2003",
                "Clopper, Pearson: The Use of Confidence or Fiducial Limits, 1934",
            ],
            Self::BrunnerMunzel => &["Brunner, Munzel: The Nonparametric Behrens-Fisher Problem, 2000"],
            Self::SignedRank => &["Hollander, Wolfe: Nonparametric Statistical Methods, §3.1–3.3"],
            Self::Earlier(_) => &[
                "Touati: Towards a Statistical Methodology to Evaluate Program Speedups and their Optimisation Techniques, 2009",
            ],
            Self::Diagnostics => &[
                "Wald, Wolfowitz: On a Test Whether Two Samples Are from the Same Population, 1940",
                "Mann: Nonparametric Tests Against Trend, 1945",
                "Sen: Estimates of the Regression Coefficient Based on Kendall's Tau, 1968",
            ],
        };
        sources.iter().map(|&source| source.to_owned()).collect()
    }

    /// The version that is no candidate, but the baseline's program again.
    pub(super) fn control(&self) -> Option<&str> {
        match self {
            Self::Ratio(options) => options.control.as_deref(),
            Self::SpeedupTest(_)
            | Self::PerformanceTest(_)
            | Self::Effect(_)
            | Self::Mixture(_)
            | Self::SignedRank
            | Self::BrunnerMunzel
            | Self::Earlier(_)
            | Self::Distribution(_)
            | Self::Diagnostics => None,
        }
    }

    /// Whether it needs two versions.
    pub fn compares(&self) -> bool {
        match self {
            Self::Ratio(_)
            | Self::SpeedupTest(_)
            | Self::PerformanceTest(_)
            | Self::Effect(_)
            | Self::SignedRank
            | Self::BrunnerMunzel
            | Self::Earlier(_) => true,
            Self::Mixture(_) | Self::Distribution(_) | Self::Diagnostics => false,
        }
    }

    /// Whether it sets benchmarks of one name beside each other.
    pub(super) fn pairs(&self) -> bool {
        self.compares() || matches!(self, Self::Mixture(_))
    }

    /// Whether it compares the runs of two versions in one block as a pair.
    pub(super) fn takes_pairs(&self) -> bool {
        match self {
            Self::Ratio(_) | Self::SignedRank => true,
            Self::SpeedupTest(options) => options.mode == SpeedupTestMode::Exact,
            Self::PerformanceTest(_)
            | Self::Effect(_)
            | Self::Mixture(_)
            | Self::BrunnerMunzel
            | Self::Earlier(_)
            | Self::Distribution(_)
            | Self::Diagnostics => false,
        }
    }

    /// Whether it keeps runs apart from the values in them.
    pub(super) fn knows_levels(&self) -> bool {
        matches!(self, Self::Effect(_))
    }

    /// Whether it draws random numbers.
    pub fn is_random(&self) -> bool {
        match self {
            Self::Effect(options) => options.bootstrap.is_some(),
            Self::Mixture(options) => options.resamples > 0,
            Self::Ratio(_)
            | Self::SpeedupTest(_)
            | Self::PerformanceTest(_)
            | Self::SignedRank
            | Self::BrunnerMunzel
            | Self::Earlier(_)
            | Self::Distribution(_)
            | Self::Diagnostics => false,
        }
    }

    /// Refuses options out of range.
    pub(super) fn check(&self) -> Result<(), InquiryError> {
        match self {
            Self::Ratio(options) => {
                if let Some(margin) = options.margin.filter(|margin| !(*margin > 0.0 && *margin < 1.0)) {
                    return Err(InquiryError::Margin(margin));
                }
                check_quantiles(&options.quantiles)?;
            }
            Self::SpeedupTest(options) => {
                if !(LEAST_PRECISION..1.0).contains(&options.precision) {
                    return Err(InquiryError::Precision(PrecisionError::Precision(options.precision)));
                }
            }
            Self::PerformanceTest(options) => {
                if !SPEEDUPS_UNDER_TEST.contains(&options.speedup_under_test) {
                    return Err(InquiryError::SpeedupUnderTest(options.speedup_under_test));
                }
            }
            Self::Effect(options) => {
                Threshold::new(options.threshold)?;
                if let Some(draws) = options.bootstrap.filter(|draws| !(1..=MOST_DRAWS).contains(draws)) {
                    return Err(InquiryError::Draws(draws));
                }
            }
            Self::Mixture(options) => {
                let resamples = options.resamples;
                if resamples != 0 && !(FEWEST_RESAMPLES..=MOST_RESAMPLES).contains(&resamples) {
                    return Err(InquiryError::Resamples(resamples));
                }
                if !options.delta.is_finite() || options.delta.abs() > LARGEST_VALUE {
                    return Err(InquiryError::Delta(options.delta));
                }
            }
            Self::Distribution(options) => {
                let asked = options.probabilities.len().max(options.bounds.len());
                if asked > MOST_ASKED {
                    return Err(InquiryError::TooManyAsked(asked));
                }
                let is_probability = |p: &&f64| **p > 0.0 && **p < 1.0;
                if let Some(other) = options.probabilities.iter().find(|p| !is_probability(p)) {
                    return Err(InquiryError::Probability(*other));
                }
                let is_bound = |bound: &&f64| bound.is_finite() && bound.abs() <= LARGEST_VALUE;
                if let Some(other) = options.bounds.iter().find(|bound| !is_bound(bound)) {
                    return Err(InquiryError::Bound(*other));
                }
            }
            Self::SignedRank | Self::BrunnerMunzel | Self::Earlier(_) | Self::Diagnostics => {}
        }
        Ok(())
    }
}
