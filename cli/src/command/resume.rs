//! `speedup resume`.

use clap::Args;

use super::change::{ExperimentArguments, change};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Lets a paused experiment go on
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup resume last")]
pub(crate) struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
}

pub(super) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    change(&arguments.experiment, console, "resume", async |mut client, request| client.resume(request).await)
        .await
}
