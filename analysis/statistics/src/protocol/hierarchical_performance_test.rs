//! The hierarchical performance test: is the candidate faster over a set of benchmarks, and how much (Chen 2012).
//!
//! Two levels. On each benchmark a rank-sum test names a winner or none; the difference of the median scores
//! counts where there is one, and is 0 where not. Over the benchmarks a signed-rank test of these differences,
//! zeros kept, gives the confidence that one side is the better. Dividing the candidate's scores by a speedup
//! under test γ first asks whether it is more than γ times faster (Chen 2012 §4.2).
//!
//! ```
//! use speedup_statistics::protocol::hierarchical_performance_test::{HierarchicalPerformanceTest, PerformanceRules, ReliableSpeedup, ScoreReference, ScoreSuite};
//! use speedup_statistics::inference::{ConfidenceLevel, Side};
//! use speedup_statistics::sample::Sample;
//! use speedup_statistics::ratio::SuiteMember;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let baseline = Sample::new(vec![3.1, 3.0, 3.2, 3.05, 3.15])?;
//! let candidate = Sample::new(vec![2.1, 2.0, 2.2, 2.05, 2.15])?;
//! let members = vec![SuiteMember { baseline: &baseline, candidate: &candidate }; 6];
//! let suite = ScoreSuite::of_times(&members, ScoreReference::FirstBaselineRun)?;
//! let test = HierarchicalPerformanceTest::new(&suite, PerformanceRules::default());
//! assert!(test.at(1.25)?.confidence(Side::Candidate) > 0.98);
//! let reliable = test.reliable_speedup(ConfidenceLevel::USUAL)?;
//! assert!(matches!(reliable, ReliableSpeedup::Supremum { speedup, .. } if speedup > 1.4));
//! # Ok(())
//! # }
//! ```

mod benchmark;
mod score_suite;
mod speedup;

use crate::inference::{Alternative, Caveat, PValue, Side};
use crate::sample::SampleError;
use crate::test::{HalfIntegers, RankSumError, RankSumStatistic, ZerosKeptSignedRank};
pub use benchmark::{BenchmarkRisk, BenchmarkVerdict, RankSumRule, Winner};
use benchmark::{CriticalValues, divided};
pub use score_suite::{LARGEST_SCORE, ScoreError, ScoreReference, ScoreSuite, ScoredBenchmark};
use serde::Serialize;
pub use speedup::ReliableSpeedup;
use thiserror::Error;

/// Differences closer than this share of the medians behind them are equal: what rounding does to quotients and
/// differences of decimal scores.
const DIFFERENCE_NOISE: f64 = 64.0 * f64::EPSILON;

/// The choices that the paper leaves, or that others make otherwise; the default is the paper's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PerformanceRules {
    /// How a benchmark has a winner.
    pub rank_sum: RankSumRule,
    pub risk: BenchmarkRisk,
    /// What becomes of half ranks over the benchmarks.
    pub half_integers: HalfIntegers,
}

/// The hierarchical performance test of a suite of scores.
#[derive(Clone, Copy, Debug)]
pub struct HierarchicalPerformanceTest<'a> {
    suite: &'a ScoreSuite,
    rules: PerformanceRules,
}

/// What the suite says at one speedup under test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerformanceComparison {
    /// γ.
    pub speedup_under_test: f64,
    /// The benchmarks, in the suite's order.
    pub benchmarks: Vec<BenchmarkVerdict>,
    /// The test over the benchmarks, of the candidate's differences.
    pub signed_rank: ZerosKeptSignedRank,
    /// What became of half ranks.
    pub half_integers: HalfIntegers,
    /// What the reader must know.
    pub caveats: Vec<Caveat>,
}

/// Why scores were not compared.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum PerformanceTestError {
    /// A speedup that is not a positive number.
    #[error("a speedup under test must be a positive number, not {0}")]
    SpeedupUnderTest(f64),
    /// Scores that leave the range of doubles when divided by the speedup under test.
    #[error("the scores of benchmark {} divided by the speedup under test are not scores", benchmark + 1)]
    Divided {
        /// Its position, from 0.
        benchmark: usize,
        #[source]
        source: SampleError,
    },
    /// The rank-sum test of a benchmark was refused.
    #[error("benchmark {} was not tested", benchmark + 1)]
    RankSum {
        /// Its position, from 0.
        benchmark: usize,
        #[source]
        source: RankSumError,
    },
    #[error(
        "benchmark {} has {pairs} pairs of runs, too many to search for a speedup",
        benchmark + 1
    )]
    TooManyPairs {
        /// Its position, from 0.
        benchmark: usize,
        /// Runs of the candidate times runs of the baseline.
        pairs: usize,
    },
    #[error("the test changes at {speedups} speedups, too many to try with this rank-sum rule")]
    TooManySpeedups { speedups: usize },
}

speedup_core::hints! { PerformanceTestError:
    Self::Divided { source, .. } => source.hint(),
    Self::RankSum { source, .. } => source.hint(),
    Self::TooManyPairs { .. } => "test one speedup instead",
    Self::TooManySpeedups { .. } => "use the rule of critical values, or test one speedup",
}

impl PerformanceTestError {
    /// The position of the benchmark that it is about, from 0, if it is about one.
    pub fn benchmark(&self) -> Option<usize> {
        match *self {
            Self::Divided { benchmark, .. }
            | Self::RankSum { benchmark, .. }
            | Self::TooManyPairs { benchmark, .. } => Some(benchmark),
            Self::SpeedupUnderTest(_) | Self::TooManySpeedups { .. } => None,
        }
    }
}

