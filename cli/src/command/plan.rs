//! `speedup plan`: what a plan says, before anything runs.

mod check;
mod schema;

use clap::Subcommand;

use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Checks a plan without running it, or prints its JSON Schema
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Check(Box<check::Arguments>),
    Schema(schema::Arguments),
}

pub(super) fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Check(arguments) => check::execute(&arguments, console),
        Verb::Schema(arguments) => schema::execute(arguments, console),
    }
}
