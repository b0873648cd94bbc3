//! ReFrame: the performance logs of its `filelog` handler, with their usual separator and header.
//!
//! A row is one execution of a test, so it is one run. Each performance variable `x` is two columns, `x_value` and `x_unit`.
//! The system, the partition and the environment are labels; the parameters of a test are in its name.

use crate::{Collection, Fault, MissingKind, Name, SeriesName, SeriesUnit, table::open};

const LABELS: [&str; 3] = ["system", "partition", "environ"];

/// The words for a value that a test did not get.
const ABSENT: [&str; 3] = ["None", "null", ""];

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let (header, table) = open(text)?;
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
        let mut is_missing = true;
        for (metric, value, unit) in &variables {
            if ABSENT.contains(&row.field(*value)) {
                continue;
            }
            is_missing = false;
            let metric = Name::new(*metric).map_err(|problem| row.fault(*value, problem))?;
            let series = series.with_metric(metric).in_unit(SeriesUnit::of_word(&row.name(*unit)?));
            let pushed = collection.push_text(&series, run as u64, row.field(*value));
            pushed.map_err(|problem| row.fault(*value, problem))?;
        }
        if is_missing {
            let missed = collection.miss_series(&series, MissingKind::Failed, Some(row.name(result)?));
            missed.map_err(|problem| row.fault(result, problem))?;
        }
    }
    Ok(collection)
}
