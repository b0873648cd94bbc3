//! What stands beside the verdicts: the adjusted ones, what undecided benchmarks would take, the diagnostics, and the
//! mixtures if they were asked for.

use speedup_analysis::conclusion::Word;
use speedup_analysis::count::{counted, grouped, p_value, percent};
use speedup_analysis::study::{
    AdviceReport, BenchmarkReport, ComparisonReport, ComponentReport, DiagnosticsSummary, HostEffectReport,
    MixtureReport, POWER, PlacementReport, RELATIVE_HALF_WIDTH, ReachReport, Report, SuiteReport,
    WithoutReport,
};
use speedup_core::experiment::Center;

use super::benchmarks::NOTHING;
use crate::document::{Align, Column, Document, Field, Kind, LegendEntry, Table, TableRow, Tone};
use crate::duration::{Unit, span};

/// Rows of a table that could have one for every benchmark.
const MOST_ROWS: usize = 12;

/// The verdicts adjusted for the number of benchmarks.
pub(super) fn write_multiplicity(document: &mut Document, suite: &SuiteReport) {
    if suite.multiplicity.is_empty() {
        return;
    }
    document.section(Kind::Multiplicity, format!("Verdicts adjusted for their number: {}", suite.candidate));
    for adjusted in &suite.multiplicity {
        document.item(adjusted.sentence.as_str());
    }
}

/// What it would take where no difference was shown, the least first.
pub(super) fn write_advice(document: &mut Document, report: &Report, at: usize) {
    let undecided = report.benchmarks.iter().filter_map(|benchmark| {
        let comparison = &benchmark.comparisons[at];
        Some((benchmark, comparison.by?, comparison.advice.as_ref()?))
    });
    let mut undecided: Vec<(&BenchmarkReport, Center, &AdviceReport)> = undecided.collect();
    if undecided.is_empty() {
        return;
    }
    // What takes the least comes first; what cannot be reached comes last.
    undecided.sort_by_key(|(_, _, advice)| advice.detection.reach.needed().unwrap_or(u64::MAX));
    let unit = undecided.iter().find_map(|(_, _, advice)| advice.unit.as_ref()).map_or("run", Word::as_str);
    document.section(
        Kind::Advice,
        format!(
            "{} of each version that undecided benchmarks take: {}",
            in_title(unit),
            report.suites[at].candidate
        ),
    );
    let columns = [
        Column::new("benchmark", Align::Left, 0),
        Column::new("now", Align::Right, 1),
        Column::new("observed", Align::Right, 2),
        Column::new("to show it", Align::Right, 0),
        Column::new(format!("to ±{}", percent(RELATIVE_HALF_WIDTH)), Align::Right, 0),
        Column::new("by", Align::Left, 3),
        Column::new("takes", Align::Right, 4),
    ];
    let mut rows = Vec::new();
    for (benchmark, by, advice) in undecided.iter().take(MOST_ROWS) {
        rows.push(TableRow::from(vec![
            Field::name(&benchmark.name),
            grouped(now(&benchmark.comparisons[at], advice)).into(),
            format!("{:.4}×", advice.detection.goal).into(),
            reach(&advice.detection.reach).into(),
            reach(&advice.precision.reach).into(),
            by.name().into(),
            cost(benchmark, at, advice).into(),
        ]));
    }
    let of_cost = "Takes: the wall time of that many runs of both versions; warm-ups and setup come on top.";
    let legend = vec![LegendEntry::for_column(columns.len() - 1, of_cost)];
    document.table(Table { columns: columns.into(), rows, legend, tells_left_out: false });
    let more = match undecided.len().saturating_sub(MOST_ROWS) {
        0 => String::new(),
        more => format!("{} more are in the JSON. ", counted(more as u64, "benchmark")),
    };
    document.paragraph(
        format!(
            "{more}These numbers are rough, the more so from few runs. To show it: the observed speedup, if it is the true one, \
             with a probability of {}. For the next experiment: extending this one until it shows a difference has no \
             confidence level.",
            percent(POWER)
        ),
        Tone::Plain,
    );
}

/// A noun as the first of a heading, in the plural.
fn in_title(unit: &str) -> String {
    let (first, rest) = unit.split_at(unit.len().min(1));
    format!("{}{rest}s", first.to_uppercase())
}

