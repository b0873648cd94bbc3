//! The tables of the benchmarks, in plan order: one a candidate, and one for each other metric.

use speedup_analysis::conclusion::{Reason, Verdict};
use speedup_analysis::count::{about, change, counted, percent, ratio};
use speedup_analysis::study::{
    BenchmarkReport, CellReport, ComparisonReport, DesignKind, MetricReport, MetricRow, POWER, Report,
    RuleReport,
};
use speedup_core::experiment::Center;
use speedup_core::experiment::metric::{Better, Unit as MetricUnit};

use crate::document::{Align, Column, Document, Element, Field, Kind, LegendEntry, Table, TableRow, Tone};
use crate::names::{labels, shortened};
use crate::{duration::Unit, duration::bytes, duration::four_digits, figure::Figure, figure::Forest};

/// Where there is no number.
pub(super) const NOTHING: &str = "—";
/// The column that is explained: the baseline's times.
const TIMES: usize = 2;
/// Characters of a version's name where there is little room: with two of them, times and speedup have room in 80 columns.
const MOST_VERSION: usize = 16;

/// The table of the candidate `at` this place.
pub(super) fn write(document: &mut Document, report: &Report, at: usize) {
    write_some(document, report, at, &report.benchmarks.iter().collect::<Vec<_>>());
    write_reasons(document, report, at);
}

/// The rows of these benchmarks.
pub(super) fn write_some(
    document: &mut Document,
    report: &Report,
    at: usize,
    benchmarks: &[&BenchmarkReport],
) {
    let baseline = &report.head.baseline;
    let candidate = &report.suites[at].candidate;
    let center = report.benchmarks.iter().find_map(|benchmark| benchmark.comparisons[at].by);
    let cells = benchmarks.iter().flat_map(|benchmark| [&benchmark.cells[0], &benchmark.cells[at + 1]]);
    let times: Vec<(Center, f64)> =
        cells.filter_map(|cell| Some(cell.wall_ns.as_ref()?.center(center))).collect();
    let unit = Unit::fitting(times.iter().map(|(_, time)| *time));
    document.section(
        Kind::Benchmarks,
        format!("Benchmarks: {candidate} against {baseline}, wall time in {}", unit.name),
    );
    if let Some(forest) = Forest::from_report(report, at, benchmarks) {
        document.push(Element::Figure(Box::new(Figure::Forest(forest))));
    }
    let is_family = !report.suites[at].multiplicity.is_empty();
    let shown = times.first().map_or(Center::Median, |(center, _)| *center).name();
    let mut legend = vec![
        LegendEntry::for_column(TIMES, format!("Times: {shown} ± half the interquartile range.")),
        LegendEntry::always(speedup_legend(report, at)),
    ];
    if benchmarks.iter().any(|benchmark| shown_effect(&benchmark.comparisons[at]).is_some()) {
        legend.push(LegendEntry::always(format!(
            "Undecided (~ x): a change of about x would have been found with a probability of {}.",
            percent(POWER)
        )));
    }
    let rows = benchmarks.iter().map(|benchmark| row(benchmark, at, (center, unit), is_family).into());
    document.table(Table {
        columns: columns(baseline, candidate, is_family),
        rows: rows.collect(),
        legend,
        tells_left_out: false,
    });
}

fn columns(baseline: &str, candidate: &str, is_family: bool) -> Vec<Column> {
    let short = labels(&[baseline, candidate], MOST_VERSION);
    let mut columns = vec![
        Column::new("benchmark", Align::Left, 0),
        Column::new("n", Align::Right, 1),
        Column::new(baseline, Align::Right, 2).or(short[0].as_str()),
        Column::new(candidate, Align::Right, 2).or(short[1].as_str()),
        Column::new("speedup", Align::Left, 0),
        Column::new("change", Align::Right, 3),
        Column::new("verdict", Align::Left, 0),
    ];
    if is_family {
        columns.push(Column::new("adjusted verdict", Align::Left, 1).or("adjusted"));
    }
    columns
}

/// What the speedup is a ratio of, and what its interval and the verdicts keep.
fn speedup_legend(report: &Report, at: usize) -> String {
    let suite = &report.suites[at];
    let baseline = &report.head.baseline;
    let speedup = format!(
        "Speedup: {}, {baseline} over {}, above 1 faster",
        ratio_in_words(report, at),
        suite.candidate
    );
    let level = percent(report.head.confidence);
    if is_by_looks(report) {
        return format!(
            "{speedup}; verdict and interval by the looks of the plan's rule, which keep {level} over all looks of a benchmark."
        );
    }
    let adjusted = if suite.multiplicity.is_empty() {
        ""
    } else {
        "; adjusted: after Holm with all benchmarks and their total, as gates go by it"
    };
    format!(
        "{speedup}, with its two-sided interval at {level}; the verdict is what the interval says{}{adjusted}.",
        margin(report, at)
    )
}

