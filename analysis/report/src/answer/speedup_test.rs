//! The Speedup-Test: a row for each benchmark and protocol.

use speedup_analysis::inquiry::{IntervalAnswer, Preference, ProtocolFinding, SpeedupTestSuite};
use speedup_analysis::{conclusion::Protocol, count, count::counted, study::IntervalReport};
use speedup_statistics::ratio::Summary;

use super::{Told, codes, reason, verdict};
use crate::facts::{Sheet, SheetCell, hidden, number, words};

impl Told for Vec<SpeedupTestSuite> {
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
                    let finding = one.of(protocol);
                    let mut row = vec![
                        verdict(finding.report.verdict),
                        SheetCell::text(&suite.candidate),
                        SheetCell::text(&one.benchmark),
                        SheetCell::text(protocol.name()),
                    ];
                    row.extend(protocol_cells(finding));
                    if adjusted {
                        row.push(SheetCell::p_value(finding.adjusted.map(|adjusted| adjusted.p_value)));
                        row.push(
                            finding.adjusted.map_or(SheetCell::Absent, |adjusted| verdict(adjusted.verdict)),
                        );
                    }
                    row.extend([reason(finding.report.reason.as_ref()), codes(&finding.caveats)]);
                    rows.push(row);
                }
            }
        }
        Sheet { headings, rows }
    }

    fn sentences(&self, better: Preference) -> Vec<String> {
        self.iter().map(|suite| sentence(suite, better)).collect()
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
        SheetCell::of(ends.map(|(lower, _)| lower)),
        SheetCell::of(ends.map(|(_, upper)| upper)),
        confidence,
        method,
        SheetCell::text(&test.method),
        SheetCell::of(test.statistic.filter(|statistic| statistic.is_finite())),
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

fn sentence(suite: &SpeedupTestSuite, better: Preference) -> String {
    let how_much = suite.speedup.map_or_else(String::new, |speedup| {
        let change = match better {
            Preference::Lower => 1.0 / speedup - 1.0,
            Preference::Higher => speedup - 1.0,
        };
        let change = count::change(100.0 * change, suite.interval.ends());
        format!(", {} ({change})", count::ratio(speedup, suite.interval.ends()))
    });
    let over = counted(suite.benchmarks.len() as u64, "benchmark");
    let mut text = format!("{}: {}{how_much}, over {over}.", suite.candidate, suite.verdict.words());
    if suite.benchmarks.len() < 2 {
        return text;
    }
    for overall in &suite.overall {
        let summary = match overall.summary {
            Summary::Min => "minimum",
            Summary::Mean => "mean",
            Summary::Median => "median",
        };
        let gain = count::change(100.0 * overall.gain, None);
        text.push_str(&format!("\n  by the {summary}: speedup {:.4}, gain {gain}", overall.speedup));
    }
    for proportion in &suite.proportions {
        let interval = of_proportion(&proportion.interval);
        let beside =
            [("recommended", Some(&proportion.recommended)), ("as asked", proportion.asked.as_ref())];
        let beside: String = beside
            .into_iter()
            .filter_map(|(which, interval)| match interval? {
                bounded @ IntervalAnswer::Bounded { method, .. } => {
                    Some(format!("\n    {which}, {method}:{}", of_proportion(bounded)))
                }
                IntervalAnswer::Missing { .. } => None,
            })
            .collect();
        let needed = proportion.benchmarks_needed.unwrap_or(proportion.benchmarks_needed_by_wilson);
        let alone = proportion.overall_of_accelerated.as_ref();
        let alone = alone
            .filter(|_| proportion.accelerated < proportion.benchmarks)
            .map_or_else(String::new, |alone| format!("; they alone {:.4}", alone.speedup));
        text.push_str(&format!(
            "\n  accelerated by the {}: {} of {}, {}{interval}{alone}; for ±{} draw {}{beside}",
            proportion.by.name(),
            proportion.accelerated,
            proportion.benchmarks,
            count::percent(proportion.estimate),
            count::percent(proportion.precision),
            counted(needed, "benchmark"),
        ));
    }
    text
}

fn of_proportion(interval: &IntervalAnswer) -> String {
    interval.ends().map_or_else(String::new, |(lower, upper)| {
        format!(" [{}, {}]", count::percent(lower), count::percent(upper))
    })
}