/// What there is now of what is counted.
fn now(comparison: &ComparisonReport, advice: &AdviceReport) -> u64 {
    let runs = comparison.baseline_n.min(comparison.candidate_n);
    let units = comparison.design.as_ref().map(|design| design.baseline_units.min(design.candidate_units));
    // Without a unit the advice counts runs.
    if advice.unit.is_some() { units.unwrap_or(runs) } else { runs }
}

/// The wall time of the runs that are needed, at the means of both versions; builds take what no run tells.
fn cost(benchmark: &BenchmarkReport, at: usize, advice: &AdviceReport) -> String {
    if advice.unit.is_some() {
        return NOTHING.to_owned();
    }
    let means = [0, at + 1].map(|version| benchmark.cells[version].wall_ns.as_ref().map(|wall| wall.mean));
    match (advice.detection.reach.needed(), means) {
        (Some(needed), [Some(baseline), Some(candidate)]) => span(needed as f64 * (baseline + candidate)),
        _ => NOTHING.to_owned(),
    }
}

fn reach(reach: &ReachReport) -> String {
    match reach {
        ReachReport::Reached { needed } | ReachReport::MoreRuns { needed } => grouped(*needed),
        ReachReport::Unreachable { within } => format!(">\u{a0}{}", grouped(*within)),
        ReachReport::Unknown { .. } => NOTHING.to_owned(),
    }
}

/// What the diagnostics say, in a few lines: those that matter are among the caveats.
pub(super) fn write_diagnostics(document: &mut Document, report: &Report) {
    let Some(diagnostics) = &report.diagnostics else { return };
    document.section(Kind::Diagnostics, "Diagnostics");
    document.paragraph(order(diagnostics), Tone::Plain);
    document.paragraph(hosts(&diagnostics.hosts), Tone::Plain);
    if let Some(placement) = &diagnostics.placement {
        write_placement(document, placement);
    }
    if let Some(canary) = &report.canary {
        document.paragraph(&canary.sentence, Tone::Plain);
    }
}

/// Where in the network the runs were, and what is found among those of equal placement.
fn write_placement(document: &mut Document, placement: &PlacementReport) {
    document.paragraph(placement.sentence(), Tone::Plain);
    if placement.within.is_empty() {
        return;
    }
    let lead =
        "Among runs over as many leaf switches, by means, not to be quoted in the place of the verdicts:";
    document.paragraph(lead, Tone::Plain);
    placement.within.iter().take(MOST_ROWS).for_each(|within| document.item(within.sentence()));
    let more = placement.within.len().saturating_sub(MOST_ROWS);
    if more > 0 {
        let more = counted(more as u64, "more comparison");
        document.paragraph(format!("and {more}; the JSON has them"), Tone::Plain);
    }
}

fn order(diagnostics: &DiagnosticsSummary) -> String {
    let tests = counted(diagnostics.tests, "test");
    let adjusted = format!("after {}'s adjustment for all of them", diagnostics.adjustment);
    if diagnostics.significant.is_empty() {
        return format!("Order of the runs and hosts: none of {tests} is significant {adjusted}.");
    }
    let each = diagnostics.significant.iter().map(|(code, number)| format!("{code} {}", grouped(*number)));
    let each: Vec<String> = each.collect();
    format!("Order of the runs and hosts: significant {adjusted}, of {tests}: {}.", each.join(", "))
}

fn hosts(effect: &HostEffectReport) -> String {
    let outlying = match effect.outlying() {
        Some(found) if !found.hosts.is_empty() => {
            let without: Vec<String> = found.without.iter().map(WithoutReport::sentence).collect();
            format!(" Unlike the others: {}. {}", found.named(), without.join(" "))
        }
        Some(found) => format!(" None of {} is unlike the others.", counted(found.compared, "host")),
        None => String::new(),
    };
    let outlying = outlying.trim_end();
    match effect {
        HostEffectReport::NotTested { reason, .. } => format!("Hosts: {}{outlying}", reason.sentence),
        HostEffectReport::Tested { hosts, sets, runs, share, test, .. } => {
            let (whose, sets) = match sets {
                Some(sets) => ("that of their sets", format!("{}, ", counted(*sets, "set"))),
                None => ("theirs", String::new()),
            };
            format!(
                "Hosts: {} of the variance within cells is {whose} ({sets}{}, {}; F test, adjusted p-value {}).{outlying}",
                percent((share * 1e3).round() / 1e3),
                counted(*hosts, "host"),
                counted(*runs, "run"),
                p_value(test.adjusted),
            )
        }
    }
}

