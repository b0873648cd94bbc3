//! `speedup list`: the experiments.

use clap::Args;
use speedup_proto::convert::ExperimentStatus;

use crate::command::cluster::hosts;
use crate::command::{print_csv, print_json};
use crate::{
    arguments::Form, arguments::FormArgument, connection::Connection, connection::SourceArguments,
    connection::directories, connection::selector, console::Console, console::moment,
    console::render::table::Column, console::render::table::RankedColumn,
    console::render::table::print_fitted, exit::Exit, exit::failure::Failure, exit::standing,
    exit::standing::ExperimentSummary,
};

/// Lists experiments, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup list --limit 10\n\
    \x20 speedup list --format json")]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: SourceArguments,
    /// List only experiments with this tag; repeatable, and all must be there
    #[arg(long = "tag", value_name = "WORD")]
    tags: Vec<String>,
    /// The maximum number to list; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0)]
    limit: u32,
    #[command(flatten)]
    output: FormArgument,
}

impl Arguments {
    /// How many of each place are asked for: tags are looked for among all.
    fn most(&self) -> u32 {
        if self.tags.is_empty() { self.limit } else { 0 }
    }
}

/// Experiments of one place.
struct ExperimentList {
    at: &'static str,
    experiments: Vec<ExperimentStatus>,
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let places = match arguments.source.is_given() {
        true => vec![
            experiments_of(arguments.source.connect().await?, COORDINATOR, arguments.most(), console).await?,
        ],
        false => everywhere(&arguments, console).await?,
    };
    // A column for the place says something only where there are several.
    let is_one_place = places.iter().filter(|place| !place.experiments.is_empty()).count() < 2;
    let mut listed: Vec<(&'static str, ExperimentStatus)> = places
        .into_iter()
        .flat_map(|place| place.experiments.into_iter().map(move |one| (place.at, one)))
        .filter(|(_, one)| arguments.tags.iter().all(|tag| one.tags.contains(tag)))
        .collect();
    listed.sort_by_key(|(_, one)| std::cmp::Reverse(one.submitted));
    if arguments.limit > 0 {
        listed.truncate(arguments.limit as usize);
    }
    let (at, experiments): (Vec<_>, Vec<_>) = listed.into_iter().unzip();
    match arguments.output.output {
        Form::Json => {
            print_json(console, &experiments.iter().map(ExperimentSummary::from).collect::<Vec<_>>())?;
        }
        Form::Csv => {
            let experiments: Vec<ExperimentSummary<'_>> =
                experiments.iter().map(ExperimentSummary::from).collect();
            print_csv(console, &experiments, &FIELDS)?;
        }
        Form::Table if experiments.is_empty() && !arguments.tags.is_empty() => {
            console.talk(format_args!("No experiment has the tag {}.", arguments.tags.join(" and ")));
        }
        Form::Table if experiments.is_empty() => {
            console.talk("There is no experiment yet; `speedup bench` and `speedup run` start one here, `speedup submit` at a coordinator.");
        }
        Form::Table if is_one_place => {
            print_fitted(&COLUMNS[..AT], NAME, experiments.iter().map(row), console)
                .map_err(Failure::printing)?;
        }
        Form::Table => {
            let rows = experiments.iter().zip(at).map(|(one, at)| [row(one), vec![at.to_owned()]].concat());
            print_fitted(&COLUMNS, NAME, rows, console).map_err(Failure::printing)?;
        }
    }
    Ok(Exit::Done)
}

/// The experiments of the usual coordinator, and those that were measured on this machine without one.
async fn everywhere(arguments: &Arguments, console: &Console) -> Result<Vec<ExperimentList>, Failure> {
    let mut places = Vec::new();
    for data in directories::locals()?.into_iter().filter(|data| data.join("journal").is_dir()) {
        let data = SourceArguments { data: Some(data), ..SourceArguments::default() };
        places.push(experiments_of(data.connect().await?, HERE, arguments.most(), console).await?);
    }
    let coordinator = &arguments.source.coordinator;
    if places.is_empty() || coordinator.find()?.is_some() {
        match coordinator.connect().await {
            Ok(connection) => {
                places.push(experiments_of(connection, COORDINATOR, arguments.most(), console).await?);
            }
            Err(failure) if places.is_empty() => return Err(failure),
            Err(failure) => {
                console
                    .warn(format_args!("only experiments of this machine are listed: {:#}", failure.error));
            }
        }
    }
    Ok(places)
}

async fn experiments_of(
    connection: Connection,
    at: &'static str,
    limit: u32,
    console: &Console,
) -> Result<ExperimentList, Failure> {
    let listed = selector::list(&mut connection.experiments(), limit).await;
    hosts::tell_if_it_stands_still(&connection, console).await;
    for words in selector::failing(&connection).await.unwrap_or_default() {
        console.warn(format_args!("{words}."));
    }
    connection.close().await;
    Ok(ExperimentList { at, experiments: listed? })
}

/// What was measured on this machine without a coordinator.
const HERE: &str = "this machine";
const COORDINATOR: &str = "coordinator";

const FIELDS: [&str; 22] = [
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
    "tags",
];
const NAME: usize = 1;
/// How many columns come before the place.
const AT: usize = 8;
const COLUMNS: [RankedColumn; 9] = [
    (Column::Words("id"), 0),
    (Column::Words("name"), 0),
    (Column::Words("phase"), 0),
    (Column::Number("done"), 0),
    (Column::Number("failed"), 2),
    (Column::Number("lost"), 3),
    (Column::Words("submitted"), 1),
    (Column::Words("tags"), 1),
    (Column::Words("at"), 1),
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
        status.tags.join(" "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{console::render::table::table, exit::standing::tests::status};

    #[test]
    fn every_column_of_csv_is_a_field_of_the_json() {
        let status = status();
        let json = serde_json::to_value(ExperimentSummary::from(&status)).unwrap();
        for field in FIELDS {
            assert!(json.pointer(&format!("/{}", field.replace('.', "/"))).is_some(), "{field}: {json}");
        }
    }

    #[test]
    fn an_experiment_is_one_line() {
        let text = table(&COLUMNS.map(|column| column.0)[..AT], [row(&status())], Console::plain().out);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>().len(), 8);
        assert!(lines[1].ends_with("  night"), "{text}");
        let cells: Vec<&str> = lines[1].split_whitespace().take(6).collect();
        assert_eq!(cells, ["0193a5b2-7c3d", "locale", "running", "0/60", "0", "0"]);
    }
}
