//! Google Benchmark's table: `--benchmark_format=csv`, and `--benchmark_out_format=csv`.

use super::{aggregates, console::processors_of, measurand, refuse_aggregates, shift_of};
use crate::table::{Header, Row, open};
use crate::{Collection, Fault, ImportCode, ImportWarning, MissingKind, Name, SeriesName};
use std::collections::BTreeSet;

/// How the header of each such table begins.
const HEADER: &str = "name,iterations,real_time,cpu_time,time_unit";

/// The columns that are no measurements.
const DESCRIPTIONS: [&str; 6] =
    ["name", "iterations", "time_unit", "label", "error_occurred", "error_message"];

/// The line of the header, from 0, and the table from there on; before it a file tells of the machine.
pub(crate) fn begin_of_table(text: &str) -> Option<(usize, &str)> {
    let (line, header) = text.lines().enumerate().find(|(_, line)| line.starts_with(HEADER))?;
    let at = header.as_ptr() as usize - text.as_ptr() as usize;
    Some((line, &text[at..]))
}

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
    let (before, table) = begin_of_table(text).unwrap_or((0, text));
    // Empty lines in place of the others: the places of faults are those of the file.
    let lines = "\n".repeat(before) + table;
    let (header, table) = open(&lines)?;
    let name = header.column("name")?;
    header.column("time_unit")?;
    for column in ["label", "error_occurred", "error_message"] {
        header.optional(column)?;
    }
    let mut rows: Vec<Row> = Vec::new();
    for row in table {
        let row = row?;
        // A benchmark that failed has no counters, not even their commas.
        let is_shorter = has_failed(&header, &row) && row.0.len() < header.names().count();
        rows.push(if is_shorter { row } else { header.row(Ok(row))? });
    }
    let names: Vec<&str> = rows.iter().map(|row| row.field(name)).collect();
    let aggregates = aggregates(&names);
    let mut collection = Collection::default();
    let mut measured = BTreeSet::new();
    for row in rows.iter().filter(|row| !aggregates.contains(row.field(name))) {
        measured.insert(row.field(name));
        repetition(&header, row, &mut collection)?;
    }
    refuse_aggregates(&aggregates, &collection)?;
    for stem in aggregates.iter().filter_map(|name| name.strip_suffix("_mean")) {
        if !measured.contains(stem) {
            let warning = ImportWarning::about(ImportCode::SummaryOnly, &Name::beginning(stem));
            collection.warn(warning).map_err(Fault::of_file)?;
        }
    }
    collection.machine.processors = text.lines().take(before).find_map(processors_of).map(Name::beginning);
    Ok(collection)
}

fn has_failed(header: &Header, row: &Row) -> bool {
    header.optional("error_occurred").ok().flatten().is_some_and(|error| row.field(error) == "true")
}

fn repetition(header: &Header, row: &Row, collection: &mut Collection) -> Result<(), Fault> {
    let name = header.column("name")?;
    let benchmark = row.name(name)?;
    if has_failed(header, row) {
        let message = header.optional("error_message")?.map(|message| Name::beginning(row.field(message)));
        let missed = collection.miss(benchmark, MissingKind::Failed, message);
        return missed.map_err(|problem| row.fault(name, problem));
    }
    let mut series = SeriesName::wall(benchmark);
    if let Some(label) = header.word(row, "label")? {
        series.labels.insert(Name::of("label"), label);
    }
    let unit = header.column("time_unit")?;
    let shift = shift_of(row.field(unit)).map_err(|problem| row.fault(unit, problem))?;
    for (at, key) in header.names() {
        // A counter that this benchmark does not have is an empty field.
        if DESCRIPTIONS.contains(&key) || row.field(at).is_empty() {
            continue;
        }
        let pushed =
            measurand(&series, key, shift).and_then(|series| collection.push_text(&series, 0, row.field(at)));
        pushed.map_err(|problem| row.fault(at, problem))?;
    }
    Ok(())
}