/// The hosts that were taken out of service, with what they left in the samples.
pub(super) fn write_exclusions(document: &mut Document, report: &Report) {
    let Some(exclusions) = &report.exclusions else { return };
    document.section(Kind::Exclusions, "Hosts out of service");
    document.paragraph(&exclusions.sentence, Tone::Plain);
    for one in exclusions.hosts.iter().take(MOST_ROWS) {
        let reason = one.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        let resumed = one.resumed.as_ref().map_or_else(String::new, |at| format!(", in service again {at}"));
        let lost = match one.lost {
            0 => String::new(),
            lost => format!(", {} lost", counted(lost, "attempt")),
        };
        document.item(format!(
            "{} {} {} by {}{reason}{resumed}; {}{lost}",
            one.host_name.as_ref().unwrap_or(&one.host),
            one.cause,
            one.at,
            one.by,
            counted(one.observations, "measured run")
        ));
    }
    let more = exclusions.more + (exclusions.hosts.len().saturating_sub(MOST_ROWS)) as u64;
    if more > 0 {
        document.paragraph(
            format!("and {}; the JSON has more of them", counted(more, "more exclusion")),
            Tone::Plain,
        );
    }
}

/// The mixtures with several components, and those that do not fit.
pub(super) fn write_mixtures(document: &mut Document, report: &Report) {
    let cells = report.benchmarks.iter().flat_map(|benchmark| &benchmark.cells);
    let unit = Unit::fitting(cells.filter_map(|cell| cell.wall_ns.as_ref().map(|wall| wall.median)));
    let mut rows = Vec::new();
    let mut fitted = 0;
    let mut without = 0;
    for benchmark in &report.benchmarks {
        for cell in &benchmark.cells {
            match &cell.mixture {
                Some(MixtureReport::Fitted { components, modes_ns, p_value, resamples, .. }) => {
                    fitted += 1;
                    if components.len() > 1 {
                        rows.push(TableRow::from(vec![
                            Field::name(&benchmark.name),
                            Field::name(&cell.version),
                            components.len().to_string().into(),
                            modes_ns.len().to_string().into(),
                            shown_fit(*p_value, *resamples).into(),
                            clusters(components, unit).into(),
                        ]));
                    }
                }
                Some(MixtureReport::NotFitted { .. }) => without += 1,
                // None was asked for.
                None => {}
            }
        }
    }
    if fitted + without == 0 {
        return;
    }
    document.section(Kind::Mixtures, format!("Mixtures of more than one component, means in {}", unit.name));
    let several = rows.len();
    rows.truncate(MOST_ROWS);
    if several > 0 {
        let columns = vec![
            Column::new("benchmark", Align::Left, 0),
            Column::new("version", Align::Left, 0),
            Column::new("components", Align::Right, 0),
            Column::new("modes", Align::Right, 0),
            Column::new("fit", Align::Right, 0),
            Column::new("clusters", Align::Left, 1),
        ];
        document.table(Table { columns, rows, ..Table::default() });
    }
    let shown = match several.saturating_sub(MOST_ROWS) {
        0 => String::new(),
        more => format!("{} more are in the JSON. ", counted(more as u64, "cell")),
    };
    document.paragraph(
        format!(
            "{shown}{} of {} have more than one component; {} have too few runs for a mixture, or none. Fit: the p-value of \
             KSfit, small where no mixture describes the times.",
            grouped(several as u64),
            counted(fitted, "cell"),
            grouped(without)
        ),
        Tone::Plain,
    );
}

/// The weight and the mean of each component: "61 % 12.31, 39 % 14.02".
fn clusters(components: &[ComponentReport], unit: Unit) -> String {
    let mut clusters = Vec::new();
    for component in components {
        let weight = percent((component.weight * 1e2).round() / 1e2);
        clusters.push(format!("{weight} {}", unit.plain(component.mean_ns)));
    }
    clusters.join(", ")
}

/// A p-value of resamples, never finer than they are.
fn shown_fit(p: f64, resamples: u32) -> String {
    if p == 0.0 { format!("<\u{a0}1/{resamples}") } else { format!("{p:.2}") }
}
