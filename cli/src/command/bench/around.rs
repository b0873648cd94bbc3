//! What is executed before and after everything: setup, warm-ups, cleanup. Nothing is timed here.

use std::io;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, anyhow};
use speedup_core::experiment::Experiment;
use speedup_core::plan::Cell;
use speedup_core::run::work::{Resolved, WorkOrder};
use speedup_core::value::id::{BenchmarkIndex, RunIndex, VersionIndex};

use crate::exit::failure::Failure;

/// There is no input directory on the command line.
const NO_INPUT: &str = "";

/// Executes a line of the user's by the shell, in the directory and environment of the runs; it must succeed. What it
/// writes is talk: the answer alone goes to standard output.
pub(super) fn shell(experiment: &Experiment, what: &str, line: &str) -> Result<(), Failure> {
    let argv = ["/bin/sh", "-c", line].map(str::to_owned).to_vec();
    let status = execute(&Resolved { argv, ..resolved(experiment, 0)? }, || std::io::stderr().into());
    let status = status.with_context(|| format!("cannot execute {what}")).map_err(Failure::infrastructure)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::usage(anyhow!("{what} ended with {status}: {line}")))
}

/// Executes each command some times, each time with what is executed before and after a timed run. How the command itself
/// ends is for the timed runs to judge.
pub(super) fn warm_up(experiment: &Experiment, times: u32) -> Result<(), Failure> {
    for version in 0..experiment.versions.len() as u32 {
        let order = order(experiment, version);
        let command = order.resolve(NO_INPUT).map_err(Failure::usage)?;
        let prepare = order.resolve_prepare(NO_INPUT).map_err(Failure::usage)?;
        let conclude = order.resolve_cleanup(NO_INPUT).map_err(Failure::usage)?;
        for _ in 0..times {
            step("--prepare", prepare.as_ref(), &command)?;
            let ended =
                execute(&command, Stdio::null).with_context(|| format!("cannot execute {}", command.argv[0]));
            ended.map_err(Failure::usage)?;
            step("--conclude", conclude.as_ref(), &command)?;
        }
    }
    Ok(())
}

/// One of the steps around a command, where the command stands; it must succeed.
fn step(flag: &str, line: Option<&Resolved>, command: &Resolved) -> Result<(), Failure> {
    let Some(line) = line else { return Ok(()) };
    let standing = Resolved { directory: command.directory.clone(), ..line.clone() };
    let status = execute(&standing, Stdio::null);
    let status =
        status.with_context(|| format!("cannot execute that of {flag}")).map_err(Failure::infrastructure)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::usage(anyhow!("that of {flag}, before or after a warm-up, ended with {status}")))
}

fn resolved(experiment: &Experiment, version: u32) -> Result<Resolved, Failure> {
    order(experiment, version).resolve(NO_INPUT).map_err(Failure::usage)
}

fn order(experiment: &Experiment, version: u32) -> WorkOrder {
    let cell = Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(version) };
    WorkOrder::new(experiment, cell, RunIndex(0))
}

fn execute(resolved: &Resolved, output: impl Fn() -> Stdio) -> io::Result<ExitStatus> {
    let mut command = Command::new(&resolved.argv[0]);
    command.args(&resolved.argv[1..]).env_clear().envs(&resolved.env).stdin(Stdio::null());
    if let Some(directory) = &resolved.directory {
        command.current_dir(directory);
    }
    command.stdout(output()).stderr(output()).status()
}
