//! airspeed velocity (asv): `results/<machine>/<commit>-<environment>.json`, of `asv run --record-samples`.
//!
//! A file holds one commit, which is the version. A sample is the time of one call, in seconds; asv measures a benchmark in
//! several processes by turns but writes their samples into one list, so they are one run. Benchmarks that count or measure
//! memory have one number, not a sample, and are left out with a warning, as are those whose samples were not recorded.

use crate::{
    AtNode, Collection, FileProblem, ImportCode, ImportWarning, Json, Misfit, MissingKind, Name, SeriesName,
    SeriesUnit, bounds::MAX_LABELS, bounds::MAX_SERIES,
};
use std::collections::BTreeMap;

/// The versions of the format: the second one, since asv 0.4, names the columns of its results.
const KNOWN_VERSIONS: &str = "1 and 2";
const COLUMNS_VERSION: &str = "2";
/// The ways to the facts of the machine.
const MACHINE: [&str; 5] = ["params/machine", "params/os", "params/arch", "params/cpu", "params/num_cpu"];
/// What times are called, by asv's own rule.
const TIMES: [&str; 2] = ["time_", "timeraw_"];

pub(crate) fn collect(document: &Json<'_>) -> Result<Collection, Misfit> {
    let version = document.field("version")?.known_version(KNOWN_VERSIONS)?;
    let has_columns = version.as_str() == COLUMNS_VERSION;
    let mut collection = Collection::default();
    collection.machine.complete(document, MACHINE);
    let commit = document.field("commit_hash")?.name()?;
    let columns = if has_columns { document.field("result_columns")?.list()? } else { &[] };
    let columns: Vec<&str> = columns.iter().map(Json::text).collect::<Result<_, _>>()?;
    let results = document.field("results")?;
    for (benchmark, row) in results.members() {
        let benchmark = Name::new(benchmark).at_node(row)?;
        if has_columns {
            row.list()?;
        }
        Row { row, columns: &columns }.collect(&benchmark, &commit, &mut collection)?;
    }
    if collection.has_no_values() && results.members().next().is_some() {
        return Err(results.summary_only("medians and quartiles, without their samples"));
    }
    Ok(collection)
}

/// The entry of one benchmark, with its cells by column. Trailing nulls are omitted. Version 1 of the format has an object instead, or
/// only the result.
struct Row<'j, 'a> {
    row: &'j Json<'a>,
    columns: &'j [&'j str],
}

impl<'j, 'a> Row<'j, 'a> {
    fn cell(&self, column: &str) -> Option<&'j Json<'a>> {
        let cell = match self.row {
            Json::Object(_) => self.row.get(column),
            Json::List(cells) if !self.columns.is_empty() => {
                self.columns.iter().position(|known| *known == column).and_then(|at| cells.get(at))
            }
            result if column == "result" => Some(result),
            _ => None,
        };
        cell.filter(|cell| !matches!(cell, Json::Null))
    }

    fn collect(&self, benchmark: &Name, commit: &Name, collection: &mut Collection) -> Result<(), Misfit> {
        if self.cell("result").is_none() {
            for labels in self.combinations()? {
                let name = SeriesName { labels, ..SeriesName::wall(benchmark.clone()) };
                collection.miss_series(&name, MissingKind::Failed, None).at_node(self.row)?;
            }
            return Ok(());
        }
        let method = benchmark.as_str().rsplit('.').next().unwrap_or_default();
        let is_time = TIMES.iter().any(|times| method.starts_with(times));
        let samples = if is_time { self.cell("samples") } else { None };
        let Some(samples) = samples else {
            let warning = ImportWarning::about(ImportCode::SummaryOnly, benchmark);
            return collection.warn(warning).at_node(self.row);
        };
        let combinations = self.combinations()?;
        let count = combinations.len();
        let samples =
            samples.list_as_long_as("the list of samples", "the combinations of parameters", count)?;
        for (labels, values) in combinations.into_iter().zip(samples) {
            let name = SeriesName::wall(benchmark.clone());
            let name = SeriesName { version: Some(commit.clone()), labels, ..name };
            let series = name.in_unit((SeriesUnit::Seconds, 0));
            // A combination that failed or was skipped has none.
            let values = if matches!(values, Json::Null) { &[] } else { values.list()? };
            for value in values {
                collection.push_json(&series, 0, value)?;
            }
        }
        Ok(())
    }

    /// The combinations of the benchmark's parameters, the last one changing fastest. The file does not name parameters.
    fn combinations(&self) -> Result<Vec<BTreeMap<Name, Name>>, Misfit> {
        let mut combinations = vec![BTreeMap::new()];
        let parameters = self.cell("params").map_or(Ok(&[][..]), Json::list)?;
        for (at, parameter) in parameters.iter().enumerate() {
            let values = parameter.list()?;
            // Each combination is a series.
            if at == MAX_LABELS || combinations.len().saturating_mul(values.len()) > MAX_SERIES {
                return Err(parameter.misfit(FileProblem::TooManySeries));
            }
            let key = Name::beginning(&format!("param{}", at + 1));
            let mut longer = Vec::with_capacity(combinations.len() * values.len());
            for before in &combinations {
                for value in values {
                    let mut labels: BTreeMap<Name, Name> = before.clone();
                    labels.insert(key.clone(), value.name()?);
                    longer.push(labels);
                }
            }
            combinations = longer;
        }
        Ok(combinations)
    }
}
