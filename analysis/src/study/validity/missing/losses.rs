//! What the reader must know of runs that are missing from their samples, and of what a run left behind.

use crate::study::{
    Study, gather::cell::CellRecords, gather::mishap::FailureTotals, gather::mishap::one_line,
    sampled::BenchmarkSamples,
};
use crate::{conclusion::WarningCode, conclusion::Warnings, count::counted};
use speedup_core::machine::LOST_IN_A_ROW;
use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::run::record::Outcome;
use speedup_core::value::id::{Attempt, RunIndex};
use std::collections::BTreeSet;

/// Raises what there is of failed and lost runs.
pub(crate) fn warn(
    sampled: &[BenchmarkSamples<'_>],
    totals: &FailureTotals,
    may_be_extended: bool,
    warnings: &mut Warnings,
) {
    for BenchmarkSamples { name, records, .. } in sampled {
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

/// Attempts on a host, and those that were lost there.
#[derive(Debug, Default)]
pub(crate) struct HostLosses {
    attempts: u64,
    lost: u64,
    /// The first in run order, with why it was lost.
    example: Option<((RunIndex, Attempt), String)>,
}

/// Lost attempts from which on a host that lost most of its own is named: an experiment gives it up for a time.
const LOST_OFTEN: u64 = LOST_IN_A_ROW as u64;
/// Hosts that a sentence names.
const MOST_NAMED: usize = 5;

impl HostLosses {
    pub(crate) fn take(&mut self, attempt: &EndedAttempt) {
        self.attempts += 1;
        let words = match &attempt.end {
            AttemptEnd::Lost { reason, .. } => reason.words(),
            AttemptEnd::Reported(record) => match &record.outcome {
                Outcome::NotExecuted { reason, .. } => reason.clone(),
                Outcome::Measured | Outcome::Failed(_) => return,
            },
        };
        self.lost += 1;
        let at = (attempt.lease.run, attempt.lease.attempt);
        if self.example.as_ref().is_none_or(|(earliest, _)| at < *earliest) {
            self.example = Some((at, one_line(&words).unwrap_or_default()));
        }
    }
}

/// Names the hosts that lost most of what they were given.
pub(crate) fn warn_of_hosts(study: &Study, warnings: &mut Warnings) {
    // A host that lost a few among many has nothing to be repaired.
    let mut losing = BTreeSet::new();
    for (host, of_host) in &study.host_losses {
        if of_host.lost >= LOST_OFTEN && 2 * of_host.lost > of_host.attempts {
            losing.insert(*host);
        }
    }
    let mut named = Vec::new();
    for (host, name) in study.evidence.called(&losing).into_iter().take(MOST_NAMED) {
        let HostLosses { attempts, lost, example } = &study.host_losses[&host];
        let words = example.as_ref().map_or("", |(_, words)| words);
        named.push(format!("{name} lost {lost} of {} ({words})", counted(*attempts, "attempt")));
    }
    if named.is_empty() {
        return;
    }
    let more = match losing.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!("; and {} more", counted(more as u64, "host")),
    };
    let sentence = format!(
        "Hosts lost most of what they were given: {}{more}. Look at them, and take them out with `speedup hosts drain` until they \
         are repaired.",
        named.join("; ")
    );
    warnings.raise(WarningCode::LosingHosts, sentence);
}

/// What a timed command leaves running is ended after the clock has stopped.
pub(crate) fn warn_of_survivors(sampled: &[BenchmarkSamples<'_>], warnings: &mut Warnings) {
    let outlived =
        |sampled: &BenchmarkSamples<'_>| sampled.records.iter().map(|cell| cell.outlived).sum::<u64>();
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
