//! `speedup resume`: at a coordinator what is paused, on this machine what was interrupted.

use std::path::{Path, PathBuf};

use clap::Args;

use super::bench;
use crate::command::experiments::{change::ExperimentArguments, change::change};
use crate::{
    arguments::Output, connection::require_data, connection::selector::Selector, connection::started,
    console::Console, console::render::report::Extent, exit::Exit, exit::failure::Failure,
    session::Remainder, session::ReportingOptions, session::Session,
};

/// Resumes a paused experiment or an interrupted run
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup resume last\n\n\
    An experiment of `speedup run` or `bench` that Ctrl-C, a kill or a power cut ended goes on in this command, with the \
    data directory that it had: what was measured is kept, and nothing that is settled is executed again. It ends with \
    the report and the exit codes of `speedup run`.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    /// The data directory of the run that was interrupted, where --data named one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["coordinator", "access_file"])]
    data: Option<PathBuf>,
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let Arguments { experiment: change_of, data } = arguments;
    let telling = ReportingOptions {
        extent: Extent::Brief,
        output: change_of.output(),
        gate: None,
        rest: Remainder::Left,
    };
    if let Some(data) = data {
        require_data(&data)?;
        return go_on(console, &data, &change_of.experiment, false, telling).await;
    }
    if !change_of.coordinator.is_given()
        && let Some(started) = change_of.experiment.started(started::all())?
        && let Some(data) = started.place.unserved_directory()
    {
        require_data(data)?;
        return go_on(console, data, &started.experiment.into(), true, telling).await;
    }
    change(&change_of, console, "resume", async |mut client, request| client.resume(request).await).await
}

/// Goes on with what was left in a data directory, and shows what the verb that began it shows.
async fn go_on(
    console: &Console,
    data: &Path,
    which: &Selector,
    is_noted: bool,
    telling: ReportingOptions,
) -> Result<Exit, Failure> {
    let (mut session, left) = Session::reopen(console, data, which, is_noted).await?;
    let is_read = telling.output == Output::Table;
    let mut done = session.go_on(&left, telling).await;
    if is_read && done.is_ok() {
        let shown = bench::show_times(session.connection(), left.experiment, console).await;
        done = shown.and(done);
    }
    session.end(done).await
}
