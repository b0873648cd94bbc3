//! One benchmark: which side's scores are significantly the larger (Chen 2012 §4.1, the first level).

use super::score_suite::ScoredBenchmark;
use crate::inference::{Alternative, PValue, Risk};
use crate::test::{PermutationRankSum, RankSum, RankSumError, RankSumLaw, RankSumStatistic};
use crate::{distribution::normal, sample::Sample, sample::SampleError};
use serde::{Deserialize, Serialize};

/// Below this many runs of either side the exact law is used; Chen 2012's bound.
const EXACT_BELOW: usize = 12;
/// From this many runs on the paper suggests a risk of 5 %, below it 10 % (Chen 2012 §4.1).
const USUAL_RISK_FROM: usize = 5;
/// Scores closer than this, relatively, are equal: what decimal scores lose when they are divided by a speedup.
pub(super) const SCORE_NOISE: f64 = 8.0 * f64::EPSILON;

/// By which rank-sum test a benchmark has a winner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankSumRule {
    /// The paper's: critical values of the law without ties below 12 runs, where a rank sum half-way between two
    /// whole ones counts as the upper; from 12 the normal law without any correction. Chen 2012 §4.1.
    #[default]
    CriticalValues,
    /// [`RankSum::r_default`]: R's `wilcox.test`.
    RDefault,
    /// [`PermutationRankSum`]: exact given the ties. On Table 1 it makes a tie of the paper a win (radiosity).
    Permutations,
}

/// The risk at which a benchmark has a winner, one-sided for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "kind", content = "risk", rename_all = "snake_case")]
pub enum BenchmarkRisk {
    /// The paper's suggestion: 5 % from 5 runs on, 10 % below.
    #[default]
    ByRuns,
    /// The same for every benchmark.
    Fixed(Risk),
}

/// Whose scores are significantly the larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Winner {
    /// The baseline's.
    Baseline,
    /// Nobody's: the difference is taken as 0.
    Tie,
    /// The candidate's.
    Candidate,
}

/// What one benchmark says at a speedup under test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchmarkVerdict {
    /// Whose scores are significantly the larger.
    pub winner: Winner,
    /// The p-value of the candidate being better.
    pub candidate_better: PValue,
    /// The p-value of the baseline being better.
    pub baseline_better: PValue,
    /// The candidate's rank sum.
    pub candidate_rank_sum: f64,
    /// The median of the candidate's scores, divided by the speedup under test.
    pub candidate_median: f64,
    /// The median of the baseline's scores.
    pub baseline_median: f64,
    /// d: the difference of the medians, 0 where nobody wins.
    pub difference: f64,
    /// The rank of |d| among the benchmarks, from 1.
    pub rank: f64,
}

/// The rank-sum test without ties of the paper, for samples of given sizes.
pub(super) struct CriticalValues {
    /// Absent where the normal law is used.
    law: Option<RankSumLaw>,
    n: usize,
    m: usize,
}

impl BenchmarkRisk {
    pub(super) fn for_benchmark(self, benchmark: &ScoredBenchmark) -> Risk {
        match self {
            Self::Fixed(risk) => risk,
            Self::ByRuns if fewer_runs(benchmark) >= USUAL_RISK_FROM => Risk::literal(0.05),
            Self::ByRuns => Risk::literal(0.10),
        }
    }
}

fn fewer_runs(benchmark: &ScoredBenchmark) -> usize {
    benchmark.candidate.len().min(benchmark.baseline.len())
}

impl Winner {
    pub(super) fn new(candidate_better: PValue, baseline_better: PValue, risk: Risk) -> Self {
        match (candidate_better.rejects_at(risk), baseline_better.rejects_at(risk)) {
            (true, false) => Self::Candidate,
            (false, true) => Self::Baseline,
            // Both only at a risk of one half or more, where nothing is significant.
            (false, false) | (true, true) => Self::Tie,
        }
    }
}

impl RankSumRule {
    /// The p-values of the candidate and of the baseline being better.
    pub(super) fn p_values(
        self,
        candidate: &Sample,
        baseline: &Sample,
    ) -> Result<(PValue, PValue), RankSumError> {
        Ok(match self {
            Self::CriticalValues => {
                let doubled_w = RankSumStatistic::new(candidate, baseline).doubled_w();
                CriticalValues::new(candidate.len(), baseline.len()).p_values(doubled_w)
            }
            Self::RDefault => {
                let test = RankSum::r_default(candidate, baseline);
                (test.p_value(Alternative::Greater), test.p_value(Alternative::Less))
            }
            Self::Permutations => {
                let test = PermutationRankSum::new(candidate, baseline)?;
                (test.p_value(Alternative::Greater), test.p_value(Alternative::Less))
            }
        })
    }
}

impl CriticalValues {
    pub(super) fn new(n: usize, m: usize) -> Self {
        let law = if n.min(m) < EXACT_BELOW { RankSumLaw::new(n, m).ok() } else { None };
        Self { law, n, m }
    }

    /// The p-values of the first sample being greater, and the second, from twice the W of the first.
    pub(super) fn p_values(&self, doubled_w: u64) -> (PValue, PValue) {
        (self.upper_tail(doubled_w), self.upper_tail(2 * (self.n * self.m) as u64 - doubled_w))
    }

    /// The least doubled W that is significantly large at `risk`, if any is.
    pub(super) fn critical(&self, risk: Risk) -> Option<u64> {
        let largest = 2 * (self.n * self.m) as u64;
        let mut below = None;
        let mut enough = largest;
        if !self.upper_tail(largest).rejects_at(risk) {
            return None;
        }
        while below.map_or(enough > 0, |below| enough - below > 1) {
            let middle = below.map_or(enough / 2, |below: u64| below + (enough - below) / 2);
            if self.upper_tail(middle).rejects_at(risk) { enough = middle } else { below = Some(middle) }
        }
        Some(enough)
    }

    /// `P[W ≥ w]`, non-increasing in w.
    fn upper_tail(&self, doubled_w: u64) -> PValue {
        let n = self.n as f64;
        let m = self.m as f64;
        PValue::clamped(match &self.law {
            Some(law) => law.at_least(doubled_w.div_ceil(2)),
            None => {
                let sigma = (n * m * (n + m + 1.0) / 12.0).sqrt();
                normal::tails((doubled_w as f64 / 2.0 - n * m / 2.0) / sigma).upper
            }
        })
    }
}

/// The candidate's scores divided by `speedup`. One that rounding alone keeps apart from a score of the baseline
/// becomes that score, so that the two tie.
pub(super) fn divided(benchmark: &ScoredBenchmark, speedup: f64) -> Result<Sample, SampleError> {
    let baseline = benchmark.baseline.sorted();
    let mut scores = Vec::with_capacity(benchmark.candidate.len());
    for score in benchmark.candidate.in_run_order() {
        let divided = score / speedup;
        let above = baseline.partition_point(|b| *b < divided);
        let neighbours = &baseline[above.saturating_sub(1)..(above + 1).min(baseline.len())];
        let tied = neighbours.iter().find(|b| (divided - **b).abs() <= SCORE_NOISE * **b);
        scores.push(tied.copied().unwrap_or(divided));
    }
    Sample::new(scores)
}
