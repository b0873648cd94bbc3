//! `speedup study`: a pool of runs compared with itself.

mod pool;

use clap::Subcommand;

use crate::{console::Console, exit::Exit, exit::failure::Failure};

/// Shows whether a pool of runs is as alike as the tests suppose
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Pool(pool::Arguments),
}

pub(crate) fn execute(verb: &Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Pool(arguments) => pool::execute(arguments, console),
    }
}
