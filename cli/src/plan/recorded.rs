//! The plan of an experiment that was carried out, for those of its benchmarks of which a run failed or was abandoned.

use std::collections::BTreeSet;

use anyhow::anyhow;
use speedup_core::experiment::Experiment;
use speedup_core::machine::event::AttemptEnd;
use speedup_core::run::AfterLoss;
use speedup_core::run::record::Outcome;
use speedup_core::value::id::{BenchmarkIndex, ExperimentId};

use crate::connection::selector::Selector;
use crate::connection::{Connection, SourceArguments};
use crate::exit::failure::Failure;
use crate::plan::selection::select;
use crate::plan::source::drawn_seed;
use crate::results::attempts::Attempts;

/// The experiment again, with the benchmarks alone of which runs failed or were abandoned, in all versions. Its seed is a new one.
pub(crate) async fn failed_of(which: &Selector, source: &SourceArguments) -> Result<Experiment, Failure> {
    let (connection, experiment) = source.find(which).await?;
    let read = read(&connection, experiment).await;
    connection.close().await;
    let (mut recorded, failed) = read?;
    if failed.is_empty() {
        return Err(Failure::usage(anyhow!(
            "no run of {} ({experiment}) failed or was abandoned",
            recorded.name
        ))
        .hint("`speedup report` shows what it measured; its plan is measured again by `speedup run PLAN`"));
    }
    let names: BTreeSet<String> =
        failed.iter().filter_map(|at| Some(recorded.benchmark(*at)?.name.clone())).collect();
    select(&mut recorded, format!("--failed-of {experiment}"), |name| names.contains(name))?;
    recorded.seed = drawn_seed();
    Ok(recorded)
}

async fn read(
    connection: &Connection,
    experiment: ExperimentId,
) -> Result<(Experiment, BTreeSet<BenchmarkIndex>), Failure> {
    let mut attempts = Attempts::open(connection, experiment).await?;
    let mut failed = BTreeSet::new();
    while let Some(page) = attempts.page().await? {
        for ended in page {
            let is_failed = match &ended.end {
                AttemptEnd::Reported(record) => matches!(record.outcome, Outcome::Failed(_)),
                AttemptEnd::Lost { after, .. } => *after == AfterLoss::Abandoned,
            };
            if is_failed && let Some(cell) = attempts.plan.cell(ended.lease.run) {
                failed.insert(cell.benchmark);
            }
        }
    }
    Ok((attempts.plan.experiment, failed))
}
