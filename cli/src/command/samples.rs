//! `speedup samples`: how many observations a question takes, before anything runs.

mod benchmarks;

use clap::Subcommand;

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;

/// How many observations a question takes, before anything runs
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Benchmarks(benchmarks::Arguments),
}

pub(super) fn execute(verb: &Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Benchmarks(arguments) => benchmarks::execute(arguments, console),
    }
}
