//! Whether the versions differ in what is missing from their samples: attempts that were lost, and runs that failed.
//!
//! What is missing is seldom missing at random: the slow are lost more often, and a run that times out is one of the slowest.
//! Where both versions miss alike it is noise; where they do not the difference of the samples may be of what is missing.
//! Fisher's exact test compares the shares, given how many are missing in all.

pub(super) mod completeness;
pub(super) mod lacking;
pub(super) mod losses;

use crate::count::{counted, grouped};
use crate::study::validity::diagnostic::{DiagnosticReport, Sign};
use serde::{Deserialize, Serialize};
use speedup_statistics::{inference::Alternative, test::FisherExact};

/// What is missing from the samples of a candidate and of the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingReport {
    /// The candidate.
    pub candidate: String,
    /// What became of its attempts.
    pub of_candidate: AttemptCounts,
    /// What became of the baseline's.
    pub of_baseline: AttemptCounts,
    /// Whether they differ in the share of lost attempts; the statistic is the candidate's share less the baseline's. `None`
    /// where none was lost.
    pub losses: Option<DiagnosticReport>,
    /// Whether they differ in the share of failed runs, likewise.
    pub failures: Option<DiagnosticReport>,
}

/// What became of the attempts of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptCounts {
    /// Attempts that ended.
    pub attempts: u64,
    /// Those of them that were lost.
    pub lost: u64,
    /// Runs that were measured or failed.
    pub settled: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Those of these that did not end in time.
    pub timeouts: u64,
}

impl AttemptCounts {
    /// Those of several cells together.
    pub(super) fn add(&mut self, measured: u64, mishaps: &super::Mishaps) {
        let (failed, lost) = (mishaps.failed_runs(), mishaps.lost_attempts());
        self.attempts += measured + failed + lost;
        self.lost += lost;
        self.settled += measured + failed;
        self.failed += failed;
        self.timeouts += mishaps.timeouts();
    }
}

impl MissingReport {
    pub(super) fn new(candidate: &str, of_baseline: AttemptCounts, of_candidate: AttemptCounts) -> Self {
        let shares =
            |count: fn(&AttemptCounts) -> (u64, u64)| test(count(&of_baseline), count(&of_candidate));
        Self {
            candidate: candidate.to_owned(),
            losses: shares(|counts| (counts.lost, counts.attempts)),
            failures: shares(|counts| (counts.failed, counts.settled)),
            of_candidate,
            of_baseline,
        }
    }

    /// The tests with what they are signs of.
    pub(super) fn tests(&mut self) -> impl Iterator<Item = (Sign, &mut DiagnosticReport)> {
        let losses = self.losses.as_mut().map(|test| (Sign::LossesDiffer, test));
        losses.into_iter().chain(self.failures.as_mut().map(|test| (Sign::FailuresDiffer, test)))
    }

    /// What is missing, in a sentence.
    pub fn sentence(&self) -> String {
        let of = |counts: &AttemptCounts| {
            format!(
                "{} of {} lost, {} of {} failed ({} by timeout)",
                grouped(counts.lost),
                counted(counts.attempts, "attempt"),
                grouped(counts.failed),
                counted(counts.settled, "run"),
                grouped(counts.timeouts)
            )
        };
        format!("{}: {}; baseline: {}", self.candidate, of(&self.of_candidate), of(&self.of_baseline))
    }
}

/// Of two groups, each with how many are missing of how many.
fn test(baseline: (u64, u64), candidate: (u64, u64)) -> Option<DiagnosticReport> {
    if baseline.0 + candidate.0 == 0 || baseline.1 == 0 || candidate.1 == 0 {
        return None;
    }
    let p_value = FisherExact::of_shares(baseline, candidate)?.p_value(Alternative::TwoSided);
    let share = |(missing, of): (u64, u64)| missing as f64 / of as f64;
    Some(DiagnosticReport::new(share(candidate) - share(baseline), p_value))
}