/// What the column of speedups holds, as in "the ratio of the trimmed means" or "the trimmed mean of the ratios within pairs".
fn ratio_in_words(report: &Report, at: usize) -> String {
    let mut comparisons = report.benchmarks.iter().map(|benchmark| &benchmark.comparisons[at]);
    let Some(comparison) = comparisons.find(|comparison| comparison.by.is_some()) else {
        return "the ratio".to_owned();
    };
    let center = comparison.by.map_or("centre", Center::name);
    let Some(design) = &comparison.design else { return format!("the ratio of the {center}s") };
    match (design.kind, comparison.by) {
        (DesignKind::Pairs, Some(Center::Mean)) => "the ratio of the means of the pairs".to_owned(),
        (DesignKind::Pairs, _) => format!("the {center} of the ratios within pairs"),
        (DesignKind::Classes, _) => format!("the ratio of the {center}s within the classes of hosts"),
        (DesignKind::Levels | DesignKind::Builds, _) => {
            format!("the ratio of the {center}s, each {} counting by its mean", design.unit)
        }
    }
}

/// Within what versions count as the same, where the plan declares it.
fn margin(report: &Report, at: usize) -> String {
    let headlines = report.benchmarks.iter().filter_map(|benchmark| benchmark.comparisons[at].first.as_ref());
    match headlines.filter_map(|headline| headline.margin).next() {
        Some(margin) => {
            format!(", and `same` that both one-sided tests show it to be within ±{}", percent(margin))
        }
        None => String::new(),
    }
}

/// Whether the verdicts are those of the rule.
pub(super) fn is_by_looks(report: &Report) -> bool {
    report.rule.as_ref().is_some_and(RuleReport::is_by_looks)
}

fn row(benchmark: &BenchmarkReport, at: usize, shown: (Option<Center>, Unit), is_family: bool) -> Vec<Field> {
    let comparison = &benchmark.comparisons[at];
    let headline = comparison.headline();
    let headline = headline.as_ref();
    let ends = headline.and_then(|headline| headline.interval.ends());
    let observed = comparison.observed.map(|observed| observed.median);
    let speedup = match (headline, observed) {
        (Some(headline), _) => ratio(headline.speedup, ends),
        (None, Some(observed)) => ratio(observed, None),
        (None, None) => NOTHING.to_owned(),
    };
    let percent = headline.map(|headline| headline.change_percent);
    let percent = percent.or_else(|| observed.map(|observed| 100.0 * (1.0 / observed - 1.0)));
    let runs = match (comparison.baseline_n, comparison.candidate_n) {
        (n, m) if n == m => n.to_string(),
        (n, m) => format!("{n}, {m}"),
    };
    let mut fields = vec![
        Field::name(&benchmark.name),
        runs.into(),
        time(&benchmark.cells[0], shown).into(),
        time(&benchmark.cells[at + 1], shown).into(),
        speedup.into(),
        percent.map_or_else(|| NOTHING.to_owned(), |percent| change(percent, ends)).into(),
        verdict(comparison),
    ];
    if is_family {
        let (adjusted, _) = comparison.familywise();
        fields.push(Field { tone: adjusted.into(), ..adjusted.words().into() });
    }
    fields
}

/// The verdict, which there is when all runs are there, and where it is undecided, which change would probably have been found.
fn verdict(comparison: &ComparisonReport) -> Field {
    let words = match shown_effect(comparison) {
        _ if comparison.is_so_far() => "so far".to_owned(),
        Some(smallest) => format!("undecided (~\u{a0}{})", about(smallest)),
        None => comparison.verdict.words().to_owned(),
    };
    Field { tone: comparison.verdict.into(), ..words.into() }
}

/// The change that would probably have been found, where the verdict is undecided.
fn shown_effect(comparison: &ComparisonReport) -> Option<f64> {
    if comparison.verdict != Verdict::Undecided {
        return None;
    }
    comparison.first.as_ref()?.smallest_effect
}

/// The centre of a version's times that is compared, with their spread.
fn time(cell: &CellReport, (center, unit): (Option<Center>, Unit)) -> String {
    let Some(wall) = &cell.wall_ns else { return NOTHING.to_owned() };
    let (_, time) = wall.center(center);
    match cell.n {
        // One observation has no spread.
        0 | 1 => unit.plain(time),
        _ => unit.with_spread(time, (wall.upper_quartile - wall.lower_quartile) / 2.0),
    }
}

