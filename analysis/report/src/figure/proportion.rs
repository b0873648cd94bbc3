//! Proportions of the benchmarks.

use speedup_analysis::{
    conclusion::Verdict, count::percent, study::IntervalReport, study::ProportionReport, study::Report,
    study::SharePoint, study::SuiteReport, study::TrueShareReport,
};
use speedup_core::value::foreign::one_line;

use super::Mark;
use crate::{share::ends, share::factor, share::percent_rounded};

/// Proportions with their intervals, from none to all.
#[derive(Clone, Debug, PartialEq)]
pub struct ProportionFigure {
    pub title: String,
    pub rows: Vec<ProportionRow>,
    /// The same in words.
    pub description: String,
}

/// A proportion.
#[derive(Clone, Debug, PartialEq)]
pub struct ProportionRow {
    pub name: String,
    pub share: f64,
    /// Its interval, where the benchmarks were drawn at random.
    pub interval: Option<(f64, f64)>,
    /// What the verdict is.
    pub mark: Mark,
    /// The share and its interval in words.
    pub label: String,
}

impl ProportionFigure {
    /// By the headline verdicts; `None` of a single benchmark, or where nothing is known.
    pub(crate) fn of(report: &Report, suite: &SuiteReport) -> Option<Self> {
        let is_told =
            |one: &&ProportionReport| one.by.is_none() && one.benchmarks > 1 && !one.nothing_known();
        let rows: Vec<ProportionRow> = suite.proportions.iter().filter(is_told).map(row).collect();
        let told: Vec<String> = rows.iter().map(|row| format!("{}: {}", row.name, row.label)).collect();
        (!rows.is_empty()).then(|| Self {
            title: one_line(&format!("Proportion of benchmarks: {}", suite.candidate)),
            description: format!(
                "Shares of the benchmarks, with their intervals at confidence level {} where those are valid. {}.",
                percent(report.head.confidence),
                told.join("; ")
            ),
            rows,
        })
    }
}

impl ProportionFigure {
    /// The share that is truly faster by more than each of a few speedups.
    pub(crate) fn of_curve(
        suite: &SuiteReport,
        share: &TrueShareReport,
        told: &[SharePoint],
        confidence: f64,
    ) -> Self {
        let row = |point: &SharePoint| ProportionRow {
            name: format!("faster by more than {}", factor(point.speedup)),
            share: point.above as f64 / share.benchmarks as f64,
            interval: Some((point.lower, point.upper)),
            mark: Mark::Neither,
            label: format!("[{}, {}]", percent_rounded(point.lower), percent_rounded(point.upper)),
        };
        let rows: Vec<ProportionRow> = told.iter().map(row).collect();
        let in_words: Vec<String> = rows.iter().map(|row| format!("{}: {}", row.name, row.label)).collect();
        Self {
            title: one_line(&format!("Truly faster benchmarks: {}", suite.candidate)),
            description: format!(
                "The share of benchmarks whose true speedup is larger than each of a few, at confidence level {}; the circle is the \
                 share that is shown to be. {}.",
                percent(confidence),
                in_words.join("; ")
            ),
            rows,
        }
    }
}

fn row(proportion: &ProportionReport) -> ProportionRow {
    let interval = Some(&proportion.interval).filter(|_| proportion.valid);
    let share = percent_rounded(proportion.estimate);
    let counts = format!("{} of {}, {share}", proportion.count, proportion.benchmarks);
    ProportionRow {
        name: match proportion.of {
            Verdict::Faster => "called faster",
            Verdict::Slower => "called slower",
            other @ (Verdict::Same | Verdict::Undecided | Verdict::NotEnoughData) => other.words(),
        }
        .to_owned(),
        share: proportion.estimate,
        interval: interval.and_then(IntervalReport::ends).map(|(a, b)| (a.max(0.0), b.min(1.0))),
        mark: proportion.of.into(),
        label: interval.and_then(ends).map_or_else(|| counts.clone(), |ends| format!("{counts} {ends}")),
    }
}
