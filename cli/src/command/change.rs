//! What pause, resume, cancel and extend have in common: one experiment, one request, the status after it.

use clap::Args;
use speedup_core::value::id::ExperimentId;
use speedup_proto::convert::{ExperimentStatus, id_text};
use speedup_proto::v1;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use tonic::transport::Channel;
use tonic::{Response, Status};

use super::{by, print_json};
use crate::arguments::{Output, OutputArgument};
use crate::connection::CoordinatorArguments;
use crate::connection::selector::Selector;
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;
use crate::exit::standing::{self, Shown};

/// One experiment of one coordinator.
#[derive(Debug, Args)]
pub(super) struct ExperimentArguments {
    /// The experiment: its id or the first digits of it, its name, or last
    #[arg(value_name = "ID")]
    pub(super) experiment: Selector,
    #[command(flatten)]
    pub(super) coordinator: CoordinatorArguments,
    #[command(flatten)]
    output: OutputArgument,
}

impl ExperimentArguments {
    /// How the answer is printed.
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
