//! Tests of hypotheses: one file a method.
//!
//! * [`ShapiroWilk`], [`FTest`]: of one law's shape, of two variances;
//! * [`StudentTTest`] and its kin: of means; [`Equivalence`]: of their being equal but for a margin; [`BlockPairs`](block_pairs::BlockPairs): of the pairs of a blocked design;
//! * [`RankSum`], [`SignedRank`], [`VanElteren`]: of ranks; [`PseudoMedian`]: the interval of signed ranks;
//! * [`BrunnerMunzel`]: of whether one tends to smaller values; [`KolmogorovSmirnov`]: of distributions;
//! * [`Proportion`], [`FisherExact`]: of counts; [`TrueShare`], [`ShareCurve`]: of what was tested with error.

pub mod block_pairs;
mod brunner_munzel;
mod equivalence;
mod f_test;
mod fisher_exact;
mod kolmogorov_smirnov;
mod proportion;
mod pseudo_median;
mod rank_sum;
mod shapiro_wilk;
mod signed_rank;
pub(crate) mod t_test;
mod van_elteren;

pub use brunner_munzel::{BrunnerMunzel, BrunnerMunzelError};
pub use equivalence::{Equivalence, EquivalenceError};
pub use f_test::{FTest, FTestError};
pub use fisher_exact::FisherExact;
pub use kolmogorov_smirnov::{
    ExactRule, KolmogorovSmirnov, KolmogorovSmirnovStatistic, LatticeTooLarge, Ties,
};
pub use proportion::{
    PrecisionError, Proportion, ProportionError, ProportionMethod, Selection, ShareCurve, SpeedupLimits,
    TrueShare, benchmarks_by_wald, benchmarks_by_wilson, error_of_share,
};
pub use pseudo_median::PseudoMedian;
pub use rank_sum::{
    ExactRankSum, LeastPValues, NormalRankSum, PermutationRankSum, RankSum, RankSumChoice, RankSumError,
    RankSumLaw, RankSumStatistic,
};
pub use shapiro_wilk::{ShapiroWilk, ShapiroWilkError};
pub use signed_rank::{
    ExactSignedRank, HalfIntegers, NormalSignedRank, SignedRank, SignedRankError, SignedRankLaw,
    SignedRankStatistic, ZerosKeptSignedRank, paired_differences,
};
pub use t_test::{OneSampleTTest, PairedTTest, StudentTTest, TStatistic, TTestError, WelchTTest};
pub use van_elteren::{VanElteren, VanElterenError};
