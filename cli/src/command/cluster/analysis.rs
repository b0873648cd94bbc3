//! `speedup analysis`: the analysis on its own, beside a coordinator elsewhere.

use std::net::SocketAddr;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::command::{json_line, print};
use crate::{
    arguments::Output, arguments::OutputArgument, compose, compose::AnalysisOptions,
    connection::CoordinatorArguments, console::Console, exit::Exit, exit::failure::Failure,
    follow::interrupt::Interrupts,
};

/// Serves reports and comparisons over gRPC in a separate process
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Start(StartArguments),
}

/// Starts the analysis service; it serves until SIGTERM or Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup analysis start --insecure --bind 127.0.0.1:7078\n\n\
    Every coordinator has the same service at its own address; this process takes long computations off it. It \
    queries the coordinator on each request, and stores nothing.")]
pub(crate) struct StartArguments {
    #[command(flatten)]
    coordinator: CoordinatorArguments,
    /// The address to listen on; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7078")]
    bind: SocketAddr,
    /// Serve every user of this machine without TLS, which this service does not have
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    output: OutputArgument,
}

pub(crate) async fn execute(verb: Verb, console: &Console) -> Result<Exit, Failure> {
    match verb {
        Verb::Start(arguments) => start(arguments, console).await,
    }
}

async fn start(arguments: StartArguments, console: &Console) -> Result<Exit, Failure> {
    let StartArguments { coordinator, bind, insecure, output } = arguments;
    let mut interrupts = Interrupts::listen()?;
    if !insecure {
        return Err(Failure::usage(anyhow!("this service has no TLS of its own")).hint(
            "--insecure lets every user of this machine ask it, with the rights of its access file; the coordinator has \
             the same service over TLS",
        ));
    }
    // It lasts as long as this process, and takes renewed certificates meanwhile.
    let coordinator = coordinator.require()?.renewed().await.reach()?;
    let asked = coordinator.url().to_owned();
    let mut service = compose::analysis(AnalysisOptions { coordinator, bind }).await?;
    let (url, coordinator) = (format!("http://{}", service.address()), asked);
    console.talk(format_args!("listening on {url}, asking the coordinator at {coordinator}"));
    let printed = match output.output {
        Output::Json => print(console, &json_line(&json!({ "url": url, "coordinator": coordinator }))),
        Output::Table => Ok(()),
    };
    if printed.is_ok() {
        tokio::select! {
            _ = interrupts.next() => {}
            ended = service.ended() => {
                return Err(Failure::infrastructure(anyhow!("the analysis cannot continue: {ended}")));
            }
        }
    }
    service.stop().await;
    printed?;
    Ok(Exit::Done)
}
