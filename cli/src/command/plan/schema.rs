//! `speedup plan schema`: the JSON Schema of the plan file, for editors.

use clap::Args;
use speedup_core::plan;

use crate::command::print_json;
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Prints the JSON Schema of the plan file, for editors
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = "Example:\n  speedup plan schema > speedup-plan.schema.json")]
pub(crate) struct Arguments {}

pub(super) fn execute(Arguments {}: Arguments, console: &Console) -> Result<Exit, Failure> {
    print_json(console, &plan::file::schema())?;
    Ok(Exit::Done)
}
