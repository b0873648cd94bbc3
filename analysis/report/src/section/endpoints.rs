//! The verdicts that the plan declares beside the headlines.

use speedup_analysis::count::{counted, percent, ratio};
use speedup_analysis::study::{
    DifferenceReport, EndpointReport, EndpointRow, EndpointVerdict, IntervalReport, MetricReport, Report,
};
use speedup_core::experiment::metric::Better;

use super::benchmarks::{NOTHING, abbreviated, by_reason, by_sentence, unit_of, value_of};
use crate::document::{Align, Column, Document, Field, Kind, LegendEntry, Table, TableRow, Tone};
use crate::duration::{Unit, four_digits};

/// The table of all endpoints of the candidate `at` this place.
pub(super) fn write(document: &mut Document, report: &Report, at: usize) {
    if report.endpoints.is_empty() {
        return;
    }
    let candidate = &report.suites[at].candidate;
    let rows: Vec<(&EndpointReport, &EndpointRow)> = report
        .endpoints
        .iter()
        .flat_map(|endpoint| endpoint.of(candidate).map(move |row| (endpoint, row)))
        .collect();
    document
        .section(Kind::Endpoints, format!("Other endpoints: {candidate} against {}", report.head.baseline));
    // Columns that would say nothing in any row are left out.
    let is_adjusted = rows.iter().any(|(_, row)| !row.adjusted.is_empty());
    let has_differences = rows.iter().any(|(_, row)| row.difference.is_some());
    let mut columns = vec![
        Column::new("endpoint", Align::Left, 0),
        Column::new("benchmark", Align::Left, 0),
        Column::new(if has_differences { "ratio or difference" } else { "ratio" }, Align::Left, 0),
        Column::new("verdict", Align::Left, 0),
    ];
    if is_adjusted {
        columns.push(Column::new("adjusted verdict", Align::Left, 1).or("adjusted"));
    }
    let mut table_rows = Vec::new();
    for (endpoint, row) in &rows {
        let ends = row.interval.as_ref().and_then(IntervalReport::ends);
        let shown = match (&row.difference, row.ratio) {
            (Some(found), _) => difference(report, &endpoint.metric, found),
            (None, Some(value)) => ratio(value, ends),
            (None, None) => NOTHING.to_owned(),
        };
        let mut fields =
            vec![endpoint.name().into(), Field::name(&row.benchmark), shown.into(), in_words(row.verdict)];
        if is_adjusted {
            fields.push(in_words(row.familywise().0));
        }
        table_rows.push(TableRow::from(fields));
    }
    let legend = vec![LegendEntry::always(legend(report, is_adjusted, has_differences))];
    document.table(Table { columns, rows: table_rows, legend, tells_left_out: true });
    let reasons = rows.iter().filter_map(|(endpoint, row)| Some(((endpoint, row), row.reason.as_ref()?)));
    for (sentence, without) in by_reason(reasons) {
        let text = format!("Not enough data for {}: {sentence}", named(&without));
        document.paragraph(text, Tone::Plain);
    }
    let notes = rows.iter().filter_map(|(endpoint, row)| Some(((endpoint, row), row.note.as_deref()?)));
    for (sentence, of) in by_sentence(notes) {
        document.paragraph(format!("On {}: {sentence}", named(&of)), Tone::Plain);
    }
}

/// Endpoints on benchmarks, the first few of many.
fn named(rows: &[(&&EndpointReport, &&EndpointRow)]) -> String {
    let named: Vec<String> =
        rows.iter().map(|(endpoint, row)| format!("{} of {}", endpoint.name(), row.benchmark)).collect();
    abbreviated(&named, usize::MAX)
}

/// A difference with its interval in the unit of its metric: "−12.3 [−20.1, −3.4] ms".
fn difference(report: &Report, metric: &str, found: &DifferenceReport) -> String {
    let mut values = vec![found.estimate];
    if let Some((lower, upper)) = found.interval.ends() {
        values.extend([lower, upper]);
    }
    let unit = Unit::fitting(values.iter().map(|value| value.abs()).filter(|size| *size > 0.0));
    let metric = report.metrics.iter().find(|one| one.metric == metric);
    let shown: Vec<String> = values.iter().map(|value| signed(*value, metric, unit)).collect();
    let mut text = match &shown[..] {
        [estimate, lower, upper] => format!("{estimate} [{lower}, {upper}]"),
        _ => shown.concat(),
    };
    if let Some(unit) = metric.map(|metric| unit_of(metric, unit)).filter(|unit| !unit.is_empty()) {
        text += &format!("\u{a0}{unit}");
    }
    text
}

/// A number with its sign, as those of its metric are shown.
fn signed(value: f64, metric: Option<&MetricReport>, unit: Unit) -> String {
    let size = match metric {
        Some(metric) => value_of(metric, unit, value.abs()),
        None => four_digits(value.abs()),
    };
    if value > 0.0 {
        format!("+{size}")
    } else if value < 0.0 {
        format!("−{size}")
    } else {
        size
    }
}

/// What the verdicts on a candidate say of an endpoint, in a sentence.
pub(crate) fn sentence(endpoint: &EndpointReport, candidate: &str) -> String {
    let benchmarks = counted(endpoint.of(candidate).count() as u64, "benchmark");
    let mut counts = Vec::new();
    for verdict in EndpointVerdict::ALL {
        let count = endpoint.of(candidate).filter(|row| row.verdict == verdict).count();
        if count > 0 {
            counts.push(format!("{} on {count}", verdict.words()));
        }
    }
    format!("{} of {candidate}: {} of {benchmarks}.", endpoint.name(), counts.join(", "))
}

fn legend(report: &Report, is_adjusted: bool, has_differences: bool) -> String {
    let higher = report.endpoints.iter().any(|endpoint| endpoint.better == Better::Higher);
    let higher = if higher { ", or the other way round where higher is better" } else { "" };
    let adjusted = match is_adjusted {
        true => " Adjusted: after Holm, in the family that the plan declares; gates go by it.",
        false => "",
    };
    let difference = match has_differences {
        true => {
            " Difference, where a value is not positive: candidate less baseline, with the same interval."
        }
        false => "",
    };
    format!(
        "Ratio: {} over candidate{higher}, so that above 1 is better, with its two-sided interval at {}; the verdict is what \
         the interval says.{difference}{adjusted}",
        report.head.baseline,
        percent(report.head.confidence)
    )
}

pub(super) fn in_words(change: EndpointVerdict) -> Field {
    Field { tone: change.into(), ..change.words().into() }
}