impl<'a> HierarchicalPerformanceTest<'a> {
    /// The method's full name.
    pub const NAME: &'static str = "hierarchical performance test (Chen et al. 2012)";

    /// The test of `suite` by `rules`.
    pub fn new(suite: &'a ScoreSuite, rules: PerformanceRules) -> Self {
        Self { suite, rules }
    }

    /// Whether the candidate is more than `speedup_under_test` times faster; 1 asks whether it is faster.
    ///
    /// # Errors
    /// [`PerformanceTestError`] for a speedup that is not a positive number, scores that it takes out of range,
    /// or a benchmark with more runs than its rule can count.
    pub fn at(&self, speedup_under_test: f64) -> Result<PerformanceComparison, PerformanceTestError> {
        if !(speedup_under_test > 0.0 && speedup_under_test.is_finite()) {
            return Err(PerformanceTestError::SpeedupUnderTest(speedup_under_test));
        }
        let mut benchmarks = Vec::with_capacity(self.suite.benchmarks().len());
        for (position, benchmark) in self.suite.benchmarks().iter().enumerate() {
            benchmarks.push(self.verdict(position, benchmark, speedup_under_test)?);
        }
        let differences: Vec<f64> = benchmarks.iter().map(|one| one.difference).collect();
        let noise: Vec<f64> = benchmarks
            .iter()
            .map(|one| difference_noise(one.candidate_median, one.baseline_median))
            .collect();
        // Ranks are among all benchmarks, so they are known only now.
        let ranked = ZerosKeptSignedRank::with_noise(&differences, &noise);
        for (benchmark, doubled_rank) in benchmarks.iter_mut().zip(ranked.doubled_ranks) {
            benchmark.rank = doubled_rank as f64 / 2.0;
        }
        let caveats = self.caveats(&benchmarks);
        let half_integers = self.rules.half_integers;
        Ok(PerformanceComparison {
            speedup_under_test,
            benchmarks,
            signed_rank: ranked.test,
            half_integers,
            caveats,
        })
    }

    /// One benchmark, its rank among the others still to be found.
    fn verdict(
        &self,
        position: usize,
        benchmark: &ScoredBenchmark,
        speedup: f64,
    ) -> Result<BenchmarkVerdict, PerformanceTestError> {
        let candidate = divided(benchmark, speedup)
            .map_err(|source| PerformanceTestError::Divided { benchmark: position, source })?;
        let baseline = &benchmark.baseline;
        let (candidate_better, baseline_better) = self
            .rules
            .rank_sum
            .p_values(&candidate, baseline)
            .map_err(|source| PerformanceTestError::RankSum { benchmark: position, source })?;
        let winner = Winner::new(candidate_better, baseline_better, self.rules.risk.for_benchmark(benchmark));
        let candidate_median = candidate.median();
        let baseline_median = baseline.median();
        let difference = match winner {
            Winner::Candidate | Winner::Baseline => candidate_median - baseline_median,
            Winner::Tie => 0.0,
        };
        // W counts from 0, the sum of ranks from the least that n ranks can have.
        let n = candidate.len() as f64;
        let w = RankSumStatistic::new(&candidate, baseline).w();
        Ok(BenchmarkVerdict {
            winner,
            candidate_better,
            baseline_better,
            candidate_rank_sum: w + n * (n + 1.0) / 2.0,
            candidate_median,
            baseline_median,
            difference,
            rank: f64::NAN,
        })
    }

    fn caveats(&self, benchmarks: &[BenchmarkVerdict]) -> Vec<Caveat> {
        let scored = self.suite.benchmarks();
        let hopeless = scored.iter().filter(|benchmark| self.cannot_win(benchmark)).count() as u64;
        let mut caveats = Vec::new();
        if hopeless > 0 {
            caveats.push(Caveat::TooFewRunsToWin { benchmarks: hopeless });
        }
        if scored.iter().any(|benchmark| benchmark.candidate.len() != benchmark.baseline.len()) {
            caveats.push(Caveat::UnequalRuns);
        }
        if benchmarks.iter().all(|benchmark| benchmark.winner == Winner::Tie) {
            caveats.push(Caveat::NoBenchmarkDiffers);
        }
        caveats
    }

    /// Whether its runs are so few that not even a complete separation is significant.
    fn cannot_win(&self, benchmark: &ScoredBenchmark) -> bool {
        let values = CriticalValues::new(benchmark.candidate.len(), benchmark.baseline.len());
        values.critical(self.rules.risk.for_benchmark(benchmark)).is_none()
    }
}

impl PerformanceComparison {
    /// The p-value of `side` being better over the benchmarks.
    pub fn p_value(&self, side: Side) -> PValue {
        let alternative = match side {
            Side::Candidate => Alternative::Greater,
            Side::Baseline => Alternative::Less,
        };
        self.signed_rank.p_value(alternative, self.half_integers)
    }

    /// The confidence that `side` is better, 1 − p: the paper's "A outperforms B with the confidence r". It is
    /// not a [`crate::inference::ConfidenceLevel`] fixed beforehand, and rounds to 1 for a p-value below 1e-16.
    pub fn confidence(&self, side: Side) -> f64 {
        1.0 - self.p_value(side).get()
    }
}

/// How far rounding may have moved the difference of two medians.
fn difference_noise(candidate_median: f64, baseline_median: f64) -> f64 {
    DIFFERENCE_NOISE * candidate_median.max(baseline_median)
}
