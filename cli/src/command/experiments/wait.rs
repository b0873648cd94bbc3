//! `speedup wait`: ends when an experiment does, for scripts.

use anyhow::anyhow;
use clap::Args;
use speedup_core::{value::id::ExperimentId, value::time::Span};
use speedup_proto::convert::StatusPhase;

use super::{watch::stuck, watch::why_abandoned};
use crate::arguments::span;
use crate::command::cluster::hosts::prospects::{HostsArguments, until_hopeless};
use crate::{
    connection::Connection, connection::CoordinatorArguments, connection::selector::Selector,
    console::Console, exit::Exit, exit::failure::Failure, exit::standing, exit::standing::ExperimentStanding,
    follow::FollowUpdate, follow::Follower, follow::HostWait, follow::HostWaitTold, follow::PATIENCE,
    follow::progress::why_waiting,
};

/// Waits until an experiment is finished
///
/// It says nothing meanwhile, unless no connected host can take any of its runs: then it says why.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup wait last --timeout 2h && speedup report last\n\n\
    The exit code is 0 if every run was measured; 1 if runs failed or the experiment was cancelled; 4 if runs could \
    not be executed, the coordinator paused the experiment or did not answer for five minutes, the timeout \
    expired, or nothing brings hosts (all queues have stopped; or there is no queue, and no host could take a run \
    for five minutes). The command keeps waiting while a user has paused the experiment.")]
pub(crate) struct Arguments {
    /// The experiment: its id or the first digits of it, its name, or last
    #[arg(value_name = "ID")]
    experiment: Selector,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    #[command(flatten)]
    hosts: HostsArguments,
    /// How long to wait at most; the experiment continues afterwards
    #[arg(long, value_name = "TIME", value_parser = span)]
    timeout: Option<Span>,
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let (connection, experiment) = arguments.coordinator.find_experiment(&arguments.experiment).await?;
    let timeout = async {
        match arguments.timeout {
            Some(timeout) => tokio::time::sleep(timeout.into()).await,
            None => std::future::pending().await,
        }
    };
    let waited = tokio::select! {
        waited = until_finished(&connection, experiment, arguments.hosts, console) => waited,
        () = timeout => Err(Failure::infrastructure(anyhow!("experiment {experiment} is not finished yet"))
            .hint("it continues; wait again, or use `speedup explain` to see what its runs are waiting for")),
    };
    connection.close().await;
    waited
}

/// Follows an experiment to its end, or until nothing brings the hosts that it waits for.
pub(crate) async fn until_finished(
    connection: &Connection,
    experiment: ExperimentId,
    hosts: HostsArguments,
    console: &Console,
) -> Result<Exit, Failure> {
    let waiting = HostWait::default();
    tokio::select! {
        done = follow(connection, experiment, &waiting, console) => done,
        failure = until_hopeless(connection, experiment, &waiting, hosts) => Err(failure),
    }
}

async fn follow(
    connection: &Connection,
    experiment: ExperimentId,
    waiting: &HostWait,
    console: &Console,
) -> Result<Exit, Failure> {
    let mut why = waiting.why.subscribe();
    let mut follower = Follower::new(connection.experiments(), experiment, PATIENCE);
    let mut has_told = false;
    let mut said = HostWaitTold::default();
    loop {
        let status = tokio::select! {
            told = follower.next() => match told? {
                FollowUpdate::Status(status) => status,
                FollowUpdate::Away { .. } => continue,
            },
            Ok(()) = why.changed() => {
                let why = why.borrow_and_update();
                if said.is_news(&why) {
                    console.talk(why.as_str());
                }
                continue;
            }
        };
        waiting.note(&status);
        if status.phase == StatusPhase::WaitingForHosts && !std::mem::replace(&mut has_told, true) {
            console.talk(format_args!("{} is waiting for hosts: {}", status.name, why_waiting(experiment)));
        }
        match ExperimentStanding::from(status.as_ref()) {
            ExperimentStanding::Open => {}
            ExperimentStanding::Stuck { reason } => return Err(stuck(experiment, &reason)),
            ExperimentStanding::Finished(Exit::Done) => return Ok(Exit::Done),
            ExperimentStanding::Finished(exit) => {
                // Silence is for those who got what they planned.
                console.talk(format_args!("{}: {}", status.name, standing::tally(&status.tally)));
                if let Some(text) = why_abandoned(connection, &status).await {
                    console.talk(text);
                }
                return Ok(exit);
            }
        }
    }
}
