//! Whether the versions differ in what is missing from their samples: attempts that were lost, and runs that failed.
//!
//! What is missing is seldom missing at random: the slow are lost more often, and a run that times out is one of the slowest.
//! Where both versions miss alike it is noise; where they do not the difference of the samples may be of what is missing.
//! Fisher's exact test compares the shares, given how many are missing in all.

pub(in crate::study) mod completeness;
pub(in crate::study) mod lacking;
pub(in crate::study) mod losses;

use super::diagnostic::{DiagnosticReport, Sign};
use crate::count::{counted, grouped};
use crate::study::gather::cell::CellRecords;
use serde::{Deserialize, Serialize};
use speedup_statistics::{inference::Alternative, test::FisherExact};

/// What is missing from the samples of a candidate and of the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingReport {
    /// The candidate.
    pub candidate: String,
    /// The benchmark; absent over all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<String>,
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
    pub(crate) fn sum<'a>(cells: impl IntoIterator<Item = &'a CellRecords>) -> Self {
        let mut counts = Self::default();
        for cell in cells {
            let failed = cell.mishaps.failed_runs();
            let lost = cell.mishaps.lost_attempts();
            let settled = cell.runs() as u64 + failed;
            counts.attempts += settled + lost;
            counts.lost += lost;
            counts.settled += settled;
            counts.failed += failed;
            counts.timeouts += cell.mishaps.timeouts();
        }
        counts
    }
}

impl MissingReport {
    pub(crate) fn new(candidate: &str, [of_baseline, of_candidate]: [AttemptCounts; 2]) -> Self {
        let shares =
            |count: fn(&AttemptCounts) -> (u64, u64)| test(count(&of_baseline), count(&of_candidate));
        Self {
            candidate: candidate.to_owned(),
            benchmark: None,
            losses: shares(|counts| (counts.lost, counts.attempts)),
            failures: shares(|counts| (counts.failed, counts.settled)),
            of_candidate,
            of_baseline,
        }
    }

    /// The tests with what they are signs of.
    pub(crate) fn tests(&mut self) -> impl Iterator<Item = (Sign, &mut DiagnosticReport)> {
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
        let on = self.benchmark.as_ref().map_or_else(String::new, |benchmark| format!(" on {benchmark}"));
        format!("{}{on}: {}; baseline: {}", self.candidate, of(&self.of_candidate), of(&self.of_baseline))
    }
}

/// What Fisher's test of a share of missing runs found, at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingFinding {
    /// The candidate lacks a larger share than the baseline.
    More,
    /// It lacks a smaller one.
    Fewer,
    /// No difference of the shares is shown.
    NotShown,
}

impl MissingFinding {
    /// Of a test, by its adjusted p-value.
    pub fn new(test: &DiagnosticReport, confidence: f64) -> Self {
        if test.adjusted > 1.0 - confidence {
            Self::NotShown
        } else if test.statistic > 0.0 {
            Self::More
        } else {
            Self::Fewer
        }
    }
}

/// Of two groups, each with how many are missing of how many.
fn test(baseline: (u64, u64), candidate: (u64, u64)) -> Option<DiagnosticReport> {
    if baseline.0 + candidate.0 == 0 || baseline.1 == 0 || candidate.1 == 0 {
        return None;
    }
    let p_value = FisherExact::from_shares(baseline, candidate)?.p_value(Alternative::TwoSided);
    let share = |(missing, of): (u64, u64)| missing as f64 / of as f64;
    Some(DiagnosticReport::new(share(candidate) - share(baseline), p_value))
}
