//! hyperfine: `--export-json`, of version 1 and of version 2.
//!
//! Every time is an execution of the command, so every value is a run of its own; warm-ups are not in the file. The first
//! format has wall times and, in later versions, peak memory for each run, but only means of user and system time, which are
//! not read. A parameter named `version` is the version; the others are labels.

mod write;

pub use write::{
    Hyperfine2Header, WriteHyperfineError, write_hyperfine_1, write_hyperfine_1_with, write_hyperfine_2,
};

use crate::json::{Json, Misfit, parse};
use crate::problem::{Fault, FileProblem};
use crate::series::{MAX_RSS, SYSTEM, SeriesName, SeriesUnit, USER, WALL};
use crate::{collection::Collection, imported::MissingKind, imported::MissingResult, name::Name};

/// The parameter that is a version.
const VERSION: &str = "version";

/// The label for the command line of a result that has a name besides.
const COMMAND: &str = "command";

/// hyperfine 2's words for the metrics that have ours.
const METRICS: [(&str, &str); 4] = [
    ("time_wall_clock", WALL),
    ("time_user", USER),
    ("time_system", SYSTEM),
    ("memory_peak_resident", MAX_RSS),
];

/// What a measurement has that is no metric.
const EXIT_CODE: &str = "exit_code";

pub(crate) fn read_1(text: &str) -> Result<Collection, Fault> {
    let document = parse(text, 1)?;
    collect_1(&document).map_err(|misfit| document.locate(misfit, None))
}

fn collect_1<'j, 'a>(document: &'j Json<'a>) -> Result<Collection, Misfit<'j, 'a>> {
    let mut collection = Collection::default();
    collection.are_commands = true;
    for result in document.field("results")?.list()? {
        let times = result.get("times").ok_or_else(|| {
            result
                .misfit(FileProblem::SummaryOnly { what: "mean and spread of a command, without its times" })
        })?;
        let name = SeriesName::wall(result.field("command")?.name()?);
        let name = with_parameters(name, result.get("parameters"), Json::word)?;
        let name = collection.distinct(name).map_err(|problem| result.misfit(problem))?;
        let runs = times.list()?.len();
        if runs == 0 {
            return Err(times.misfit(FileProblem::NoValues));
        }
        let codes = match result.get("exit_codes") {
            Some(codes) => {
                same_length(codes, "exit_codes", codes.list()?.len(), runs)?;
                codes.list()?
            }
            None => &[],
        };
        let lists = [("times", WALL, SeriesUnit::Seconds), ("memory_usage_byte", MAX_RSS, SeriesUnit::Bytes)];
        for (field, metric, unit) in lists {
            let Some(list) = result.get(field) else { continue };
            let values = list.list()?;
            same_length(list, field, values.len(), runs)?;
            let name = name.with_metric(Name::of(metric));
            for (run, value) in values.iter().enumerate() {
                if !codes.get(run).is_some_and(is_failure) {
                    collection.push_json(&name, &unit, run as u64, value, 0)?;
                }
            }
        }
        let failed = codes.iter().filter(|code| is_failure(code)).count();
        let told = miss_failed(&name, failed, runs, &mut collection);
        told.map_err(|problem| result.misfit(problem))?;
    }
    Ok(collection)
}

fn same_length<'j, 'a>(
    list: &'j Json<'a>,
    field: &'static str,
    length: usize,
    runs: usize,
) -> Result<(), Misfit<'j, 'a>> {
    if length == runs {
        return Ok(());
    }
    let (left, left_length) = ("times", runs);
    Err(list.misfit(FileProblem::LengthsDiffer { left, left_length, right: field, right_length: length }))
}

/// The name with the parameters of its result.
fn with_parameters<'j, 'a>(
    mut name: SeriesName,
    parameters: Option<&'j Json<'a>>,
    value_of: impl Fn(&'j Json<'a>) -> Result<Name, Misfit<'j, 'a>>,
) -> Result<SeriesName, Misfit<'j, 'a>> {
    for (key, value) in parameters.into_iter().flat_map(Json::members) {
        let word = value_of(value)?;
        if key == VERSION {
            name.version = Some(word);
        } else {
            name.labels.insert(Name::new(key).map_err(|problem| value.misfit(problem))?, word);
        }
    }
    Ok(name)
}

