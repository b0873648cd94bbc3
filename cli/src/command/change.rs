//! `speedup pause`, `cancel` and `extend`, and what they have in common with `resume`: one
//! experiment, one request, the status after it.

use clap::Args;
use speedup_core::value::id::ExperimentId;
use speedup_proto::convert::{ExperimentStatus, id_text};
use speedup_proto::v1;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use tonic::{Response, Status, transport::Channel};

use super::{by, print_json};
use crate::{
    arguments::Output, arguments::OutputArgument, connection::CoordinatorArguments,
    connection::selector::Selector, console::Console, exit::Exit, exit::failure::Failure, exit::standing,
    exit::standing::Shown,
};

// A doc comment would be the help of the verbs.
#[derive(Debug, Args)]
pub(crate) struct ExperimentArguments {
    /// The experiment: its id or the first digits of it, its name, or last
    #[arg(value_name = "ID")]
    pub(super) experiment: Selector,
    #[command(flatten)]
    pub(super) coordinator: CoordinatorArguments,
    #[command(flatten)]
    output: OutputArgument,
}

impl ExperimentArguments {
    pub(super) fn output(&self) -> Output {
        self.output.output
    }
}

/// Asks for one change, and tells how the experiment stands after it. `tried` completes "cannot …".
pub(super) async fn change(
    arguments: &ExperimentArguments,
    console: &Console,
    tried: &str,
    ask: impl AsyncFnOnce(
        ExperimentsClient<Channel>,
        v1::ChangeRequest,
    ) -> Result<Response<v1::ExperimentStatus>, Status>,
) -> Result<Exit, Failure> {
    let (connection, experiment) = arguments.coordinator.find_experiment(&arguments.experiment).await?;
    let tried = format!("cannot {tried} experiment {experiment}");
    let answer = ask(connection.experiments(), request(experiment)).await;
    let answer = answer.map_err(|status| Failure::status(&tried, &status))?.into_inner();
    let status = ExperimentStatus::try_from(answer).map_err(|error| Failure::malformed(&tried, error))?;
    match arguments.output.output {
        Output::Json => print_json(console, &Shown::from(&status))?,
        Output::Table => console.talk(format_args!(
            "{} ({experiment}) is {}: {}",
            status.name,
            standing::phase(&status),
            standing::tally(&status.tally)
        )),
    }
    connection.close().await;
    Ok(Exit::Done)
}

/// A request to change an experiment.
pub(super) fn request(experiment: ExperimentId) -> v1::ChangeRequest {
    v1::ChangeRequest { experiment: id_text(experiment.0), by: by() }
}

pub(super) async fn pause(arguments: ExperimentArguments, console: &Console) -> Result<Exit, Failure> {
    change(&arguments, console, "pause", async |mut client, request| client.pause(request).await).await
}

pub(super) async fn cancel(arguments: ExperimentArguments, console: &Console) -> Result<Exit, Failure> {
    change(&arguments, console, "cancel", async |mut client, request| client.cancel(request).await).await
}

/// Adds runs to an experiment that is not finished
#[derive(Debug, Args)]
#[command(after_help = "Example:\n\
    \x20 speedup extend last --runs 20\n\n\
    Every cell gets the same number of further runs, in an order drawn from the plan's seed. An experiment that was \
    extended after its first results were seen is no longer the one that was planned, and its report says so.")]
pub(crate) struct ExtendArguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    /// Further runs of each benchmark in each version
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

pub(super) async fn extend(arguments: ExtendArguments, console: &Console) -> Result<Exit, Failure> {
    let runs = arguments.runs;
    change(&arguments.experiment, console, "extend", async |mut client, request| {
        let v1::ChangeRequest { experiment, by } = request;
        client.extend(v1::ExtendRequest { experiment, runs, by }).await
    })
    .await
}
