//! What more hosts bring: the scaling series of the plan.

use speedup_analysis::count::{percent, ratio};
use speedup_analysis::study::{Report, ScalingReport, ScalingValue};
use speedup_core::experiment::gang::ScalingLaw;

use super::{benchmarks::NOTHING, endpoints::in_words};
use crate::document::{Align, Column, Document, Element, Field, Kind, LegendEntry, Table, TableRow, Tone};
use crate::{duration::Unit, duration::four_digits, figure::Figure, figure::ScalingFigure};

/// A section for each series.
pub(super) fn write(document: &mut Document, report: &Report) {
    for of in &report.scaling {
        let context = SeriesContext {
            baseline: &report.head.baseline,
            confidence: report.head.confidence,
            unit_ns: Some(1.0),
        };
        write_series(document, of, context);
    }
}

impl Document {
    /// What more hosts bring to plain samples.
    pub fn scaling(report: &ScalingReport, confidence: f64, metric: &str, unit: &str) -> Self {
        let mut document = Self::new(format!("Scaling of {metric}"));
        document.section(Kind::Head, document.title.clone());
        let unit_ns = (unit == "s").then_some(1e9);
        write_series(&mut document, report, SeriesContext { baseline: "", confidence, unit_ns });
        document
    }
}

/// What a series does not know of itself.
#[derive(Clone, Copy)]
struct SeriesContext<'a> {
    baseline: &'a str,
    confidence: f64,
    /// The unit of its times in nanoseconds, where they are times.
    unit_ns: Option<f64>,
}

fn write_series(document: &mut Document, of: &ScalingReport, context: SeriesContext<'_>) {
    document.section(Kind::Scaling, format!("Scaling: {}, {}", of.series, of.law.name()));
    let versions = of.versions.iter().map(|version| &version.sentence);
    for sentence in versions.chain(of.comparisons.iter().map(|comparison| &comparison.sentence)) {
        document.paragraph(sentence, Tone::Plain);
    }
    document.table(values(of, context));
    if of.comparisons.iter().any(|comparison| !comparison.rows.is_empty()) {
        document.table(ratios(of, context));
    }
    for version in &of.versions {
        let reasons = version.rows.iter().filter_map(|row| row.reason.as_ref()).chain(&version.reason);
        let mut sentences: Vec<&str> = reasons.map(|reason| reason.sentence.as_str()).collect();
        sentences.dedup();
        sentences
            .into_iter()
            .for_each(|sentence| document.paragraph(format!("{}: {sentence}", version.version), Tone::Plain));
    }
    document.push(Element::Figure(Box::new(Figure::Scaling(ScalingFigure::new(of)))));
}

/// Each version on each number of hosts.
fn values(of: &ScalingReport, context: SeriesContext<'_>) -> Table {
    let means = of.versions.iter().flat_map(|version| &version.rows).map(|row| row.mean);
    // Plain samples need not be times; without a unit of time their numbers are shown as they are.
    let unit = context.unit_ns.map(|ns| (Unit::fitting(means.map(move |mean| mean * ns)), ns));
    let heading = unit.map_or_else(|| "mean".to_owned(), |(unit, _)| format!("mean, {}", unit.name));
    let columns = vec![
        Column::new("version", Align::Left, 0),
        Column::new("hosts", Align::Right, 0),
        Column::new("n", Align::Right, 2),
        Column::new(heading, Align::Right, 0),
        Column::new("speedup", Align::Left, 0),
        Column::new("efficiency", Align::Left, 0),
        Column::new("serial fraction", Align::Left, 1),
    ];
    let mut rows = Vec::new();
    for version in &of.versions {
        for row in &version.rows {
            let mean = match unit {
                Some((unit, ns)) => unit.plain(row.mean * ns),
                None => four_digits(row.mean),
            };
            rows.push(TableRow::from(vec![
                Field::name(&version.version),
                row.hosts.to_string().into(),
                row.n.to_string().into(),
                mean.into(),
                shown(row.speedup.as_ref(), |value| ratio(value.estimate, value.interval.ends())),
                shown(row.efficiency.as_ref(), in_percent),
                shown(row.serial_fraction.as_ref(), fraction),
            ]));
        }
    }
    let grown = match of.law {
        ScalingLaw::Strong => "",
        ScalingLaw::Weak => {
            " The problem grows with the hosts, so the speedup is of the work done in a time."
        }
    };
    let text = format!(
        "Speedup: against the fewest hosts of the version, by mean times. Efficiency: the speedup over that of hosts without loss. \
         Serial fraction: of Karp and Flatt; where it grows, more than serial work takes time.{grown} Intervals: two-sided at {}, of all \
         numbers of hosts together.",
        percent(context.confidence)
    );
    Table { columns, rows, legend: vec![LegendEntry::always(text)], tells_left_out: true }
}

/// Each candidate against the baseline.
fn ratios(of: &ScalingReport, context: SeriesContext<'_>) -> Table {
    let columns = vec![
        Column::new("candidate", Align::Left, 0),
        Column::new("hosts", Align::Right, 0),
        Column::new("ratio of efficiencies", Align::Left, 0),
        Column::new("scales", Align::Left, 0),
    ];
    let mut rows = Vec::new();
    for comparison in &of.comparisons {
        for row in &comparison.rows {
            rows.push(TableRow::from(vec![
                Field::name(&comparison.candidate),
                row.hosts.to_string().into(),
                shown(row.ratio.as_ref(), |value| ratio(value.estimate, value.interval.ends())),
                in_words(row.verdict),
            ]));
        }
    }
    let text = format!(
        "Ratio: the candidate's efficiency over that of {}, above 1 where it loses less on more hosts, which does not say \
         that it is faster; its interval at {} is of all numbers of hosts together. No gate goes by it.",
        context.baseline,
        percent(context.confidence)
    );
    Table { columns, rows, legend: vec![LegendEntry::always(text)], tells_left_out: true }
}

fn shown(value: Option<&ScalingValue>, as_text: impl Fn(&ScalingValue) -> String) -> Field {
    value.map_or_else(|| NOTHING.to_owned(), as_text).into()
}

/// A serial fraction, of which there is no more than all.
fn fraction(value: &ScalingValue) -> String {
    if value.estimate > 1.0 { ">\u{a0}100\u{a0}%".to_owned() } else { in_percent(value) }
}

fn rounded(share: f64) -> String {
    format!("{:.1}", 100.0 * share).replace('-', "−")
}

/// "86.6 % [84.2, 88.9]".
fn in_percent(value: &ScalingValue) -> String {
    let ends = value.interval.ends();
    let ends =
        ends.map_or_else(String::new, |(lower, upper)| format!(" [{}, {}]", rounded(lower), rounded(upper)));
    format!("{}\u{a0}%{ends}", rounded(value.estimate))
}
