//! `speedup agent`: joins this host to the pool, tests its timer, or tells its facts.

mod facts;
mod selftest;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use speedup_core::host::Sharing;
use speedup_core::plan;
use speedup_core::value::id::{AllocationId, BootId, HostId, JobId, NodeName};
use speedup_core::value::time::Span;

use crate::command::coordinator::span;
use crate::command::token;
use crate::compose::{self, AccessFile, Admittance, AgentOptions, Names, RebootCommand, TimerTesting};
use crate::connection::{CoordinatorArguments, Found, directories};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// Joins this host to the pool, tests its timer, or tells its facts
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Start(Box<StartArguments>),
    Selftest(selftest::SelftestArguments),
    Facts(facts::FactsArguments),
}

/// Starts an agent on this host: it executes one run at a time, and is silent while it does
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  speedup agent start\n  speedup agent start --coordinator https://login1:7077 --token-file token\n\n\
    Ends on SIGTERM. Reports that were not acknowledged stay in the state directory and are sent at the next start."
)]
pub(crate) struct StartArguments {
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    /// Enrol with the token in this file where this host has no certificate yet; - reads standard input
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Where outbox and certificate of the agent lie [default: $XDG_STATE_HOME/speedup/agent]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Which host this is [default: cluster and node of Slurm's job, or the machine id of the system]
    #[arg(long, value_name = "ID")]
    host_id: Option<HostId>,
    /// Let other hosts be on this machine, each under a --host-id of its own, if all of them say so: for trials, and for
    /// containers with processors of their own; reports say that they were one machine
    #[arg(long)]
    share_machine: bool,
    /// Which boot of it this is [default: the kernel's boot id]
    #[arg(long, value_name = "ID")]
    boot_id: Option<BootId>,
    /// Which allocation of a cluster's engine this is [default: the job of Slurm, the pod or the container]
    #[arg(long, value_name = "ID")]
    allocation_id: Option<AllocationId>,
    /// Which node of a cluster's engine this is [default: Slurm's name of it]
    #[arg(long, value_name = "NAME")]
    node_name: Option<NodeName>,
    /// In which job of a cluster's engine this agent lives [default: the job of Slurm]
    #[arg(long, value_name = "ID")]
    job_id: Option<JobId>,
    /// Let the coordinator boot this host anew by this command, where a plan has hosts reboot between runs; its words are
    /// split as a shell would, and no shell is used
    #[arg(long, value_name = "COMMAND", value_parser = words)]
    reboot_command: Option<Words>,
    /// How long this host may take to go down from the start of that command; then it is told that it did not
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = span, requires = "reboot_command")]
    reboot_patience: Span,
    /// Most bytes of files of plans that are kept for runs to come; what was used longest ago goes first
    #[arg(long, value_name = "SIZE", default_value = "10GiB", value_parser = plan::file::size)]
    file_cache: u64,
    /// Join without having tested this host's timer; the result of an earlier test is used
    #[arg(long)]
    no_selftest: bool,
    /// End when the process that started this one ends
    #[arg(long)]
    exit_with_parent: bool,
    /// Execute programs as this user, by name or number, instead of the agent's own; needs root
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Execute nothing of plans but what this file allows: commands, directories, settings (docs/agent.md)
    #[arg(long, value_name = "FILE")]
    limits: Option<PathBuf>,
    /// Where the kernel's files lie that tell of the host and set it, for tests
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    system_root: PathBuf,
}

/// A command's words.
#[derive(Clone, Debug)]
struct Words(Vec<String>);

fn words(text: &str) -> Result<Words, anyhow::Error> {
    let words = shlex::split(text).filter(|words| !words.is_empty());
    words.map(Words).ok_or_else(|| anyhow!("it has no words, or a quote that is not closed"))
}

pub(super) fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Selftest(arguments) => selftest::execute(&arguments, console),
        Verb::Facts(arguments) => facts::execute(&arguments, console),
        Verb::Start(arguments) => start(*arguments),
    }
}

fn start(arguments: StartArguments) -> Result<Exit, Failure> {
    let token = arguments.token_file.as_deref().map(token::read).transpose()?;
    // Whoever has a token may have no access file that it can read.
    let addressed = token.as_ref().and_then(|_| arguments.coordinator.address());
    let Found { url, credentials } = match addressed {
        Some(url) => Found { url, credentials: None },
        None => arguments.coordinator.require()?,
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
        names: Names {
            host: arguments.host_id,
            boot: arguments.boot_id,
            allocation: arguments.allocation_id,
            node: arguments.node_name,
            job: arguments.job_id,
            sharing: if arguments.share_machine { Sharing::Shared } else { Sharing::Alone },
        },
        reboot,
        file_cache: arguments.file_cache,
        timer_test: if arguments.no_selftest { TimerTesting::Never } else { TimerTesting::WhenUntested },
        exit_with_parent: arguments.exit_with_parent,
        user: arguments.user,
        limits: arguments.limits,
        system: arguments.system_root,
    })?;
    Ok(Exit::Done)
}
