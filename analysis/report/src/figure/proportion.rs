//! Proportions of the benchmarks.

use speedup_analysis::{
    conclusion::Verdict, count::percent, study::IntervalReport, study::ProportionReport, study::Report,
    study::SharePoint, study::SuiteReport, study::TrueShareReport,
};
use speedup_core::value::foreign::one_line;

use super::{IntervalRow, Mark};
use crate::{share::ends, share::factor, share::percent_rounded};

/// Proportions with their intervals, from none to all.
#[derive(Clone, Debug, PartialEq)]
pub struct ProportionFigure {
    pub title: String,
    /// Each with its interval, where the benchmarks were drawn at random.
    pub rows: Vec<IntervalRow>,
    /// The same in words.
    pub description: String,
}

impl ProportionFigure {
    /// By the headline verdicts; `None` of a single benchmark, or where nothing is known.
    pub(crate) fn from_suite(report: &Report, suite: &SuiteReport) -> Option<Self> {
        let told = suite.proportions.iter().filter(|one| {
            // Those by a protocol of the Speedup-Test stand in the table alone.
            one.by.is_none() && one.benchmarks > 1 && !one.nothing_known()
        });
        let rows: Vec<IntervalRow> = told.map(row).collect();
        if rows.is_empty() {
            return None;
        }
        Some(Self {
            title: one_line(&format!("Proportion of benchmarks: {}", suite.candidate)),
            description: format!(
                "Shares of the benchmarks, with their intervals at confidence level {} where those are valid. {}.",
                percent(report.head.confidence),
                in_words(&rows)
            ),
            rows,
        })
    }
}

impl ProportionFigure {
    /// The share that is truly faster by more than each of a few speedups.
    pub(crate) fn from_curve(
        suite: &SuiteReport,
        share: &TrueShareReport,
        told: &[SharePoint],
        confidence: f64,
    ) -> Self {
        let mut rows = Vec::new();
        for point in told {
            rows.push(IntervalRow {
                name: format!("faster by more than {}", factor(point.speedup)),
                value: Some(point.above as f64 / share.benchmarks as f64),
                interval: Some((point.lower, point.upper)),
                mark: Mark::Neither,
                label: format!("[{}, {}]", percent_rounded(point.lower), percent_rounded(point.upper)),
            });
        }
        Self {
            title: one_line(&format!("Truly faster benchmarks: {}", suite.candidate)),
            description: format!(
                "The share of benchmarks whose true speedup is larger than each of a few, at confidence level {}; the circle is the \
                 share that is shown to be. {}.",
                percent(confidence),
                in_words(&rows)
            ),
            rows,
        }
    }
}

fn in_words(rows: &[IntervalRow]) -> String {
    rows.iter().map(|row| format!("{}: {}", row.name, row.label)).collect::<Vec<_>>().join("; ")
}

fn row(proportion: &ProportionReport) -> IntervalRow {
    let interval = if proportion.valid { Some(&proportion.interval) } else { None };
    let share = percent_rounded(proportion.estimate);
    let counts = format!("{} of {}, {share}", proportion.count, proportion.benchmarks);
    IntervalRow {
        name: match proportion.of {
            Verdict::Faster => "called faster",
            Verdict::Slower => "called slower",
            other @ (Verdict::Same | Verdict::Undecided | Verdict::NotEnoughData) => other.words(),
        }
        .to_owned(),
        value: Some(proportion.estimate),
        interval: interval.and_then(IntervalReport::ends).map(|(a, b)| (a.max(0.0), b.min(1.0))),
        mark: proportion.of.into(),
        label: interval.and_then(ends).map_or_else(|| counts.clone(), |ends| format!("{counts} {ends}")),
    }
}
