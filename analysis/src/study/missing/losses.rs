//! What the reader must know of runs that are missing from their samples, and of what a run left behind.

use crate::study::{gather::cell::CellRecords, gather::sampled::Sampled, report::MishapTotals};
use crate::{conclusion::WarningCode, conclusion::Warnings, count::counted};

/// Raises what there is of failed and lost runs.
pub(crate) fn warn(
    sampled: &[Sampled<'_>],
    totals: &MishapTotals,
    may_be_extended: bool,
    warnings: &mut Warnings,
) {
    for Sampled { name, records, .. } in sampled {
        let sum = |count: fn(&CellRecords) -> u64| records.iter().map(count).sum::<u64>();
        if sum(|cell| cell.mishaps.timeouts()) > 0 {
            warnings.concern(WarningCode::TimeoutsCensor, name, || {
                "Runs that did not end in time are missing from their samples, so these look faster than they \
                    are: raise the timeout and repeat."
                    .to_owned()
            });
        }
        if sum(|cell| cell.mishaps.failed_runs()) > 0 {
            warnings.concern(WarningCode::FailedRuns, name, || {
                "Runs failed; the samples hold only those that did not, so the comparison is of the successful \
                    runs: look at the failures before you rely on it."
                    .to_owned()
            });
        }
        if sum(|cell| cell.mishaps.lost_attempts()) > 0 {
            warnings.concern(WarningCode::RetriesCanBias, name, || {
                "Attempts were lost and their runs repeated, which can bias a sample, since slow runs are lost \
                    more often: compare the lost attempts of the versions, and fix what loses them."
                    .to_owned()
            });
        }
        if sum(|cell| cell.mishaps.abandoned_runs) > 0 {
            warnings.concern(WarningCode::AbandonedRuns, name, || {
                let then = match may_be_extended {
                    true => "extend the experiment",
                    false => "submit a new experiment with more runs",
                };
                format!(
                    "Runs lost all their attempts, so samples are smaller than planned: fix what loses them, and \
                        {then}."
                )
            });
        }
    }
    if totals.beyond_plan > 0 {
        let attempts = counted(totals.beyond_plan, "attempt");
        let sentence = format!(
            "The plan was extended while this report was made, and {attempts} are not in it: run the command again."
        );
        warnings.raise(WarningCode::PlanExtendedMeanwhile, sentence);
    }
}

/// What a timed command leaves running is ended after the clock has stopped.
pub(crate) fn warn_of_survivors(sampled: &[Sampled<'_>], warnings: &mut Warnings) {
    let outlived = |sampled: &Sampled<'_>| sampled.records.iter().map(|cell| cell.outlived).sum::<u64>();
    let all: u64 = sampled.iter().map(outlived).sum();
    for concerned in sampled.iter().filter(|sampled| outlived(sampled) > 0) {
        warnings.concern(WarningCode::Survivors, concerned.name, || {
            format!(
                "Processes outlived the timed command in {}, and what they did after it is not timed: let the \
                    command wait for every process that it starts.",
                counted(all, "measured run")
            )
        });
    }
}