/// Why there is not enough data, each reason once.
fn write_reasons(document: &mut Document, report: &Report, at: usize) {
    write_each(document, report, "Not enough data on", |benchmark| {
        let comparison = &benchmark.comparisons[at];
        if comparison.is_so_far() { None } else { comparison.reason.as_ref() }
    });
}

/// The reasons that benchmarks have, each once with their names after the words `on`.
pub(super) fn write_each<'a>(
    document: &mut Document,
    report: &'a Report,
    on: &str,
    reason: impl Fn(&'a BenchmarkReport) -> Option<&'a Reason>,
) {
    let named = report.benchmarks.iter().filter_map(|one| Some((one.name.as_str(), reason(one)?)));
    for (sentence, names) in by_reason(named) {
        let names = abbreviated(&names, report.benchmarks.len());
        document.paragraph(format!("{on} {names}: {sentence}"), Tone::Plain);
    }
}

/// The reasons of what is named, each once with all names.
pub(super) fn by_reason<'a, N>(named: impl Iterator<Item = (N, &'a Reason)>) -> Vec<(&'a str, Vec<N>)> {
    by_sentence(named.map(|(name, reason)| (name, reason.sentence.as_str())))
}

/// What is said of what is named, each sentence once with all names.
pub(super) fn by_sentence<'a, N>(named: impl Iterator<Item = (N, &'a str)>) -> Vec<(&'a str, Vec<N>)> {
    let mut sentences: Vec<(&str, Vec<N>)> = Vec::new();
    for (name, said) in named {
        match sentences.iter_mut().find(|(sentence, _)| *sentence == said) {
            Some((_, names)) => names.push(name),
            None => sentences.push((said, vec![name])),
        }
    }
    sentences
}

/// Names, the first few of many.
pub(super) fn abbreviated(names: &[impl AsRef<str>], all: usize) -> String {
    const SHOWN: usize = 4;
    let first: Vec<String> = names.iter().take(SHOWN).map(|name| shortened(name.as_ref(), 32)).collect();
    match names.len() {
        number if number == all && number > 1 => format!("all {}", counted(all as u64, "benchmark")),
        number if number > SHOWN => format!("{} and {} more", first.join(", "), number - SHOWN),
        _ => first.join(", "),
    }
}

/// The other metrics, one table each.
pub(super) fn write_metrics(document: &mut Document, report: &Report) {
    for metric in report.metrics.iter().filter(|metric| has_values(metric)) {
        let values = metric.rows.iter().flat_map(|row| row.medians.iter().flatten().copied());
        let unit = Unit::fitting(values.filter(|value| *value > 0.0));
        let shown_unit = unit_of(metric, unit);
        let in_unit = if shown_unit.is_empty() { String::new() } else { format!(" in {shown_unit}") };
        let has_means = metric.rows.iter().any(|row| !row.means.is_empty());
        let center = if has_means { Center::Mean } else { Center::Median };
        document.section(Kind::Metric, format!("{}, {}{in_unit}", metric.metric, center.name()));
        let known = metric.rows.iter().filter(|row| row.medians.iter().any(Option::is_some));
        let rows: Vec<TableRow> = known.map(|row| metric_row(metric, row, unit)).collect();
        let unknown = metric.rows.len() - rows.len();
        document.table(Table {
            columns: metric_columns(report),
            rows,
            legend: Vec::new(),
            tells_left_out: true,
        });
        write_unknown(document, metric, unknown);
        write_iterations(document, metric);
    }
    for (which, sentence) in legends(report) {
        document.paragraph(format!("Ratio: {which}. {sentence}"), Tone::Plain);
    }
}

fn metric_columns(report: &Report) -> Vec<Column> {
    let versions: Vec<&str> = report.head.versions.iter().map(String::as_str).collect();
    let short = labels(&versions, MOST_VERSION);
    let candidates = report.suites.len();
    let mut columns = vec![Column::new("benchmark", Align::Left, 0)];
    // The ratios first, as far as there is room, for a line must not be wider than the page.
    let rank = |at: usize| u8::try_from(at).unwrap_or(u8::MAX);
    for (at, version) in versions.iter().enumerate() {
        let column = Column::new(*version, Align::Right, rank(candidates + 1 + at));
        columns.push(column.or(short[at].as_str()));
    }
    for (at, version) in versions.iter().enumerate().skip(1) {
        let column = Column::new(format!("ratio {version}"), Align::Right, rank(at));
        columns.push(column.or(format!("ratio {}", short[at])));
    }
    columns
}

