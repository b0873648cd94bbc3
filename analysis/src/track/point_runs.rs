//! From the attempts of a point's experiment to its values by block.

use super::{PointBlocks, TrackEntryState};
use speedup_core::run::{AfterLoss, record::Outcome, record::Record};
use speedup_core::value::id::{HostId, RunIndex, VersionIndex};
use speedup_core::{machine::event::AttemptEnd, machine::event::EndedAttempt, plan::Plan, plan::Task};
use std::collections::{BTreeMap, BTreeSet};

/// The runs of a point while attempts come in, in any order.
#[derive(Debug)]
pub struct PointRuns {
    plan: Plan,
    metric: String,
    /// The values by benchmark and block, the part of a visit that one host served.
    blocks: BTreeMap<(u32, RunIndex, HostId), Vec<Option<f64>>>,
    measured: BTreeSet<VersionIndex>,
    failed: BTreeSet<VersionIndex>,
    unbuilt: BTreeSet<VersionIndex>,
}

impl PointRuns {
    /// Of the experiment with this plan, whose versions are the references, the commit and the control; `metric` is one that every agent knows or the
    /// plan's own.
    pub fn new(plan: Plan, metric: &str) -> Self {
        Self {
            plan,
            metric: metric.to_owned(),
            blocks: BTreeMap::new(),
            measured: BTreeSet::new(),
            failed: BTreeSet::new(),
            unbuilt: BTreeSet::new(),
        }
    }

    /// Takes an attempt that ended.
    pub fn add(&mut self, attempt: &EndedAttempt) {
        let run = attempt.lease.run;
        let task = self.plan.task(run);
        let is_over = match &attempt.end {
            AttemptEnd::Reported(record) if record.outcome == Outcome::Measured => {
                return self.measured(attempt, task, record);
            }
            AttemptEnd::Reported(_) => true,
            AttemptEnd::Lost { after, .. } => *after == AfterLoss::Abandoned,
        };
        if is_over {
            match task {
                Task::Build(version) => self.unbuilt.insert(version),
                Task::Run(cell) => self.failed.insert(cell.version),
            };
        }
    }

    fn measured(&mut self, attempt: &EndedAttempt, task: Task, record: &Record) {
        let Task::Run(cell) = task else { return };
        self.measured.insert(cell.version);
        let group = self.plan.place(attempt.lease.run).group;
        let versions = self.plan.experiment.versions.len();
        let block = self.blocks.entry((cell.benchmark.0, group, attempt.lease.host.clone()));
        let values = block.or_insert_with(|| vec![None; versions]);
        values[cell.version.0 as usize] = value(record, &self.metric);
    }

    /// What became of it, and the values.
    pub fn end(self) -> (TrackEntryState, Vec<PointBlocks>) {
        let state = self.state();
        let of = |(at, benchmark): (u32, &speedup_core::experiment::Benchmark)| {
            let own = self.blocks.iter().filter(|((of, ..), _)| *of == at);
            PointBlocks {
                benchmark: benchmark.name.clone(),
                blocks: own.map(|(_, values)| values.clone()).collect(),
            }
        };
        let benchmarks = (0..).zip(&self.plan.experiment.benchmarks).map(of).collect();
        (state, benchmarks)
    }

    fn state(&self) -> TrackEntryState {
        let compared = self.plan.experiment.compared().len() as u32;
        let commit = VersionIndex(compared.saturating_sub(1));
        let reference = VersionIndex(0);
        if self.unbuilt.iter().any(|version| *version != commit) {
            TrackEntryState::Unfinished
        } else if self.unbuilt.contains(&commit) {
            TrackEntryState::NotBuilt
        } else if [reference, commit].iter().all(|version| self.measured.contains(version)) {
            TrackEntryState::Measured
        } else if self.measured.contains(&reference) && self.failed.contains(&commit) {
            TrackEntryState::Failing
        } else {
            TrackEntryState::Unfinished
        }
    }
}

/// The value of a metric in a run; of an own metric the mean of its iterations.
fn value(record: &Record, metric: &str) -> Option<f64> {
    let known =
        record.metrics.iter().find(|(known, _)| known.name() == metric).map(|(_, value)| *value as f64);
    known.or_else(|| {
        let iterations = record.series.get(metric).filter(|iterations| !iterations.is_empty())?;
        Some(iterations.iter().sum::<f64>() / iterations.len() as f64)
    })
}
