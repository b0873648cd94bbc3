//! `speedup pause`, `cancel` and `extend`, and what they have in common with `resume`: one
//! experiment, one request, the status after it.

use clap::Args;
use speedup_proto::convert::ExperimentStatus;
use speedup_proto::{v1, v1::experiments_client::ExperimentsClient};
use tonic::{Response, Status, transport::Channel};

use crate::command::print_json;
use crate::{
    arguments::Output, arguments::OutputArgument, connection::CoordinatorArguments,
    connection::selector::Selector, connection::selector::change_request, console::Console, exit::Exit,
    exit::failure::Failure, exit::standing, exit::standing::ExperimentSummary,
};

// A doc comment would be the help of the verbs.
#[derive(Debug, Args)]
pub(crate) struct ExperimentArguments {
    /// The experiment: its id or the first digits of it, its name, or last
    #[arg(value_name = "ID")]
    pub(crate) experiment: Selector,
    #[command(flatten)]
    pub(crate) coordinator: CoordinatorArguments,
    #[command(flatten)]
    output: OutputArgument,
}

impl ExperimentArguments {
    pub(crate) fn output(&self) -> Output {
        self.output.output
    }
}

/// Asks for one change, and tells how the experiment stands after it. `tried` completes "cannot …".
pub(crate) async fn change(
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
    let answer = ask(connection.experiments(), change_request(experiment)).await;
    let answer = answer.map_err(|status| Failure::status(&tried, &status))?.into_inner();
    let status = ExperimentStatus::try_from(answer).map_err(|error| Failure::malformed(&tried, error))?;
    match arguments.output.output {
        Output::Json => print_json(console, &ExperimentSummary::from(&status))?,
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

pub(crate) async fn pause(arguments: ExperimentArguments, console: &Console) -> Result<Exit, Failure> {
    change(&arguments, console, "pause", async |mut client, request| client.pause(request).await).await
}

pub(crate) async fn cancel(arguments: ExperimentArguments, console: &Console) -> Result<Exit, Failure> {
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

pub(crate) async fn extend(arguments: ExtendArguments, console: &Console) -> Result<Exit, Failure> {
    let runs = arguments.runs;
    change(&arguments.experiment, console, "extend", async |mut client, request| {
        let v1::ChangeRequest { experiment, by } = request;
        client.extend(v1::ExtendRequest { experiment, runs, by }).await
    })
    .await
}
