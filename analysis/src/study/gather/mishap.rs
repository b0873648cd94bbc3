//! What went otherwise than planned in a cell: failures, lost attempts, late reports. None of it is analysed;
//! all of it is counted.

use serde::{Deserialize, Serialize};
use speedup_core::run::{AfterLoss, LossReason, Obstacle, record::Failure, record::Output, record::Record};
use speedup_core::value::foreign::is_obeyed;
use speedup_core::value::id::{Attempt, RunIndex};
use std::collections::BTreeMap;

/// Longest line of output that an example shows.
const LONGEST_LINE: usize = 300;

/// What went otherwise than planned in a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureSummary {
    /// Runs in which the benchmark failed, by the code name of the failure.
    pub failures: BTreeMap<String, FailureCount>,
    /// Attempts that the infrastructure lost, by the code name of the reason.
    pub lost: BTreeMap<String, LossCount>,
    /// Runs that lost all their attempts.
    pub abandoned_runs: u64,
    /// Runs that lost an attempt and were then cancelled.
    pub cancelled_runs: u64,
    /// Reports that came after their attempt had been given up: kept, not analysed.
    pub late_reports: u64,
}

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureCount {
    /// Failed runs.
    pub runs: u64,
    /// The first of them in run order.
    pub example: FailureExample,
}

/// A failed run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureExample {
    /// Which run.
    pub run: u32,
    /// The failure in words.
    pub words: String,
    /// The first line of its standard error, or else of its standard output, as far as it was kept.
    pub line: Option<String>,
}

/// Attempts lost for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossCount {
    /// Lost attempts.
    pub attempts: u64,
    /// The first of them in run order.
    pub example: LossExample,
}

/// A lost attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossExample {
    /// Of which run.
    pub run: u32,
    /// Which attempt.
    pub attempt: u32,
    /// What the agent said, if it did.
    pub words: Option<String>,
}

impl FailureSummary {
    /// Counts a failed run.
    pub(crate) fn failed(&mut self, run: RunIndex, failure: &Failure, record: &Record) {
        let example = || FailureExample {
            run: run.0,
            words: failure.words(),
            line: first_line(&record.stderr).or_else(|| first_line(&record.stdout)),
        };
        match self.failures.get_mut(failure.code()) {
            None => {
                let count = FailureCount { runs: 1, example: example() };
                self.failures.insert(failure.code().to_owned(), count);
            }
            Some(count) => {
                count.runs += 1;
                if run.0 < count.example.run {
                    count.example = example();
                }
            }
        }
    }

    /// Counts a lost attempt.
    pub(crate) fn lost(
        &mut self,
        at: (RunIndex, Attempt),
        reason: &LossReason,
        after: AfterLoss,
        late: bool,
    ) {
        match after {
            AfterLoss::Again(_) => {}
            AfterLoss::Abandoned => self.abandoned_runs += 1,
            AfterLoss::Cancelled => self.cancelled_runs += 1,
        }
        self.late_reports += u64::from(late);
        self.count_lost(at, reason);
    }

    /// Counts a run that a host could not execute, where that was all that was said of it.
    pub(crate) fn not_executed(&mut self, at: (RunIndex, Attempt), reason: &str, obstacle: Obstacle) {
        self.count_lost(at, &LossReason::NotExecuted { reason: reason.to_owned(), obstacle });
    }

    fn count_lost(&mut self, at: (RunIndex, Attempt), reason: &LossReason) {
        let words = match reason {
            LossReason::NotExecuted { reason: words, .. } | LossReason::JobEnded { words, .. } => {
                one_line(words)
            }
            LossReason::Expired | LossReason::HostLost | LossReason::AgentRestarted => None,
        };
        let example = LossExample { run: at.0.0, attempt: at.1.0, words };
        match self.lost.get_mut(reason.code()) {
            None => {
                self.lost.insert(reason.code().to_owned(), LossCount { attempts: 1, example });
            }
            Some(count) => {
                count.attempts += 1;
                if (example.run, example.attempt) < (count.example.run, count.example.attempt) {
                    count.example = example;
                }
            }
        }
    }

    /// Failed runs of every kind.
    pub fn failed_runs(&self) -> u64 {
        self.failures.values().map(|count| count.runs).sum()
    }

    /// Runs that did not end in time.
    pub fn timeouts(&self) -> u64 {
        self.failures.get("timeout").map_or(0, |count| count.runs)
    }

    /// Lost attempts, for whatever reason.
    pub fn lost_attempts(&self) -> u64 {
        self.lost.values().map(|count| count.attempts).sum()
    }
}

fn first_line(output: &Output) -> Option<String> {
    String::from_utf8_lossy(&output.kept).lines().find_map(one_line)
}

/// The first line of `text`, without what could move a terminal's cursor; `None` when nothing is left.
pub(crate) fn one_line(text: &str) -> Option<String> {
    let line = text.lines().next().unwrap_or_default().trim();
    let visible = line.chars().map(|c| if is_obeyed(c) { ' ' } else { c });
    let mut shown: String = visible.take(LONGEST_LINE).collect();
    if line.chars().nth(LONGEST_LINE).is_some() {
        shown.push('…');
    }
    (!shown.trim().is_empty()).then_some(shown)
}

/// What was not measured, over all cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureTotals {
    /// Runs in which the benchmark failed.
    pub failed_runs: u64,
    /// Those of them that did not end in time.
    pub timeouts: u64,
    /// Attempts that the infrastructure lost.
    pub lost_attempts: u64,
    /// Runs that lost all their attempts.
    pub abandoned_runs: u64,
    /// Reports that came too late.
    pub late_reports: u64,
    /// Attempts of runs that the plan did not have yet when it was read.
    pub beyond_plan: u64,
}

impl FailureTotals {
    /// Adds up what went otherwise than planned in each cell.
    pub(in crate::study) fn from_cells<'a>(
        cells: impl Iterator<Item = &'a FailureSummary>,
        beyond_plan: u64,
    ) -> Self {
        let mut totals = Self { beyond_plan, ..Self::default() };
        for cell in cells {
            totals.failed_runs += cell.failed_runs();
            totals.timeouts += cell.timeouts();
            totals.lost_attempts += cell.lost_attempts();
            totals.abandoned_runs += cell.abandoned_runs;
            totals.late_reports += cell.late_reports;
        }
        totals
    }
}
