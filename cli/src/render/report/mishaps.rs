//! What was not measured: failures and lost attempts, each with an example.

use speedup_analysis::study::count::{counted, grouped, p_value};
use speedup_analysis::study::{BenchmarkReport, CellReport, MishapTotals, Report};

use super::benchmarks::name_width;
use super::layout::{Align, Column, Field, Page, Tone, shortened};

pub(super) fn write(page: &mut Page, report: &Report) {
    let MishapTotals { failed_runs, timeouts, lost_attempts, abandoned_runs, late_reports, beyond_plan: _ } =
        report.mishaps;
    if failed_runs + lost_attempts + late_reports == 0 {
        return;
    }
    page.heading("Failures and lost attempts");
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
    page.paragraph(&format!("{}. None of these is in a sample.", told.join(", ")), Tone::Plain);
    for missing in report.diagnostics.iter().flat_map(|diagnostics| &diagnostics.missing) {
        let tests = [("lost", &missing.losses), ("failed", &missing.failures)];
        let told = tests
            .iter()
            .filter_map(|(what, test)| Some(format!("{what} {}", p_value(test.as_ref()?.p_value))));
        let told: Vec<String> = told.collect();
        if !told.is_empty() {
            let text = format!(
                "{}. Alike (Fisher's exact test), p-values: {}.",
                missing.sentence(),
                told.join(", ")
            );
            page.hanging("- ", &text, Tone::Plain);
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
    let (rows, examples): (Vec<_>, Vec<_>) =
        cells.flat_map(|(benchmark, cell)| rows(page, benchmark, cell)).unzip();
    page.table_with_notes(&columns, &rows, &examples);
}

/// Each kind of mishap with its example.
fn rows(page: &Page, benchmark: &BenchmarkReport, cell: &CellReport) -> Vec<(Vec<Field>, String)> {
    let most = name_width(page);
    let row = |what: &str, count: u64, example: String| -> (Vec<Field>, String) {
        let fields = vec![
            shortened(&benchmark.name, most).into(),
            shortened(&cell.version, 16).into(),
            what.replace('_', " ").into(),
            grouped(count).into(),
        ];
        (fields, example)
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
