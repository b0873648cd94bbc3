//! `speedup agent outbox`: what the coordinator does not have yet.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::arguments::{Output, OutputArgument};
use crate::command::{print, print_json};
use crate::compose;
use crate::connection::directories;
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Counts the reports of a stopped agent that the coordinator has not acknowledged
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup agent outbox --state /tmp/agent\n\n\
    If the count is not 0, keep the state directory: an agent that starts with it sends the reports.")]
pub(crate) struct OutboxArguments {
    /// The agent's state directory [default: $XDG_STATE_HOME/speedup/agent]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgument,
}

pub(super) fn execute(arguments: &OutboxArguments, console: &Console) -> Result<Exit, Failure> {
    let state = directories::or_state(arguments.state.as_deref(), "agent")?;
    let reports = compose::waiting_reports(&state)?;
    match arguments.output.output {
        Output::Json => print_json(console, &json!({ "state": state, "reports": reports }))?,
        Output::Table => print(console, &reports.to_string())?,
    }
    Ok(Exit::Done)
}
