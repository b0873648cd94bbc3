//! What the reader must know of a report that is not from all planned runs, or from more.

use crate::study::{ReportPhase, Study, head::Head, head::State};
use crate::{conclusion::WarningCode, conclusion::Warnings, count::counted, count::grouped};

/// An experiment that reached a bound of its plan may lack the runs that take longest.
pub(crate) fn warn_of_a_cap(head: &Head, study: &Study, warnings: &mut Warnings) {
    let limits = study.plan.experiment.limits;
    let attempts = study.evidence.served.iter().filter(|one| !one.is_part).count() as u64;
    let bound = if limits.all_attempts.is_some_and(|most| attempts >= most) {
        format!("of {}", counted(attempts, "attempt"))
    } else if let Some(most) = limits.host_time.filter(|most| study.evidence.held >= *most) {
        format!("of {most} on hosts")
    } else {
        return;
    };
    let settled: u64 = study.cells.iter().map(|cell| cell.runs() as u64 + cell.mishaps.failed_runs()).sum();
    if settled >= head.planned_runs {
        return;
    }
    let sentence = format!(
        "The experiment reached its bound {bound} with {} of {} executed: which runs are missing depends on how \
            long they and their retries took, which can bias the samples; raise the bound in [limits] and \
            submit it again.",
        grouped(settled),
        counted(head.planned_runs, "planned run")
    );
    warnings.raise(WarningCode::CutByBound, sentence);
}

/// Raises that a report is not from all planned runs.
pub(crate) fn warn(head: &Head, warnings: &mut Warnings) {
    let from = format!("{} of {}", grouped(head.measured_runs), counted(head.planned_runs, "planned run"));
    let (code, sentence) = match (head.state, head.phase.known()) {
        (State::Complete, _) => return,
        (State::Partial, Some(ReportPhase::Cancelled | ReportPhase::Cancelling)) => (
            WarningCode::Partial,
            format!(
                "This report is from {from}, for the experiment was cancelled: the stated confidence levels do not \
                 hold if it was cancelled for its results; submit a new experiment to have all its runs."
            ),
        ),
        (State::Partial, _) => (
            WarningCode::Partial,
            format!(
                "This report is from {from}: a verdict read while runs arrive is not one at its confidence level; \
                 wait for the end."
            ),
        ),
        (State::Empty, Some(ReportPhase::Cancelled | ReportPhase::Finished)) => (
            WarningCode::Empty,
            "No run was measured, and none will be: there is nothing to conclude; submit a new experiment."
                .to_owned(),
        ),
        (State::Empty, _) => {
            (WarningCode::Empty, "No run is measured yet: there is nothing to conclude.".to_owned())
        }
    };
    warnings.raise(code, sentence);
}

/// Raises that runs were added though the plan says their number.
pub(crate) fn warn_of_the_extension(head: &Head, warnings: &mut Warnings) {
    let Some(before) = head.planned_runs_per_cell.filter(|before| *before < head.runs_per_cell) else {
        return;
    };
    let sentence = format!(
        "The experiment was extended after it was submitted, from {} to {} of each cell: if results were looked at \
         before, the stated confidence levels do not hold; the honest way is a new experiment with more runs.",
        grouped(before),
        counted(head.runs_per_cell, "run")
    );
    warnings.raise(WarningCode::Extended, sentence);
}
