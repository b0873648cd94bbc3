//! `speedup cancel`.

use clap::Args;

use super::change::{ExperimentArguments, change};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Cancels an experiment
///
/// Runs in progress finish, and all results so far are kept.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup cancel 0193a5b2-7c3d")]
pub(crate) struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
}

pub(super) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    change(&arguments.experiment, console, "cancel", async |mut client, request| client.cancel(request).await)
        .await
}
