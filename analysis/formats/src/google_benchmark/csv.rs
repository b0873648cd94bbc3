//! Google Benchmark's table: `--benchmark_format=csv`, and `--benchmark_out_format=csv`.

use super::{aggregates, console::processors_of, measured_as, shift_of};
use crate::imported::{ImportCode, ImportWarning, MissingKind};
use crate::problem::{Fault, FileProblem};
use crate::table::{Header, Row, rows};
use crate::{collection::Collection, name::Name, series::SeriesName};
use std::collections::{BTreeMap, BTreeSet};

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

pub(crate) fn read_csv(text: &str) -> Result<Collection, Fault> {
    let (before, table) = begin_of_table(text).unwrap_or((0, text));
    // Empty lines in place of the others: the places of faults are those of the file.
    let lines = "\n".repeat(before) + table;
    let mut table = rows(&lines);
    let header = Header::of(&mut table)?;
    let column = |name| header.column(name);
    let columns = Columns {
        name: column("name")?,
        unit: column("time_unit")?,
        label: header.optional("label")?,
        error: header.optional("error_occurred")?,
        message: header.optional("error_message")?,
        measured: header.names().filter(|(_, name)| !DESCRIPTIONS.contains(name)).collect(),
    };
    // A benchmark that failed has no counters, not even their commas.
    let rows = table.map(|row| header.row_unless(row, |row| columns.failed(row)));
    let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
    let names: Vec<&str> = rows.iter().map(|row| row.field(columns.name)).collect();
    let aggregates = aggregates(&names);
    let mut collection = Collection::default();
    for row in rows.iter().filter(|row| !aggregates.contains(row.field(columns.name))) {
        columns.repetition(row, &mut collection)?;
    }
    if collection.has_no_values() && !aggregates.is_empty() {
        let what = "aggregates without their repetitions";
        return Err(Fault::of_file(FileProblem::SummaryOnly { what }));
    }
    let measured: BTreeSet<&str> =
        names.iter().filter(|name| !aggregates.contains(**name)).copied().collect();
    tell_of_summaries(&aggregates, &measured, &mut collection)?;
    collection.machine.processors = text.lines().take(before).find_map(processors_of).map(Name::beginning);
    Ok(collection)
}

/// Warns of benchmarks that have aggregates only.
fn tell_of_summaries(
    aggregates: &BTreeSet<&str>,
    measured: &BTreeSet<&str>,
    collection: &mut Collection,
) -> Result<(), Fault> {
    let stems = aggregates.iter().filter_map(|name| name.strip_suffix("_mean"));
    for stem in stems.filter(|stem| !measured.contains(stem)) {
        let warning = ImportWarning::about(ImportCode::SummaryOnly, &Name::beginning(stem));
        collection.warn(warning).map_err(Fault::of_file)?;
    }
    Ok(())
}

/// Where things stand in a row.
struct Columns<'h> {
    name: usize,
    unit: usize,
    label: Option<usize>,
    error: Option<usize>,
    message: Option<usize>,
    /// The columns with numbers that were measured, and what they are called.
    measured: Vec<(usize, &'h str)>,
}

impl Columns<'_> {
    fn failed(&self, row: &Row) -> bool {
        self.error.is_some_and(|error| row.field(error) == "true")
    }

    fn repetition(&self, row: &Row, collection: &mut Collection) -> Result<(), Fault> {
        let benchmark = row.name(self.name)?;
        if self.failed(row) {
            let message = self.message.map(|message| Name::beginning(row.field(message)));
            let missed = collection.miss(benchmark, MissingKind::Failed, message);
            return missed.map_err(|problem| row.fault(self.name, problem));
        }
        let mut labels = BTreeMap::new();
        if let Some(label) = self.label.filter(|label| !row.field(*label).is_empty()) {
            labels.insert(Name::of("label"), row.name(label)?);
        }
        let shift = shift_of(row.field(self.unit)).map_err(|problem| row.fault(self.unit, problem))?;
        let name = SeriesName { labels, ..SeriesName::wall(benchmark) };
        // A counter that this benchmark does not have is an empty field.
        for (at, key) in self.measured.iter().filter(|(at, _)| !row.field(*at).is_empty()) {
            let (metric, unit, shift) = measured_as(key, shift).map_err(|problem| row.fault(*at, problem))?;
            let series = name.with_metric(metric);
            let pushed = collection.push_text(&series, &unit, 0, row.field(*at), shift);
            pushed.map_err(|problem| row.fault(*at, problem))?;
        }
        Ok(())
    }
}
