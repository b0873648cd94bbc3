//! airspeed velocity (asv): `results/<machine>/<commit>-<environment>.json`, of `asv run --record-samples`.
//!
//! A file holds one commit, which is the version. A sample is the time of one call, in seconds; asv measures a benchmark in
//! several processes by turns but writes their samples into one list, so they are one run. Benchmarks that count or measure
//! memory have one number, not a sample, and are left out with a warning, as are those whose samples were not recorded.

use crate::imported::{ImportCode, ImportWarning, MissingKind};
use crate::json::{Json, Misfit, parse};
use crate::series::{SeriesName, SeriesUnit};
use crate::{collection::Collection, name::Name, problem::Fault, problem::FileProblem};
use std::collections::BTreeMap;

/// The versions of the format: the second one, since asv 0.4, names the columns of its results.
const KNOWN_VERSIONS: &str = "1 and 2";
/// Combinations of parameters of one benchmark: as many as there may be series.
const MAX_COMBINATIONS: usize = crate::bounds::MAX_SERIES;
/// What times are called, by asv's own rule.
const TIMES: [&str; 2] = ["time_", "timeraw_"];

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
    let document = parse(text, 1)?;
    collect(&document).map_err(|misfit| document.locate(misfit, None))
}

fn collect<'j, 'a>(document: &'j Json<'a>) -> Result<Collection, Misfit<'j, 'a>> {
    let version = document.field("version")?;
    let found = version.word()?;
    let has_columns = match found.as_str() {
        "1" => false,
        "2" => true,
        _ => {
            return Err(version.misfit(FileProblem::UnknownVersion { version: found, known: KNOWN_VERSIONS }));
        }
    };
    let mut collection = Collection::default();
    if let Some(machine) = document.get("params") {
        let facts = &mut collection.machine;
        facts.host_name = machine.fact("machine");
        facts.operating_system = machine.fact("os");
        facts.architecture = machine.fact("arch");
        facts.processor = machine.fact("cpu");
        facts.processors = machine.fact("num_cpu");
    }
    let commit = document.field("commit_hash")?.name()?;
    let columns = if has_columns { document.field("result_columns")?.list()? } else { &[] };
    let columns: Vec<&str> = columns.iter().map(Json::text).collect::<Result<_, _>>()?;
    let results = document.field("results")?;
    for (benchmark, row) in results.members() {
        let benchmark = Name::new(benchmark).map_err(|problem| row.misfit(problem))?;
        let cells = if has_columns { row.list()? } else { &[] };
        let row = Row { row, cells, columns: &columns };
        row.collect(&benchmark, &commit, &mut collection)?;
    }
    if collection.has_no_values() && results.members().next().is_some() {
        return Err(
            results.misfit(FileProblem::SummaryOnly { what: "medians and quartiles, without their samples" })
        );
    }
    Ok(collection)
}

/// What the file says of one benchmark, by the columns. A row ends behind its last cell that is not null. In the first version of the
/// format it is an object or, of a benchmark that has nothing else, its result.
struct Row<'r, 'j, 'a> {
    row: &'j Json<'a>,
    cells: &'j [Json<'a>],
    columns: &'r [&'j str],
}

impl<'j, 'a> Row<'_, 'j, 'a> {
    fn cell(&self, column: &str) -> Option<&'j Json<'a>> {
        if let Json::Object(_) = self.row {
            return self.row.get(column);
        }
        if self.columns.is_empty() {
            return Some(self.row).filter(|row| column == "result" && !matches!(row, Json::Null));
        }
        let at = self.columns.iter().position(|known| *known == column)?;
        self.cells.get(at).filter(|cell| !matches!(cell, Json::Null))
    }

    fn collect(
        &self,
        benchmark: &Name,
        commit: &Name,
        collection: &mut Collection,
    ) -> Result<(), Misfit<'j, 'a>> {
        let misfit = |problem| self.row.misfit(problem);
        if self.cell("result").is_none() {
            return collection.miss(benchmark.clone(), MissingKind::Failed, None).map_err(misfit);
        }
        let method = benchmark.as_str().rsplit('.').next().unwrap_or_default();
        let samples = self.cell("samples").filter(|_| TIMES.iter().any(|times| method.starts_with(times)));
        let Some(samples) = samples else {
            let warning = ImportWarning::about(ImportCode::SummaryOnly, benchmark);
            return collection.warn(warning).map_err(misfit);
        };
        let combinations = self.combinations()?;
        if samples.list()?.len() != combinations.len() {
            return Err(samples.misfit(FileProblem::LengthsDiffer {
                left: "the combinations of parameters",
                left_length: combinations.len(),
                right: "the list of samples",
                right_length: samples.list()?.len(),
            }));
        }
        for (labels, values) in combinations.into_iter().zip(samples.list()?) {
            let name =
                SeriesName { version: Some(commit.clone()), labels, ..SeriesName::wall(benchmark.clone()) };
            // A combination that failed or was skipped has none.
            let values = if matches!(values, Json::Null) { &[] } else { values.list()? };
            for value in values {
                collection.push_json(&name, &SeriesUnit::Seconds, 0, value, 0)?;
            }
        }
        Ok(())
    }

    /// The combinations of the benchmark's parameters, the last one changing fastest. The file does not name parameters.
    fn combinations(&self) -> Result<Vec<BTreeMap<Name, Name>>, Misfit<'j, 'a>> {
        let mut combinations = vec![BTreeMap::new()];
        let parameters = self.cell("params").map(Json::list).transpose()?.unwrap_or_default();
        for (at, parameter) in parameters.iter().enumerate() {
            let values = parameter.list()?;
            if combinations.len().saturating_mul(values.len()) > MAX_COMBINATIONS {
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
