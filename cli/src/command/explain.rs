//! `speedup explain`: why a run is not running.

use clap::Args;
use speedup_core::machine::Explanation;
use speedup_core::value::id::{ExperimentId, RunIndex};
use speedup_proto::convert::id_bytes;
use speedup_proto::v1;

use super::{hosts, print, print_json};
use crate::arguments::{Output, OutputArgument};
use crate::connection::selector::Selector;
use crate::connection::{Connection, SourceArguments};
use crate::console::Console;
use crate::console::render::explanation::sentences;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Says what a run is doing, or what it waits for
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup explain last 17")]
pub(crate) struct Arguments {
    /// The experiment: its id, the first digits of it, its name, or last
    #[arg(value_name = "ID")]
    experiment: Selector,
    /// The run, by its place in the plan's order, from 0; the export has it as `run`
    #[arg(value_name = "RUN")]
    run: u32,
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    output: OutputArgument,
}

pub(super) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let (connection, experiment) = arguments.source.find(&arguments.experiment).await?;
    let explained = explain(&connection, experiment, arguments.run).await;
    hosts::tell_if_it_stands_still(&connection, console).await;
    connection.close().await;
    let explanation = explained?;
    match arguments.output.output {
        Output::Json => print_json(console, &explanation)?,
        Output::Table => print(console, &sentences(RunIndex(arguments.run), &explanation))?,
    }
    Ok(Exit::Done)
}

async fn explain(
    connection: &Connection,
    experiment: ExperimentId,
    run: u32,
) -> Result<Explanation, Failure> {
    const TRIED: &str = "cannot explain the run";
    let request = v1::ExplainRequest { experiment: id_bytes(experiment.0), run };
    let answer = connection.experiments().explain(request).await;
    let answer = answer.map_err(|status| Failure::status(TRIED, &status))?;
    Explanation::try_from(answer.into_inner()).map_err(|error| Failure::malformed(TRIED, error))
}
