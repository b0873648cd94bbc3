//! The protocols for pairs: the paired t test and its ratio of means beside Wilcoxon's signed ranks.
//!
//! They mirror those of the independent samples (Touati 2010 Figs. 1 and 2), with the one sample that pairs are. The mean takes the
//! differences of pairs as normal, tested on at most 30 of them; the median takes the logarithms of their ratios as
//! symmetric, and needs no more: what hosts are like is common to both runs of a pair.

use super::interval::{IntervalReport, codes};
use super::protocol::{
    AnswerOutcome, AssumptionReport, ProtocolAnswer, ProtocolReport, ProtocolResult, TestReport,
};
use crate::conclusion::{Direction, Protocol, Reason, ReasonCode, Verdict};
use crate::count::counted;
use speedup_statistics::inference::{Alternative, Caveat, ConfidenceLevel, PValue};
use speedup_statistics::protocol::speedup_test::{Assumption, AssumptionOutcome, LARGE_ABOVE, Question};
use speedup_statistics::test::{PairedTTest, PseudoMedian, ShapiroWilk, SignedRank};
use speedup_statistics::{ratio::PairedRatio, ratio::SuiteRatioError, sample::Sample, sample::SampleError};

/// A main test, with both of its p-values.
pub(crate) struct MainTest {
    pub(crate) method: &'static str,
    pub(crate) statistic: f64,
    /// The p-values of the candidate being faster and slower.
    pub(crate) faster: PValue,
    pub(crate) slower: PValue,
}

/// Up to which risk a protocol may answer, and why not beyond; without it there is no such bound.
pub(crate) struct RiskBound {
    /// It answers at risks below this.
    pub(crate) below: f64,
    pub(crate) refusal: Reason,
}

/// The protocol of the mean.
pub(crate) fn mean(baseline: &Sample, candidate: &Sample, level: ConfidenceLevel) -> ProtocolResult {
    let speedup = baseline.mean() / candidate.mean();
    let ratio = PairedRatio::new(baseline, candidate);
    let interval = match &ratio {
        Ok(ratio) => IntervalReport::from(&ratio.interval(level)),
        Err(error) => IntervalReport::Missing { reason: refusal(error) },
    };
    let (n, risk) = (baseline.len(), level.risk().get());
    let is_large = n > LARGE_ABOVE;
    let (allowed, assumption, normal) = normality(baseline, candidate, risk);
    let caveats = match normal {
        Some(p_value) if is_large && p_value <= risk => vec![Caveat::PairsNotNormal { n }],
        _ => Vec::new(),
    };
    let test = PairedTTest::new(baseline, candidate).map(MainTest::from);
    let test = test.map_err(|error| (PairedTTest::NAME, Reason::of(ReasonCode::SubTestRefused, &error)));
    let report = judge(Protocol::Mean, speedup, interval, &test, Some(&allowed), level, &caveats);
    report_with(report, vec![assumption], caveats, Vec::new())
}

/// The protocol of the median.
pub(crate) fn median(baseline: &Sample, candidate: &Sample, level: ConfidenceLevel) -> ProtocolResult {
    const NAME: &str = "Wilcoxon signed-rank test";
    let logs = match logarithms(baseline, candidate) {
        Ok(logs) => logs,
        Err(error) => {
            let reason = Reason::of(ReasonCode::NoDifferences, &error);
            let interval = IntervalReport::Missing { reason: reason.clone() };
            let speedup = baseline.median() / candidate.median();
            let test = Err((NAME, reason));
            let report = judge(Protocol::Median, speedup, interval, &test, None, level, &[]);
            return report_with(report, Vec::new(), Vec::new(), Vec::new());
        }
    };
    let typical = PseudoMedian::new(&logs);
    let (interval, interval_caveats) = match typical.interval(level) {
        Ok(mut interval) => {
            (interval.lower, interval.upper) = (interval.lower.exp(), interval.upper.exp());
            (IntervalReport::from(&interval), interval.caveats)
        }
        Err(error) => {
            (IntervalReport::Missing { reason: Reason::of(ReasonCode::TooFewPairs, &error) }, Vec::new())
        }
    };
    let test = SignedRank::from_logarithms(&logs);
    let (unlike, least) = test.as_ref().map_or((0, 1.0), |test| (test.statistic().n(), test.least_p_value()));
    let test = test.map(MainTest::from);
    let test = test.map_err(|error| (NAME, Reason::of(ReasonCode::SubTestRefused, &error)));
    let speedup = typical.estimate().exp();
    let mut report = judge(Protocol::Median, speedup, interval, &test, None, level, &[]);
    if report.verdict == Verdict::Undecided && least > level.risk().get() {
        report.verdict = Verdict::NotEnoughData;
        let sentence = format!(
            "With {} that {} no outcome of the signed-rank test is significant at {level}: plan more",
            counted(unlike as u64, "pair"),
            if unlike == 1 { "differs" } else { "differ" }
        );
        report.reason = Some(Reason::new(ReasonCode::TooFewPairs, sentence));
    }
    report_with(report, Vec::new(), Vec::new(), interval_caveats)
}

