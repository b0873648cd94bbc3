//! pyperf: `-o FILE.json`, also packed.
//!
//! A run is one process; its values are seconds for one loop, in order. Values stay grouped by run. Runs that only
//! calibrate have no values, and warm-ups stand apart: neither is read. Metadata of the whole suite hold for a benchmark
//! unless it has its own, and those for a run.

use crate::imported::{ImportCode, MissingKind};
use crate::json::{Json, Misfit, parse};
use crate::series::{SeriesName, SeriesUnit, WALL};
use crate::{collection::Collection, name::Name, options::Options, problem::Fault, problem::FileProblem};
use std::collections::BTreeMap;

/// The one version of the format since pyperf 0.8 (2016).
const KNOWN_VERSION: &str = "1.0";

pub(crate) fn read(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let document = parse(text, 1)?;
    collect(&document, options).map_err(|misfit| document.locate(misfit, None))
}

fn collect<'j, 'a>(document: &'j Json<'a>, options: &Options<'_>) -> Result<Collection, Misfit<'j, 'a>> {
    let version = document.field("version")?;
    let found = version.word()?;
    if found.as_str() != KNOWN_VERSION {
        return Err(version.misfit(FileProblem::UnknownVersion { version: found, known: KNOWN_VERSION }));
    }
    let mut collection = Collection::default();
    let benchmarks = document.field("benchmarks")?.list()?;
    // A suite of one benchmark keeps all metadata with it, some of it with the runs if they differ.
    let mut levels: Vec<&Json<'_>> = Vec::from_iter(document.get("metadata"));
    levels.extend(benchmarks.first().and_then(|benchmark| benchmark.get("metadata")));
    let fact = |field| levels.iter().find_map(|level| level.fact(field));
    collection.tool_version = fact("perf_version");
    collection.machine.host_name = fact("hostname");
    collection.machine.operating_system = fact("platform");
    collection.machine.processor = fact("cpu_model_name");
    collection.machine.processors = fact("cpu_count");
    for benchmark in benchmarks {
        collect_benchmark(benchmark, document.get("metadata"), options, &mut collection)?;
    }
    Ok(collection)
}

fn collect_benchmark<'j, 'a>(
    benchmark: &'j Json<'a>,
    suite_metadata: Option<&'j Json<'a>>,
    options: &Options<'_>,
    collection: &mut Collection,
) -> Result<(), Misfit<'j, 'a>> {
    let runs = benchmark.field("runs")?.list()?;
    let (mut name, mut unit, mut hosts) = (None, None, Vec::new());
    for metadata in benchmark.get("metadata").into_iter().chain(suite_metadata) {
        name = name.or(metadata.optional_word("name")?);
        unit = unit.or(metadata.optional_word("unit")?);
        if hosts.is_empty() {
            hosts.extend(metadata.fact("hostname"));
        }
    }
    for metadata in runs.iter().filter_map(|run| run.get("metadata")) {
        name = name.or(metadata.optional_word("name")?);
        unit = unit.or(metadata.optional_word("unit")?);
        if let Some(host) = metadata.fact("hostname")
            && !hosts.contains(&host)
            && hosts.len() < 2
        {
            hosts.push(host);
        }
    }
    let (metric, unit, shift) = match unit.as_ref().map_or("second", Name::as_str) {
        "second" => (WALL, SeriesUnit::Seconds, 0),
        "byte" => ("memory", SeriesUnit::Bytes, 0),
        "integer" => ("value", SeriesUnit::Bare, 0),
        _ => {
            return Err(
                benchmark.misfit(FileProblem::Expected { expected: "a unit of second, byte or integer" })
            );
        }
    };
    let series = SeriesName {
        benchmark: name.unwrap_or_else(|| options.unnamed_benchmark()),
        version: None,
        labels: BTreeMap::new(),
        metric: Name::of(metric),
    };
    let series = collection.distinct(series).map_err(|problem| benchmark.misfit(problem))?;
    let is_measured = |run: &Json<'_>| {
        run.get("values").is_some_and(|values| !matches!(values, Json::List(list) if list.is_empty()))
    };
    if !runs.iter().any(is_measured) {
        let message = Some(Name::of("no run has values"));
        let missed = collection.miss(series.benchmark, MissingKind::Failed, message);
        return missed.map_err(|problem| benchmark.misfit(problem));
    }
    for (number, run) in runs.iter().enumerate() {
        for value in run.get("values").map(Json::list).transpose()?.unwrap_or_default() {
            collection.push_json(&series, &unit, number as u64, value, shift)?;
        }
    }
    if hosts.len() > 1 {
        collection.warn(ImportCode::SeveralHosts).map_err(|problem| benchmark.misfit(problem))?;
    }
    Ok(())
}
