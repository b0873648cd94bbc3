//! BenchmarkDotNet: `*-report-full.json` and `*-report-brief.json`.
//!
//! A value is the time of one operation: the nanoseconds of a result iteration, less the overhead that BenchmarkDotNet
//! found, by its operations. A launch is a process, so it is a run. A brief report has the same values without launches: they
//! are one run. BenchmarkDotNet leaves out what it takes for outliers before it writes results; how many is told.

use crate::imported::{ImportCode, ImportWarning, MissingKind};
use crate::json::{Json, Misfit, parse};
use crate::series::{SeriesName, SeriesUnit};
use crate::{collection::Collection, name::Name, problem::Fault, problem::FileProblem};
use std::collections::BTreeMap;

/// Nanoseconds.
const NANO: i32 = -9;

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
    let document = parse(text, 1)?;
    collect(&document).map_err(|misfit| document.locate(misfit, None))
}

fn collect<'j, 'a>(document: &'j Json<'a>) -> Result<Collection, Misfit<'j, 'a>> {
    let mut collection = Collection::default();
    if let Some(host) = document.get("HostEnvironmentInfo") {
        collection.tool_version = host.fact("BenchmarkDotNetVersion");
        let facts = &mut collection.machine;
        facts.operating_system = host.fact("OsVersion");
        facts.architecture = host.fact("Architecture");
        facts.processor = host.fact("ProcessorName");
        facts.processors = host.fact("LogicalCoreCount");
    }
    for benchmark in document.field("Benchmarks")?.list()? {
        collect_benchmark(benchmark, &mut collection)?;
    }
    Ok(collection)
}

fn collect_benchmark<'j, 'a>(
    benchmark: &'j Json<'a>,
    collection: &mut Collection,
) -> Result<(), Misfit<'j, 'a>> {
    let misfit = |problem| benchmark.misfit(problem);
    let name = benchmark.field("FullName")?.name()?;
    let results = of_stage(benchmark, "Result")?;
    let summary = benchmark.get("Statistics").and_then(|statistics| statistics.get("OriginalValues"));
    if results.is_empty() && summary.is_none() {
        let message = Some(Name::of("no iteration has a result"));
        return collection.miss(name, MissingKind::Failed, message).map_err(misfit);
    }
    let series = collection.distinct(with_job(SeriesName::wall(name.clone()), benchmark)?).map_err(misfit)?;
    if let (true, Some(values)) = (results.is_empty(), summary) {
        for value in values.list()? {
            collection.push_json(&series, &SeriesUnit::Seconds, 0, value, NANO)?;
        }
        return Ok(());
    }
    let measured = of_stage(benchmark, "Actual")?.len();
    if measured > results.len() {
        let count = (measured - results.len()) as u64;
        let warning = ImportWarning { code: ImportCode::OutliersRemoved, subject: Some(name), count };
        collection.warn(warning).map_err(misfit)?;
    }
    for result in results {
        let launch = result.field("LaunchIndex")?;
        let run = launch.number(0)?.to_bits();
        let operations = result.field("Operations")?;
        let count = operations.number(0)?;
        if count < 1.0 {
            return Err(operations.misfit(FileProblem::Expected { expected: "at least one operation" }));
        }
        let time = result.field("Nanoseconds")?.number(NANO)? / count;
        collection
            .push(&series, &SeriesUnit::Seconds, run, time)
            .map_err(|problem| result.misfit(problem))?;
    }
    Ok(())
}

/// The iterations of the program itself in one stage; none where measurements were left out.
fn of_stage<'j, 'a>(benchmark: &'j Json<'a>, stage: &str) -> Result<Vec<&'j Json<'a>>, Misfit<'j, 'a>> {
    let all = benchmark.get("Measurements").map(Json::list).transpose()?.unwrap_or_default();
    let has =
        |one: &Json<'_>, field, word| one.get(field).is_some_and(|is| is.text().is_ok_and(|is| is == word));
    let is_of = |one: &&Json<'_>| has(one, "IterationMode", "Workload") && has(one, "IterationStage", stage);
    Ok(all.iter().filter(is_of).collect())
}

/// The job, as `Type.Method: Job` says it, where it is not the usual one.
fn with_job<'j, 'a>(name: SeriesName, benchmark: &'j Json<'a>) -> Result<SeriesName, Misfit<'j, 'a>> {
    let Some(info) = benchmark.get("DisplayInfo") else { return Ok(name) };
    let job = info.text()?.split_once(": ").map_or("", |(_, rest)| rest);
    let job = job.split([' ', '(']).next().unwrap_or_default();
    if job.is_empty() || job == "DefaultJob" {
        return Ok(name);
    }
    let labels = BTreeMap::from([(Name::of("job"), Name::beginning(job))]);
    Ok(SeriesName { labels, ..name })
}
