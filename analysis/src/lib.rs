//! Concludes: the statistics of program speed.
//!
//! Pure functions of samples: no files, clocks or global randomness. The methods know nothing of hosts, plans
//! and journals; [`study`], which turns records into samples and answers into a report, stands apart.
//!
//! In reading order:
//! * [`Sample`], [`ConfidenceLevel`], [`Risk`], [`PValue`], [`Alternative`]: what goes in and what is asked;
//! * [`Interval`], [`RatioInterval`], [`Caveat`]: what comes out; [`EqualTailed`]: intervals against any alternative;
//! * [`ShapiroWilk`], [`FTest`], [`StudentTTest`] and its kin, [`RankSum`], [`SignedRank`],
//!   [`KolmogorovSmirnov`]: one file a method;
//! * [`MeanRatio`], [`MedianRatio`]: by how much a version is faster;
//! * [`SpeedupTest`]: whether it is, by the protocols of the paper;
//! * [`Proportion`], [`Overall`], [`SuiteRatio`], [`HierarchicalPerformanceTest`]: what a set of benchmarks
//!   says; [`SpeedupMeans`]: what others quote of one;
//! * [`Adjustment`]: p-values of many tests at once;
//! * [`Levels`], [`RandomEffects`], [`EffectSize`], [`HierarchicalBootstrap`], [`RepetitionPlan`],
//!   [`Decision`]: experiments that repeat at several levels, by how much their means differ, and how often to
//!   repeat each level;
//! * [`EarlierProtocol`]: the protocol of the authors' earlier paper;
//! * [`power`], [`required_repetitions`], [`two_stage`], [`group_sequential`]: how many runs, and when to look;
//! * [`run_order`], [`host_effect`], [`aa`], [`Granularity`], [`block_pairs`]: whether the runs are what the methods
//!   take them for;
//! * [`MixtureFit`], [`GoodnessOfFit`], [`variability`], [`SampleQuantile`]: run times that cluster, and what users feel of them;
//! * [`simulation`]: the papers' simulation studies of all these methods;
//! * [`inquiry`]: any of these on plain samples, asked and answered as data;
//! * [`study`]: from the attempts of an experiment to its report;
//! * [`gate`]: whether a regression was shown, for scripts;
//! * [`count`]: numbers as sentences show them;
//! * [`distribution`]: the functions under all of these.
//!
//! ```
//! use speedup_analysis::speedup_test::Question;
//! use speedup_analysis::{ConfidenceLevel, MeanRatio, Sample, SpeedupTest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let baseline = Sample::new(vec![2.799, 2.046, 1.259, 1.877, 2.244])?;
//! let candidate = Sample::new(vec![1.046, 0.259, 0.877, 1.244, 1.799])?;
//!
//! let test = SpeedupTest::new(&baseline, &candidate)?;
//! let conclusion = test.mean.at(Question::CandidateFaster, ConfidenceLevel::USUAL);
//! assert!(conclusion.is_significant());
//! assert_eq!(test.mean.best(Question::CandidateFaster).confidence().map(|c| c > 0.98), Some(true));
//!
//! let interval = MeanRatio::new(&baseline, &candidate)?.interval(ConfidenceLevel::USUAL);
//! assert!(interval.bounded().is_some_and(|interval| interval.lower > 1.0));
//! # Ok(())
//! # }
//! ```

pub mod aa;
mod alternative;
pub mod block_pairs;
mod caveat;
mod compensated_sum;
mod confidence;
mod continuity;
pub mod count;
mod critical;
pub mod distribution;
mod earlier_protocol;
mod effect_size;
mod equal_tailed;
mod f_test;
mod fieller;
mod fisher_exact;
pub mod gate;
mod gauss_legendre;
pub mod goodness_of_fit;
mod granularity;
pub mod group_sequential;
mod hierarchical_bootstrap;
pub mod hierarchical_performance_test;
pub mod host_effect;
pub mod inquiry;
mod interval;
mod kolmogorov_smirnov;
mod levels;
mod mean_ratio;
mod median_ratio;
pub mod mixture;
mod monotone_root;
mod multiplicity;
mod paired_ratio;
pub mod power;
mod proportion;
mod pseudo_median;
mod random_effects;
mod rank_sum;
mod repetition_plan;
pub mod required_repetitions;
mod rounding;
pub mod run_order;
mod sample;
mod sample_quantile;
mod shapiro_wilk;
mod signed_rank;
pub mod simulation;
mod speedup_means;
pub mod speedup_test;
mod standard_normals;
pub mod study;
mod suite;
mod suite_ratio;
mod t_test;
mod threshold;
pub mod two_stage;
mod unit_means;
mod van_elteren;
pub mod variability;

