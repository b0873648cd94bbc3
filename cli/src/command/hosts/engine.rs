//! `speedup hosts slurm` and `speedup hosts local`: an engine is asked for hosts, as many as the running plans need.

mod shown;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use speedup_core::value::time::Span;
use speedup_proto::v1;
use speedup_proto::v1::add_provisioner_request::{Engine, LocalProcesses, Slurm};

use crate::arguments::{Output, OutputArgument};
use crate::command::coordinator::span;
use crate::command::{by, print, print_json};
use crate::connection::{Connection, CoordinatorArguments};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;
use shown::Shown;

/// Seconds of an hour.
const HOUR: f64 = 3_600.0;

/// Takes hosts from Slurm, as many as the running plans need
#[derive(Debug, Subcommand)]
pub(crate) enum SlurmVerb {
    Add(AddSlurmArguments),
    Show(ShowSlurmArguments),
    Remove(RemoveSlurmArguments),
}

/// Runs agents as processes of the coordinator's machine, for trials
#[derive(Debug, Subcommand)]
pub(crate) enum LocalVerb {
    Add(AddLocalArguments),
    Show(ShowLocalArguments),
    Remove(RemoveLocalArguments),
}

/// What is allowed.
#[derive(Debug, Args)]
struct LimitArguments {
    /// The maximum number of jobs, queued or running
    #[arg(long, value_name = "N", default_value_t = 64)]
    max_jobs: u32,
    /// The maximum number of queued jobs
    #[arg(long, value_name = "N", default_value_t = 16)]
    max_queued: u32,
    /// The budget of node-hours over all jobs; when it is used up, all nodes are released
    #[arg(long, value_name = "HOURS", value_parser = node_hours)]
    node_hours: Option<Span>,
    /// How often to poll the jobs
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = span)]
    poll: Span,
    /// Print the request without sending it
    #[arg(long)]
    dry_run: bool,
}

/// Which coordinator, and how to print.
#[derive(Debug, Args)]
struct CommonArguments {
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    #[command(flatten)]
    output: OutputArgument,
}

/// Requests hosts from Slurm from now on
///
/// Each job is one agent on a whole node. The request replaces an earlier one.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup hosts slurm add --max-jobs 20 -- --partition short --time 30\n\n\
    Options after -- go to sbatch. A job that never starts is submitted first, to report wrong options at once.")]
pub(crate) struct AddSlurmArguments {
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    common: CommonArguments,
    /// Options of sbatch
    #[arg(last = true, value_name = "SBATCH_OPTIONS")]
    options: Vec<String>,
}

/// Shows the request to Slurm and its jobs
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup hosts slurm show")]
pub(crate) struct ShowSlurmArguments {
    #[command(flatten)]
    common: CommonArguments,
}

/// Ends the request to Slurm, and cancels its jobs
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup hosts slurm remove")]
pub(crate) struct RemoveSlurmArguments {
    #[command(flatten)]
    common: CommonArguments,
}

/// Starts agents on the coordinator's machine as running plans need them
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup hosts local add --max-jobs 2\n\n\
    These agents share one machine: do not use what they measure.")]
pub(crate) struct AddLocalArguments {
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    common: CommonArguments,
}

/// Shows the agents that were started, and their state
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup hosts local show")]
pub(crate) struct ShowLocalArguments {
    #[command(flatten)]
    common: CommonArguments,
}

/// Starts no more agents, and stops those that run
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup hosts local remove")]
pub(crate) struct RemoveLocalArguments {
    #[command(flatten)]
    common: CommonArguments,
}

/// Hours, as people write them.
fn node_hours(text: &str) -> Result<Span, anyhow::Error> {
    let hours: f64 = text.parse().map_err(|_| anyhow!("write a number of hours: 50 or 0.5"))?;
    if !(hours > 0.0 && hours <= 1e9) {
        return Err(anyhow!("write a number of hours above 0"));
    }
    Ok(Span((hours * HOUR * 1e9) as u64))
}

pub(super) async fn slurm(verb: SlurmVerb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        SlurmVerb::Add(AddSlurmArguments { limits, common, options }) => {
            add(Engine::Slurm(Slurm { options }), &limits, &common, console).await
        }
        SlurmVerb::Show(ShowSlurmArguments { common }) => show(&common, console).await,
        SlurmVerb::Remove(RemoveSlurmArguments { common }) => remove(&common, console).await,
    }
}

