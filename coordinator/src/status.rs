//! The status of an experiment, as users see it: from the machine while it is active, from the store after.

use speedup_core::{
    machine::Machine, machine::event::Tally, plan::Plan, value::id::ExperimentId, value::time::Timestamp,
};
use speedup_proto::convert::{ExperimentStatus, StatusPhase};
use speedup_proto::v1;
use speedup_proto::v1::experiment_status::Finished;
use speedup_proto::v1::stored_status::Phase;

pub(crate) fn active_status(machine: &Machine, id: ExperimentId) -> Option<ExperimentStatus> {
    let active = machine.experiment(id)?;
    let (at, by) = active.submitted();
    let phase = match machine.lacks_hosts(id) {
        true => StatusPhase::WaitingForHosts,
        false => active.phase().into(),
    };
    Some(ExperimentStatus {
        phase,
        tally: active.tally(),
        hosts_here: machine.hosts_here(),
        words: active.words().to_owned(),
        ..submitted_status(id, active.plan(), at, by)
    })
}

/// The status of an experiment that was just submitted.
pub(crate) fn submitted_status(id: ExperimentId, plan: &Plan, at: Timestamp, by: &str) -> ExperimentStatus {
    ExperimentStatus {
        experiment: id,
        name: plan.experiment.name.clone(),
        tags: plan.experiment.tags.clone(),
        submitted: at,
        submitted_by: by.to_owned(),
        phase: StatusPhase::Running,
        tally: Tally { waiting: plan.runs(), ..Tally::default() },
        cells: plan.cells(),
        bisects: plan.experiment.bisection().is_some(),
        hosts_here: 0,
        words: String::new(),
    }
}

/// The stored status after the last run was settled.
pub(crate) fn finished_status(
    before: v1::StoredStatus,
    at: Timestamp,
    tally: Tally,
    cancelled: bool,
) -> v1::StoredStatus {
    v1::StoredStatus {
        finished_ns: Some(at.0),
        phase: Some(Phase::Finished(Finished { cancelled })),
        tally: Some((&tally).into()),
        ..before
    }
}

/// Whether nothing will change any more.
pub(crate) fn is_finished(of: &ExperimentStatus) -> bool {
    matches!(of.phase, StatusPhase::Finished { .. })
}
