//! ReFrame: the performance logs of its `filelog` handler, with their usual separator and header.
//!
//! A row is one execution of a test, so it is one run. Each performance variable `x` is two columns, `x_value` and `x_unit`.
//! The system, the partition and the environment are labels; the parameters of a test are in its name.

use crate::series::{SeriesName, SeriesUnit};
use crate::table::{Header, rows};
use crate::{collection::Collection, imported::MissingKind, name::Name, problem::Fault};

const LABELS: [&str; 3] = ["system", "partition", "environ"];

/// The words for a value that a test did not get.
const ABSENT: [&str; 3] = ["None", "null", ""];

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let mut table = rows(text);
    let header = Header::of(&mut table)?;
    let name = header.column("name")?;
    let result = header.column("result")?;
    let mut variables = Vec::new();
    for (value, column) in header.names() {
        if let Some(metric) = column.strip_suffix("_value") {
            variables.push((metric, value, header.column(&format!("{metric}_unit"))?));
        }
    }
    for (run, row) in table.enumerate() {
        let row = header.row(row)?;
        let mut series = SeriesName::wall(row.name(name)?);
        for label in LABELS {
            if let Some(column) = header.optional(label)? {
                series.labels.insert(Name::of(label), row.name(column)?);
            }
        }
        // A test whose performance misses its reference fails too, but has its values.
        let mut missing = Some(Name::beginning(&series.labelled_benchmark()));
        for (metric, value, unit) in &variables {
            if ABSENT.contains(&row.field(*value)) {
                continue;
            }
            missing = None;
            let metric = Name::new(*metric).map_err(|problem| row.fault(*value, problem))?;
            let (unit, shift) = SeriesUnit::of_word(&row.name(*unit)?);
            let series = series.with_metric(metric);
            let pushed = collection.push_text(&series, &unit, run as u64, row.field(*value), shift);
            pushed.map_err(|problem| row.fault(*value, problem))?;
        }
        if let Some(benchmark) = missing {
            let missed = collection.miss(benchmark, MissingKind::Failed, Some(row.name(result)?));
            missed.map_err(|problem| row.fault(result, problem))?;
        }
    }
    Ok(collection)
}
