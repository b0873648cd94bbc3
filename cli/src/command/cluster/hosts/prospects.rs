//! Why an experiment waits for hosts, and whether any may still come.

use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use speedup_core::{machine::Outlook, value::id::ExperimentId};
use speedup_proto::v1;
use tokio::time::{Instant, sleep};
use tonic::Code;

use super::engine::{QueueStatus, queues};
use crate::{
    connection::Connection, connection::selector, console::render::explanation::outlook,
    exit::failure::Failure, follow::HostWait, follow::PATIENCE,
};

/// Interval at which the coordinator is asked while an experiment waits: that at which it polls its engines by default.
const POLL: Duration = Duration::from_secs(5);
/// How long agents may take to join again after their coordinator restarted: they try every five seconds.
const REJOINING: Duration = Duration::from_secs(30);

/// What is said where a coordinator of an earlier release does not say it.
const UNEXPLAINED: &str =
    "This coordinator does not say what its runs wait for; `speedup explain ID RUN` says it of one.";

/// What to do where nothing brings hosts.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::command) struct HostsArguments {
    /// Keep waiting where nothing is known to bring hosts that the experiment could use
    #[arg(long)]
    pub(in crate::command) wait_for_hosts: bool,
}

/// How long an experiment that waits for hosts is waited for. There is no limit where hosts are announced: a queue requests them, the
/// agent of a job has not joined yet, or one is being started by ssh.
fn patience(queues: &[v1::Provisioner], hosts: &[v1::SshHost]) -> Option<Duration> {
    let mut jobs = queues.iter().flat_map(|queue| &queue.jobs);
    let is_announced = queues.iter().any(|queue| queue.stopped.is_none())
        || jobs.any(|job| job.host.is_none() && ["queued", "running"].contains(&job.state.as_str()))
        || hosts.iter().any(|host| !["serving", "failing"].contains(&host.state.as_str()));
    match is_announced {
        true => None,
        // Users may start agents, and ssh may reach a host again.
        false if queues.is_empty() || !hosts.is_empty() => Some(PATIENCE),
        false => Some(REJOINING),
    }
}

/// Says why an experiment waits for hosts whenever that changes, and ends when it need not be waited for any longer.
pub(in crate::command) async fn until_hopeless(
    connection: &Connection,
    experiment: ExperimentId,
    waiting: &HostWait,
    arguments: HostsArguments,
) -> Failure {
    let mut phase = waiting.is_waiting.subscribe();
    loop {
        // It never fails, because the sender is at hand.
        let _ = phase.wait_for(|is_waiting| *is_waiting).await;
        let mut since = Instant::now();
        while *phase.borrow() {
            match look(connection, experiment).await {
                Ok((patience, why)) => {
                    let is_over = patience.is_some_and(|patience| since.elapsed() >= patience);
                    if is_over && !arguments.wait_for_hosts {
                        return hopeless(experiment, why);
                    }
                    if *waiting.why.borrow() != why {
                        waiting.why.send_replace(why);
                    }
                }
                // A coordinator that is away knows of no host when it is back.
                Err(_) => since = Instant::now(),
            }
            tokio::select! {
                () = sleep(POLL) => {}
                // Hosts came, even if it waits again by now.
                _ = phase.changed() => since = Instant::now(),
            }
        }
    }
}

/// How long the hosts are waited for, and why none takes a run, in the words of `explain`.
async fn look(
    connection: &Connection,
    experiment: ExperimentId,
) -> Result<(Option<Duration>, String), Failure> {
    const TRIED: &str = "cannot explain the experiment";
    let queues = queues(connection).await?;
    let hosts = match connection.provision().show_ssh_hosts(v1::ShowSshHostsRequest {}).await {
        Ok(answer) => answer.into_inner().hosts,
        // A coordinator of an earlier release starts no agents by ssh.
        Err(status) if status.code() == Code::Unimplemented => Vec::new(),
        Err(status) => return Err(Failure::status(TRIED, &status)),
    };
    let waits = match connection.experiments().explain_all(selector::get(experiment)).await {
        Ok(answer) => {
            let waits = Outlook::try_from(answer.into_inner());
            outlook(&waits.map_err(|error| Failure::malformed(TRIED, error))?)
        }
        Err(status) if status.code() == Code::Unimplemented => UNEXPLAINED.to_owned(),
        Err(status) => return Err(Failure::status(TRIED, &status)),
    };
    let patience = patience(&queues, &hosts);
    let mut words: Vec<String> = Vec::new();
    for queue in queues.into_iter().map(QueueStatus::from) {
        words.extend(queue.troubles().chain(queue.queued()).chain(queue.waits_long()));
    }
    words.push(waits);
    Ok((patience, words.join("\n")))
}

fn hopeless(experiment: ExperimentId, why: String) -> Failure {
    Failure::infrastructure(anyhow!(why).context("nothing brings hosts that the experiment could use")).hint(
        format!(
            "it stays: start agents or request hosts, then wait for {} again; --wait-for-hosts waits for them meanwhile",
            selector::short(experiment)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(stopped: bool, jobs: &[(&str, Option<&str>)]) -> v1::Provisioner {
        let job = |(state, host): &(&str, Option<&str>)| v1::ProvisionedJob {
            state: (*state).to_owned(),
            host: host.map(str::to_owned),
            ..Default::default()
        };
        v1::Provisioner {
            stopped: stopped.then_some("its node hours are spent".to_owned()),
            jobs: jobs.iter().map(job).collect(),
            ..Default::default()
        }
    }

    fn by_ssh(state: &str) -> v1::SshHost {
        v1::SshHost { state: state.to_owned(), ..Default::default() }
    }

    #[test]
    fn announced_hosts_are_waited_for_without_a_limit() {
        let stopped = queue(true, &[("running", Some("n1")), ("ended", None)]);
        for (queues, hosts, expected) in [
            (vec![], vec![], Some(PATIENCE)),
            (vec![queue(false, &[])], vec![], None),
            (vec![stopped.clone()], vec![], Some(REJOINING)),
            (vec![stopped.clone(), queue(false, &[])], vec![], None),
            (vec![queue(true, &[("queued", None)])], vec![], None),
            (vec![stopped.clone()], vec![by_ssh("starting")], None),
            (vec![stopped], vec![by_ssh("failing")], Some(PATIENCE)),
            (vec![], vec![by_ssh("serving")], Some(PATIENCE)),
        ] {
            assert_eq!(patience(&queues, &hosts), expected, "{queues:?}, {hosts:?}");
        }
    }
}
