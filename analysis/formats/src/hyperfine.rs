//! hyperfine: `--export-json`, of version 1 and of version 2.
//!
//! Every time is an execution of the command, so every value is a run of its own; warm-ups are not in the file. The first
//! format has wall times and, in later versions, peak memory for each run, but only means of user and system time, which are
//! not read. A parameter named `version` is the version; the others are labels.

pub(crate) mod write;

use crate::{
    AtNode, Collection, FileProblem, Json, MAX_RSS, Misfit, MissingKind, Name, SYSTEM, SeriesName,
    SeriesUnit, USER, WALL,
};

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

pub(crate) fn collect_1(document: &Json<'_>) -> Result<Collection, Misfit> {
    let mut collection = Collection::default();
    collection.are_commands = true;
    for result in document.field("results")?.list()? {
        let Some(times) = result.get("times") else {
            return Err(result.summary_only("mean and spread of a command, without its times"));
        };
        let name = SeriesName::wall(result.field("command")?.name()?);
        let name = with_parameters(name, result.get("parameters"), Json::word)?;
        let name = collection.distinct(name).at_node(result)?;
        let runs = times.list()?.len();
        if runs == 0 {
            return Err(times.misfit(FileProblem::NoValues));
        }
        // A run that failed took another time than the benchmark takes, so its values are left out.
        let codes = result.get("exit_codes");
        let codes = codes.map_or(Ok(&[][..]), |codes| codes.list_as_long_as("exit_codes", "times", runs))?;
        let lists = [("times", WALL, SeriesUnit::Seconds), ("memory_usage_byte", MAX_RSS, SeriesUnit::Bytes)];
        for (field, metric, unit) in lists {
            let Some(list) = result.get(field) else { continue };
            let series = name.with_metric(Name::of(metric)).in_unit((unit, 0));
            for (run, value) in list.list_as_long_as(field, "times", runs)?.iter().enumerate() {
                if !codes.get(run).is_some_and(is_failure) {
                    collection.push_json(&series, run as u64, value)?;
                }
            }
        }
        let failed = codes.iter().filter(|code| is_failure(code)).count();
        if failed > 0 {
            let kind = MissingKind::FailedRuns { failed: failed as u64, runs: runs as u64 };
            collection.miss_series(&name, kind, None).at_node(result)?;
        }
    }
    Ok(collection)
}

/// The name with the parameters of its result.
fn with_parameters<'a>(
    mut name: SeriesName,
    parameters: Option<&Json<'a>>,
    value_of: impl Fn(&Json<'a>) -> Result<Name, Misfit>,
) -> Result<SeriesName, Misfit> {
    for (key, value) in parameters.into_iter().flat_map(Json::members) {
        let word = value_of(value)?;
        if key == VERSION {
            name.version = Some(word);
        } else {
            name.labels.insert(Name::new(key).at_node(value)?, word);
        }
    }
    Ok(name)
}

/// Whether an exit code, or none because a signal ended the run, is that of a failure which hyperfine was told to ignore. What such a
/// run took is no time of the benchmark.
fn is_failure(code: &Json<'_>) -> bool {
    !matches!(code, Json::Number("0"))
}

pub(crate) fn collect_2(document: &Json<'_>) -> Result<Collection, Misfit> {
    document.field("schema_version")?.known_version("2")?;
    let mut collection = Collection::default();
    collection.are_commands = true;
    collection.tool_version = document.fact("metadata/hyperfine_version");
    let machine = ["", "metadata/platform/os", "metadata/platform/architecture", "", ""];
    collection.machine.complete(document, machine);
    for result in document.field("results")?.list()? {
        collect_result_2(result, &mut collection)?;
    }
    Ok(collection)
}

fn collect_result_2(result: &Json<'_>, collection: &mut Collection) -> Result<(), Misfit> {
    let Some(measurements) = result.get("measurements") else {
        return Err(result.summary_only("a summary of a command, without its measurements"));
    };
    let command = result.field("command")?.name()?;
    let mut name = SeriesName::wall(command.clone());
    if let Some(given) = result.get("name") {
        name.benchmark = given.name()?;
        name.labels.insert(Name::of(COMMAND), command);
    }
    let name = with_parameters(name, result.get("environment"), Json::word)?;
    let name = with_parameters(name, result.get("parameters"), |value| value.field("value")?.word())?;
    let name = collection.distinct(name).at_node(result)?;
    let runs = measurements.list()?;
    if runs.is_empty() {
        return Err(measurements.misfit(FileProblem::NoValues));
    }
    let mut failed = 0;
    for (run, measurement) in runs.iter().enumerate() {
        if measurement.members().any(|(key, code)| key == EXIT_CODE && is_failure(code)) {
            failed += 1;
            continue;
        }
        for (metric, measured) in measurement.members().filter(|(metric, _)| *metric != EXIT_CODE) {
            // A metric that the machine cannot measure.
            if matches!(measured, Json::Null) {
                continue;
            }
            let ours = METRICS.iter().find(|(theirs, _)| *theirs == metric).map_or(metric, |(_, ours)| ours);
            let metric = Name::new(ours).at_node(measured)?;
            let word = measured.optional_word("unit")?;
            let unit = word.as_ref().map_or((SeriesUnit::Bare, 0), SeriesUnit::of_word);
            let series = name.with_metric(metric).in_unit(unit);
            collection.push_json(&series, run as u64, measured.field("value")?)?;
        }
    }
    if failed > 0 {
        let kind = MissingKind::FailedRuns { failed, runs: runs.len() as u64 };
        collection.miss_series(&name, kind, None).at_node(result)?;
    }
    Ok(())
}
