//! `speedup track acknowledge`: takes a step for the new level.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::anyhow;
use clap::Args;
use speedup_analysis::track::{TrackAcknowledgement, TrackStepReport};
use speedup_core::value::time::Timestamp;

use crate::{
    connection::by, console::Console, exit::Exit, exit::failure::Failure, tracks::TrackName, tracks::Tracks,
};

/// Fewest digits of a commit: fewer are the number of a step.
const MIN_DIGITS: usize = 7;

/// Takes a step for the new level: gates no longer fail by it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup track acknowledge prog 2 --note 'needed for the new format'\n\
    \x20 speedup track acknowledge prog 3f2c91d07b1e")]
pub(crate) struct Arguments {
    /// The track
    #[arg(value_name = "NAME")]
    name: TrackName,
    /// The number of the step, or a commit: all steps that it may have begun
    #[arg(value_name = "STEP|COMMIT")]
    which: String,
    /// Why it is meant to stay
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
}

pub(super) fn execute(arguments: &Arguments, tracks: &Tracks, console: &Console) -> Result<Exit, Failure> {
    let Arguments { name, which, note } = arguments;
    let kept = tracks.require(name)?;
    let report = kept.report()?;
    let is_meant = |step: &&TrackStepReport| match which.parse::<u32>() {
        Ok(number) if which.len() < MIN_DIGITS => step.number == number,
        _ => which.len() >= MIN_DIGITS && step.set.versions.iter().any(|id| id.starts_with(which.as_str())),
    };
    let meant: Vec<&TrackStepReport> = report.steps.iter().filter(is_meant).collect();
    if meant.is_empty() {
        let text = format!("the track {name} has no step {which}");
        return Err(
            Failure::usage(anyhow!(text)).hint(format!("`speedup track report {name}` lists its steps"))
        );
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = Timestamp(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
    for step in meant {
        if step.acknowledged.is_none() {
            let (benchmark, found_at) = (step.benchmark.clone(), step.found_at.clone());
            kept.acknowledge(&TrackAcknowledgement {
                benchmark,
                found_at,
                by: by(),
                at,
                note: note.clone(),
            })?;
        }
        console.talk(format_args!("step {} is acknowledged: {}", step.number, report.sentence(step)));
    }
    Ok(Exit::Done)
}