pub(super) async fn local(verb: LocalVerb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        LocalVerb::Add(AddLocalArguments { limits, common }) => {
            add(Engine::Local(LocalProcesses {}), &limits, &common, console).await
        }
        LocalVerb::Show(ShowLocalArguments { common }) => show(&common, console).await,
        LocalVerb::Remove(RemoveLocalArguments { common }) => remove(&common, console).await,
    }
}

async fn add(
    engine: Engine,
    limits: &LimitArguments,
    common: &CommonArguments,
    console: &Console,
) -> Result<Exit, Failure> {
    let request = v1::AddProvisionerRequest {
        engine: Some(engine),
        limits: Some(v1::ProvisionLimits {
            jobs: limits.max_jobs,
            queued: limits.max_queued,
            node_time_ns: limits.node_hours.map(|span| span.0),
        }),
        look_every_ns: limits.poll.0,
        dry_run: limits.dry_run,
        by: by(),
    };
    let connection = common.coordinator.connect().await?;
    let answer = connection.provision().add(request).await;
    connection.close().await;
    let answer = answer.map_err(|status| Failure::status("cannot request hosts", &status))?.into_inner();
    let v1::AddProvisionerResponse { command, script } = answer;
    match common.output.output {
        Output::Json => {
            print_json(console, &serde_json::json!({ "command": command, "script": script }))?;
        }
        Output::Table if limits.dry_run => print(console, &dry(&command, &script)?)?,
        Output::Table => {
            console.talk("Hosts are requested from now on, as many as the running plans need.");
        }
    }
    Ok(Exit::Done)
}

/// The command as a shell reads it, and the script that goes into it.
fn dry(command: &[String], script: &str) -> Result<String, Failure> {
    let words = shlex::try_join(command.iter().map(String::as_str));
    let words =
        words.map_err(|error| Failure::infrastructure(anyhow!("the command holds a zero byte: {error}")))?;
    if script.is_empty() {
        return Ok(words);
    }
    Ok(format!("{words} <<'END'\n{script}END"))
}

async fn show(common: &CommonArguments, console: &Console) -> Result<Exit, Failure> {
    let connection = common.coordinator.connect().await?;
    let shown = status(&connection).await;
    connection.close().await;
    let shown = shown?;
    match common.output.output {
        Output::Json => print_json(console, &shown)?,
        Output::Table => match &shown {
            Some(shown) => print(console, &shown.text(console.out))?,
            None => {
                console.talk("No hosts are requested; `speedup hosts slurm add` requests them from Slurm.");
            }
        },
    }
    Ok(Exit::Done)
}

async fn remove(common: &CommonArguments, console: &Console) -> Result<Exit, Failure> {
    let connection = common.coordinator.connect().await?;
    let answer = connection.provision().remove(v1::RemoveProvisionerRequest { by: by() }).await;
    connection.close().await;
    let answer = answer.map_err(|status| Failure::status("cannot end the request for hosts", &status))?;
    let removed = answer.into_inner().provisioner.map(Shown::from);
    match common.output.output {
        Output::Json => print_json(console, &removed)?,
        Output::Table => match removed {
            Some(removed) => console.talk(format_args!("No more hosts are requested. {}", removed.bill())),
            None => console.talk("No hosts were requested."),
        },
    }
    Ok(Exit::Done)
}

async fn status(connection: &Connection) -> Result<Option<Shown>, Failure> {
    let answer = connection.provision().show(v1::ShowProvisionerRequest {}).await;
    let answer = answer.map_err(|status| Failure::status("cannot show the request for hosts", &status))?;
    Ok(answer.into_inner().provisioner.map(Shown::from))
}

/// Says beside other things that an engine is asked for no more hosts, or not for some nodes, and why. A coordinator that cannot tell is no
/// reason to fail.
pub(in crate::command) async fn tell_if_it_stands_still(connection: &Connection, console: &Console) {
    if let Ok(Some(shown)) = status(connection).await {
        shown.troubles().for_each(|words| console.talk(words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_numbers_above_zero() {
        assert_eq!(node_hours("0.5").unwrap(), Span::from_secs(1_800));
        assert!(node_hours("0").is_err() && node_hours("-1").is_err() && node_hours("1h").is_err());
    }

    #[test]
    fn a_dry_run_can_be_pasted_into_a_shell() {
        let text = dry(&["sbatch".to_owned(), "--comment=a b".to_owned()], "#!/bin/sh\ntrue\n").unwrap();
        assert_eq!(text, "sbatch '--comment=a b' <<'END'\n#!/bin/sh\ntrue\nEND");
    }
}