pub use alternative::Alternative;
pub use caveat::{Caveat, Side};
pub use confidence::{ConfidenceLevel, LEAST_TOLD, LevelError, PValue, Risk};
pub use continuity::Continuity;
pub use critical::Critical;
pub use earlier_protocol::{
    Acceleration, EARLIER_LARGE_SAMPLE, EarlierError, EarlierProtocol, NormalityReading, lowest_confidence,
};
pub use effect_size::{EffectSize, EffectSizeError};
pub use equal_tailed::{EqualTailed, OneSided};
pub use f_test::{FTest, FTestError};
pub use fisher_exact::FisherExact;
pub use goodness_of_fit::GoodnessOfFit;
pub use granularity::{Granularity, MetricKind};
pub use hierarchical_bootstrap::{
    BootstrapError, HierarchicalBootstrap, MOST_DRAWS, RatioReplicates, Replicates, Resampling, Statistic,
};
pub use hierarchical_performance_test::HierarchicalPerformanceTest;
pub use interval::{Interval, RatioInterval, Unbounded};
pub use kolmogorov_smirnov::{
    ExactRule, KolmogorovSmirnov, KolmogorovSmirnovStatistic, LatticeTooLarge, Ties, smirnov_upper_tail,
};
pub use levels::{Levels, LevelsError, MOST_LEVELS, SMALLEST_OBSERVATION};
pub use mean_ratio::{MeanRatio, RatioError};
pub use median_ratio::MedianRatio;
pub use mixture::{Mixture, MixtureFit};
pub use multiplicity::{Adjustment, ErrorRate};
pub use paired_ratio::PairedRatio;
pub use proportion::{
    PrecisionError, Proportion, ProportionError, ProportionMethod, Selection, benchmarks_by_wald,
    benchmarks_by_wilson,
};
pub use pseudo_median::PseudoMedian;
pub use random_effects::{
    DroppedLevel, DroppedWhy, KeptLevel, LevelVariance, MeanErrorUnknown, RandomEffects, Reshaped,
};
pub use rank_sum::{
    ExactRankSum, NormalRankSum, PermutationRankSum, RankSum, RankSumChoice, RankSumError, RankSumLaw,
    RankSumStatistic,
};
pub use repetition_plan::{
    BudgetedPlan, Costs, MOST_REPETITIONS, OneLevelDesign, PlanError, RepetitionPlan, VarianceComponents,
};
pub use sample::{LARGEST_OBSERVATION, QuantileError, SMALLEST_RANGE, Sample, SampleError};
pub use sample_quantile::SampleQuantile;
pub use shapiro_wilk::{ShapiroWilk, ShapiroWilkError};
pub use signed_rank::{
    ExactSignedRank, HalfIntegers, NormalSignedRank, SignedRank, SignedRankChoice, SignedRankError,
    SignedRankLaw, SignedRankStatistic, ZerosKeptSignedRank, paired_differences,
};
pub use speedup_means::{SpeedupMeans, SpeedupMeansError};
pub use speedup_test::SpeedupTest;
pub use suite::{Overall, SuiteError, SuiteMember, Summary, Weights};
pub use suite_ratio::{Clusters, SuiteRatio, SuiteRatioError};
pub use t_test::{OneSampleTTest, PairedTTest, StudentTTest, TStatistic, TTestError, WelchTTest};
pub use threshold::{Decision, Threshold, ThresholdError};
pub use van_elteren::{VanElteren, VanElterenError};
