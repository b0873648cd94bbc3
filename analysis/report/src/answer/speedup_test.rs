//! The Speedup-Test: a row for each benchmark and protocol.

use speedup_analysis::inquiry::{
    AcceleratedShare, IntervalAnswer, Preference, ProtocolFinding, SpeedupTestSuite,
};
use speedup_analysis::{conclusion::Protocol, count, count::counted, study::IntervalReport};
use speedup_statistics::ratio::{Overall, Summary};

use super::{Render, VerdictLine, codes, reason};
use crate::facts::{Sheet, SheetCell, hidden, number, words};

impl Render for Vec<SpeedupTestSuite> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let adjusted = self.iter().flat_map(|suite| &suite.benchmarks).any(|one| one.mean.adjusted.is_some());
        let mut headings = vec![
            words("verdict", "verdict"),
            words("candidate", "candidate"),
            words("benchmark", "benchmark"),
            words("by", "by"),
            number("speedup", "speedup"),
            hidden("lower"),
            hidden("upper"),
            hidden("interval_confidence"),
            hidden("interval_method"),
            hidden("test"),
            hidden("statistic"),
            number("p_value", "p"),
            number("best_confidence", "best level"),
        ];
        if adjusted {
            headings.push(number("adjusted_p_value", "adjusted p"));
            headings.push(words("adjusted_verdict", "adjusted verdict"));
        }
        headings.extend([words("reason", "reason"), hidden("caveats")]);
        let mut rows = Vec::new();
        for suite in self {
            for one in &suite.benchmarks {
                for protocol in [Protocol::Mean, Protocol::Median] {
                    let finding = one.by_protocol(protocol);
                    let mut row = vec![
                        finding.report.verdict.into(),
                        SheetCell::text(&suite.candidate),
                        SheetCell::text(&one.benchmark),
                        SheetCell::text(protocol.name()),
                    ];
                    row.extend(protocol_cells(finding));
                    if adjusted {
                        row.push(SheetCell::p_value(finding.adjusted.map(|adjusted| adjusted.p_value)));
                        row.push(
                            finding.adjusted.map_or(SheetCell::Absent, |adjusted| adjusted.verdict.into()),
                        );
                    }
                    row.extend([reason(finding.report.reason.as_ref()), codes(&finding.caveats)]);
                    rows.push(row);
                }
            }
        }
        Sheet { headings, rows }
    }

    fn verdict(&self, better: Preference) -> Vec<VerdictLine> {
        self.iter().flat_map(|suite| verdict_lines(suite, better)).collect()
    }
}

/// Speedup, its interval, the test in the direction observed, and the best level.
fn protocol_cells(finding: &ProtocolFinding) -> [SheetCell; 9] {
    let report = &finding.report;
    let ends = report.interval.ends();
    let (confidence, method) = match &report.interval {
        IntervalReport::Bounded { confidence, method, .. } => {
            (SheetCell::Number(*confidence), SheetCell::text(method))
        }
        IntervalReport::Missing { .. } => (SheetCell::Absent, SheetCell::Absent),
    };
    let test = &report.at_level.main_test;
    [
        SheetCell::speedup(Some(report.speedup), ends),
        SheetCell::optional(ends.map(|(lower, _)| lower)),
        SheetCell::optional(ends.map(|(_, upper)| upper)),
        confidence,
        method,
        SheetCell::text(&test.method),
        SheetCell::optional(test.statistic.filter(|statistic| statistic.is_finite())),
        SheetCell::p_value(test.p_value),
        SheetCell::percent(best_level(finding)),
    ]
}

/// The best level at which the verdict holds. A level that was given is none that was found: beside no difference it would say that
/// this is shown.
fn best_level(finding: &ProtocolFinding) -> Option<f64> {
    match finding.published {
        Some(published) => published.confidence.filter(|_| published.significant == Some(true)),
        None => finding.report.best.confidence,
    }
}

/// The verdict on a candidate, and of several benchmarks the overall speedups and the proportions under it.
fn verdict_lines(suite: &SpeedupTestSuite, better: Preference) -> Vec<VerdictLine> {
    let mut text = format!("{}: {}", suite.candidate, suite.verdict.words());
    if let Some(speedup) = suite.speedup {
        let change = match better {
            Preference::Lower => 1.0 / speedup - 1.0,
            Preference::Higher => speedup - 1.0,
        };
        let ends = suite.interval.ends();
        let change = count::change(100.0 * change, ends);
        text += &format!(", {} ({change})", count::ratio(speedup, ends));
    }
    text += &format!(", over {}.", counted(suite.benchmarks.len() as u64, "benchmark"));
    let mut lines = vec![VerdictLine::toned(text, suite.verdict)];
    if suite.benchmarks.len() < 2 {
        return lines;
    }
    for overall in &suite.overall {
        let summary = match overall.summary {
            Summary::Min => "minimum",
            Summary::Mean => "mean",
            Summary::Median => "median",
        };
        let gain = count::change(100.0 * overall.gain, None);
        let text = format!("by the {summary}: speedup {:.4}, gain {gain}", overall.speedup);
        lines.push(VerdictLine::inner(1, text));
    }
    for proportion in &suite.proportions {
        lines.push(VerdictLine::inner(1, proportion_in_words(proportion)));
        let other_intervals =
            [("recommended", Some(&proportion.recommended)), ("as asked", proportion.asked.as_ref())];
        for (which, interval) in other_intervals {
            if let Some(bounded @ IntervalAnswer::Bounded { method, .. }) = interval {
                let text = format!("{which}, {method}:{}", interval_in_words(bounded));
                lines.push(VerdictLine::inner(2, text));
            }
        }
    }
    lines
}

fn proportion_in_words(proportion: &AcceleratedShare<IntervalAnswer, Overall>) -> String {
    let needed = proportion.benchmarks_needed.unwrap_or(proportion.benchmarks_needed_by_wilson);
    let alone = match &proportion.overall_of_accelerated {
        // Of all benchmarks it is the overall speedup again.
        Some(alone) if proportion.accelerated < proportion.benchmarks => {
            format!("; they alone {:.4}", alone.speedup)
        }
        Some(_) | None => String::new(),
    };
    format!(
        "accelerated by the {}: {} of {}, {}{}{alone}; for ±{} draw {}",
        proportion.by.name(),
        proportion.accelerated,
        proportion.benchmarks,
        count::percent(proportion.estimate),
        interval_in_words(&proportion.interval),
        count::percent(proportion.precision),
        counted(needed, "benchmark"),
    )
}

fn interval_in_words(interval: &IntervalAnswer) -> String {
    interval.ends().map_or_else(String::new, |(lower, upper)| {
        format!(" [{}, {}]", count::percent(lower), count::percent(upper))
    })
}
