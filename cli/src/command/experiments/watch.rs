//! `speedup watch`: live progress of a submitted experiment.

use anyhow::anyhow;
use clap::Args;
use speedup_core::value::id::ExperimentId;
use speedup_proto::convert::ExperimentStatus;

use crate::command::cluster::hosts::prospects::{HostsArguments, until_hopeless};
use crate::{
    connection::Connection, connection::CoordinatorArguments, connection::selector::Selector,
    console::Console, exit::Exit, exit::failure::Failure, exit::standing::ExperimentStanding,
    follow::FollowUpdate, follow::Follower, follow::HostWait, follow::HostWaitTold, follow::PATIENCE,
    follow::interrupt::Interrupts, follow::live, follow::live::ViewEnd, follow::progress::Progress,
    follow::progress::RunPlace, follow::progress::TimeLeft, follow::progress::sentence, results::failed_runs,
};

/// Shows the progress of an experiment
///
/// q or Ctrl-C detaches; the experiment continues.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup watch last\n\n\
    On a terminal, it shows the hosts, the counts of done, remaining, failed and lost runs, and the estimates so \
    far. Scroll with Tab, the arrow keys, PgUp and PgDn. If standard input or standard error is not a terminal, or \
    TERM is dumb, it prints plain lines.\n\n\
    It exits with the experiment: 0 if every run was measured, 1 if runs failed or it was cancelled, 4 if runs could \
    not be executed or, as for `speedup wait`, nothing brings hosts.")]
pub(crate) struct Arguments {
    /// The experiment: its id or the first digits of it, its name, or last
    #[arg(value_name = "ID")]
    experiment: Selector,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    #[command(flatten)]
    hosts: HostsArguments,
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let (connection, experiment) = arguments.coordinator.find_experiment(&arguments.experiment).await?;
    let mut interrupts = Interrupts::listen()?;
    let waiting = HostWait::default();
    let hopeless = until_hopeless(&connection, experiment, &waiting, arguments.hosts);
    let watched = if console.has_keys() {
        let seen = tokio::select! {
            seen = live::watch(&connection, experiment, console, &mut interrupts, &waiting) => seen,
            failure = hopeless => Err(failure),
        };
        after_the_view(seen, &connection, experiment, console).await
    } else {
        in_lines(&connection, experiment, console, &mut interrupts, &waiting, hopeless).await
    };
    connection.close().await;
    watched
}

/// Says on the usual screen what stays of the view: how it ended, and what to do next.
async fn after_the_view(
    seen: Result<ViewEnd, Failure>,
    connection: &Connection,
    experiment: ExperimentId,
    console: &Console,
) -> Result<Exit, Failure> {
    match seen? {
        ViewEnd::Finished { status, exit } => {
            console.talk(format_args!(
                "{}: {}",
                status.name,
                sentence(RunPlace::Pool, &status, TimeLeft::Untold)
            ));
            if let Some(text) = why_abandoned(connection, &status).await {
                console.talk(text);
            }
            console.talk(format_args!("`speedup report {experiment}` shows the report."));
            Ok(exit)
        }
        ViewEnd::Stuck { reason } => Err(stuck(experiment, &reason)),
        ViewEnd::Detached { paused, exit } => {
            tell_detached(experiment, paused, console);
            Ok(exit)
        }
    }
}

fn tell_detached(experiment: ExperimentId, paused: bool, console: &Console) {
    let goes_on = if paused { "stays paused" } else { "continues" };
    console.talk(format_args!(
        "Detached; the experiment {goes_on}. `speedup watch {experiment}` attaches again."
    ));
}

/// Where no keys can be read: a bar on a terminal, else plain lines.
async fn in_lines(
    connection: &Connection,
    experiment: ExperimentId,
    console: &Console,
    interrupts: &mut Interrupts,
    waiting: &HostWait,
    hopeless: impl Future<Output = Failure>,
) -> Result<Exit, Failure> {
    let mut progress = Progress::for_pool(console);
    let watched = tokio::select! {
        watched = follow(connection, experiment, waiting, &mut progress) => watched,
        failure = hopeless => Err(failure),
        exit = interrupts.next() => Ok(exit),
    };
    progress.end();
    if watched.as_ref().is_ok_and(|exit| exit.is_by_signal()) {
        tell_detached(experiment, progress.is_paused(), console);
    }
    watched
}

async fn follow(
    connection: &Connection,
    experiment: ExperimentId,
    waiting: &HostWait,
    progress: &mut Progress<'_>,
) -> Result<Exit, Failure> {
    let mut follower = Follower::new(connection.experiments(), experiment, PATIENCE);
    let mut why = waiting.why.subscribe();
    let mut said = HostWaitTold::default();
    loop {
        let status = tokio::select! {
            told = follower.next() => match told? {
                FollowUpdate::Status(status) => status,
                FollowUpdate::Away { failure } => {
                    let cause = failure.error.root_cause();
                    progress.say(&format!("The coordinator does not answer; retrying: {cause}"));
                    continue;
                }
            },
            Ok(()) = why.changed() => {
                let why = why.borrow_and_update();
                // Numbers in it change with every host that comes or goes.
                if said.is_news(&why) {
                    progress.say(why.as_str());
                }
                continue;
            }
        };
        waiting.note(&status);
        progress.show(&status);
        match ExperimentStanding::from(status.as_ref()) {
            ExperimentStanding::Open => {}
            ExperimentStanding::Finished(exit) => {
                if let Some(text) = why_abandoned(connection, &status).await {
                    progress.say(&text);
                }
                return Ok(exit);
            }
            ExperimentStanding::Stuck { reason } => return Err(stuck(experiment, &reason)),
        }
    }
}

/// Why runs of a finished experiment were abandoned. A reason that cannot be read does not change how it ended.
pub(crate) async fn why_abandoned(connection: &Connection, status: &ExperimentStatus) -> Option<String> {
    if status.tally.abandoned == 0 {
        return None;
    }
    failed_runs::read(connection, status.experiment).await.ok()?.abandoned(status.tally.abandoned)
}

/// An experiment that the coordinator paused by itself.
pub(crate) fn stuck(experiment: ExperimentId, reason: &str) -> Failure {
    Failure::infrastructure(anyhow!("{reason}").context("the coordinator paused the experiment")).hint(format!(
        "`speedup export {experiment}` has the reasons in loss_words; fix them, then `speedup resume {experiment}`"
    ))
}
