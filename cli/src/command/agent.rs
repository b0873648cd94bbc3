//! `speedup agent`: joins this host to the pool, tests its timer, or tells its facts.

mod facts;
mod selftest;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use speedup_core::id::{AllocationId, BootId, HostId};

use crate::compose::{self, AgentOptions, TimerTesting};
use crate::connection::CoordinatorArguments;
use crate::console::Console;
use crate::directories;
use crate::exit::Exit;
use crate::failure::Failure;

/// Joins this host to the pool, tests its timer, or tells its facts
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Start(StartArguments),
    Selftest(selftest::SelftestArguments),
    Facts(facts::FactsArguments),
}

/// Starts an agent on this host: it executes one run at a time, and is silent while it does
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup agent start --coordinator http://127.0.0.1:7077\n\n\
    Ends on SIGTERM. Reports that were not acknowledged stay in the state directory and are sent at the next start.")]
pub(crate) struct StartArguments {
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    /// Where outbox and identity of the agent lie [default: $XDG_STATE_HOME/speedup/agent]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Which machine this is [default: the machine id of the system]
    #[arg(long, value_name = "ID")]
    host_id: Option<HostId>,
    /// Which boot of it this is [default: the kernel's boot id]
    #[arg(long, value_name = "ID")]
    boot_id: Option<BootId>,
    /// Which allocation of a cluster's engine this is [default: what the engine's environment says]
    #[arg(long, value_name = "ID")]
    allocation_id: Option<AllocationId>,
    /// Join without having tested this host's timer; the result of an earlier test is used
    #[arg(long)]
    no_selftest: bool,
    /// End when the process that started this one ends
    #[arg(long)]
    exit_with_parent: bool,
    /// Execute programs as this user, by name or number, instead of the agent's own; needs root
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Where the kernel's files lie that tell of the host and set it, for tests
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    system_root: PathBuf,
}

pub(super) fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Selftest(arguments) => selftest::execute(&arguments, console),
        Verb::Facts(arguments) => facts::execute(&arguments, console),
        Verb::Start(arguments) => start(arguments),
    }
}

fn start(arguments: StartArguments) -> Result<Exit, Failure> {
    let coordinator = arguments.coordinator.required_url()?;
    let state = directories::or_state(arguments.state.as_deref(), "agent")?;
    compose::agent(AgentOptions {
        coordinator,
        state,
        host: arguments.host_id,
        boot: arguments.boot_id,
        allocation: arguments.allocation_id,
        timer_test: if arguments.no_selftest { TimerTesting::Never } else { TimerTesting::WhenUntested },
        exit_with_parent: arguments.exit_with_parent,
        user: arguments.user,
        system: arguments.system_root,
    })?;
    Ok(Exit::Done)
}
