//! `speedup doctor`: looks at what is set up here, and says what is wrong and what to do.

mod disk;
mod finding;
mod host;
mod port;
mod reachable;

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

use self::finding::Verdict;
use super::coordinator;
use crate::arguments::{Output, OutputArgument};
use crate::command::{print, print_json};
use crate::connection::{CoordinatorArguments, access, directories};
use crate::console::Console;
use crate::{exit::Exit, exit::failure::Failure};

/// Checks the setup of this machine, and says how to fix it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup doctor\n\
    \x20 speedup doctor --data /var/lib/speedup/coordinator\n\
    \x20 speedup doctor --format json\n\n\
    It checks the connection to the coordinator, a coordinator's data directory, and an agent's host, as far as they \
    exist here, and changes nothing. Exit code 1 means that something is wrong; warnings do not count.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    /// The data directory of a coordinator on this machine [default: that of the default coordinator, if it exists]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The address on which that coordinator listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7077")]
    bind: SocketAddr,
    /// The state directory of an agent on this machine [default: the usual one, if it exists]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Where the kernel's files lie that tell of the host, for tests
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    system_root: PathBuf,
    #[command(flatten)]
    output: OutputArgument,
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let mut findings = reachable::findings(&arguments.coordinator).await;
    let chosen = arguments.data.is_some();
    let data = coordinator::data_directory(arguments.data.as_deref(), access::DEFAULT)?;
    if chosen || data.exists() {
        findings.extend(disk::findings("data directory", &data, disk::Use::Journal));
        findings.push(disk::open_files());
        findings.push(port::finding(arguments.bind, &data));
    }
    let chosen = arguments.state.is_some();
    let state = directories::or_state(arguments.state.as_deref(), "agent")?;
    if chosen || state.exists() {
        findings.extend(disk::findings("agent's state directory", &state, disk::Use::Programs));
        findings.push(host::timer(&state));
        findings.push(host::groups());
        findings.extend(host::findings(&arguments.system_root));
    }
    match arguments.output.output {
        Output::Json => print_json(console, &findings)?,
        Output::Table => {
            for finding in &findings {
                print(console, &finding.text(console.out))?;
            }
        }
    }
    let is_wrong = findings.iter().any(|finding| finding.verdict == Verdict::Wrong);
    Ok(if is_wrong { Exit::Failed } else { Exit::Done })
}
