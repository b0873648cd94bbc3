//! What is executed before and after everything: setup, warm-ups, cleanup. Nothing is timed here.

use std::io;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, anyhow};
use speedup_core::experiment::Experiment;
use speedup_core::id::{BenchmarkIndex, RunIndex, VersionIndex};
use speedup_core::plan::Cell;
use speedup_core::work::{Resolved, WorkOrder};

use crate::failure::Failure;

/// Executes a line of the user's by the shell, in the directory and environment of the runs; it must succeed.
pub(super) fn shell(experiment: &Experiment, what: &str, line: &str) -> Result<(), Failure> {
    let argv = ["/bin/sh", "-c", line].map(str::to_owned).to_vec();
    let status = execute(&Resolved { argv, ..resolved(experiment, 0)? }, Stdio::inherit);
    let status = status.with_context(|| format!("cannot execute {what}")).map_err(Failure::infrastructure)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::usage(anyhow!("{what} ended with {status}: {line}")))
}

/// Executes each command some times. How it ends is for the timed runs to judge.
pub(super) fn warm_up(experiment: &Experiment, times: u32) -> Result<(), Failure> {
    for version in 0..experiment.versions.len() as u32 {
        let resolved = resolved(experiment, version)?;
        for _ in 0..times {
            let ended = execute(&resolved, Stdio::null)
                .with_context(|| format!("cannot execute {}", resolved.argv[0]));
            ended.map_err(Failure::usage)?;
        }
    }
    Ok(())
}

fn resolved(experiment: &Experiment, version: u32) -> Result<Resolved, Failure> {
    let cell = Cell { benchmark: BenchmarkIndex(0), version: VersionIndex(version) };
    // There is no input directory on the command line.
    WorkOrder::new(experiment, cell, RunIndex(0)).resolve("").map_err(Failure::usage)
}

fn execute(resolved: &Resolved, output: impl Fn() -> Stdio) -> io::Result<ExitStatus> {
    let mut command = Command::new(&resolved.argv[0]);
    command.args(&resolved.argv[1..]).env_clear().envs(&resolved.env).stdin(Stdio::null());
    if let Some(directory) = &resolved.directory {
        command.current_dir(directory);
    }
    command.stdout(output()).stderr(output()).status()
}
