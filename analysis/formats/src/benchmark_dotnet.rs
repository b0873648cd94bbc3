//! BenchmarkDotNet: `*-report-full.json` and `*-report-brief.json`.
//!
//! A value is the time of one operation: the nanoseconds of a result iteration, less the overhead that BenchmarkDotNet
//! found, by its operations. A launch is a process, so it is a run. A brief report has the same values without launches: they
//! are one run. BenchmarkDotNet leaves out what it takes for outliers before it writes results; how many is told.

use crate::{
    AtNode, Collection, ImportCode, ImportWarning, Json, Misfit, MissingKind, Name, SeriesName, SeriesUnit,
};

/// Nanoseconds.
const NANO: i32 = -9;

/// The ways to the facts of the machine.
const MACHINE: [&str; 5] = ["", "OsVersion", "Architecture", "ProcessorName", "LogicalCoreCount"];

pub(crate) fn collect(document: &Json<'_>) -> Result<Collection, Misfit> {
    let mut collection = Collection::default();
    if let Some(host) = document.get("HostEnvironmentInfo") {
        collection.tool_version = host.fact("BenchmarkDotNetVersion");
        collection.machine.complete(host, MACHINE);
    }
    for benchmark in document.field("Benchmarks")?.list()? {
        collect_benchmark(benchmark, &mut collection)?;
    }
    Ok(collection)
}

fn collect_benchmark(benchmark: &Json<'_>, collection: &mut Collection) -> Result<(), Misfit> {
    let name = benchmark.field("FullName")?.name()?;
    let results = measurements_of_stage(benchmark, "Result")?;
    let summary = benchmark.at("Statistics/OriginalValues");
    if results.is_empty() && summary.is_none() {
        let message = Some(Name::of("no iteration has a result"));
        return collection.miss(name, MissingKind::Failed, message).at_node(benchmark);
    }
    let series = with_job(SeriesName::wall(name.clone()), benchmark)?;
    let series = collection.distinct(series).at_node(benchmark)?.in_unit((SeriesUnit::Seconds, NANO));
    if let (true, Some(values)) = (results.is_empty(), summary) {
        for value in values.list()? {
            collection.push_json(&series, 0, value)?;
        }
        return Ok(());
    }
    // The stage `Result` lacks what was taken for outliers, the stage `Actual` has all.
    let measured = measurements_of_stage(benchmark, "Actual")?.len();
    if measured > results.len() {
        let count = (measured - results.len()) as u64;
        let warning = ImportWarning { code: ImportCode::OutliersRemoved, subject: Some(name), count };
        collection.warn(warning).at_node(benchmark)?;
    }
    for result in results {
        let run = result.field("LaunchIndex")?.number(0)?.to_bits();
        let operations = result.field("Operations")?;
        let count = operations.number(0)?;
        if count < 1.0 {
            return Err(operations.expected("at least one operation"));
        }
        let time = result.field("Nanoseconds")?.number(NANO)? / count;
        collection.push(&series, run, time).at_node(result)?;
    }
    Ok(())
}

/// The iterations of the program itself in one stage; none where measurements were left out.
fn measurements_of_stage<'j, 'a>(benchmark: &'j Json<'a>, stage: &str) -> Result<Vec<&'j Json<'a>>, Misfit> {
    let measurements = benchmark.optional_list("Measurements")?.iter();
    let workload = measurements.filter(|one| has_text(one, "IterationMode", "Workload"));
    Ok(workload.filter(|one| has_text(one, "IterationStage", stage)).collect())
}

fn has_text(measurement: &Json<'_>, field: &str, text: &str) -> bool {
    matches!(measurement.get(field), Some(Json::Text(found)) if found == text)
}

/// The job, as `Type.Method: Job` says it, where it is not the usual one.
fn with_job(mut name: SeriesName, benchmark: &Json<'_>) -> Result<SeriesName, Misfit> {
    let Some(info) = benchmark.get("DisplayInfo") else { return Ok(name) };
    let job = info.text()?.split_once(": ").map_or("", |(_, rest)| rest);
    let job = job.split([' ', '(']).next().unwrap_or_default();
    if !job.is_empty() && job != "DefaultJob" {
        name.labels.insert(Name::of("job"), Name::beginning(job));
    }
    Ok(name)
}
