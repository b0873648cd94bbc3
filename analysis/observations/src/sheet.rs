//! Which rows there are: one for each attempt, one more for its late report, and one for each run that none settled. Of runs that
//! several hosts served there can be one for each host, or for each rank.

use std::collections::BTreeMap;

use serde::Serialize;
use speedup_core::experiment::{Experiment, files::ContentHash, metric::Metric};
use speedup_core::{
    machine::event::AttemptEnd, machine::event::EndedAttempt, plan::Plan, value::id::RunIndex,
};
use speedup_proto::convert::{ExperimentStatus, StatusPhase};

use super::row::{PlannedRun, Row, Subject};

/// What rows there are of a run that several hosts served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowsPer {
    /// The attempt, as the host that started the program reported it.
    #[default]
    Attempt,
    /// That, and each other host.
    Host,
    /// Those, and each rank, where ranks are timed.
    Rank,
}

/// The planned runs. It does not change while rows are made of it, on whatever threads.
#[derive(Debug)]
pub struct RunSheet<'a> {
    experiment: String,
    plan: &'a Plan,
    /// Whether runs that were not executed never will be.
    closed: bool,
    repetitions: Vec<u32>,
    per: RowsPer,
}

/// Which of the planned runs were settled by an attempt so far.
#[derive(Debug)]
pub(super) struct SettledRuns(Vec<bool>);

impl SettledRuns {
    /// None of a sheet's.
    pub(super) fn none_of(sheet: &RunSheet<'_>) -> Self {
        Self(vec![false; sheet.plan.runs() as usize])
    }

    pub(super) fn mark(&mut self, run: RunIndex) {
        if let Some(settled) = self.0.get_mut(run.0 as usize) {
            *settled = true;
        }
    }
}

impl<'a> RunSheet<'a> {
    /// The sheet of a plan whose experiment stands so.
    pub fn new(status: &ExperimentStatus, plan: &'a Plan) -> Self {
        let closed = matches!(status.phase, StatusPhase::Cancelling | StatusPhase::Finished { .. });
        // Builds are counted as the others are, by their version.
        let mut of_cell = vec![0; plan.cells() as usize + plan.experiment.versions.len()];
        let mut repetitions = Vec::with_capacity(plan.order().len());
        for cell in plan.order() {
            let count: &mut u32 = &mut of_cell[*cell as usize];
            *count += 1;
            repetitions.push(*count);
        }
        Self { experiment: status.experiment.to_string(), plan, closed, repetitions, per: RowsPer::default() }
    }

    /// The same with these rows of runs that several hosts served.
    #[must_use]
    pub fn per(self, per: RowsPer) -> Self {
        Self { per, ..self }
    }

    /// What its rows are about.
    pub(super) fn rows_per(&self) -> RowsPer {
        self.per
    }

