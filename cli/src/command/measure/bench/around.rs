//! What is executed before and after everything: setup, warm-ups, cleanup. Nothing is measured here; how long the last
//! warm-ups took only says how many runs fit a time.

use std::{io, process::Command, process::ExitStatus, process::Stdio, time::Duration, time::Instant};

use anyhow::{Context as _, anyhow};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use speedup_core::experiment::Experiment;
use speedup_core::plan::Cell;
use speedup_core::run::work::{ResolvedCommand, WorkOrder};
use speedup_core::value::id::{BenchmarkIndex, RunIndex, VersionIndex};

use super::shell::Shell;
use crate::exit::failure::Failure;

/// There is no input directory on the command line.
const NO_INPUT: &str = "";

/// Where the runs of a version stand, with what environment.
pub(super) fn standing(experiment: &Experiment, version: u32) -> Result<ResolvedCommand, Failure> {
    order(experiment, (0, version)).resolve(NO_INPUT).map_err(Failure::usage)
}

/// Executes a line of the user's by the shell, in the directory and environment of the runs of a version; it must succeed. What it
/// writes is talk: the answer alone goes to standard output.
pub(super) fn line(
    experiment: &Experiment,
    version: u32,
    shell: &Shell,
    what: &str,
    line: &str,
) -> Result<(), Failure> {
    let resolved = standing(experiment, version)?;
    let status = execute(&ResolvedCommand { argv: shell.argv_of_line(line), ..resolved }, None, || {
        io::stderr().into()
    });
    let status = status.with_context(|| format!("cannot execute {what}")).map_err(Failure::infrastructure)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::usage(anyhow!("{what} ended with {status}: {line}")))
}

/// Executes each command some times, each time with what is executed before and after a timed run, and says how long the last
/// time took with both. How the command itself ends is for the timed runs to judge.
pub(super) fn warm_up(experiment: &Experiment, times: u32) -> Result<Vec<Duration>, Failure> {
    let versions = experiment.compared().len() as u32;
    let benchmarks = 0..experiment.benchmarks.len() as u32;
    let cells = benchmarks.flat_map(|benchmark| (0..versions).map(move |version| (benchmark, version)));
    cells.map(|cell| warm_up_one(experiment, cell, times)).collect()
}

fn warm_up_one(experiment: &Experiment, cell: (u32, u32), times: u32) -> Result<Duration, Failure> {
    let order = order(experiment, cell);
    let command = order.resolve(NO_INPUT).map_err(Failure::usage)?;
    let prepare = order.resolve_prepare(NO_INPUT).map_err(Failure::usage)?;
    let conclude = order.resolve_cleanup(NO_INPUT).map_err(Failure::usage)?;
    let longest = Duration::from(order.timeout);
    let mut took = Duration::ZERO;
    for _ in 0..times {
        let started = Instant::now();
        step("--prepare", prepare.as_ref(), &command)?;
        let ended = execute(&command, Some(longest), Stdio::null)
            .with_context(|| format!("cannot execute {}", command.argv[0]));
        ended.map_err(Failure::usage)?;
        step("--conclude", conclude.as_ref(), &command)?;
        took = started.elapsed();
    }
    Ok(took)
}

/// One of the steps around a command, where the command stands; it must succeed.
fn step(flag: &str, line: Option<&ResolvedCommand>, command: &ResolvedCommand) -> Result<(), Failure> {
    let Some(line) = line else { return Ok(()) };
    let standing = ResolvedCommand { directory: command.directory.clone(), ..line.clone() };
    let status = execute(&standing, None, Stdio::null);
    let status = status
        .with_context(|| format!("cannot execute the {flag} command"))
        .map_err(Failure::infrastructure)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::usage(anyhow!("the {flag} command, before or after a warm-up, ended with {status}")))
}

fn order(experiment: &Experiment, (benchmark, version): (u32, u32)) -> WorkOrder {
    let cell = Cell { benchmark: BenchmarkIndex(benchmark), version: VersionIndex(version) };
    WorkOrder::new(experiment, cell, RunIndex(0))
}

fn execute(
    resolved: &ResolvedCommand,
    longest: Option<Duration>,
    output: impl Fn() -> Stdio,
) -> io::Result<ExitStatus> {
    let mut command = Command::new(&resolved.argv[0]);
    command.args(&resolved.argv[1..]).env_clear().envs(&resolved.env).stdin(Stdio::null());
    if let Some(directory) = &resolved.directory {
        command.current_dir(directory);
    }
    let mut child = command.stdout(output()).stderr(output()).spawn()?;
    if let Some(longest) = longest {
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let longest = Timespec::try_from(longest).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        if poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&longest))? == 0 {
            child.kill()?;
        }
    }
    child.wait()
}
