//! The Speedup-Test: a row for each benchmark and protocol.

use speedup_analysis::inquiry::{ProtocolFinding, SpeedupTestSuite};
use speedup_analysis::study::{IntervalReport, Protocol};

use super::{codes, reason, verdict};
use crate::samples::compare::sheet::{Cell, Sheet, hidden, number, words};

pub(super) fn sheet(of: &[SpeedupTestSuite]) -> Sheet {
    let adjusted = of.iter().flat_map(|suite| &suite.benchmarks).any(|one| one.mean.adjusted.is_some());
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
    for suite in of {
        for one in &suite.benchmarks {
            for protocol in [Protocol::Mean, Protocol::Median] {
                let finding = one.of(protocol);
                let mut row = vec![
                    verdict(finding.report.verdict),
                    Cell::text(&suite.candidate),
                    Cell::text(&one.benchmark),
                    Cell::text(protocol.name()),
                ];
                row.extend(protocol_cells(finding));
                if adjusted {
                    row.push(Cell::p_value(finding.adjusted.map(|adjusted| adjusted.p_value)));
                    row.push(finding.adjusted.map_or(Cell::Absent, |adjusted| verdict(adjusted.verdict)));
                }
                row.extend([reason(finding.report.reason.as_ref()), codes(&finding.caveats)]);
                rows.push(row);
            }
        }
    }
    Sheet { headings, rows }
}

/// Speedup, its interval, the test in the direction observed, and the best level.
fn protocol_cells(finding: &ProtocolFinding) -> [Cell; 9] {
    let report = &finding.report;
    let ends = report.interval.ends();
    let (confidence, method) = match &report.interval {
        IntervalReport::Bounded { confidence, method, .. } => (Cell::Number(*confidence), Cell::text(method)),
        IntervalReport::Missing { .. } => (Cell::Absent, Cell::Absent),
    };
    let test = &report.at_level.main_test;
    [
        Cell::speedup(Some(report.speedup), ends),
        Cell::of(ends.map(|(lower, _)| lower)),
        Cell::of(ends.map(|(_, upper)| upper)),
        confidence,
        method,
        Cell::text(&test.method),
        Cell::of(test.statistic.filter(|statistic| statistic.is_finite())),
        Cell::p_value(test.p_value),
        Cell::percent(best_level(finding)),
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
