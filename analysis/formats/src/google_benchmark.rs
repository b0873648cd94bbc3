//! Google Benchmark: `--benchmark_format=json`.
//!
//! An entry of `run_type` "iteration" is one repetition; its times are per iteration, in its `time_unit`. All repetitions
//! come from one process, so they are one run. Aggregates are computed from the repetitions and ignored beside them; a
//! benchmark that has nothing else is left out with a warning, a file of nothing else is refused. Every other number of an
//! entry is a metric of its own: user counters, rates, memory.

use crate::collection::Collection;
use crate::imported::{FailureKind, ImportWarning, MissingResult};
use crate::json::{Json, Misfit, parse};
use crate::name::Name;
use crate::problem::{Fault, FileProblem};
use crate::series::{SeriesName, WALL};
use crate::unit::SeriesUnit;
use std::collections::{BTreeMap, BTreeSet};

/// The numbers of an entry that describe it and are no measurements.
const DESCRIPTIONS: [&str; 7] = [
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "time_unit",
];

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
    let document = parse(text, 1)?;
    collect(&document).map_err(|misfit| document.locate(misfit, None))
}

fn collect<'j, 'a>(document: &'j Json<'a>) -> Result<Collection, Misfit<'j, 'a>> {
    let mut collection = Collection::default();
    if let Some(context) = document.get("context") {
        collection.tool_version = context.fact("library_version")?;
        collection.machine.host_name = context.fact("host_name")?;
        collection.machine.processors = context.fact("num_cpus")?;
    }
    let entries = document.field("benchmarks")?;
    let mut summarised = BTreeSet::new();
    let mut measured = BTreeSet::new();
    for entry in entries.list()? {
        let benchmark = entry.get("run_name").map_or_else(|| entry.field("name"), Ok)?.name()?;
        if is_summary(entry)? {
            summarised.insert(benchmark);
        } else {
            measured.insert(benchmark.clone());
            repetition(entry, &benchmark, &mut collection)?;
        }
    }
    summarised.retain(|benchmark| !measured.contains(benchmark));
    if collection.has_no_values() && !summarised.is_empty() {
        return Err(entries.misfit(FileProblem::SummaryOnly { what: "aggregates without their repetitions" }));
    }
    for benchmark in summarised {
        collection
            .warn(ImportWarning::SummaryOnly { benchmark })
            .map_err(|problem| entries.misfit(problem))?;
    }
    Ok(collection)
}

/// Whether an entry is an aggregate, or a complexity fitted over several benchmarks.
fn is_summary<'j, 'a>(entry: &'j Json<'a>) -> Result<bool, Misfit<'j, 'a>> {
    match entry.get("run_type") {
        Some(kind) => Ok(kind.text()? != "iteration"),
        None => Ok(["aggregate_name", "big_o", "rms"].iter().any(|field| entry.get(field).is_some())),
    }
}

fn repetition<'j, 'a>(
    entry: &'j Json<'a>,
    benchmark: &Name,
    collection: &mut Collection,
) -> Result<(), Misfit<'j, 'a>> {
    for (flag, message, kind) in [
        ("error_occurred", "error_message", FailureKind::Failed),
        ("skipped", "skip_message", FailureKind::Skipped),
    ] {
        if entry.get(flag).is_some_and(Json::is_true) {
            let message = entry.get(message).map(Json::text).transpose()?.map(Name::beginning);
            return collection
                .fail(MissingResult { benchmark: benchmark.clone(), kind, message })
                .map_err(|problem| entry.misfit(problem));
        }
    }
    let mut labels = BTreeMap::new();
    if let Some(label) = entry.fact("label")? {
        labels.insert(Name::of("label"), label);
    }
    let name = SeriesName { labels, ..SeriesName::wall(benchmark.clone()) };
    let shift = match entry.get("time_unit").map(Json::text).transpose()? {
        None | Some("ns") => -9,
        Some("us") => -6,
        Some("ms") => -3,
        Some("s") => 0,
        Some(_) => {
            return Err(entry.misfit(FileProblem::Expected { expected: "a time_unit of ns, us, ms or s" }));
        }
    };
    for time in ["real_time", "cpu_time"] {
        entry.field(time)?;
    }
    for (key, value) in entry.members().filter(|(key, _)| !DESCRIPTIONS.contains(key)) {
        let (metric, unit, shift) = match key {
            "real_time" => (Name::of(WALL), SeriesUnit::Seconds, shift),
            "cpu_time" => (Name::of("cpu_time"), SeriesUnit::Seconds, shift),
            "bytes_per_second" => (Name::of("bytes_per_second"), SeriesUnit::BytesPerSecond, 0),
            "max_bytes_used" => (Name::of("max_bytes_used"), SeriesUnit::Bytes, 0),
            "total_allocated_bytes" => (Name::of("total_allocated_bytes"), SeriesUnit::Bytes, 0),
            "net_heap_growth" => (Name::of("net_heap_growth"), SeriesUnit::Bytes, 0),
            counter => (Name::new(counter).map_err(|problem| entry.misfit(problem))?, SeriesUnit::Bare, 0),
        };
        let series = name.with_metric(metric);
        let pushed = match value {
            Json::NotFinite(_) => collection.leave_out(&series),
            Json::Number(_) => collection.push(&series, &unit, 0, value.number(shift)?),
            Json::Null | Json::Bool(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => Ok(()),
        };
        pushed.map_err(|problem| value.misfit(problem))?;
    }
    Ok(())
}
