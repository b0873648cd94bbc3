//! Concludes: the statistics of program speed.
//!
//! Pure functions of samples: no files, clocks or global randomness. The methods know nothing of hosts, plans
//! and journals; [`study`], which turns records into samples and answers into a report, stands apart.
//!
//! In reading order:
//! * [`Sample`], [`ConfidenceLevel`], [`Risk`], [`PValue`], [`Alternative`]: what goes in and what is asked;
//! * [`Interval`], [`RatioInterval`], [`Caveat`]: what comes out;
//! * [`ShapiroWilk`], [`FTest`], [`StudentTTest`] and its kin, [`RankSum`], [`KolmogorovSmirnov`]: one file a
//!   method;
//! * [`MeanRatio`], [`MedianRatio`]: by how much a version is faster;
//! * [`SpeedupTest`]: whether it is, by the protocols of the paper;
//! * [`MixtureFit`], [`GoodnessOfFit`], [`variability`]: run times that cluster, and what users feel of them;
//! * [`Proportion`], [`Overall`], [`SuiteRatio`]: what a set of benchmarks says;
//! * [`study`]: from the attempts of an experiment to its report;
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

mod alternative;
mod caveat;
mod compensated_sum;
mod confidence;
mod continuity;
pub mod distribution;
mod f_test;
pub mod goodness_of_fit;
mod interval;
mod kolmogorov_smirnov;
mod mean_ratio;
mod median_ratio;
pub mod mixture;
mod proportion;
mod rank_sum;
mod sample;
mod shapiro_wilk;
pub mod speedup_test;
pub mod study;
mod suite;
mod suite_ratio;
mod t_test;
pub mod variability;

pub use alternative::Alternative;
pub use caveat::{Caveat, Side};
pub use confidence::{ConfidenceLevel, LevelError, PValue, Risk};
pub use continuity::Continuity;
pub use f_test::{FTest, FTestError};
pub use goodness_of_fit::GoodnessOfFit;
pub use interval::{Interval, RatioInterval, Unbounded};
pub use kolmogorov_smirnov::{
    ExactRule, KolmogorovSmirnov, KolmogorovSmirnovStatistic, LatticeTooLarge, Ties, smirnov_upper_tail,
};
pub use mean_ratio::{MeanRatio, RatioError};
pub use median_ratio::MedianRatio;
pub use mixture::{Mixture, MixtureFit};
pub use proportion::{
    PrecisionError, Proportion, ProportionError, ProportionMethod, Selection, benchmarks_by_wald,
    benchmarks_by_wilson,
};
pub use rank_sum::{
    ExactRankSum, NormalRankSum, PermutationRankSum, RankSum, RankSumChoice, RankSumError, RankSumLaw,
    RankSumStatistic,
};
pub use sample::{LARGEST_OBSERVATION, QuantileError, Sample, SampleError};
pub use shapiro_wilk::{ShapiroWilk, ShapiroWilkError};
pub use speedup_test::SpeedupTest;
pub use suite::{Overall, SuiteError, SuiteMember, Summary, Weights};
pub use suite_ratio::{SuiteRatio, SuiteRatioError};
pub use t_test::{OneSampleTTest, PairedTTest, StudentTTest, TStatistic, TTestError, WelchTTest};
