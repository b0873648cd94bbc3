//! Google Benchmark: `--benchmark_format=json`, `csv`, and what it prints on a console.
//!
//! An entry of `run_type` "iteration" is one repetition; its times are per iteration, in its `time_unit`. All repetitions
//! come from one process, so they are one run. Aggregates are computed from the repetitions and ignored beside them; a
//! benchmark that has nothing else is left out with a warning, a file of nothing else is refused. Every other number of an
//! entry is a metric of its own: user counters, rates, memory. A table has the same entries without their kind: what is named
//! as an aggregate of others is one. A console rounds to three digits, which is told, and its counters are not read.

pub(crate) mod console;
pub(crate) mod csv;

use crate::{
    AtNode, Collection, Fault, FileProblem, ImportCode, ImportWarning, Json, Measurand, Misfit, MissingKind,
    Name, SeriesName, SeriesUnit, WALL,
};
use std::collections::{BTreeMap, BTreeSet};

/// The one version of the JSON format, which files before 1.9 do not name.
const KNOWN_VERSION: &str = "1";
/// What aggregates add to the name of their benchmark.
const AGGREGATES: [&str; 5] = ["_mean", "_median", "_stddev", "_cv", "_BigO"];
/// The same of complexities that were fitted.
const RMS: &str = "_RMS";
const REAL_TIME: &str = "real_time";
const CPU_TIME: &str = "cpu_time";

/// The numbers of an entry that describe it and are no measurements.
const DESCRIPTIONS: &str =
    "family_index per_family_instance_index repetitions repetition_index threads iterations time_unit";

pub(crate) fn collect(document: &Json<'_>) -> Result<Collection, Misfit> {
    let mut collection = Collection::default();
    if let Some(context) = document.get("context") {
        if let Some(schema) = context.get("json_schema_version") {
            schema.known_version(KNOWN_VERSION)?;
        }
        collection.tool_version = context.fact("library_version");
        collection.machine.complete(context, ["host_name", "", "", "", "num_cpus"]);
    }
    let entries = document.field("benchmarks")?;
    // Before 1.5, or what rewrote the file, no field says which entries are aggregates.
    let unmarked = entries.list()?.iter().filter(|entry| entry.get("run_type").is_none());
    let unmarked: Vec<&str> = unmarked.map(|entry| entry.field("name")?.text()).collect::<Result<_, _>>()?;
    let aggregates = aggregates(&unmarked);
    let mut summarised = BTreeSet::new();
    let mut measured = BTreeSet::new();
    for entry in entries.list()? {
        let name = entry.field("name")?.name()?;
        let is_aggregate = entry.get("run_type").is_none() && aggregates.contains(name.as_str());
        let benchmark = entry.optional_word("run_name")?.unwrap_or(name);
        if is_aggregate {
            let stem = benchmark.as_str().rsplit_once('_').map_or(benchmark.as_str(), |(stem, _)| stem);
            summarised.insert(Name::beginning(stem));
        } else if is_summary(entry)? {
            summarised.insert(benchmark);
        } else {
            measured.insert(benchmark.clone());
            repetition(entry, &benchmark, &mut collection)?;
        }
    }
    summarised.retain(|benchmark| !measured.contains(benchmark));
    if collection.has_no_values() && !summarised.is_empty() {
        return Err(entries.summary_only(AGGREGATES_ALONE));
    }
    for benchmark in summarised {
        let warning = ImportWarning::about(ImportCode::SummaryOnly, &benchmark);
        collection.warn(warning).at_node(entries)?;
    }
    Ok(collection)
}

/// Whether an entry is an aggregate, or a complexity fitted over several benchmarks.
fn is_summary(entry: &Json<'_>) -> Result<bool, Misfit> {
    match entry.get("run_type") {
        Some(kind) => Ok(kind.text()? != "iteration"),
        None => Ok(["aggregate_name", "big_o", "rms"].iter().any(|field| entry.get(field).is_some())),
    }
}

