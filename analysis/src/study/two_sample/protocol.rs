//! One protocol's answers for one benchmark and candidate, as plain data.

use super::interval::{IntervalReport, codes};
use crate::conclusion::{Direction, Protocol, Reason, ReasonCode, Verdict, WarningCode, Word};
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{Caveat, ConfidenceLevel, PValue, RatioInterval, Risk};
use speedup_statistics::protocol::speedup_test::{
    Assumption, AssumptionCheck, AssumptionOutcome, MeanTest, MedianTest, ProtocolConclusion,
    ProtocolOutcome, Question, SubTest,
};
use speedup_statistics::ratio::{MeanRatio, MedianRatio, RatioError};
use speedup_statistics::{sample::Sample, test::LeastPValues};

/// What one protocol says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProtocolReport {
    /// Which.
    pub protocol: Protocol,
    /// Its verdict at the report's confidence level.
    pub verdict: Verdict,
    /// Why there is none.
    pub reason: Option<Reason>,
    /// What the observed times say, significant or not.
    pub direction: Direction,
    /// The speedup that the interval is of: the ratio of means, or the Hodges–Lehmann ratio.
    pub speedup: f64,
    /// The change of the time that goes with it, in percent; negative is faster.
    pub change_percent: f64,
    /// The interval of the speedup at the report's confidence level.
    pub interval: IntervalReport,
    /// The answer in the verdict's direction, or the observed one, at the report's confidence level.
    pub at_level: ProtocolAnswer,
    /// The tests of its assumptions, at the same level.
    pub assumptions: Vec<AssumptionReport>,
    /// The answer in that direction at the best level that the data allow.
    pub best: ProtocolAnswer,
}

/// The answer of a protocol to one question at one level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProtocolAnswer {
    /// What was asked.
    pub question: Question,
    /// What the answer is.
    pub outcome: AnswerOutcome,
    /// The confidence level; `None` when no level above one half allows an answer.
    pub confidence: Option<f64>,
    /// 1 − confidence, which keeps its digits where the level rounds to 1.
    pub risk: Option<f64>,
    /// The main test that the assumptions led to.
    pub main_test: TestReport,
    /// The code names of its caveats.
    pub caveats: Vec<Word<WarningCode>>,
}

/// What a protocol answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The difference is significant at the level.
    Significant,
    /// It is not.
    NotSignificant,
    /// No test may answer.
    CannotConclude,
}

/// A test within a protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestReport {
    /// The full name of the method.
    pub method: String,
    /// Its statistic, if it could be made.
    pub statistic: Option<f64>,
    /// Its p-value, if it could be made.
    pub p_value: Option<f64>,
    /// Why it could not be made.
    pub refusal: Option<Reason>,
}

/// An assumption and what the data say of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssumptionReport {
    /// What is assumed.
    pub assumption: Assumption,
    /// What the data say of it at the risk of the protocol.
    pub finding: AssumptionOutcome,
    /// The test of it.
    pub test: TestReport,
}

/// A protocol's report, and the caveats of its answer and interval for the report's list.
pub(crate) struct ProtocolResult {
    pub(crate) report: ProtocolReport,
    pub(crate) caveats: Vec<Caveat>,
    pub(crate) interval_caveats: Vec<Caveat>,
}

impl ProtocolResult {
    /// Whether the test of an assumption says that the samples are not what the protocol takes them for.
    pub(crate) fn is_doubtful(&self) -> bool {
        let rejected = |one: &AssumptionReport| {
            one.assumption.is_normality() && one.finding == AssumptionOutcome::Rejected
        };
        self.report.assumptions.iter().any(rejected) || !self.caveats.is_empty()
    }
}

/// The protocol of the mean.
pub(crate) fn mean(
    test: &MeanTest,
    baseline: &Sample,
    candidate: &Sample,
    level: ConfidenceLevel,
) -> ProtocolResult {
    mean_seen(test, baseline, candidate, level, |conclusion| conclusion)
}

/// The protocol of the median.
pub(crate) fn median(
    test: &MedianTest,
    baseline: &Sample,
    candidate: &Sample,
    level: ConfidenceLevel,
) -> ProtocolResult {
    median_seen(test, baseline, candidate, level, |conclusion| conclusion)
}

/// The protocol of the mean, each of its conclusions as `seen`: with the sides exchanged, where larger is better.
pub(crate) fn mean_seen(
    test: &MeanTest,
    baseline: &Sample,
    candidate: &Sample,
    level: ConfidenceLevel,
    seen: impl Fn(ProtocolConclusion) -> ProtocolConclusion,
) -> ProtocolResult {
    let speedup = baseline.mean() / candidate.mean();
    let interval = MeanRatio::new(baseline, candidate).map(|ratio| ratio.interval(level));
    let [faster, slower] =
        [Question::CandidateFaster, Question::CandidateSlower].map(|question| seen(test.at(question, level)));
    judge(Protocol::Mean, speedup, &interval, [faster, slower], |question| seen(test.best(question)))
}

