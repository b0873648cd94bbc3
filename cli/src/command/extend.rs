//! `speedup extend`.

use clap::Args;
use speedup_proto::v1;

use super::change::{ExperimentArguments, change};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Adds runs to an experiment that is not finished
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup extend last --runs 20\n\n\
    Every cell gets the same number of further runs, in an order drawn from the plan's seed. An experiment that was \
    extended after its first results were seen is no longer the one that was planned, and its report says so.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    /// Further runs of each benchmark in each version
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

pub(super) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let runs = arguments.runs;
    change(&arguments.experiment, console, "extend", async |mut client, request| {
        let v1::ChangeRequest { experiment, by } = request;
        client.extend(v1::ExtendRequest { experiment, runs, by }).await
    })
    .await
}