/// Whether an exit code, or none because a signal ended the run, is that of a failure which hyperfine was told to ignore. What such a
/// run took is no time of the benchmark.
fn is_failure(code: &Json<'_>) -> bool {
    !matches!(code, Json::Number("0"))
}

/// Reports the runs of a benchmark that failed.
fn miss_failed(
    name: &SeriesName,
    failed: usize,
    runs: usize,
    collection: &mut Collection,
) -> Result<(), FileProblem> {
    if failed == 0 {
        return Ok(());
    }
    collection.fail(MissingResult {
        benchmark: Name::beginning(&name.labelled_benchmark()),
        version: name.version.clone(),
        kind: MissingKind::FailedRuns { failed: failed as u64, runs: runs as u64 },
        message: None,
    })
}

pub(crate) fn read_2(text: &str) -> Result<Collection, Fault> {
    let document = parse(text, 1)?;
    collect_2(&document).map_err(|misfit| document.locate(misfit, None))
}

fn collect_2<'j, 'a>(document: &'j Json<'a>) -> Result<Collection, Misfit<'j, 'a>> {
    let schema = document.field("schema_version")?;
    let version = schema.word()?;
    if version.as_str() != "2" {
        return Err(schema.misfit(FileProblem::UnknownVersion { version, known: "2" }));
    }
    let mut collection = Collection::default();
    collection.are_commands = true;
    if let Some(metadata) = document.get("metadata") {
        collection.tool_version = metadata.fact("hyperfine_version");
        if let Some(platform) = metadata.get("platform") {
            collection.machine.operating_system = platform.fact("os");
            collection.machine.architecture = platform.fact("architecture");
        }
    }
    for result in document.field("results")?.list()? {
        collect_result_2(result, &mut collection)?;
    }
    Ok(collection)
}

fn collect_result_2<'j, 'a>(result: &'j Json<'a>, collection: &mut Collection) -> Result<(), Misfit<'j, 'a>> {
    let measurements = result.get("measurements").ok_or_else(|| {
        result.misfit(FileProblem::SummaryOnly { what: "a summary of a command, without its measurements" })
    })?;
    let command = result.field("command")?.name()?;
    let mut name = SeriesName::wall(command.clone());
    if let Some(given) = result.get("name") {
        name.benchmark = given.name()?;
        name.labels.insert(Name::of(COMMAND), command);
    }
    let environment = result.get("environment");
    let name = with_parameters(name, environment, Json::word)?;
    let name = with_parameters(name, result.get("parameters"), |value| value.field("value")?.word())?;
    let name = collection.distinct(name).map_err(|problem| result.misfit(problem))?;
    if measurements.list()?.is_empty() {
        return Err(measurements.misfit(FileProblem::NoValues));
    }
    let mut failed = 0;
    for (run, measurement) in measurements.list()?.iter().enumerate() {
        let code = measurement.members().find(|(key, _)| *key == EXIT_CODE);
        if code.is_some_and(|(_, code)| is_failure(code)) {
            failed += 1;
            continue;
        }
        for (metric, measured) in measurement.members().filter(|(metric, _)| *metric != EXIT_CODE) {
            if matches!(measured, Json::Null) {
                continue;
            }
            let ours = METRICS.iter().find(|(theirs, _)| *theirs == metric).map_or(metric, |(_, ours)| ours);
            let metric = Name::new(ours).map_err(|problem| measured.misfit(problem))?;
            let word = measured.optional_word("unit")?;
            let (unit, shift) = word.as_ref().map_or((SeriesUnit::Bare, 0), SeriesUnit::of_word);
            let value = measured.field("value")?;
            collection.push_json(&name.with_metric(metric), &unit, run as u64, value, shift)?;
        }
    }
    let runs = measurements.list()?.len();
    miss_failed(&name, failed, runs, collection).map_err(|problem| result.misfit(problem))
}
