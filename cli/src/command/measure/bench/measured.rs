//! What was measured, as series of the metrics that hyperfine has.

use std::collections::BTreeMap;

use speedup_core::experiment::{Experiment, Metric};
use speedup_core::value::id::{ExperimentId, RunIndex};
use speedup_formats::{MAX_RSS, Name, Runs, SYSTEM, Series, SeriesName, SeriesUnit, USER, ValueOf};
use speedup_statistics::inference::ConfidenceLevel;

use super::experiment::{RecordedCommand, recorded};
use crate::{
    connection::Connection, exit::failure::Failure, results::attempts::Attempts,
    results::attempts::MeasuredRun, results::attempts::MeasuredRuns,
};

/// The metrics that the format has, with their name and unit there, and how much of ours is one of it.
const METRICS: [(Metric, &str, SeriesUnit, f64); 4] = [
    (Metric::Wall, speedup_formats::WALL, SeriesUnit::Seconds, 1e9),
    (Metric::User, USER, SeriesUnit::Seconds, 1e9),
    (Metric::System, SYSTEM, SeriesUnit::Seconds, 1e9),
    (Metric::MaxRss, MAX_RSS, SeriesUnit::Bytes, 1.0),
];

/// What an experiment measured, and the level of its intervals.
#[derive(Debug)]
pub(super) struct MeasuredCommands {
    pub(super) series: Vec<Series>,
    pub(super) level: ConfidenceLevel,
}

/// What the experiment measured; nothing of one of another verb.
pub(super) async fn read(
    connection: &Connection,
    experiment: ExperimentId,
) -> Result<Option<MeasuredCommands>, Failure> {
    let mut attempts = Attempts::open(connection, experiment).await?;
    let Some(commands) = recorded(&attempts.plan.experiment) else { return Ok(None) };
    let level = ConfidenceLevel::new(attempts.plan.experiment.analysis.confidence);
    let level = level.map_err(Failure::infrastructure)?;
    Ok(Some(MeasuredCommands { series: series(&attempts.measured().await?, &commands)?, level }))
}

/// The series that an experiment is going to have, with one run each: what has a place for them has one for what is
/// measured.
pub(super) fn planned(experiment: &Experiment) -> Result<Vec<Series>, Failure> {
    let commands = recorded(experiment).unwrap_or_default();
    let mut measured = MeasuredRuns::new();
    for cell in commands.keys() {
        let metrics = METRICS.map(|(metric, ..)| (metric, 1_234_567)).into();
        let run = MeasuredRun { metrics, series: BTreeMap::new() };
        measured.entry(*cell).or_default().insert(RunIndex(0), run);
    }
    series(&measured, &commands)
}

fn series(
    measured: &MeasuredRuns,
    commands: &BTreeMap<(u32, u32), RecordedCommand>,
) -> Result<Vec<Series>, Failure> {
    let mut series = Vec::new();
    for (cell, command) in commands {
        let Some(runs) = measured.get(cell) else { continue };
        let name = |text: &str| Name::new(text).map_err(Failure::usage);
        let labels: Result<BTreeMap<Name, Name>, Failure> =
            command.parameters.iter().map(|(key, value)| Ok((name(key)?, name(value)?))).collect();
        let of = SeriesName { labels: labels?, ..SeriesName::wall(name(&command.title)?) };
        for (metric, word, unit, scale) in METRICS {
            // A metric that some run lacks has no place in the format.
            let values: Option<Vec<[f64; 1]>> =
                runs.values().map(|run| Some([*run.metrics.get(&metric)? as f64 / scale])).collect();
            if let Some(Ok(runs)) = values.map(Runs::new) {
                let of_metric = Series::new(of.with_metric(name(word)?), unit, runs);
                series.push(Series { value_of: Some(ValueOf::Run), ..of_metric });
            }
        }
    }
    Ok(series)
}
