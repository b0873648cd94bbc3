//! `speedup explain`: why a run is not running, or what all runs of an experiment wait for.

use clap::Args;
use serde::Serialize;
use serde_json::json;
use speedup_core::machine::{Explanation, LATEST_LOSSES, LostAttempt, Outlook};
use speedup_core::value::id::{ExperimentId, RunIndex};
use speedup_proto::{convert::ExperimentStatus, convert::StatusPhase, convert::id_text, v1};

use crate::command::cluster::hosts;
use crate::command::{print, print_json};
use crate::{
    arguments::Output, arguments::OutputArgument, connection::Connection, connection::SourceArguments,
    connection::selector, connection::selector::Selector, console::Console, console::render::counted,
    console::render::explanation::losses, console::render::explanation::outlook,
    console::render::explanation::sentences, exit::Exit, exit::failure::Failure, exit::standing,
    exit::standing::ExperimentSummary,
};

/// Says what an experiment, or one run of it, is waiting for
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup explain last\n  speedup explain last 17")]
pub(crate) struct Arguments {
    /// The experiment: its id or the first digits of it, its name, or last
    #[arg(value_name = "ID")]
    experiment: Selector,
    /// The run: its position in the plan's order, from 0; the column `run` of exports [default: all that wait]
    #[arg(value_name = "RUN")]
    run: Option<u32>,
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    output: OutputArgument,
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let (connection, experiment) = arguments.source.find(&arguments.experiment).await?;
    let explained = match arguments.run {
        Some(run) => explain(&connection, experiment, run).await.map(ExplainAnswer::Run),
        None => explain_all(&connection, experiment).await,
    };
    let is_left = connection.embedded().is_some();
    hosts::tell_of_queues(&connection, console).await;
    if let Ok(ExplainAnswer::All(all)) = &explained {
        hosts::tell_of_left_out(&connection, console, all.waits.given_up()).await;
    }
    connection.close().await;
    match (explained?, arguments.output.output) {
        (ExplainAnswer::Run(run), Output::Json) => print_json(console, &run)?,
        (ExplainAnswer::Run(ExplainedRun { state, lost }), Output::Table) => {
            let run = RunIndex(arguments.run.unwrap_or_default());
            print(console, &sentences(run, &state, lost.as_ref()))?;
        }
        (ExplainAnswer::All(all), Output::Json) => {
            let ExplainedExperiment { status, waits, lost } = &*all;
            print_json(
                console,
                &json!({ "status": ExperimentSummary::from(status), "outlook": waits, "lost": lost }),
            )?;
        }
        (ExplainAnswer::All(all), Output::Table) => {
            let named = arguments.source.data.as_ref().map(|data| format!(" --data {}", data.display()));
            print(console, &told(&all, is_left, &named.unwrap_or_default()))?;
        }
    }
    Ok(Exit::Done)
}

/// What was asked for.
enum ExplainAnswer {
    Run(ExplainedRun),
    All(Box<ExplainedExperiment>),
}

/// What one run does or waits for, and how its latest attempt that ended was lost, if it was.
#[derive(Debug, Serialize)]
struct ExplainedRun {
    #[serde(flatten)]
    state: Explanation,
    lost: Option<LostAttempt>,
}

/// What an experiment does and waits for, and its latest attempts that were lost.
struct ExplainedExperiment {
    status: ExperimentStatus,
    waits: Outlook,
    lost: Vec<LostAttempt>,
}

/// What an experiment waits for, or that it does not, and how its latest attempts were lost; `is_left` says that no command
/// carries it out, `named` what finds it.
fn told(explained: &ExplainedExperiment, is_left: bool, named: &str) -> String {
    let ExplainedExperiment { status, waits, lost } = explained;
    let stands = stands(status, waits, is_left, named);
    if lost.is_empty() { stands } else { format!("{stands}\n\n{}", losses(lost)) }
}

fn stands(status: &ExperimentStatus, waits: &Outlook, is_left: bool, named: &str) -> String {
    let id = selector::short(status.experiment);
    let head =
        format!("{} ({id}) is {}: {}.", status.name, standing::phase(status), standing::tally(&status.tally));
    let under_way = status.tally.leased + status.tally.running;
    match &status.phase {
        StatusPhase::Paused { reason } => {
            format!("{head} It was paused: {reason}. `speedup resume {id}{named}` lets it go on.")
        }
        StatusPhase::Running | StatusPhase::WaitingForHosts | StatusPhase::Deciding if is_left => {
            format!("{head} No command carries it out now: `speedup resume {id}{named}` goes on with it.")
        }
        StatusPhase::Running | StatusPhase::WaitingForHosts if !waits.waits.is_empty() => {
            format!("{head} {} under way.\n{}", counted(under_way.into(), "run"), outlook(waits))
        }
        StatusPhase::Running
        | StatusPhase::WaitingForHosts
        | StatusPhase::Deciding
        | StatusPhase::Cancelling
        | StatusPhase::Finished { .. } => head,
    }
}

async fn explain_all(connection: &Connection, experiment: ExperimentId) -> Result<ExplainAnswer, Failure> {
    const TRIED: &str = "cannot explain the experiment";
    let failed = |status: tonic::Status| Failure::status(TRIED, &status);
    let malformed = |error| Failure::malformed(TRIED, error);
    let mut client = connection.experiments();
    let status = client.get(selector::get(experiment)).await.map_err(failed)?.into_inner();
    let mut waits = client.explain_all(selector::get(experiment)).await.map_err(failed)?.into_inner();
    let lost = std::mem::take(&mut waits.lost).into_iter().take(LATEST_LOSSES).map(LostAttempt::try_from);
    Ok(ExplainAnswer::All(Box::new(ExplainedExperiment {
        lost: lost.collect::<Result<_, _>>().map_err(malformed)?,
        status: ExperimentStatus::try_from(status).map_err(malformed)?,
        waits: Outlook::try_from(waits).map_err(malformed)?,
    })))
}

async fn explain(
    connection: &Connection,
    experiment: ExperimentId,
    run: u32,
) -> Result<ExplainedRun, Failure> {
    const TRIED: &str = "cannot explain the run";
    let request = v1::ExplainRequest { experiment: id_text(experiment.0), run };
    let answer = connection.experiments().explain(request).await;
    let answer = answer.map_err(|status| Failure::status(TRIED, &status))?.into_inner();
    let malformed = |error| Failure::malformed(TRIED, error);
    let lost = answer.lost.clone().map(LostAttempt::try_from).transpose().map_err(malformed)?;
    Ok(ExplainedRun { state: Explanation::try_from(answer).map_err(malformed)?, lost })
}
