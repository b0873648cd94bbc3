//! The hierarchical performance test (Chen 2012): over all benchmarks, is a candidate faster, and how much for sure?

use super::method::{FindResult, MethodFindings, MethodSpec};
use super::{Findings, Inquiry, InquiryError, Preference, pairing::Pair, pairing::Pairing};
use crate::conclusion::{Reason, ReasonCode, Verdict, Warning};
use crate::{count::counted, gate::Conclusion, gate::GateError};
use serde::{Deserialize, Serialize};
use speedup_core::{value::causes::with_causes, value::hint::Hinted};
use speedup_statistics::inference::{ConfidenceLevel, Side, Threshold};
use speedup_statistics::protocol::hierarchical_performance_test::{
    BenchmarkRisk, BenchmarkVerdict, HierarchicalPerformanceTest, PerformanceComparison, PerformanceRules,
    PerformanceTestError, RankSumRule, ReliableSpeedup, ScoreError, ScoreReference, ScoreSuite,
};
use speedup_statistics::{ratio::SuiteMember, sample::Sample, test::HalfIntegers};

/// The speedups that may be put under test: far beyond any that is claimed, near enough that scores stay scores.
const SPEEDUPS_UNDER_TEST: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

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

/// A candidate over all benchmarks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PerformanceFinding {
    pub candidate: String,
    /// Faster: more than γ times faster. Slower only where γ is 1: a speedup that was not shown is no slowdown.
    pub verdict: Verdict,
    /// Why there is not enough data.
    pub reason: Option<Reason>,
    /// γ.
    pub speedup_under_test: f64,
    /// The confidence that the candidate is more than γ times faster, 1 − p.
    pub confidence: Option<f64>,
    pub confidence_of_opposite: Option<f64>,
    /// The p-value of the former.
    pub p_value: Option<f64>,
    /// The greatest speedup that the test confirms at the level: the r-Speedup.
    pub reliable_speedup: Option<ReliableSpeedup>,
    /// Why that was not found.
    pub reliable_speedup_reason: Option<Reason>,
    /// The geometric mean of the speedups, which is commonly reported and has no confidence.
    pub geometric_mean_speedup: Option<f64>,
    /// The test over the benchmarks.
    pub signed_rank: Option<&'static str>,
    pub benchmarks: Vec<PerformanceBenchmark>,
    pub caveats: Vec<Warning>,
}

/// One benchmark; scores are larger for the faster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerformanceBenchmark {
    pub benchmark: String,
    /// Its winner, medians, difference and rank.
    #[serde(flatten)]
    pub verdict: BenchmarkVerdict,
}

impl MethodSpec for PerformanceTestOptions {
    fn name(&self) -> &'static str {
        HierarchicalPerformanceTest::NAME
    }

    fn sources(&self) -> &'static [&'static str] {
        &["Chen et al.: Statistical Performance Comparisons of Computers, 2012"]
    }

    fn find(&self, inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        let mut found = Vec::new();
        for (number, candidate) in pairing.candidates() {
            let pairs = pairing.pairs(number, inquiry.better);
            found.push(match scores(&pairs, inquiry.better, self.reference) {
                Ok(suite) => compare(candidate, &pairs, &suite, self, level),
                Err(error) => {
                    let sentence = with_benchmark(&error, error.benchmark(), &pairs);
                    PerformanceFinding::refused(candidate, self, Reason::new(ReasonCode::NoScores, sentence))
                }
            });
        }
        Ok(Findings::PerformanceTest(found))
    }

    fn check(&self) -> Result<(), InquiryError> {
        if SPEEDUPS_UNDER_TEST.contains(&self.speedup_under_test) {
            Ok(())
        } else {
            Err(InquiryError::SpeedupUnderTest(self.speedup_under_test))
        }
    }

    fn check_gate(&self) -> Result<(), GateError> {
        if self.speedup_under_test == 1.0 { Ok(()) } else { Err(GateError::OneSided(self.name())) }
    }
}

impl MethodFindings for Vec<PerformanceFinding> {
    fn reasons(&self) -> Vec<Reason> {
        self.iter()
            .flat_map(|one| [one.reason.clone(), one.reliable_speedup_reason.clone()])
            .flatten()
            .collect()
    }

    fn caveats(&self) -> Vec<Warning> {
        self.iter().flat_map(|one| one.caveats.clone()).collect()
    }

    /// The test is one over all benchmarks, whose own winners it only counts.
    fn conclusions(&self, _level: ConfidenceLevel, _noise: Threshold) -> Vec<Conclusion> {
        self.iter().map(|one| Conclusion::new(&one.candidate, None, one.verdict, None, None)).collect()
    }
}

