//! pyperf: `-o FILE.json`, also packed.
//!
//! A run is one process; its values are seconds for one loop, in order. Values stay grouped by run. Runs that only
//! calibrate have no values, and warm-ups stand apart: neither is read. Metadata of the whole suite hold for a benchmark
//! unless it has its own, and those for a run.

use crate::{
    AtNode, Collection, ImportCode, Json, Misfit, MissingKind, Name, Options, SeriesName, SeriesUnit, WALL,
};
use std::collections::BTreeSet;

/// The one version of the format since pyperf 0.8 (2016).
const KNOWN_VERSION: &str = "1.0";

/// The ways to the facts of the machine.
const MACHINE: [&str; 5] = ["hostname", "platform", "", "cpu_model_name", "cpu_count"];

pub(crate) fn collect(document: &Json<'_>, options: &Options<'_>) -> Result<Collection, Misfit> {
    document.field("version")?.known_version(KNOWN_VERSION)?;
    let mut collection = Collection::default();
    let benchmarks = document.field("benchmarks")?.list()?;
    // A suite of one benchmark keeps all metadata with it, some of it with the runs if they differ.
    for level in [Some(document), benchmarks.first()] {
        if let Some(metadata) = level.and_then(|level| level.get("metadata")) {
            collection.tool_version = collection.tool_version.take().or(metadata.fact("perf_version"));
            collection.machine.complete(metadata, MACHINE);
        }
    }
    for benchmark in benchmarks {
        collect_benchmark(benchmark, document.get("metadata"), options, &mut collection)?;
    }
    Ok(collection)
}

fn collect_benchmark(
    benchmark: &Json<'_>,
    suite_metadata: Option<&Json<'_>>,
    options: &Options<'_>,
    collection: &mut Collection,
) -> Result<(), Misfit> {
    let runs = benchmark.field("runs")?.list()?;
    let common = benchmark.get("metadata").into_iter().chain(suite_metadata);
    let of_runs = runs.iter().filter_map(|run| run.get("metadata"));
    let mut hosts: BTreeSet<Name> =
        of_runs.clone().filter_map(|metadata| metadata.fact("hostname")).collect();
    hosts.extend(common.clone().find_map(|metadata| metadata.fact("hostname")));
    // Metadata of the benchmark or the suite takes precedence over that of its runs.
    let mut name = None;
    let mut unit = None;
    for metadata in common.chain(of_runs) {
        name = name.or(metadata.optional_word("name")?);
        unit = unit.or(metadata.optional_word("unit")?);
    }
    let (metric, unit) = match unit.as_ref().map_or("second", Name::as_str) {
        "second" => (WALL, SeriesUnit::Seconds),
        "byte" => ("memory", SeriesUnit::Bytes),
        "integer" => ("value", SeriesUnit::Bare),
        _ => return Err(benchmark.expected("a unit of second, byte or integer")),
    };
    let series = SeriesName::new(name.unwrap_or_else(|| options.unnamed_benchmark()), Name::of(metric));
    let series = collection.distinct(series).at_node(benchmark)?;
    if !runs.iter().any(is_measured) {
        let message = Some(Name::of("no run has values"));
        return collection.miss(series.benchmark, MissingKind::Failed, message).at_node(benchmark);
    }
    let series = series.in_unit((unit, 0));
    for (number, run) in runs.iter().enumerate() {
        for value in run.optional_list("values")? {
            collection.push_json(&series, number as u64, value)?;
        }
    }
    if hosts.len() > 1 {
        collection.warn(ImportCode::SeveralHosts).at_node(benchmark)?;
    }
    Ok(())
}

fn is_measured(run: &Json<'_>) -> bool {
    run.get("values").is_some_and(|values| !matches!(values, Json::List(list) if list.is_empty()))
}
