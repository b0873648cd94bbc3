//! The status of an experiment, as users see it: from the machine while it is active, from the store after.

use speedup_core::event::Tally;
use speedup_core::id::ExperimentId;
use speedup_core::machine::{Machine, Phase};
use speedup_core::plan::Plan;
use speedup_core::time::Timestamp;
use speedup_proto::v1;
use speedup_proto::v1::experiment_status as status;

/// The status of an active experiment.
pub(crate) fn active_status(machine: &Machine, id: ExperimentId) -> Option<v1::ExperimentStatus> {
    let active = machine.experiment(id)?;
    let (at, by) = active.submitted();
    let phase = match active.phase() {
        Phase::Running => status::Phase::Running(status::Running {}),
        Phase::Paused { reason } => status::Phase::Paused(status::Paused { reason: reason.clone() }),
        Phase::Cancelled => status::Phase::Cancelling(status::Cancelling {}),
    };
    Some(v1::ExperimentStatus {
        phase: Some(phase),
        tally: Some(active.tally().into()),
        hosts_here: machine.hosts_here(),
        ..submitted_status(id, active.plan(), at, by)
    })
}

/// The status of an experiment that was just submitted.
pub(crate) fn submitted_status(id: ExperimentId, plan: &Plan, at: Timestamp, by: &str) -> v1::ExperimentStatus {
    v1::ExperimentStatus {
        experiment: id.0.as_bytes().to_vec(),
        name: plan.experiment.name.clone(),
        submitted_ns: at.0,
        finished_ns: None,
        submitted_by: by.to_owned(),
        phase: Some(status::Phase::Running(status::Running {})),
        tally: Some(Tally { waiting: plan.runs(), ..Tally::default() }.into()),
        cells: plan.cells(),
        hosts_here: 0,
    }
}

/// The status after the last run was settled.
pub(crate) fn finished_status(
    before: v1::ExperimentStatus,
    at: Timestamp,
    tally: Tally,
    cancelled: bool,
) -> v1::ExperimentStatus {
    v1::ExperimentStatus {
        finished_ns: Some(at.0),
        phase: Some(status::Phase::Finished(status::Finished { cancelled })),
        tally: Some(tally.into()),
        ..before
    }
}

/// Whether nothing will change any more.
pub(crate) fn is_finished(of: &v1::ExperimentStatus) -> bool {
    matches!(of.phase, Some(status::Phase::Finished(_)))
}