/// The protocol of the median, each of its conclusions as `seen`.
pub(crate) fn median_seen(
    test: &MedianTest,
    baseline: &Sample,
    candidate: &Sample,
    level: ConfidenceLevel,
    seen: impl Fn(ProtocolConclusion) -> ProtocolConclusion,
) -> ProtocolResult {
    let ratio = MedianRatio::new(baseline, candidate);
    let speedup = ratio.map_or(baseline.median() / candidate.median(), |ratio| ratio.estimate());
    let interval = ratio.map(|ratio| ratio.interval(level));
    let [faster, slower] =
        [Question::CandidateFaster, Question::CandidateSlower].map(|question| seen(test.at(question, level)));
    let best = |question| seen(test.best(question));
    let mut judged = judge(Protocol::Median, speedup, &interval, [faster, slower], best);
    if judged.report.verdict == Verdict::Undecided
        && let Some(reason) = none_significant(baseline, candidate, level)
    {
        judged.report.verdict = Verdict::NotEnoughData;
        judged.report.reason = Some(reason);
    }
    judged
}

/// Why no outcome of the rank-sum test could have been significant, if none could.
fn none_significant(baseline: &Sample, candidate: &Sample, level: ConfidenceLevel) -> Option<Reason> {
    let risk = level.risk().get();
    let (n, m) = (baseline.len(), candidate.len());
    // Of the (n + m)!/(n! m!) orders one is the most extreme, if no two runs tie.
    let fewer = n.min(m);
    let least: f64 = (1..=fewer).map(|k| k as f64 / (n.max(m) + k) as f64).product();
    if least > risk {
        let sentence = format!(
            "With {n} and {m} runs no outcome of the rank-sum test is significant at {level}: plan more runs."
        );
        return Some(Reason::new(ReasonCode::TooFewRuns, sentence));
    }
    (LeastPValues::new(baseline, candidate).either() > risk).then(|| {
        let sentence = format!(
            "So many runs took equal times that no arrangement of them between the versions is significant at {level}: \
             use a finer clock, or a longer run."
        );
        Reason::new(ReasonCode::TooManyTies, sentence)
    })
}

fn judge(
    protocol: Protocol,
    speedup: f64,
    interval: &Result<RatioInterval, RatioError>,
    [faster, slower]: [ProtocolConclusion; 2],
    best: impl FnOnce(Question) -> ProtocolConclusion,
) -> ProtocolResult {
    let made = |conclusion: &ProtocolConclusion| conclusion.main_test.p_value().map(PValue::told);
    let p_value = |conclusion: &ProtocolConclusion| made(conclusion).unwrap_or(1.0);
    let at_level = if p_value(&slower) < p_value(&faster) { slower } else { faster };
    let (verdict, reason) = match (&at_level.outcome, at_level.question) {
        (ProtocolOutcome::Significant, Question::CandidateFaster) => (Verdict::Faster, None),
        (ProtocolOutcome::Significant, Question::CandidateSlower) => (Verdict::Slower, None),
        (ProtocolOutcome::NotSignificant, _) => (Verdict::Undecided, None),
        (ProtocolOutcome::CannotConclude { reason }, _) => (Verdict::NotEnoughData, Some(reason.into())),
    };
    let report = ProtocolReport {
        protocol,
        verdict,
        reason,
        direction: Direction::of(speedup),
        speedup,
        change_percent: 100.0 * (1.0 / speedup - 1.0),
        assumptions: at_level.assumptions.iter().map(AssumptionReport::from).collect(),
        best: ProtocolAnswer::from(&best(at_level.question)),
        at_level: ProtocolAnswer::from(&at_level),
        interval: IntervalReport::from(interval),
    };
    let bounded = interval.as_ref().ok().and_then(RatioInterval::bounded);
    let interval_caveats = bounded.map_or_else(Vec::new, |interval| interval.caveats.clone());
    ProtocolResult { report, caveats: at_level.caveats, interval_caveats }
}

impl From<&ProtocolConclusion> for ProtocolAnswer {
    fn from(conclusion: &ProtocolConclusion) -> Self {
        let outcome = match conclusion.outcome {
            ProtocolOutcome::Significant => AnswerOutcome::Significant,
            ProtocolOutcome::NotSignificant => AnswerOutcome::NotSignificant,
            ProtocolOutcome::CannotConclude { .. } => AnswerOutcome::CannotConclude,
        };
        Self {
            question: conclusion.question,
            outcome,
            confidence: conclusion.confidence(),
            risk: conclusion.risk.map(Risk::told),
            main_test: (&conclusion.main_test).into(),
            caveats: codes(&conclusion.caveats),
        }
    }
}

impl From<&AssumptionCheck> for AssumptionReport {
    fn from(check: &AssumptionCheck) -> Self {
        Self { assumption: check.assumption, finding: check.finding, test: (&check.test).into() }
    }
}

impl From<&SubTest> for TestReport {
    fn from(test: &SubTest) -> Self {
        match *test {
            SubTest::Made { method, statistic, p_value } => Self {
                method: method.to_owned(),
                // An infinite statistic (F of a constant sample) has no JSON.
                statistic: Some(statistic).filter(|statistic| statistic.is_finite()),
                p_value: Some(p_value.told()),
                refusal: None,
            },
            SubTest::Refused { method, refusal } => Self {
                method: method.to_owned(),
                statistic: None,
                p_value: None,
                refusal: Some(Reason::of(ReasonCode::SubTestRefused, &refusal)),
            },
        }
    }
}

impl From<Verdict> for AnswerOutcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster | Verdict::Slower => Self::Significant,
            Verdict::Same | Verdict::Undecided => Self::NotSignificant,
            Verdict::NotEnoughData => Self::CannotConclude,
        }
    }
}
