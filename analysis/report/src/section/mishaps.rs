//! What was not measured: failures and lost attempts, each with an example.

use speedup_analysis::count::{counted, grouped, p_value};
use speedup_analysis::study::{BenchmarkReport, CellReport, MishapTotals, MissingFinding, Report};

use crate::document::{Align, Column, Document, Field, Kind, Most, Table, TableRow, Tone};

pub(super) fn write(document: &mut Document, report: &Report) {
    let MishapTotals { failed_runs, timeouts, lost_attempts, abandoned_runs, late_reports, beyond_plan: _ } =
        report.mishaps;
    if failed_runs + lost_attempts + late_reports == 0 {
        return;
    }
    document.section(Kind::Mishaps, "Failures and lost attempts");
    let of = |count: u64, noun: &str, words: &str| {
        (count > 0).then(|| format!("{} {words}", counted(count, noun)))
    };
    let told = [
        of(failed_runs, "run", "failed"),
        (timeouts > 0).then(|| format!("{} of them by timeout", grouped(timeouts))),
        of(lost_attempts, "attempt", "lost"),
        of(abandoned_runs, "run", "abandoned"),
        of(late_reports, "report", "too late"),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    document.paragraph(format!("{}. None of these is in a sample.", told.join(", ")), Tone::Plain);
    for missing in report.diagnostics.iter().flat_map(|diagnostics| &diagnostics.missing) {
        let mut found = Vec::new();
        for (what, test) in [("losses", &missing.losses), ("failures", &missing.failures)] {
            let Some(test) = test else { continue };
            let finding = match MissingFinding::new(test, report.head.confidence) {
                MissingFinding::More => format!("more {what} than the baseline's"),
                MissingFinding::Fewer => format!("fewer {what} than the baseline's"),
                MissingFinding::NotShown => format!("no difference in {what} is shown"),
            };
            found.push(format!(
                "{finding} (Fisher's exact test, adjusted p-value {})",
                p_value(test.adjusted)
            ));
        }
        if !found.is_empty() {
            document.item(format!("{}: {}.", missing.sentence(), found.join("; ")));
        }
    }
    let columns = [
        Column::new("benchmark", Align::Left, 0),
        Column::new("version", Align::Left, 0),
        Column::new("what", Align::Left, 0),
        Column::new("count", Align::Right, 0),
    ];
    let cells = report
        .benchmarks
        .iter()
        .flat_map(|benchmark| benchmark.cells.iter().map(move |cell| (benchmark, cell)));
    let rows = cells.flat_map(|(benchmark, cell)| rows(benchmark, cell)).collect();
    document.table(Table { columns: columns.into(), rows, ..Table::default() });
}

/// Each kind of mishap with its example.
fn rows(benchmark: &BenchmarkReport, cell: &CellReport) -> Vec<TableRow> {
    let row = |what: &str, count: u64, example: String| {
        let fields = vec![
            Field::name(&benchmark.name),
            Field { most: Most::Characters(16), ..cell.version.as_str().into() },
            what.replace('_', " ").into(),
            grouped(count).into(),
        ];
        TableRow { fields, note: Some(example) }
    };
    let failures = cell.mishaps.failures.iter().map(|(code, count)| {
        let example = &count.example;
        let line = example.line.as_ref().map_or_else(String::new, |line| format!(": {line}"));
        row(&format!("failed: {code}"), count.runs, format!("run {}, {}{line}", example.run, example.words))
    });
    let lost = cell.mishaps.lost.iter().map(|(code, count)| {
        let example = &count.example;
        let words = example.words.as_ref().map_or_else(String::new, |words| format!(": {words}"));
        row(
            &format!("lost: {code}"),
            count.attempts,
            format!("run {}, attempt {}{words}", example.run, example.attempt),
        )
    });
    failures.chain(lost).collect()
}
