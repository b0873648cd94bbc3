//! `speedup plan`: what a plan says, before anything runs.

mod check;

use clap::{Args, Subcommand};
use speedup_core::plan;

use crate::{command::print_json, console::Console, exit::Exit, exit::failure::Failure};

/// Checks a plan without running it, or prints its JSON Schema
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Check(Box<check::Arguments>),
    Schema(SchemaArguments),
}

pub(crate) fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Check(arguments) => check::execute(&arguments, console),
        Verb::Schema(arguments) => print_schema(arguments, console),
    }
}

/// Prints the JSON Schema of the plan file, for editors
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = "Example:\n  speedup plan schema > speedup-plan.schema.json")]
pub(crate) struct SchemaArguments {}

fn print_schema(SchemaArguments {}: SchemaArguments, console: &Console) -> Result<Exit, Failure> {
    print_json(console, &plan::file::schema())?;
    Ok(Exit::Done)
}
