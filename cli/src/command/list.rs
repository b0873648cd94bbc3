//! `speedup list`: the experiments.

use clap::Args;
use speedup_proto::convert::ExperimentStatus;

use super::{hosts, print, print_json, printed};
use crate::arguments::{Form, FormArgument};
use crate::connection::{SourceArguments, selector};
use crate::console::render::csv;
use crate::console::render::table::{Column, Ranked, print_fitted};
use crate::console::{Console, moment};
use crate::exit::Exit;
use crate::exit::failure::Failure;
use crate::exit::standing::{self, Shown};

/// Lists the experiments, the newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup list --limit 10\n  speedup list --output json")]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: SourceArguments,
    /// At most so many; all when 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    limit: u32,
    #[command(flatten)]
    output: FormArgument,
}

pub(super) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let connection = arguments.source.connect().await?;
    let listed = selector::list(&mut connection.experiments(), arguments.limit).await;
    hosts::tell_if_it_stands_still(&connection, console).await;
    connection.close().await;
    let experiments = listed?;
    match arguments.output.output {
        Form::Json => print_json(console, &experiments.iter().map(Shown::from).collect::<Vec<_>>())?,
        Form::Csv => {
            let experiments: Vec<Shown<'_>> = experiments.iter().map(Shown::from).collect();
            print(console, &csv::rows(&experiments, &FIELDS)?)?;
        }
        Form::Table if experiments.is_empty() => {
            console.talk("There is no experiment yet; `speedup submit PLAN` submits one.");
        }
        Form::Table => printed(print_fitted(&COLUMNS, NAME, experiments.iter().map(row), console))?,
    }
    Ok(Exit::Done)
}

/// The columns of CSV.
const FIELDS: [&str; 21] = [
    "experiment",
    "name",
    "phase",
    "cancelled",
    "reason",
    "words",
    "runs",
    "done",
    "tally.waiting",
    "tally.leased",
    "tally.running",
    "tally.measured",
    "tally.failed",
    "tally.abandoned",
    "tally.cancelled",
    "tally.lost_attempts",
    "cells",
    "hosts_here",
    "submitted_by",
    "submitted_ns",
    "finished_ns",
];
/// Where the name stands.
const NAME: usize = 1;
const COLUMNS: [Ranked; 7] = [
    (Column::Words("id"), 0),
    (Column::Words("name"), 0),
    (Column::Words("phase"), 0),
    (Column::Number("done"), 0),
    (Column::Number("failed"), 2),
    (Column::Number("lost"), 3),
    (Column::Words("submitted"), 1),
];

fn row(status: &ExperimentStatus) -> Vec<String> {
    vec![
        selector::short(status.experiment),
        status.name.clone(),
        standing::phase(status).to_owned(),
        format!("{}/{}", standing::done(&status.tally), status.tally.runs()),
        status.tally.failed.to_string(),
        status.tally.lost_attempts.to_string(),
        moment::local(status.submitted),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::render::table::table;
    use crate::exit::standing::tests::status;

    #[test]
    fn every_column_of_csv_is_a_field_of_the_json() {
        let status = status();
        let json = serde_json::to_value(Shown::from(&status)).unwrap();
        for field in FIELDS {
            assert!(json.pointer(&format!("/{}", field.replace('.', "/"))).is_some(), "{field}: {json}");
        }
    }

    #[test]
    fn an_experiment_is_one_line() {
        let text = table(&COLUMNS.map(|column| column.0), [row(&status())], Console::plain().out);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>().len(), 7);
        assert!(
            lines[1].starts_with("0193a5b2-7c3d  locale  running  0/60       0     0  2023-11-1"),
            "{text}"
        );
    }
}