fn metric_row(metric: &MetricReport, row: &MetricRow, unit: Unit) -> TableRow {
    let mut fields = vec![Field::name(&row.benchmark)];
    let centers = if row.means.is_empty() { &row.medians } else { &row.means };
    for center in centers {
        let text = center.map_or_else(|| NOTHING.to_owned(), |value| value_of(metric, unit, value));
        fields.push(text.into());
    }
    for (at, of_medians) in row.ratios.iter().enumerate() {
        let own = row.comparisons.get(at);
        let ends = own.and_then(|own| own.interval.ends());
        // The ratio of the numbers in this row: of the means, unless the row has only medians.
        let shown = if ends.is_none() && row.means.is_empty() {
            *of_medians
        } else {
            own.and_then(|own| own.ratio.or_else(|| row.ratio_of_means(at, metric.better)))
        };
        fields.push(shown.map_or_else(|| NOTHING.to_owned(), |value| ratio(value, ends)).into());
    }
    TableRow::from(fields)
}

/// The unit in which values of a metric are shown, times in `unit`; empty where it stands with each or there is none.
pub(super) fn unit_of(metric: &MetricReport, unit: Unit) -> &str {
    match metric.built_in_unit() {
        Some(MetricUnit::Nanoseconds) => unit.name,
        Some(MetricUnit::Microjoules) => "J",
        Some(MetricUnit::Bytes | MetricUnit::Count) => "",
        None => &metric.unit,
    }
}

pub(super) fn value_of(metric: &MetricReport, unit: Unit, value: f64) -> String {
    match metric.built_in_unit() {
        Some(MetricUnit::Nanoseconds) => unit.plain(value),
        Some(MetricUnit::Microjoules) => four_digits(value / 1e6),
        Some(MetricUnit::Bytes) => bytes(value),
        None if metric.own => four_digits(value),
        Some(MetricUnit::Count) | None => format!("{value}"),
    }
}

/// Legends for reading the ratios, deduplicated; each names its metrics if there is more than one.
fn legends(report: &Report) -> Vec<(String, &str)> {
    let baseline = &report.head.baseline;
    let mut legends: Vec<(Better, &str, Vec<&str>)> = Vec::new();
    for metric in report.metrics.iter().filter(|metric| has_values(metric)) {
        let same = |legend: &&mut (Better, &str, Vec<&str>)| {
            (legend.0, legend.1) == (metric.better, &*metric.sentence)
        };
        match legends.iter_mut().find(same) {
            Some((_, _, names)) => names.push(&metric.metric),
            None => legends.push((metric.better, &metric.sentence, vec![&metric.metric])),
        }
    }
    let is_one = legends.len() == 1;
    let mut sentences = Vec::new();
    for (better, sentence, names) in legends {
        let mut ratio = match better {
            Better::Lower => format!("{baseline} over candidate"),
            Better::Higher => format!("candidate over {baseline}, as higher is better"),
        };
        if !is_one {
            ratio += &format!(", for {}", abbreviated(&names, usize::MAX));
        }
        sentences.push((ratio, sentence));
    }
    sentences
}

/// Where a metric is not known. Of memory that is usual: Linux counts the agent's as the program's until it has more.
fn write_unknown(document: &mut Document, metric: &MetricReport, unknown: usize) {
    if unknown == 0 {
        return;
    }
    let why = match metric.metric.as_str() {
        "max_rss" if !metric.own => "it took no more memory than the agent that started it",
        _ => "none was reported",
    };
    document.paragraph(format!("Unknown for {}: {why}.", counted(unknown as u64, "benchmark")), Tone::Plain);
}

/// How much of an own metric varies from iteration to iteration: what further iterations could make up for, and runs need not.
fn write_iterations(document: &mut Document, metric: &MetricReport) {
    let cells = metric.rows.iter().flat_map(|row| row.iterations.iter().flatten());
    let shares: Vec<f64> = cells.filter_map(|cell| cell.within_runs).collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shares.iter().copied().fold(0.0, f64::max);
    if least <= most {
        let [least, most] = [least, most].map(|share| percent((share * 1e2).round() / 1e2));
        let text = format!(
            "Of the variance of {}, between {least} and {most} lie within runs, from iteration to iteration.",
            metric.metric
        );
        document.paragraph(text, Tone::Plain);
    }
}

fn has_values(metric: &MetricReport) -> bool {
    metric.rows.iter().any(|row| row.medians.iter().any(Option::is_some))
}
