//! Why an experiment waits for hosts, and whether any may still come.

use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use speedup_core::machine::Outlook;
use speedup_core::value::id::ExperimentId;
use speedup_proto::v1;
use tokio::time::{Instant, sleep};

use super::engine::{Shown, queues};
use crate::{
    connection::Connection, connection::selector, console::render::explanation::outlook,
    exit::failure::Failure, follow::PATIENCE, follow::Waiting,
};

/// Interval at which the coordinator is asked while an experiment waits: that at which it polls its engines by default.
const POLL: Duration = Duration::from_secs(5);
/// How long agents may take to join again after their coordinator restarted: they try every five seconds.
const REJOINING: Duration = Duration::from_secs(10);

/// What to do where nothing brings hosts.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::command) struct HostsArguments {
    /// Keep waiting where nothing is known to bring hosts that the experiment could use
    #[arg(long)]
    pub(in crate::command) wait_for_hosts: bool,
}

/// What may bring hosts to an experiment that waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prospect {
    /// A queue requests hosts, the agent of a job has not joined yet, or one is being started by ssh.
    Announced,
    /// Users may start agents, or ssh may reach a host again: nobody knows.
    Unannounced,
    /// Every queue has stopped.
    Stopped,
}

impl Prospect {
    fn new(queues: &[v1::Provisioner], hosts: &[v1::SshHost]) -> Self {
        let is_open = |job: &v1::ProvisionedJob| {
            job.host.is_none() && matches!(job.state.as_str(), "queued" | "running")
        };
        let is_under_way = |host: &v1::SshHost| {
            matches!(host.state.as_str(), "looking" | "copying" | "starting" | "rebooting")
        };
        if queues.iter().any(|queue| queue.stopped.is_none() || queue.jobs.iter().any(is_open))
            || hosts.iter().any(is_under_way)
        {
            Self::Announced
        } else if queues.is_empty() || !hosts.is_empty() {
            Self::Unannounced
        } else {
            Self::Stopped
        }
    }

    /// How long an experiment waits for hosts at most.
    const fn patience(self) -> Option<Duration> {
        match self {
            Self::Announced => None,
            Self::Unannounced => Some(PATIENCE),
            Self::Stopped => Some(REJOINING),
        }
    }
}

/// Says why an experiment waits for hosts whenever that changes, and ends when it need not be waited for any longer.
pub(in crate::command) async fn until_hopeless(
    connection: &Connection,
    experiment: ExperimentId,
    waiting: &Waiting,
    arguments: HostsArguments,
) -> Failure {
    let mut phase = waiting.is_waiting.subscribe();
    loop {
        // It never fails, because the sender is at hand.
        let _ = phase.wait_for(|is_waiting| *is_waiting).await;
        let mut since = Instant::now();
        while *phase.borrow() {
            match look(connection, experiment).await {
                Ok((prospect, why)) => {
                    let is_patient = arguments.wait_for_hosts
                        || prospect.patience().is_none_or(|patience| since.elapsed() < patience);
                    if !is_patient {
                        return hopeless(experiment, why);
                    }
                    if *waiting.why.borrow() != why {
                        waiting.why.send_replace(why);
                    }
                }
                // A coordinator that is away knows of no host when it is back.
                Err(_) => since = Instant::now(),
            }
            sleep(POLL).await;
        }
    }
}

/// What may bring hosts, and why none takes a run, in the words of `explain`.
async fn look(connection: &Connection, experiment: ExperimentId) -> Result<(Prospect, String), Failure> {
    const TRIED: &str = "cannot explain the experiment";
    let failed = |status: tonic::Status| Failure::status(TRIED, &status);
    let queues = queues(connection).await?;
    let hosts = connection.provision().show_ssh_hosts(v1::ShowSshHostsRequest {}).await;
    let hosts = hosts.map_err(failed)?.into_inner().hosts;
    let waits = connection.experiments().explain_all(selector::get(experiment)).await;
    let waits = Outlook::try_from(waits.map_err(failed)?.into_inner());
    let waits = waits.map_err(|error| Failure::malformed(TRIED, error))?;
    let prospect = Prospect::new(&queues, &hosts);
    let mut words: Vec<String> = Vec::new();
    for queue in queues.into_iter().map(Shown::from) {
        words.extend(queue.troubles().chain(queue.queued()).chain(queue.waits_long()));
    }
    words.push(outlook(&waits));
    Ok((prospect, words.join("\n")))
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
    fn what_may_bring_hosts_is_waited_for() {
        let stopped = queue(true, &[("running", Some("n1")), ("ended", None)]);
        for (queues, hosts, prospect) in [
            (vec![], vec![], Prospect::Unannounced),
            (vec![queue(false, &[])], vec![], Prospect::Announced),
            (vec![stopped.clone()], vec![], Prospect::Stopped),
            (vec![stopped.clone(), queue(false, &[])], vec![], Prospect::Announced),
            (vec![queue(true, &[("queued", None)])], vec![], Prospect::Announced),
            (vec![stopped.clone()], vec![by_ssh("starting")], Prospect::Announced),
            (vec![stopped], vec![by_ssh("failing")], Prospect::Unannounced),
            (vec![], vec![by_ssh("serving")], Prospect::Unannounced),
        ] {
            assert_eq!(Prospect::new(&queues, &hosts), prospect, "{queues:?}, {hosts:?}");
        }
    }
}