fn repetition(entry: &Json<'_>, benchmark: &Name, collection: &mut Collection) -> Result<(), Misfit> {
    for (flag, message, kind) in [
        ("error_occurred", "error_message", MissingKind::Failed),
        ("skipped", "skip_message", MissingKind::Skipped),
    ] {
        if entry.get(flag).is_some_and(Json::is_true) {
            let message = entry.get(message).map(Json::text).transpose()?.map(Name::beginning);
            return collection.miss(benchmark.clone(), kind, message).at_node(entry);
        }
    }
    let mut name = SeriesName::wall(benchmark.clone());
    if let Some(label) = entry.fact("label") {
        name.labels.insert(Name::of("label"), label);
    }
    let unit = entry.get("time_unit").map(Json::text).transpose()?;
    let shift = shift_of(unit.unwrap_or_default()).at_node(entry)?;
    // Without its times an entry is damaged; counters may be absent.
    for time in [REAL_TIME, CPU_TIME] {
        entry.field(time)?;
    }
    for (key, value) in entry.members() {
        if DESCRIPTIONS.split(' ').any(|described| described == key) {
            continue;
        }
        let series = measurand(&name, key, shift).at_node(entry)?;
        if matches!(value, Json::Number(_) | Json::NotFinite(_)) {
            collection.push_json(&series, 0, value)?;
        }
    }
    Ok(())
}

/// The power of ten from a time unit to seconds; none is nanoseconds.
fn shift_of(unit: &str) -> Result<i32, FileProblem> {
    match unit {
        "" | "ns" => Ok(-9),
        "us" => Ok(-6),
        "ms" => Ok(-3),
        "s" => Ok(0),
        _ => Err(FileProblem::Expected { expected: "a time_unit of ns, us, ms or s" }),
    }
}

/// What a number of an entry measures, where times need this power of ten to be seconds.
fn measurand(name: &SeriesName, key: &str, shift: i32) -> Result<Measurand, FileProblem> {
    let unit = match key {
        REAL_TIME | CPU_TIME => (SeriesUnit::Seconds, shift),
        "bytes_per_second" => (SeriesUnit::BytesPerSecond, 0),
        "max_bytes_used" | "total_allocated_bytes" | "net_heap_growth" => (SeriesUnit::Bytes, 0),
        _ => (SeriesUnit::Bare, 0),
    };
    let metric = Name::new(if key == REAL_TIME { WALL } else { key })?;
    Ok(name.with_metric(metric).in_unit(unit))
}

/// What a file has where nothing can be compared.
const AGGREGATES_ALONE: &str = "aggregates without their repetitions";

/// Refuses what has values of aggregates only.
fn refuse_aggregates(aggregates: &BTreeSet<&str>, collection: &Collection) -> Result<(), Fault> {
    if collection.has_no_values() && !aggregates.is_empty() {
        return Err(Fault::of_file(FileProblem::SummaryOnly { what: AGGREGATES_ALONE }));
    }
    Ok(())
}

/// Which of the names, in the order of a file, are those of aggregates: those that add an aggregate's word to another name, or any
/// word once where that name has a mean; or, where only aggregates were reported, those of a benchmark that has both a mean and a
/// median.
fn aggregates<'n>(names: &[&'n str]) -> BTreeSet<&'n str> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *known.entry(name).or_insert(0) += 1;
    }
    names.iter().filter(|name| is_aggregate(name, &known)).copied().collect()
}

fn is_aggregate(name: &str, known: &BTreeMap<&str, usize>) -> bool {
    let Some((stem, _)) = name.rsplit_once('_') else { return false };
    let [has_mean, has_median, has_complexity, has_rms] =
        ["_mean", "_median", "_BigO", RMS].map(|word| known.contains_key(format!("{stem}{word}").as_str()));
    let has_stem = known.contains_key(stem);
    // Statistics of the user's own stand beside the usual ones, once for all repetitions.
    let is_own = has_stem && has_mean && known[name] == 1;
    let is_usual = AGGREGATES.iter().chain([&RMS]).any(|word| name.strip_suffix(word) == Some(stem));
    is_usual && (has_stem || has_mean && has_median || has_complexity && has_rms) || is_own
}
