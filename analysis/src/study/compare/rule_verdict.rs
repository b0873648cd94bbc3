//! Comparisons under looks: the verdict is that of the plan's rule, because no other keeps the stated risk.
//!
//! Whoever stops when a test is significant makes the level of every test that does not know of the looks untrue, so the
//! Speedup-Test gives no verdict there. The rule's two-sided test of the declared centre at the risk of its look stands in the
//! place of that centre's protocol, with the repeated confidence interval of the speedup (Jennison and Turnbull 2000, ch. 9).

use crate::conclusion::{Direction, Protocol, Reason, ReasonCode, Verdict};
use crate::study::rule::{LookReport, RuleReport, RuleRow, RuleState};
use crate::study::two_sample::interval::IntervalReport;
use crate::study::two_sample::protocol::{AnswerOutcome, ProtocolAnswer, ProtocolReport, TestReport};
use speedup_statistics::{inference::ConfidenceLevel, protocol::speedup_test::Question};

/// What the rule says of a comparison.
pub(crate) type InterimVerdict<'a> = Result<(&'a RuleRow, LookReport), Reason>;

/// What `rule` says of a candidate on a benchmark; `None` where the plan has no looks.
pub(crate) fn interim_verdict<'a>(
    rule: Option<&'a RuleReport>,
    benchmark: &str,
    candidate: &str,
) -> Option<InterimVerdict<'a>> {
    let rule = rule.filter(|rule| rule.is_by_looks())?;
    let row = rule.rows.iter().find(|row| row.benchmark == benchmark && row.candidate == candidate);
    Some(row.and_then(|row| Some((row, row.look?))).ok_or_else(|| match rule.state {
        RuleState::BrokenOff => Reason::new(
            ReasonCode::LooksBrokenOff,
            "The experiment was cancelled, so its looks were not taken and there is no verdict",
        ),
        RuleState::Pending | RuleState::Further | RuleState::Enough | RuleState::Exhausted => Reason::new(
            ReasonCode::LookPending,
            "The plan looks at its runs when all that were given out are settled, and in between there is no \
                verdict: looking would invalidate the risk",
        ),
    }))
}

/// Why the rule has no verdict on a comparison.
pub(crate) fn reason(row: &RuleRow, look: LookReport) -> Option<Reason> {
    (row.verdict == Verdict::NotEnoughData).then(|| open(look))
}

/// The interval of the rule at its look.
pub(crate) fn interval(row: &RuleRow, level: ConfidenceLevel) -> IntervalReport {
    let Some([lower, upper]) = row.speedup_interval else {
        let reason =
            Reason::new(ReasonCode::NoRepeatedInterval, "At the risk of this look the interval has no ends");
        return IntervalReport::Missing { reason };
    };
    let what = row.test.as_deref().unwrap_or_default();
    let method = format!("repeated confidence interval (Jennison and Turnbull 2000, ch. 9): {what}");
    IntervalReport::Bounded { method, lower, upper, confidence: level.get(), caveats: Vec::new() }
}

/// The rule's answer in the place of a protocol.
pub(crate) fn protocol_report(
    row: &RuleRow,
    look: LookReport,
    protocol: Protocol,
    level: ConfidenceLevel,
) -> ProtocolReport {
    let speedup = row.speedup.unwrap_or(1.0);
    let direction = Direction::of(speedup);
    let answer = |outcome: AnswerOutcome, risk: Option<f64>| ProtocolAnswer {
        question: match direction {
            Direction::CandidateSlower => Question::CandidateSlower,
            Direction::CandidateFaster | Direction::Neither => Question::CandidateFaster,
        },
        outcome,
        confidence: risk.map(|risk| 1.0 - risk),
        risk,
        main_test: test(row, look),
        caveats: Vec::new(),
    };
    let outcome = AnswerOutcome::from(row.verdict);
    ProtocolReport {
        protocol,
        verdict: row.verdict,
        reason: reason(row, look),
        direction,
        speedup,
        change_percent: 100.0 * (1.0 / speedup - 1.0),
        interval: interval(row, level),
        at_level: answer(outcome, Some(level.risk().get())),
        assumptions: Vec::new(),
        best: answer(AnswerOutcome::CannotConclude, None),
    }
}

fn test(row: &RuleRow, look: LookReport) -> TestReport {
    let LookReport { number, of, p, .. } = look;
    let name = row.test.as_deref().unwrap_or("t test");
    TestReport {
        method: format!("{name}, two-sided, at the risk of look {number} of {of}"),
        statistic: None,
        p_value: p,
        refusal: None,
    }
}

/// Why a look that was taken gives no verdict.
fn open(LookReport { number, of, p, .. }: LookReport) -> Reason {
    match p {
        None => Reason::new(
            ReasonCode::LookWithoutTest,
            format!(
                "Look {number} of {of} has no test: a version has fewer than two measured runs, or they do not vary"
            ),
        ),
        Some(_) => Reason::new(
            ReasonCode::LookOpen,
            format!("Look {number} of {of} does not conclude, and the next one uses further runs"),
        ),
    }
}
