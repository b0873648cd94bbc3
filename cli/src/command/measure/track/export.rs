//! `speedup track export`: the values of all points.

use clap::{Args, ValueEnum};

use crate::{
    command::json_line, command::print, command::print_csv, console::Console, exit::Exit,
    exit::failure::Failure, tracks::TrackName, tracks::TrackValue, tracks::Tracks,
};

/// Writes the values of all points of a track, one per benchmark, block and version
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup track export prog --format csv -o prog.csv\n\n\
    Values are in the unit of the metric, of times nanoseconds.")]
pub(crate) struct Arguments {
    /// The track
    #[arg(value_name = "NAME")]
    name: TrackName,
    /// Write the values in this form
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    format: Form,
}

/// The form of the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Comma-separated values with a header line
    #[default]
    Csv,
    /// One JSON object per value
    Jsonl,
}

const FIELDS: [&str; 9] =
    ["benchmark", "commit", "subject", "experiment", "block", "role", "version", "metric", "value"];

pub(super) fn execute(arguments: &Arguments, tracks: &Tracks, console: &Console) -> Result<Exit, Failure> {
    let values = tracks.require(&arguments.name)?.values()?;
    match arguments.format {
        Form::Csv => print_csv(console, &values, &FIELDS)?,
        Form::Jsonl => {
            let line = |value: &TrackValue| serde_json::to_value(value).map(|value| json_line(&value));
            let lines: Result<Vec<String>, _> = values.iter().map(line).collect();
            print(console, &lines.map_err(Failure::infrastructure)?.join("\n"))?;
        }
    }
    Ok(Exit::Done)
}
