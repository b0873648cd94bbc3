//! `speedup agent`: joins this host to the pool, tests its timer, or tells its facts and what it has not delivered.

mod facts;
mod selftest;

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand, value_parser};
use rustix::process::{Pid, getppid};
use serde_json::json;
use speedup_core::host::Sharing;
use speedup_core::plan;
use speedup_core::value::id::{AllocationId, BootId, HostId, JobId, NodeName};
use speedup_core::value::time::{Span, Timestamp};

use super::access::token;
use crate::arguments::span;
use crate::arguments::{Output, OutputArgument};
use crate::command::{print, print_json};
use crate::compose::{self, AccessFile, Admittance, AgentOptions, Names, RebootCommand, TimerTesting};
use crate::connection::{CoordinatorAccess, CoordinatorArguments, directories};
use crate::console::Console;
use crate::{exit::Exit, exit::failure::Failure};

/// Runs an agent on this host, tests its timer, or prints its facts
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Start(Box<StartArguments>),
    Selftest(selftest::SelftestArguments),
    Facts(facts::FactsArguments),
    Outbox(OutboxArguments),
}

/// Starts an agent on this host
///
/// The agent executes one run at a time, and does nothing else during the run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup agent start\n\
    \x20 speedup agent start --coordinator https://login1:7077 --token-file token\n\n\
    The agent exits on SIGTERM. Reports that the coordinator has not acknowledged stay in the state directory, and \
    are sent at the next start.")]
pub(crate) struct StartArguments {
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    /// Enrol with the token in this file if this host has no certificate yet; - reads standard input
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The state directory, with outbox and certificate [default: $XDG_STATE_HOME/speedup/agent]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// The place on a local disk where programs run and plan files are cached, in a directory of the agent's own [default: the state directory; if that is on a network file system, $TMPDIR, /var/tmp, or /tmp]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// The id of this host [default: cluster and node of the Slurm job, or the machine id]
    #[arg(long, value_name = "ID", help_heading = "Identity")]
    host_id: Option<HostId>,
    /// Allow several hosts on this machine, each with its own --host-id
    ///
    /// All of them need this flag. It is for trials, and for containers with dedicated processors; reports say that they
    /// shared a machine.
    #[arg(long, help_heading = "Identity")]
    share_machine: bool,
    /// The id of this boot [default: the kernel's boot id]
    #[arg(long, value_name = "ID", help_heading = "Identity")]
    boot_id: Option<BootId>,
    /// The id of the allocation [default: the Slurm job, the pod or the container]
    #[arg(long, value_name = "ID", help_heading = "Identity")]
    allocation_id: Option<AllocationId>,
    /// The name of the node [default: Slurm's name]
    #[arg(long, value_name = "NAME", help_heading = "Identity")]
    node_name: Option<NodeName>,
    /// The job in which this agent runs [default: the Slurm job]
    #[arg(long, value_name = "ID", help_heading = "Identity")]
    job_id: Option<JobId>,
    /// When that job ends, in seconds since the Unix epoch: no run starts that may last longer [default: what Slurm says]
    #[arg(long, value_name = "SECONDS", help_heading = "Identity")]
    job_ends: Option<u64>,
    /// The command that reboots this host for plans that need it; split into words as by a shell, and run without one
    #[arg(long, value_name = "COMMAND", value_parser = words, help_heading = "Reboots")]
    reboot_command: Option<Words>,
    /// How long this host may take to shut down after that command before the reboot counts as failed
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = span, requires = "reboot_command", help_heading = "Reboots")]
    reboot_patience: Span,
    /// The maximum size of the cache of plan files; the least recently used go first
    #[arg(long, value_name = "SIZE", default_value = "10GiB", value_parser = plan::file::size)]
    file_cache: u64,
    /// Do not test the timer at start; use the result of an earlier test
    #[arg(long)]
    no_selftest: bool,
    /// Exit when the parent process exits, and at once if that is no longer process PID
    #[arg(long, value_name = "PID", num_args = 0..=1, require_equals = true, value_parser = value_parser!(i32).range(1..))]
    exit_with_parent: Option<Option<i32>>,
    /// Execute programs as this user (name or number); needs root
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Execute only what this file allows: commands, directories, settings (docs/agent.md)
    #[arg(long, value_name = "FILE")]
    limits: Option<PathBuf>,
    /// Where the kernel's files lie that tell of the host and set it, for tests
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    system_root: PathBuf,
}

