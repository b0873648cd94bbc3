//! `speedup hosts drain`, `resume`, `quarantine`, `approve`, `reset`: what a host is given, and whose its id is.

use clap::Args;
use speedup_proto::{convert::id_text, v1, v1::hosts_client::HostsClient};
use tonic::{Response, Status, transport::Channel};

use super::{HostStatus, show::standing};
use crate::{
    arguments::Output, arguments::OutputArgument, command::print_json, connection::Connection,
    connection::CoordinatorArguments, connection::by, connection::selector::Selector, console::Console,
    exit::Exit, exit::failure::Failure,
};

// A doc comment would be the help of the verbs.
#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    /// The host: its id, or its name if no other host has it
    host: String,
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    #[command(flatten)]
    output: OutputArgument,
}

/// Takes a host out of service because something is wrong with it
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup hosts quarantine node17 --reason \"its fan is broken\"")]
pub(crate) struct QuarantineArguments {
    #[command(flatten)]
    host: HostArguments,
    /// What is wrong with the host
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Lets an experiment use hosts of this host's class too
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup hosts approve node17 --experiment last")]
pub(crate) struct ApproveArguments {
    #[command(flatten)]
    host: HostArguments,
    /// The experiment: its id or the first digits of it, its name, or last
    #[arg(long, value_name = "ID")]
    experiment: Selector,
}

pub(super) async fn drain(arguments: HostArguments, console: &Console) -> Result<Exit, Failure> {
    let ask = async |mut client: HostsClient<Channel>, request| client.drain(request).await;
    change(&arguments, console, "drain", ask).await
}

pub(super) async fn resume(arguments: HostArguments, console: &Console) -> Result<Exit, Failure> {
    let ask = async |mut client: HostsClient<Channel>, request| client.resume(request).await;
    change(&arguments, console, "resume", ask).await
}

pub(super) async fn reset(arguments: HostArguments, console: &Console) -> Result<Exit, Failure> {
    let ask = async |mut client: HostsClient<Channel>, request| client.reset(request).await;
    change(&arguments, console, "reset", ask).await
}

pub(super) async fn quarantine(arguments: QuarantineArguments, console: &Console) -> Result<Exit, Failure> {
    let reason = arguments.reason;
    let ask = async |mut client: HostsClient<Channel>, request: v1::ChangeHostRequest| {
        let v1::ChangeHostRequest { host, by } = request;
        client.quarantine(v1::QuarantineRequest { host, by, reason }).await
    };
    change(&arguments.host, console, "quarantine", ask).await
}

pub(super) async fn approve(arguments: ApproveArguments, console: &Console) -> Result<Exit, Failure> {
    let (connection, experiment) = arguments.host.coordinator.find_experiment(&arguments.experiment).await?;
    let request =
        v1::ApproveRequest { host: arguments.host.host.clone(), experiment: id_text(experiment.0), by: by() };
    let answer = connection.hosts().approve(request).await;
    tell(connection, &arguments.host, console, "approve", answer).await
}

async fn change(
    arguments: &HostArguments,
    console: &Console,
    verb: &str,
    ask: impl AsyncFnOnce(HostsClient<Channel>, v1::ChangeHostRequest) -> Result<Response<v1::HostStatus>, Status>,
) -> Result<Exit, Failure> {
    let connection = arguments.coordinator.connect().await?;
    let request = v1::ChangeHostRequest { host: arguments.host.clone(), by: by() };
    let answer = ask(connection.hosts(), request).await;
    tell(connection, arguments, console, verb, answer).await
}

/// Tells how the host stands after the change.
async fn tell(
    connection: Connection,
    arguments: &HostArguments,
    console: &Console,
    verb: &str,
    answer: Result<Response<v1::HostStatus>, Status>,
) -> Result<Exit, Failure> {
    connection.close().await;
    let tried = format!("cannot {verb} host {}", arguments.host);
    let status = answer.map_err(|status| Failure::status(&tried, &status))?.into_inner();
    let host = HostStatus::try_from(status).map_err(|error| Failure::malformed(&tried, error))?;
    match arguments.output.output {
        Output::Json => print_json(console, &host)?,
        Output::Table => console.talk(format_args!("host {} is {}", host.called(), standing(&host))),
    }
    Ok(Exit::Done)
}