    /// What an export as a whole is of.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let experiment = &self.plan.experiment;
        let mut facts = vec![
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("experiment", self.experiment.clone()),
            ("name", experiment.name.clone()),
            ("description", experiment.description.clone()),
            ("seed", experiment.seed.0.to_string()),
        ];
        if !experiment.tags.is_empty() {
            facts.push(("tags", experiment.tags.join(" ")));
        }
        if !experiment.selection.is_empty() {
            facts.push(("selection", experiment.selection.clone()));
        }
        facts
    }

    /// The attempt at a build, if it is one: it has no row.
    pub(super) fn build(&self, ended: &EndedAttempt) -> Option<BuildAttempt> {
        let run = ended.lease.run;
        if !self.plan.is_build(run) {
            return None;
        }
        Some(BuildAttempt::new(self.plan, ended))
    }

    pub(super) fn experiment(&self) -> &'a Experiment {
        &self.plan.experiment
    }

    /// The rows of an attempt. An attempt at a run that was appended after the plan was sent belongs to the next export.
    pub(super) fn rows<'r>(&'r self, ended: &'r EndedAttempt) -> impl Iterator<Item = Row<'r>> {
        let planned = self.planned(ended.lease.run);
        let subjects = match &ended.end {
            AttemptEnd::Reported(record) if ended.lease.is_of_member() => {
                [(self.per != RowsPer::Attempt).then_some(Subject::Part(ended, record)), None]
            }
            AttemptEnd::Lost { late: Some(late), .. } => {
                [Some(Subject::Attempt(ended)), Some(Subject::Late(ended, late))]
            }
            AttemptEnd::Lost { late: None, .. } | AttemptEnd::Reported(_) => {
                [Some(Subject::Attempt(ended)), None]
            }
        };
        let rows = planned.into_iter().flat_map(move |planned| {
            subjects.into_iter().flatten().map(move |subject| Row { planned, subject, rank: None })
        });
        rows.flat_map(|row| self.per_rank(row))
    }

    fn per_rank<'r>(&self, row: Row<'r>) -> impl Iterator<Item = Row<'r>> + use<'r> {
        let record = row.record().filter(|_| self.per == RowsPer::Rank);
        let ranks = record.map_or(&[][..], |record| &record.ranks);
        std::iter::once(row).chain(ranks.iter().map(move |rank| Row { rank: Some(rank), ..row }))
    }

    /// The rows of the runs that no attempt settled; to be asked for after all attempts.
    pub(super) fn unsettled<'r>(&'r self, settled: &'r SettledRuns) -> impl Iterator<Item = Row<'r>> {
        let open = (0..).map(RunIndex).zip(&settled.0).filter(|(_, settled)| !**settled);
        let subject = Subject::Unsettled { cancelled: self.closed };
        open.filter_map(move |(run, _)| Some(Row { planned: self.planned(run)?, subject, rank: None }))
    }

    fn planned(&self, run: RunIndex) -> Option<PlannedRun<'_>> {
        let repetition = *self.repetitions.get(run.0 as usize)?;
        let cell = self.plan.cell(run)?;
        let experiment = &self.plan.experiment;
        let version = experiment.version(cell.version)?;
        let benchmark = experiment.benchmark(cell.benchmark)?;
        Some(PlannedRun {
            experiment: &self.experiment,
            name: &experiment.name,
            benchmark: &benchmark.name,
            hosts: benchmark.gang.as_ref().map(|gang| gang.hosts),
            version: &version.name,
            commit: version.commit.as_ref().map(|commit| commit.id.as_str()),
            run,
            repetition,
            place: self.plan.place(run),
        })
    }
}

/// An attempt at a build: no observation of the comparison, and so no row.
#[derive(Debug, Serialize)]
pub(super) struct BuildAttempt {
    /// The run of the plan, by which rows of runs name their build.
    run: u32,
    version: String,
    attempt: u32,
    host: String,
    /// Whether runs may use it.
    measured: bool,
    /// Why they may not.
    why_not: Option<String>,
    wall_ns: Option<u64>,
    products: BTreeMap<String, ContentHash>,
}

impl BuildAttempt {
    pub(super) fn new(plan: &Plan, ended: &EndedAttempt) -> Self {
        let lease = &ended.lease;
        let version = plan.experiment.version(plan.task(lease.run).version());
        let (record, loss) = match &ended.end {
            AttemptEnd::Reported(record) => (Some(record), None),
            AttemptEnd::Lost { reason, .. } => (None, Some(reason.words())),
        };
        let failure = record.and_then(|record| record.outcome.why_not());
        let products = record.into_iter().flat_map(|record| &record.products);
        Self {
            run: lease.run.0,
            version: version.map_or_else(String::new, |version| version.name.clone()),
            attempt: lease.attempt.0,
            host: lease.host.as_str().to_owned(),
            measured: record.is_some() && failure.is_none(),
            why_not: failure.or(loss),
            wall_ns: record.and_then(|record| record.metrics.get(&Metric::Wall).copied()),
            products: products.map(|product| (product.name.clone(), product.content.blake3)).collect(),
        }
    }
}
