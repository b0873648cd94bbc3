//! A candidate over the suite: overall speedups, the proportion of accelerated benchmarks, and how many it takes.

use speedup_analysis::{
    conclusion::Protocol, count::counted, count::grouped, count::percent, count::ratio,
    study::IntervalReport, study::ProportionReport, study::Report, study::RequiredReport,
    study::RequiredShareReport, study::SharePoint, study::SuiteReport, study::TrueShareReport,
};
use speedup_statistics::ratio::Summary;

use super::benchmarks::NOTHING;
use crate::document::{Align, Column, Document, Element, Field, Kind, LegendEntry, Table, TableRow, Tone};
use crate::{figure::Figure, figure::ProportionFigure, share::ends, share::factor, share::percent_rounded};

/// The columns of the proportions that are explained.
const PUBLISHED: usize = 4;
const RECOMMENDED: usize = 5;
const CONDITION: usize = 6;
/// The column of the band of the truly faster benchmarks.
const BAND: usize = 4;

/// Nothing is written of a suite of one benchmark: its row says all.
pub(super) fn write(document: &mut Document, report: &Report, suite: &SuiteReport) {
    if report.benchmarks.len() < 2 {
        return;
    }
    let baseline = &report.head.baseline;
    let candidate = &suite.candidate;
    if !suite.overall.is_empty() {
        let over = counted(suite.over, "benchmark");
        let weights = &report.method.weights;
        document.section(
            Kind::Suite,
            format!("Suite: {candidate} against {baseline} over {over}, weights {weights}"),
        );
        write_overall(document, suite);
        write_typical(document, suite, report.head.confidence);
    }
    document.section(Kind::Proportion, format!("Proportion of benchmarks: {candidate} against {baseline}"));
    if let Some(figure) = ProportionFigure::from_suite(report, suite) {
        document.push(Element::Figure(Box::new(Figure::Proportion(figure))));
    }
    write_proportions(document, suite);
    if let Some(required) = &suite.required {
        document.paragraph(needed(required, report.head.confidence), Tone::Plain);
    }
    write_shares(document, report, suite);
}

/// The share that is truly faster. Of chosen benchmarks no interval is valid for others.
pub(super) fn write_shares(document: &mut Document, report: &Report, suite: &SuiteReport) {
    if let Some(share) = suite.true_share.as_ref().filter(|share| share.valid) {
        write_true_share(document, suite, share, (&report.head.baseline, report.head.confidence));
    }
}

/// Points of the curve that are told: what a reader compares at a glance.
const POINTS_TOLD: usize = 9;

/// The share that is faster by at least x, at a few x.
fn write_true_share(
    document: &mut Document,
    suite: &SuiteReport,
    share: &TrueShareReport,
    (baseline, confidence): (&str, f64),
) {
    let heading = format!("Truly faster benchmarks: {} against {baseline}", suite.candidate);
    document.section(Kind::TrueShare, heading);
    let told = told(share);
    let figure = ProportionFigure::from_curve(suite, share, &told, confidence);
    document.push(Element::Figure(Box::new(Figure::Proportion(figure))));
    let columns = [
        Column::new("faster by more than", Align::Right, 0),
        Column::new("shown above", Align::Right, 1),
        Column::new("shown below", Align::Right, 1),
        Column::new("share", Align::Left, 0),
        Column::new("band", Align::Left, 2),
    ];
    let mut rows = Vec::new();
    for point in &told {
        let all = grouped(share.benchmarks);
        rows.push(TableRow::from(vec![
            factor(point.speedup).into(),
            format!("{} of {all}", grouped(point.above)).into(),
            format!("{} of {all}", grouped(point.below)).into(),
            within(point.lower, point.upper).into(),
            within(point.band_lower, point.band_upper).into(),
        ]));
    }
    let level = percent(confidence);
    let of_share = LegendEntry::always(format!(
        "Share: of the benchmarks whose true speedup is larger, at {level}, at any power of the tests; a benchmark that is shown \
         neither above nor below leaves it open."
    ));
    let of_band =
        LegendEntry::for_column(BAND, "Band: holds at all speedups at once. The whole curve is in the JSON.");
    let legend = vec![of_share, of_band];
    document.table(Table { columns: columns.into(), rows, legend, tells_left_out: false });
    if let Some(required) = &share.required {
        document.paragraph(needed_of_truth(required, share, confidence), Tone::Plain);
    }
}

fn within(lower: f64, upper: f64) -> String {
    format!("[{}, {}]", percent_rounded(lower), percent_rounded(upper))
}

/// How many benchmarks it takes to know the share of truly faster ones, or that more runs come first.
fn needed_of_truth(required: &RequiredShareReport, share: &TrueShareReport, confidence: f64) -> String {
    let [precision, level] = [required.precision, confidence].map(percent);
    match required.benchmarks {
        Some(benchmarks) => format!(
            "If the shares shown above and below stay as large, the truly faster share to ±{precision} at \
                {level} takes {}; there are {}.",
            counted(benchmarks, "benchmark"),
            grouped(share.benchmarks)
        ),
        None => format!(
            "No number of benchmarks gives the truly faster share to ±{precision}: those that are shown neither \
                above nor below leave ±{} open, so plan more runs of each benchmark first.",
            percent_rounded(required.least_half_width)
        ),
    }
}

