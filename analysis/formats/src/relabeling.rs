//! Labels that become the version, and labels that are ignored.

use crate::series::{Series, SeriesName};
use crate::{imported::Imported, name::Name, options::Options, problem::FileProblem, runs::Runs};
use std::collections::BTreeMap;

const VERSION: &str = "version";

/// Makes the label that the options name the version, and drops the labels that they ignore. The values of series that are called
/// the same then are further runs of the first of them.
pub(crate) fn relabel(mut imported: Imported, options: &Options<'_>) -> Result<Imported, FileProblem> {
    let mut joined: Vec<(Series, Vec<Vec<f64>>)> = Vec::new();
    let mut places: BTreeMap<SeriesName, usize> = BTreeMap::new();
    for mut series in imported.series {
        rename(&mut series.name, options);
        let Some(place) = places.get(&series.name) else {
            places.insert(series.name.clone(), joined.len());
            joined.push((series, Vec::new()));
            continue;
        };
        let (first, further) = &mut joined[*place];
        if first.unit != series.unit {
            return Err(FileProblem::unit_changed(&series.name, &first.unit, &series.unit));
        }
        further.extend(series.runs.iter().map(<[f64]>::to_vec));
    }
    imported.series = Vec::with_capacity(joined.len());
    for (mut series, further) in joined {
        // Blocks are of tables, whose series have no labels: they have no further runs.
        if !further.is_empty() {
            let runs = series.runs.iter().map(<[f64]>::to_vec).chain(further);
            series.runs = Runs::new(runs).map_err(|_| FileProblem::NoValues)?;
        }
        imported.series.push(series);
    }
    Ok(imported)
}

/// Renames a series. A version that it has already stays as a label.
fn rename(name: &mut SeriesName, options: &Options<'_>) {
    name.labels.retain(|label, _| !options.ignored_labels.contains(&label.as_str()));
    if options.columns.version == VERSION && name.version.is_some() {
        return;
    }
    let key = name.labels.keys().find(|label| label.as_str() == options.columns.version).cloned();
    if let Some(version) = key.and_then(|key| name.labels.remove(&key))
        && let Some(replaced) = name.version.replace(version)
    {
        name.labels.insert(Name::of(VERSION), replaced);
    }
}
