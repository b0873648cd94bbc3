//! `speedup track`: a standing experiment of a branch.

mod acknowledge;
mod add;
mod export;
mod list;
mod report;
mod run;

use clap::{Args, Subcommand};

use crate::{console::Console, exit::Exit, exit::failure::Failure, tracks::TrackName, tracks::Tracks};

/// Follows a branch: each commit beside a reference, for years
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Add(Box<add::Arguments>),
    Run(run::Arguments),
    Report(report::Arguments),
    Acknowledge(acknowledge::Arguments),
    Export(export::Arguments),
    List(list::Arguments),
    Remove(RemoveArguments),
}

/// Removes a track, with what it measured on this machine
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup track remove prog\n\n\
    Experiments of a coordinator stay there.")]
pub(crate) struct RemoveArguments {
    /// The track
    #[arg(value_name = "NAME")]
    name: TrackName,
}

pub(crate) async fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    let tracks = Tracks::open()?;
    match verb {
        Verb::Add(arguments) => add::execute(&arguments, &tracks, console),
        Verb::Run(arguments) => run::execute(arguments, &tracks, console).await,
        Verb::Report(arguments) => report::execute(&arguments, &tracks, console),
        Verb::Acknowledge(arguments) => acknowledge::execute(&arguments, &tracks, console),
        Verb::Export(arguments) => export::execute(&arguments, &tracks, console),
        Verb::List(arguments) => list::execute(&arguments, &tracks, console),
        Verb::Remove(RemoveArguments { name }) => tracks.remove(&name).map(|()| Exit::Done),
    }
}
