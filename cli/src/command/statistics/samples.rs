//! `speedup samples`: how many observations a question takes, before anything runs.

mod benchmarks;
mod levels;
pub(crate) mod pilot;
mod repetitions;

use clap::Subcommand;

use crate::{console::Console, exit::Exit, exit::failure::Failure};

/// Computes how many benchmarks or runs to plan
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Benchmarks(benchmarks::Arguments),
    Repetitions(repetitions::Arguments),
    Levels(levels::Arguments),
}

pub(crate) fn execute(verb: &Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Benchmarks(arguments) => benchmarks::execute(arguments, console),
        Verb::Repetitions(arguments) => repetitions::execute(arguments, console),
        Verb::Levels(arguments) => levels::execute(arguments, console),
    }
}
