//! `speedup coordinator`: the service.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use jiff::SignedDuration;
use serde_json::json;
use speedup_core::machine::Settings;
use speedup_core::time::Span;

use super::print;
use crate::arguments::{Output, OutputArgument};
use crate::compose::{self, AgentPlace, Coordinator, CoordinatorOptions, Network};
use crate::connection::journal_failed;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::{access, directories};

/// The service that gives out runs and keeps what came of them
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Start(StartArguments),
}

/// Starts the coordinator; it serves until SIGTERM or Ctrl-C
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  speedup coordinator start --data /var/lib/speedup --bind 127.0.0.1:7077\n\n\
    What was acknowledged is on the disk: the coordinator may be killed and started again at any time."
)]
pub(crate) struct StartArguments {
    /// Where journal and store lie [default: $XDG_STATE_HOME/speedup/coordinator]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7077")]
    bind: SocketAddr,
    /// Listen where other machines can connect, though there is no TLS: whoever reaches the address may have programs
    /// executed on every host
    #[arg(long)]
    insecure_network: bool,
    /// How long a host may be away before the attempt it holds is given up
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = span)]
    host_grace: Span,
    /// How long a host may take to boot anew, where a plan wants that, before it is quarantined
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = span)]
    reboot_limit: Span,
    /// Where to write how the coordinator is found [default: $XDG_STATE_HOME/speedup/access.toml]
    #[arg(long, value_name = "FILE")]
    access_file: Option<PathBuf>,
    /// Where agents that an engine starts keep their state and logs, one folder a node: on a disk that all nodes share
    /// [default: $XDG_STATE_HOME/speedup/agents]
    #[arg(long, value_name = "DIR")]
    agents: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgument,
}

/// A length of time as in plan files.
pub(crate) fn span(text: &str) -> Result<Span, anyhow::Error> {
    let length: SignedDuration =
        text.parse().map_err(|_| anyhow!("write a length of time with its unit: 500ms, 60s, 10m or 1h"))?;
    u64::try_from(length.as_nanos()).map(Span).map_err(|_| anyhow!("it is negative or longer than 500 years"))
}

pub(super) async fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Start(arguments) => start(arguments, console).await,
    }
}

async fn start(arguments: StartArguments, console: &Console) -> Result<Exit, Failure> {
    let StartArguments {
        data,
        bind,
        insecure_network,
        host_grace,
        reboot_limit,
        access_file,
        agents,
        output,
    } = arguments;
    // Asked for first: a signal that comes while the journal is recovered is obeyed after.
    let interrupts = Interrupts::listen()?;
    let data = directories::or_state(data.as_deref(), "coordinator")?;
    let access_file = access::path(access_file.as_deref())?;
    let settings = Settings { host_grace, reboot_limit };
    let network = if insecure_network { Network::Trusted } else { Network::Loopback };
    let agents = Some(agent_place(agents.as_deref())?);
    let options = CoordinatorOptions { data: data.clone(), bind, network, settings, agents };
    compose::raise_open_files();
    let coordinator = compose::coordinator(options).await?;
    let url = compose::url(coordinator.address());
    let access = match access::write(&access_file, url.clone()) {
        Ok(access) => access,
        Err(failure) => {
            coordinator.stop().await;
            return Err(failure);
        }
    };
    console.talk(format_args!("listening on {url}"));
    if output.output == Output::Json {
        print(console, &json!({ "url": url, "data": data, "access_file": access_file }).to_string())?;
    }
    let served = serve(&coordinator, interrupts).await;
    let removed = access.remove();
    coordinator.stop().await;
    served.and(removed)?;
    Ok(Exit::Done)
}

/// Agents are this same program, and find their state by an absolute path wherever they start.
fn agent_place(state: Option<&Path>) -> Result<AgentPlace, Failure> {
    let state = directories::or_state(state, "agents")?;
    let state = std::path::absolute(&state)
        .with_context(|| format!("{} is no place for the agents' state", state.display()))
        .map_err(Failure::usage)?;
    let program = std::env::current_exe()
        .context("cannot find the program of this process")
        .map_err(Failure::infrastructure)?;
    Ok(AgentPlace { program, state })
}

async fn serve(coordinator: &Coordinator, mut interrupts: Interrupts) -> Result<(), Failure> {
    tokio::select! {
        () = interrupts.next() => Ok(()),
        failure = journal_failed(coordinator) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_written_as_in_plans() {
        assert_eq!(span("60s").unwrap(), Span::from_secs(60));
        assert_eq!(span("500ms").unwrap(), Span::from_millis(500));
        assert!(span("60").is_err() && span("-1s").is_err());
    }
}