/// The p-values of faster and of slower that a protocol's verdict on pairs is by.
pub(crate) fn p_values(by: Protocol, baseline: &Sample, candidate: &Sample) -> Option<[PValue; 2]> {
    let test = match by {
        Protocol::Mean => MainTest::from(PairedTTest::new(baseline, candidate).ok()?),
        Protocol::Median => {
            MainTest::from(SignedRank::from_logarithms(&logarithms(baseline, candidate).ok()?).ok()?)
        }
    };
    Some([test.faster, test.slower])
}

/// The logarithms of the ratios of pairs.
pub(crate) fn logarithms(baseline: &Sample, candidate: &Sample) -> Result<Sample, SampleError> {
    let pairs = baseline.in_run_order().iter().zip(candidate.in_run_order());
    Sample::new(pairs.map(|(x, y)| (x / y).ln()).collect())
}

impl From<PairedTTest> for MainTest {
    fn from(test: PairedTTest) -> Self {
        Self {
            method: PairedTTest::NAME,
            statistic: test.statistic().t(),
            faster: test.p_value(Alternative::Greater),
            slower: test.p_value(Alternative::Less),
        }
    }
}

impl From<SignedRank> for MainTest {
    fn from(test: SignedRank) -> Self {
        Self {
            method: test.name(),
            statistic: test.statistic().v(),
            faster: test.p_value(Alternative::Greater),
            slower: test.p_value(Alternative::Less),
        }
    }
}

/// The share of pairs in which the candidate is the faster, ties counting one half.
pub(crate) fn probability_faster(baseline: &Sample, candidate: &Sample) -> f64 {
    let pairs = baseline.in_run_order().iter().zip(candidate.in_run_order());
    let won = pairs.map(|(x, y)| if x > y { 1.0 } else { f64::from(u8::from(x == y)) / 2.0 });
    won.sum::<f64>() / baseline.len() as f64
}

/// Up to which risk the differences may be taken as normal; the test of it; and its p-value.
fn normality(baseline: &Sample, candidate: &Sample, risk: f64) -> (RiskBound, AssumptionReport, Option<f64>) {
    let n = baseline.len();
    let pairs = baseline.in_run_order().iter().zip(candidate.in_run_order());
    let differences = Sample::new(pairs.map(|(x, y)| x - y).collect());
    let found =
        differences.map_err(|error| Reason::of(ReasonCode::NoDifferences, &error)).and_then(|sample| {
            ShapiroWilk::new(&sample).map_err(|error| Reason::of(ReasonCode::SubTestRefused, &error))
        });
    let not_normal = Reason::new(
        ReasonCode::SmallPairsNotNormal,
        "The differences of the pairs seem not to be normally distributed, and with at most 30 pairs a t test is not valid: go by \
         the median, or plan more than 30 pairs for a verdict on the mean",
    );
    let test = |statistic, p_value, refusal| TestReport {
        method: ShapiroWilk::NAME.to_owned(),
        statistic,
        p_value,
        refusal,
    };
    let (below, refusal, finding, test, p_value) = match found {
        Ok(found) => {
            let p_value = found.p_value().told();
            let below = if n > LARGE_ABOVE { f64::INFINITY } else { p_value };
            let finding =
                if p_value <= risk { AssumptionOutcome::Rejected } else { AssumptionOutcome::NotRejected };
            (below, not_normal, finding, test(Some(found.statistic()), Some(p_value), None), Some(p_value))
        }
        Err(reason) => {
            let below = if n > LARGE_ABOVE { f64::INFINITY } else { 0.0 };
            (below, reason.clone(), AssumptionOutcome::Untested, test(None, None, Some(reason)), None)
        }
    };
    let assumption = AssumptionReport { assumption: Assumption::NormalDifferences, finding, test };
    (RiskBound { below, refusal }, assumption, p_value)
}