/// The share that is faster at all, and points of the curve at even distances, ascending.
fn told(share: &TrueShareReport) -> Vec<SharePoint> {
    let every = share.curve.len().div_ceil(POINTS_TOLD - 1).max(1);
    let mut told: Vec<SharePoint> = share.curve.iter().step_by(every).copied().collect();
    told.retain(|point| point.speedup != share.faster.speedup);
    told.push(share.faster);
    told.sort_by(|a, b| a.speedup.total_cmp(&b.speedup));
    told
}

/// The typical benchmark and a further one.
fn write_typical(document: &mut Document, suite: &SuiteReport, confidence: f64) {
    let Some(typical) = &suite.typical else { return };
    let [lower, upper] = typical.interval;
    let [least, most] = typical.prediction;
    let drawn = match suite.true_share.as_ref().is_some_and(|share| share.valid) {
        true => "The speedup of a further benchmark of the population",
        false => "Had they been drawn at random, which they were not, the speedup of a further benchmark",
    };
    let text = format!(
        "A typical benchmark: {}, the random-effects mean of {} (log speedups differ by a standard deviation of {:.3}; {} of their \
         scatter is between benchmarks). {drawn}: {} to {}, at confidence level {}.",
        ratio(typical.speedup, Some((lower, upper))),
        counted(typical.benchmarks, "benchmark"),
        typical.tau,
        percent((typical.heterogeneity * 100.0).round() / 100.0),
        ratio(least, None),
        ratio(most, None),
        percent(confidence)
    );
    document.paragraph(text, Tone::Plain);
}

fn write_overall(document: &mut Document, suite: &SuiteReport) {
    let columns = [
        Column::new("by", Align::Left, 0),
        Column::new("gain", Align::Right, 0),
        Column::new("speedup", Align::Left, 0),
    ];
    let mut rows = Vec::new();
    for overall in &suite.overall {
        let ends = match overall.summary {
            // The interval is that of the verdict, which is by the means.
            Summary::Mean => suite.interval.as_ref().and_then(IntervalReport::ends),
            Summary::Min | Summary::Median => None,
        };
        rows.push(TableRow::from(vec![
            overall.summary.name().into(),
            percent_rounded(overall.gain).replace('-', "−").into(),
            ratio(overall.speedup, ends).into(),
        ]));
    }
    document.table(Table { columns: columns.into(), rows, ..Table::default() });
}

fn write_proportions(document: &mut Document, suite: &SuiteReport) {
    let columns = [
        Column::new("verdict", Align::Left, 0),
        Column::new("by", Align::Left, 0),
        Column::new("benchmarks", Align::Right, 0),
        Column::new("share", Align::Right, 0),
        Column::new("published interval", Align::Left, 1),
        Column::new("recommended interval", Align::Left, 2),
        Column::new("a(1 − a/b) > 5", Align::Left, 3),
    ];
    let rows = suite.proportions.iter().map(|proportion| proportion_row(proportion).into()).collect();
    let Some(first) = suite.proportions.first() else { return };
    if first.nothing_known() {
        document.table(Table { columns: columns.into(), rows, ..Table::default() });
        document.paragraph("No benchmark has enough data, so no share is known.", Tone::Plain);
        return;
    }
    let mut legend = vec![LegendEntry::always(first.selection.as_str())];
    for (column, word, interval) in
        [(PUBLISHED, "Published", &first.interval), (RECOMMENDED, "Recommended", &first.recommended)]
    {
        legend.push(LegendEntry::for_column(column, format!("{word}: {}.", method_or_reason(interval))));
    }
    if !first.condition_holds && !first.is_exact() {
        let text = "Where a(1 − a/b) > 5 does not hold, the published interval may be inaccurate.";
        legend.push(LegendEntry::for_column(CONDITION, text));
    }
    if first.not_enough_data > 0 {
        let without = counted(first.not_enough_data, "benchmark");
        legend.push(LegendEntry::always(format!("Without enough data: {without}, counted as neither.")));
    }
    document.table(Table { columns: columns.into(), rows, legend, tells_left_out: false });
}

fn proportion_row(proportion: &ProportionReport) -> Vec<Field> {
    let share =
        if proportion.nothing_known() { NOTHING.to_owned() } else { percent_rounded(proportion.estimate) };
    let condition = match (proportion.is_exact(), proportion.condition_holds) {
        (true, _) => NOTHING,
        (false, true) => "yes",
        (false, false) => "no",
    };
    vec![
        proportion.of.words().into(),
        proportion.by.map_or("headline", Protocol::name).into(),
        format!("{} of {}", grouped(proportion.count), grouped(proportion.benchmarks)).into(),
        share.into(),
        ends(&proportion.interval).unwrap_or_else(|| NOTHING.to_owned()).into(),
        ends(&proportion.recommended).unwrap_or_else(|| NOTHING.to_owned()).into(),
        condition.into(),
    ]
}

fn method_or_reason(interval: &IntervalReport) -> &str {
    match interval {
        IntervalReport::Bounded { method, .. } => method,
        IntervalReport::Missing { reason } => &reason.sentence,
    }
}

fn needed(required: &RequiredReport, confidence: f64) -> String {
    let RequiredReport { precision, proportion, wald, wilson, benchmarks } = required;
    let by_formula = match wald {
        0 => " (the formula of the Speedup-Test gives no number for a share of 0 or 1)".to_owned(),
        wald => format!(" and {} by the formula of the Speedup-Test", grouped(*wald)),
    };
    format!(
        "If the share of accelerated benchmarks is {}, knowing it to ±{} at {} takes {} by Wilson's \
            half-width{by_formula}; there are {}.",
        percent_rounded(*proportion),
        percent(*precision),
        percent(confidence),
        counted(*wilson, "benchmark"),
        grouped(*benchmarks)
    )
}
