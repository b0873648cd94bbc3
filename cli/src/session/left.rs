//! Experiments that earlier commands left with runs to execute.

use std::path::Path;

use anyhow::anyhow;
use speedup_core::value::id::ExperimentId;
use speedup_proto::convert::{ExperimentStatus, StatusPhase};

use crate::{
    connection::Connection, connection::selector, connection::selector::Selector,
    connection::selector::change_request, console::Console, exit::failure::Failure, exit::standing,
};

/// Experiments that are left for `resume` in a directory; older ones are cancelled, so that the coordinator's own bound is never
/// met by what nobody goes on with.
const MOST_LEFT: usize = 100;

/// An experiment that was left with runs to execute.
#[derive(Clone, Debug)]
pub(crate) struct LeftExperiment {
    pub(crate) experiment: ExperimentId,
    pub(super) name: String,
}

/// The experiment that is meant, with its name, if it is not finished.
pub(super) async fn left(connection: &Connection, which: &Selector) -> Result<LeftExperiment, Failure> {
    let mut client = connection.experiments();
    let experiment = which.resolve(&mut client, &[]).await?;
    let answer = client.get(selector::get(experiment)).await;
    let answer = answer.map_err(|status| Failure::status("cannot find the experiment", &status))?;
    let status = ExperimentStatus::try_from(answer.into_inner());
    let status = status.map_err(|error| Failure::malformed("cannot find the experiment", error))?;
    match status.phase {
        StatusPhase::Finished { .. } | StatusPhase::Cancelling => {
            let words = anyhow!("{} ({experiment}) is {}", status.name, standing::phase(&status));
            Err(Failure::usage(words.context("the experiment has no runs left to execute"))
                .hint("`speedup run PLAN` starts a new one"))
        }
        StatusPhase::Running
        | StatusPhase::WaitingForHosts
        | StatusPhase::Deciding
        | StatusPhase::Paused { .. } => Ok(LeftExperiment { experiment, name: status.name }),
    }
}

/// Pauses the experiments of commands that were killed: their runs must not go before ours. `data` is the directory, where it
/// has to be named to find them.
pub(super) async fn leave(
    connection: &Connection,
    except: Option<ExperimentId>,
    console: &Console,
    data: Option<&Path>,
) -> Result<(), Failure> {
    let listed = selector::list(&mut connection.experiments(), 0).await?;
    let open = listed.into_iter().filter(|one| Some(one.experiment) != except);
    let open = open.filter(|one| match one.phase {
        StatusPhase::Finished { .. } | StatusPhase::Cancelling => false,
        StatusPhase::Running
        | StatusPhase::WaitingForHosts
        | StatusPhase::Deciding
        | StatusPhase::Paused { .. } => true,
    });
    // The list begins with the newest: those are the ones that somebody still goes on with.
    for (place, left) in open.enumerate() {
        let experiment = left.experiment;
        if place >= MOST_LEFT {
            cancel(connection, experiment).await?;
        } else if !matches!(left.phase, StatusPhase::Paused { .. }) {
            pause(connection, experiment).await?;
            console.talk(format_args!(
                "{} was not finished when the command that started it ended: `speedup resume {}` continues where it stopped",
                left.name,
                named(experiment, data)
            ));
        }
    }
    Ok(())
}

/// The experiment as a later command finds it: by its id alone, or in the directory that has to be named.
pub(super) fn named(experiment: ExperimentId, data: Option<&Path>) -> String {
    match data {
        None => selector::short(experiment),
        Some(data) => format!("{experiment} --data {}", data.display()),
    }
}

pub(super) async fn pause(connection: &Connection, experiment: ExperimentId) -> Result<(), Failure> {
    let answer = connection.experiments().pause(change_request(experiment)).await;
    answer.map_err(|status| Failure::status("cannot pause the experiment", &status))?;
    Ok(())
}

pub(super) async fn cancel(connection: &Connection, experiment: ExperimentId) -> Result<(), Failure> {
    let answer = connection.experiments().cancel(change_request(experiment)).await;
    answer.map_err(|status| Failure::status("cannot cancel the experiment", &status))?;
    Ok(())
}