/// A protocol's report, its assumptions yet to be told.
pub(crate) fn judge(
    protocol: Protocol,
    speedup: f64,
    interval: IntervalReport,
    test: &Result<MainTest, (&'static str, Reason)>,
    allowed: Option<&RiskBound>,
    level: ConfidenceLevel,
    caveats: &[Caveat],
) -> ProtocolReport {
    let risk = level.risk().get();
    let is_slower = test.as_ref().is_ok_and(|test| test.slower.get() < test.faster.get());
    let p_value =
        test.as_ref().ok().map(|test| if is_slower { test.slower.told() } else { test.faster.told() });
    let below = allowed.map_or(f64::INFINITY, |allowed| allowed.below);
    let may_answer = p_value.is_some() && risk < below;
    let is_significant = may_answer && p_value.is_some_and(|p_value| p_value <= risk);
    let verdict = match (may_answer, is_significant, is_slower) {
        (false, _, _) => Verdict::NotEnoughData,
        (true, true, false) => Verdict::Faster,
        (true, true, true) => Verdict::Slower,
        (true, false, _) => Verdict::Undecided,
    };
    let refused = match test {
        Ok(_) => allowed.map(|allowed| allowed.refusal.clone()),
        Err((_, reason)) => Some(reason.clone()),
    };
    let answer = |outcome: AnswerOutcome, risk: Option<f64>| ProtocolAnswer {
        question: if is_slower { Question::CandidateSlower } else { Question::CandidateFaster },
        outcome,
        confidence: risk.map(|risk| 1.0 - risk),
        risk,
        main_test: main_test(test, p_value),
        caveats: codes(caveats),
    };
    let outcome = AnswerOutcome::from(verdict);
    // The least risk at which the answer is significant is the p-value, if the protocol may answer at it.
    let best = match p_value.filter(|p_value| *p_value < below) {
        None => answer(AnswerOutcome::CannotConclude, None),
        Some(p_value) if p_value < 0.5 => answer(AnswerOutcome::Significant, Some(p_value)),
        Some(_) => answer(AnswerOutcome::NotSignificant, None),
    };
    ProtocolReport {
        protocol,
        verdict,
        reason: refused.filter(|_| !may_answer),
        direction: Direction::of(speedup),
        speedup,
        change_percent: 100.0 * (1.0 / speedup - 1.0),
        interval,
        at_level: answer(outcome, Some(risk)),
        assumptions: Vec::new(),
        best,
    }
}

fn main_test(test: &Result<MainTest, (&'static str, Reason)>, p_value: Option<f64>) -> TestReport {
    match test {
        Ok(test) => TestReport {
            method: test.method.to_owned(),
            statistic: Some(test.statistic),
            p_value,
            refusal: None,
        },
        Err((method, reason)) => TestReport {
            method: (*method).to_owned(),
            statistic: None,
            p_value: None,
            refusal: Some(reason.clone()),
        },
    }
}

pub(crate) fn report_with(
    report: ProtocolReport,
    assumptions: Vec<AssumptionReport>,
    caveats: Vec<Caveat>,
    interval_caveats: Vec<Caveat>,
) -> ProtocolResult {
    ProtocolResult { report: ProtocolReport { assumptions, ..report }, caveats, interval_caveats }
}

/// Why pairs have no ratio.
pub(crate) fn refusal(error: &SuiteRatioError) -> Reason {
    match error {
        SuiteRatioError::Suite(error) => Reason::of(ReasonCode::Weights, error),
        SuiteRatioError::Ratio(error) => Reason::from(error),
    }
}
