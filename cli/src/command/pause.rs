//! `speedup pause`.

use clap::Args;

use super::change::{ExperimentArguments, change};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Pauses an experiment
///
/// Runs in progress finish; no further runs start until you resume the experiment.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup pause last")]
pub(crate) struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
}

pub(super) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    change(&arguments.experiment, console, "pause", async |mut client, request| client.pause(request).await)
        .await
}