#[derive(Clone, Debug)]
struct Words(Vec<String>);

fn words(text: &str) -> Result<Words, anyhow::Error> {
    let words = shlex::split(text).filter(|words| !words.is_empty());
    words.map(Words).ok_or_else(|| anyhow!("it is empty, or a quote is not closed"))
}

pub(crate) fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Selftest(arguments) => selftest::execute(&arguments, console),
        Verb::Facts(arguments) => facts::execute(&arguments, console),
        Verb::Outbox(arguments) => outbox(&arguments, console),
        Verb::Start(arguments) => start(*arguments),
    }
}

fn start(arguments: StartArguments) -> Result<Exit, Failure> {
    let token = arguments.token_file.as_deref().map(token::read).transpose()?;
    // Whoever has a token may have no access file that it can read.
    let addressed = token.as_ref().and_then(|_| arguments.coordinator.address());
    let CoordinatorAccess { url, credentials, .. } = match addressed {
        Some(url) => CoordinatorAccess { url, credentials: None, file: None },
        None => renewed(arguments.coordinator.require()?)?,
    };
    let places = arguments.coordinator.clone();
    let read = move || places.find().ok().flatten().map(|found| (found.url, found.credentials));
    let access_file: Option<AccessFile> = if token.is_some() { None } else { Some(Arc::new(read)) };
    let coordinator = Admittance { coordinator: url, credentials, token, access_file };
    let state = directories::or_state(arguments.state.as_deref(), "agent")?;
    let patience = arguments.reboot_patience.into();
    let reboot = arguments.reboot_command.map(|Words(command)| RebootCommand { command, patience });
    compose::agent(AgentOptions {
        coordinator,
        state,
        scratch: arguments.scratch,
        names: Names {
            host: arguments.host_id,
            boot: arguments.boot_id,
            allocation: arguments.allocation_id,
            node: arguments.node_name,
            job: arguments.job_id,
            ends: arguments.job_ends.map(|seconds| Timestamp(Span::from_secs(seconds).0)),
            sharing: if arguments.share_machine { Sharing::Shared } else { Sharing::Alone },
        },
        reboot,
        file_cache: arguments.file_cache,
        timer_test: if arguments.no_selftest { TimerTesting::Never } else { TimerTesting::WhenUntested },
        exit_with_parent: arguments
            .exit_with_parent
            .and_then(|process| process.map_or_else(getppid, Pid::from_raw)),
        user: arguments.user,
        limits: arguments.limits,
        system: arguments.system_root,
    })?;
    Ok(Exit::Done)
}

/// Renews what the access file has, if it is time to. The event loop for that is over before the agent begins, which is to be
/// alone in its process.
fn renewed(found: CoordinatorAccess) -> Result<CoordinatorAccess, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the event loop").map_err(Failure::infrastructure)?;
    Ok(runtime.block_on(found.renewed()))
}

/// Counts the reports of a stopped agent that the coordinator has not acknowledged
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup agent outbox --state /tmp/agent\n\n\
    If the count is not 0, keep the state directory: an agent that starts with it sends the reports.")]
pub(crate) struct OutboxArguments {
    /// The agent's state directory [default: $XDG_STATE_HOME/speedup/agent]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgument,
}

fn outbox(arguments: &OutboxArguments, console: &Console) -> Result<Exit, Failure> {
    let state = directories::or_state(arguments.state.as_deref(), "agent")?;
    let reports = compose::waiting_reports(&state)?;
    match arguments.output.output {
        Output::Json => print_json(console, &json!({ "state": state, "reports": reports }))?,
        Output::Table => print(console, &reports.to_string())?,
    }
    Ok(Exit::Done)
}
