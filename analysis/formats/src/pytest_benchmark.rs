//! pytest-benchmark: `--benchmark-json`, and what `--benchmark-save` stores.
//!
//! A value is a round, in seconds for one call. All rounds of a test come from one process, so they are one run. What was
//! saved without `--benchmark-save-data` has summaries only and is refused.

use crate::json::{Json, Misfit, parse};
use crate::series::{SeriesName, SeriesUnit};
use crate::{
    collection::Collection, imported::ImportCode, imported::ImportWarning, problem::Fault,
    problem::FileProblem,
};

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
    let document = parse(text, 1)?;
    collect(&document).map_err(|misfit| document.locate(misfit, None))
}

fn collect<'j, 'a>(document: &'j Json<'a>) -> Result<Collection, Misfit<'j, 'a>> {
    let mut collection = Collection::default();
    collection.tool_version = document.fact("version");
    if let Some(machine) = document.get("machine_info") {
        let facts = &mut collection.machine;
        facts.host_name = machine.fact("node");
        facts.operating_system = machine.fact("system");
        facts.architecture = machine.fact("machine");
        if let Some(cpu @ Json::Object(_)) = machine.get("cpu") {
            facts.processor = cpu.fact("brand_raw");
            facts.processors = cpu.fact("count");
        }
    }
    let benchmarks = document.field("benchmarks")?;
    for benchmark in benchmarks.list()? {
        collect_benchmark(benchmark, &mut collection)?;
    }
    if collection.has_no_values() && !benchmarks.list()?.is_empty() {
        return Err(benchmarks
            .misfit(FileProblem::SummaryOnly { what: "statistics of the rounds, without the rounds" }));
    }
    Ok(collection)
}

fn collect_benchmark<'j, 'a>(
    benchmark: &'j Json<'a>,
    collection: &mut Collection,
) -> Result<(), Misfit<'j, 'a>> {
    let name = benchmark.get("fullname").map_or_else(|| benchmark.field("name"), Ok)?.name()?;
    let Some(rounds) = benchmark.field("stats")?.get("data") else {
        let warning = ImportWarning::about(ImportCode::SummaryOnly, &name);
        return collection.warn(warning).map_err(|problem| benchmark.misfit(problem));
    };
    let series = collection.distinct(SeriesName::wall(name)).map_err(|problem| benchmark.misfit(problem))?;
    for round in rounds.list()? {
        collection.push_json(&series, &SeriesUnit::Seconds, 0, round, 0)?;
    }
    Ok(())
}
