//! A trial: each cell of a plan is executed once on this machine, to tell how long it takes and whether it works. What it
//! measures is kept nowhere.

use std::{fs, fs::Permissions, os::unix::fs::PermissionsExt as _};

use anyhow::Context as _;
use serde::Serialize;
use speedup_core::experiment::{Experiment, Independence, Levels, Metric, Rule};
use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::plan::{Plan, Task};
use speedup_core::run::record::Outcome;
use speedup_core::value::id::ExperimentId;
use speedup_core::value::time::Span;

use super::Session;
use crate::{
    connection::Connection, connection::directories, console::Console, exit::Exit, exit::failure::Failure,
    plan::files::LocalFiles, results::attempts::Attempts, results::failed_runs,
    results::failed_runs::FailureSummary,
};

#[derive(Debug)]
pub(crate) struct Trial {
    /// Each cell that was measured.
    pub(crate) cells: Vec<TriedCell>,
    pub(crate) told: FailureSummary,
    pub(crate) exit: Exit,
}

/// A cell that was measured once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct TriedCell {
    pub(crate) benchmark: String,
    pub(crate) version: String,
    /// How long its program ran.
    pub(crate) wall_ns: Span,
}

impl Trial {
    /// Executes each cell of a plan once.
    pub(crate) async fn run(plan: &Plan, files: &LocalFiles, console: &Console) -> Result<Self, Failure> {
        let data = directories::or_state(None, "trials")?;
        let owner = Permissions::from_mode(0o700);
        let made = fs::create_dir_all(&data)
            .and_then(|()| tempfile::Builder::new().permissions(owner).tempdir_in(&data));
        let data = made.context("cannot make a directory for the trial").map_err(Failure::infrastructure)?;
        let session = Session::start(console, Some(data.path())).await?;
        let (exit, (cells, told)) = session.try_out(tried(plan), files, read).await?;
        Ok(Self { cells, told, exit })
    }

    /// Says last what failed; what the trial means for the exit code.
    pub(crate) fn conclude(&self, console: &Console) -> Exit {
        let FailureSummary { failed, reasons, .. } = &self.told;
        if !failed.is_empty() || !reasons.is_empty() {
            console.warn("the trial failed:");
            failed.iter().chain(reasons).for_each(|line| console.talk(format_args!("  {line}")));
        }
        self.exit
    }

    /// How long an execution of each benchmark took, in its slowest version; nothing where a benchmark was not measured.
    pub(crate) fn executions(&self, plan: &Plan) -> Option<Vec<Span>> {
        let benchmarks = plan.benchmarks.iter().filter_map(|index| plan.experiment.benchmark(*index));
        benchmarks.map(|benchmark| self.slowest(&benchmark.name)).collect()
    }

    fn slowest(&self, benchmark: &str) -> Option<Span> {
        self.cells.iter().filter(|cell| cell.benchmark == benchmark).map(|cell| cell.wall_ns).max()
    }
}

/// The experiment of a trial: the same cells once, on whatever host this is.
fn tried(plan: &Plan) -> Experiment {
    let benchmarks = plan.benchmarks.iter().filter_map(|index| plan.experiment.benchmark(*index));
    Experiment {
        benchmarks: benchmarks.cloned().collect(),
        drawn: None,
        baseline_again: false,
        runs: 1,
        levels: Levels::default(),
        rule: Rule::Fixed,
        independence: Independence::of_any_host(),
        ..plan.experiment.clone()
    }
}

/// The times that were measured, and what failed.
async fn read(
    connection: &Connection,
    experiment: ExperimentId,
) -> Result<(Vec<TriedCell>, FailureSummary), Failure> {
    let mut attempts = Attempts::open(connection, experiment).await?;
    let mut cells = Vec::new();
    while let Some(page) = attempts.page().await? {
        cells.extend(page.iter().filter_map(|ended| cell(&attempts.plan, ended)));
    }
    Ok((cells, failed_runs::read(connection, experiment).await?))
}

fn cell(plan: &Plan, ended: &EndedAttempt) -> Option<TriedCell> {
    let AttemptEnd::Reported(record) = &ended.end else { return None };
    let Task::Run(cell) = plan.task(ended.lease.run) else { return None };
    if record.outcome != Outcome::Measured {
        return None;
    }
    let wall = record.metrics.get(&Metric::Wall)?;
    Some(TriedCell {
        benchmark: plan.experiment.benchmark(cell.benchmark)?.name.clone(),
        version: plan.experiment.version(cell.version)?.name.clone(),
        wall_ns: Span(*wall),
    })
}
