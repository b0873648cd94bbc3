//! What was not measured: failures and lost attempts, each with an example.

use speedup_analysis::count::{counted, grouped, p_value};
use speedup_analysis::study::{BenchmarkReport, CellReport, FailureTotals, MissingFinding, Report};

use crate::document::{Align, Column, Document, Field, Kind, Table, TableRow, TextLimit, Tone};

pub(super) fn write(document: &mut Document, report: &Report) {
    let FailureTotals { failed_runs, timeouts, lost_attempts, abandoned_runs, late_reports, beyond_plan: _ } =
        report.mishaps;
    if failed_runs + lost_attempts + late_reports == 0 {
        return;
    }
    document.section(Kind::Mishaps, "Failures and lost attempts");
    let mut totals = Vec::new();
    if failed_runs > 0 {
        totals.push(format!("{} failed", counted(failed_runs, "run")));
    }
    if timeouts > 0 {
        totals.push(format!("{} of them by timeout", grouped(timeouts)));
    }
    if lost_attempts > 0 {
        totals.push(format!("{} lost", counted(lost_attempts, "attempt")));
    }
    if abandoned_runs > 0 {
        totals.push(format!("{} abandoned", counted(abandoned_runs, "run")));
    }
    if late_reports > 0 {
        totals.push(format!("{} too late", counted(late_reports, "report")));
    }
    document.paragraph(format!("{}. None of these is in a sample.", totals.join(", ")), Tone::Plain);
    write_missing_tests(document, report);
    let columns = [
        Column::new("benchmark", Align::Left, 0),
        Column::new("version", Align::Left, 0),
        Column::new("what", Align::Left, 0),
        Column::new("count", Align::Right, 0),
    ];
    let mut rows = Vec::new();
    for benchmark in &report.benchmarks {
        for cell in &benchmark.cells {
            add_rows(&mut rows, benchmark, cell);
        }
    }
    document.table(Table { columns: columns.into(), rows, ..Table::default() });
}

/// Whether more runs of a candidate are missing than of the baseline.
fn write_missing_tests(document: &mut Document, report: &Report) {
    for missing in report.diagnostics.iter().flat_map(|diagnostics| &diagnostics.missing) {
        let mut found = Vec::new();
        for (what, test) in [("losses", &missing.losses), ("failures", &missing.failures)] {
            let Some(test) = test else { continue };
            let finding = match MissingFinding::new(test, report.head.confidence) {
                MissingFinding::More => format!("more {what} than the baseline's"),
                MissingFinding::Fewer => format!("fewer {what} than the baseline's"),
                MissingFinding::NotShown => format!("no difference in {what} is shown"),
            };
            let p_value = p_value(test.adjusted);
            found.push(format!("{finding} (Fisher's exact test, adjusted p-value {p_value})"));
        }
        if !found.is_empty() {
            document.item(format!("{}: {}.", missing.sentence(), found.join("; ")));
        }
    }
}

/// Each kind of mishap with its example.
fn add_rows(rows: &mut Vec<TableRow>, benchmark: &BenchmarkReport, cell: &CellReport) {
    for (code, failure) in &cell.mishaps.failures {
        let example = &failure.example;
        let line = example.line.as_ref().map_or_else(String::new, |line| format!(": {line}"));
        let note = format!("run {}, {}{line}", example.run, example.words);
        rows.push(row(benchmark, cell, &format!("failed: {code}"), failure.runs, note));
    }
    for (code, loss) in &cell.mishaps.lost {
        let example = &loss.example;
        let words = example.words.as_ref().map_or_else(String::new, |words| format!(": {words}"));
        let note = format!("run {}, attempt {}{words}", example.run, example.attempt);
        rows.push(row(benchmark, cell, &format!("lost: {code}"), loss.attempts, note));
    }
}

fn row(benchmark: &BenchmarkReport, cell: &CellReport, what: &str, count: u64, example: String) -> TableRow {
    let fields = vec![
        Field::name(&benchmark.name),
        Field { limit: TextLimit::Characters(16), ..cell.version.as_str().into() },
        what.replace('_', " ").into(),
        grouped(count).into(),
    ];
    TableRow { fields, note: Some(example) }
}
