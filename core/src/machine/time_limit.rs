//! The longest an agent may rightly take: for a run, for a build, with the time to fetch what the run uses.

use super::{Active, BuildResult};
use crate::experiment::build::{Product, UsedBuild};
use crate::experiment::files::{staging_time, time_for};
use crate::experiment::{Experiment, Setup};
use crate::plan::{Plan, Task};
use crate::value::id::{RunIndex, VersionIndex};
use crate::value::time::Span;

/// The build that a run uses, where its version is built.
pub(super) fn used_build(active: &Active, run: RunIndex) -> Option<UsedBuild> {
    let built_by = active.kept.plan.build_of(run)?;
    let products = match active.kept.built.get(&built_by) {
        Some(BuildResult::Made(products)) => products.clone(),
        Some(BuildResult::Not(_)) | None => Vec::new(),
    };
    Some(UsedBuild { run: built_by, products })
}

/// The longest an agent may rightly take for a run.
pub(super) fn longest_run(active: &Active, run: RunIndex) -> Span {
    let build = used_build(active, run);
    let products = build.as_ref().map_or(&[][..], |build| &build.products);
    longest(&active.kept.plan.experiment, active.kept.plan.task(run), staged(products))
}

/// The longest an agent may rightly take for what a lane has waiting, whatever build it uses.
pub(super) fn longest_of_any_build(active: &Active, task: Task) -> Span {
    let made = active.kept.built.values().filter_map(|built| match built {
        BuildResult::Made(products) => Some(staged(products)),
        BuildResult::Not(_) => None,
    });
    longest(&active.kept.plan.experiment, task, made.max().unwrap_or_default())
}

/// The longest an agent may rightly take for a task of a plan of which nothing is built yet.
pub(super) fn longest_unbuilt(plan: &Plan, task: Task) -> Span {
    longest(&plan.experiment, task, Span(0))
}

/// How long a host may take to fetch what a build has made.
fn staged(products: &[Product]) -> Span {
    time_for(products.iter().map(|product| Some(product.content.bytes)))
}

/// The longest an agent may rightly take for a task, with the time to fetch its build.
fn longest(experiment: &Experiment, task: Task, staged: Span) -> Span {
    let cell = match task {
        Task::Build(version) => return longest_build(experiment, version),
        Task::Run(cell) => cell,
    };
    let benchmark = &experiment.benchmarks[cell.benchmark.0 as usize];
    let prepare = timeout_of(experiment.prepare.as_ref());
    let cleanup = timeout_of(experiment.cleanup.as_ref());
    let execution = prepare + benchmark.timeout + cleanup;
    let patience = experiment.independence.wanted_rest().map_or(Span(0), |rest| rest.patience);
    let before = patience
        + staging_time(experiment.files_of(None))
        + staged
        + timeout_of(experiment.setup.as_ref())
        + experiment
            .version(cell.version)
            .map_or(Span(0), |version| experiment.software_of(version).longest())
        + common(experiment)
        + experiment.environment.settle;
    before + execution.times(u64::from(benchmark.warmup) + 1) + timeout_of(experiment.canary.as_ref())
}

fn timeout_of(setup: Option<&Setup>) -> Span {
    setup.map_or(Span(0), |setup| setup.timeout)
}

/// The longest an agent may rightly take for a build of a version: what it makes is of unknown size.
fn longest_build(experiment: &Experiment, version: VersionIndex) -> Span {
    let version = experiment.version(version);
    let software = version.map_or(Span(0), |version| experiment.software_of(version).longest());
    let build = version.and_then(|version| version.build.as_ref());
    let timeout = build.map_or(Span(0), |build| build.timeout);
    let commit = version.and_then(|version| version.commit.as_ref());
    staging_time(experiment.files_of(commit))
        + timeout_of(experiment.setup.as_ref())
        + common(experiment)
        + software
        + timeout
        + time_for([None])
}

/// The longest that the preparation of the software for setup and canary may take.
fn common(experiment: &Experiment) -> Span {
    let software = &experiment.environment.software;
    let is_wanted = (experiment.setup.is_some() || experiment.canary.is_some()) && software.is_common();
    if is_wanted { software.timeout } else { Span(0) }
}
