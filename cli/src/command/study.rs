//! `speedup study`: the papers' simulation studies, again, bisections of histories, tracks of commits, scaling, and a pool of runs compared with itself.

mod answer;
mod bisection;
mod coverage;
mod estimators;
mod false_alarms;
mod options;
mod pool;
mod power;
mod scaling;
mod track;

use clap::Subcommand;

use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Simulates how often the methods are right, as in the papers
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Coverage(coverage::Arguments),
    FalseAlarms(false_alarms::Arguments),
    Estimators(estimators::Arguments),
    Power(power::Arguments),
    Bisection(bisection::Arguments),
    Track(track::Arguments),
    Scaling(scaling::Arguments),
    Pool(pool::Arguments),
}

pub(super) fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Coverage(arguments) => coverage::execute(arguments, console),
        Verb::FalseAlarms(arguments) => false_alarms::execute(arguments, console),
        Verb::Estimators(arguments) => estimators::execute(arguments, console),
        Verb::Power(arguments) => power::execute(arguments, console),
        Verb::Bisection(arguments) => bisection::execute(arguments, console),
        Verb::Track(arguments) => track::execute(arguments, console),
        Verb::Scaling(arguments) => scaling::execute(arguments, console),
        Verb::Pool(arguments) => pool::execute(&arguments, console),
    }
}