fn scores(
    pairs: &[Pair<'_>],
    better: Preference,
    reference: ScoreReference,
) -> Result<ScoreSuite, ScoreError> {
    match better {
        Preference::Lower => {
            let members: Vec<SuiteMember<'_>> = pairs.iter().map(Pair::member).collect();
            ScoreSuite::of_times(&members, reference)
        }
        Preference::Higher => {
            let mut candidates = Vec::with_capacity(pairs.len());
            let mut baselines = Vec::with_capacity(pairs.len());
            for (benchmark, pair) in pairs.iter().enumerate() {
                // Where larger is better, the candidate comes first.
                let candidate = &pair.first.sample;
                let baseline = &pair.second.sample;
                let reference = match reference {
                    ScoreReference::FirstBaselineRun => baseline.in_run_order()[0],
                    ScoreReference::BaselineMedian => baseline.median(),
                };
                candidates.push(relative(candidate, reference, benchmark)?);
                baselines.push(relative(baseline, reference, benchmark)?);
            }
            ScoreSuite::of_matrices(candidates, baselines)
        }
    }
}

fn relative(scores: &Sample, reference: f64, benchmark: usize) -> Result<Sample, ScoreError> {
    let relative = scores.in_run_order().iter().map(|score| score / reference).collect();
    Sample::new(relative).map_err(|source| ScoreError::NotASample { benchmark, source })
}

fn compare(
    candidate: &str,
    pairs: &[Pair<'_>],
    suite: &ScoreSuite,
    options: &PerformanceTestOptions,
    level: ConfidenceLevel,
) -> PerformanceFinding {
    let rules = PerformanceRules {
        rank_sum: options.rank_sum,
        risk: BenchmarkRisk::ByRuns,
        half_integers: options.half_integers,
    };
    let test = HierarchicalPerformanceTest::new(suite, rules);
    let comparison = match test.at(options.speedup_under_test) {
        Ok(comparison) => comparison,
        Err(error) => return PerformanceFinding::refused(candidate, options, refusal(&error, pairs)),
    };
    let (reliable_speedup, reliable_speedup_reason) = match test.reliable_speedup(level) {
        Ok(speedup) => (Some(speedup), None),
        Err(error) => (None, Some(refusal(&error, pairs))),
    };
    // The r-Speedup is a question of its own, which may be refused where the test is not.
    let (verdict, reason) = verdict(&comparison, options.speedup_under_test, level);
    let benchmarks = pairs.iter().zip(&comparison.benchmarks).map(|(pair, verdict)| PerformanceBenchmark {
        benchmark: pair.benchmark.to_owned(),
        verdict: verdict.clone(),
    });
    PerformanceFinding {
        candidate: candidate.to_owned(),
        verdict,
        reason,
        speedup_under_test: options.speedup_under_test,
        confidence: Some(comparison.confidence(Side::Candidate)),
        confidence_of_opposite: Some(comparison.confidence(Side::Baseline)),
        p_value: Some(comparison.p_value(Side::Candidate).told()),
        reliable_speedup,
        reliable_speedup_reason,
        geometric_mean_speedup: Some(suite.geometric_mean_speedup()),
        signed_rank: Some(comparison.signed_rank.name()),
        benchmarks: benchmarks.collect(),
        caveats: comparison.caveats.iter().map(Warning::from).collect(),
    }
}

fn verdict(
    comparison: &PerformanceComparison,
    speedup_under_test: f64,
    level: ConfidenceLevel,
) -> (Verdict, Option<Reason>) {
    if comparison.p_value(Side::Candidate).rejects_at(level.risk()) {
        return (Verdict::Faster, None);
    }
    if speedup_under_test == 1.0 && comparison.p_value(Side::Baseline).rejects_at(level.risk()) {
        return (Verdict::Slower, None);
    }
    // Of b benchmarks each sign is as likely as not, so the least p-value is one of 2 to the b.
    let benchmarks = comparison.benchmarks.len();
    if 0.5_f64.powi(i32::try_from(benchmarks).unwrap_or(i32::MAX)) > level.risk().get() {
        let sentence = format!(
            "With {} no outcome is significant at {level}: take more benchmarks.",
            counted(benchmarks as u64, "benchmark")
        );
        return (Verdict::NotEnoughData, Some(Reason::new(ReasonCode::TooFewBenchmarks, sentence)));
    }
    (Verdict::Undecided, None)
}

fn code(error: &PerformanceTestError) -> ReasonCode {
    match error {
        PerformanceTestError::SpeedupUnderTest(_) => ReasonCode::SpeedupUnderTest,
        PerformanceTestError::Divided { .. } => ReasonCode::ScoresOutOfRange,
        PerformanceTestError::RankSum { .. } => ReasonCode::RankSum,
        PerformanceTestError::TooManyPairs { .. } => ReasonCode::TooManyPairs,
        PerformanceTestError::TooManySpeedups { .. } => ReasonCode::TooManySpeedups,
    }
}

fn refusal(error: &PerformanceTestError, pairs: &[Pair<'_>]) -> Reason {
    Reason::new(code(error), with_benchmark(error, error.benchmark(), pairs))
}

/// The error with its cause, which says what to do, and with the name of the benchmark that it is about.
fn with_benchmark(error: &dyn Hinted, benchmark: Option<usize>, pairs: &[Pair<'_>]) -> String {
    let mut sentence = with_causes(error);
    if let Some(hint) = error.hint() {
        sentence = format!("{sentence}: {hint}");
    }
    match benchmark.and_then(|position| pairs.get(position)) {
        Some(pair) => format!("the benchmark {}: {sentence}", pair.benchmark),
        None => sentence,
    }
}

impl PerformanceFinding {
    fn refused(candidate: &str, options: &PerformanceTestOptions, reason: Reason) -> Self {
        Self {
            candidate: candidate.to_owned(),
            reason: Some(reason),
            speedup_under_test: options.speedup_under_test,
            ..Self::default()
        }
    }
}
