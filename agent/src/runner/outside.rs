//! Commands of the plan outside the clock: the setup, the preparation and the cleanup; and the canary, which is timed by
//! itself when the run is over.

use std::sync::atomic::AtomicBool;

use speedup_core::experiment::environment::DIRECTORY_NAME;
use speedup_core::run::work::Resolved;
use speedup_core::value::time::Span;

use super::judgement::unmeasured;
use super::variables::variables;
use super::{NotExecuted, Runner, Standing, command, interrupted, no_directory, not_launched};
use crate::launch::{End, Execution, LaunchCommand, Preparation, Sink};
use crate::surroundings::Established;
use crate::workplace::Workplace;

/// What is kept of the output of such a command, to say why it failed.
const KEEP: usize = 4_096;
/// What it may write to each stream.
const LIMIT: u64 = 16 << 20;

impl Runner {
    /// Executes a command of the plan outside the clock.
    pub(super) fn outside(
        &mut self,
        what: &str,
        resolved: &Resolved,
        standing: &Standing,
        timeout: Span,
        stop: &AtomicBool,
    ) -> Result<(), NotExecuted> {
        let preparation = Preparation { user: self.surroundings.user().cloned(), ..Preparation::default() };
        self.by_itself(what, &of_plan(resolved, standing, timeout, preparation), stop).map(drop)
    }

    /// Times the canary, in an empty working directory and under what the plan's environment prescribes to processes:
    /// the same for all runs of the experiment.
    pub(super) fn canary(
        &mut self,
        resolved: &Resolved,
        timeout: Span,
        place: &Workplace,
        established: &Established,
        stop: &AtomicBool,
    ) -> Result<Span, NotExecuted> {
        place.clear_work();
        let work = place.new_work(DIRECTORY_NAME).map_err(|error| no_directory(&error))?;
        let standing = Standing::alone(work);
        let command = of_plan(resolved, &standing, timeout, established.preparation.clone());
        let held = self.surroundings.hold(&mut established.clone());
        let execution = self.by_itself("the canary", &command, stop);
        drop(held);
        let execution = execution?;
        unmeasured(&execution).map_or(Ok(Span(execution.wall_ns)), Err)
    }

    /// Whatever the command ends with but exit code 0 is a failure.
    fn by_itself(
        &mut self,
        what: &str,
        command: &LaunchCommand,
        stop: &AtomicBool,
    ) -> Result<Execution, NotExecuted> {
        self.allow(what, command)?;
        let execution = self.launcher.execute(command, stop).map_err(|error| not_launched(what, &error))?;
        let told =
            execution.stderr.as_ref().map(|output| String::from_utf8_lossy(&output.head).trim().to_owned());
        let told = told.filter(|text| !text.is_empty()).map_or(String::new(), |text| format!(": {text}"));
        if execution.end != End::Exited(0) && self.ended_by.explains(&execution.end, stop) {
            return Err(interrupted());
        }
        match execution.end {
            End::Exited(0) => Ok(execution),
            End::Exited(code) => {
                Err(NotExecuted::through_plan(format!("{what} ended with exit code {code}{told}")))
            }
            End::Signaled { signal, .. } => {
                Err(NotExecuted::through_plan(format!("signal {signal} ended {what}{told}")))
            }
            End::TimedOut { .. } => {
                let limit = Span(u64::try_from(command.timeout.as_nanos()).unwrap_or(u64::MAX));
                Err(NotExecuted::through_plan(format!("{what} did not end within {limit}{told}")))
            }
            End::Interrupted { .. } => Err(interrupted()),
        }
    }
}

fn of_plan(
    resolved: &Resolved,
    standing: &Standing,
    timeout: Span,
    preparation: Preparation,
) -> LaunchCommand {
    let sink = Sink::Capture { limit: LIMIT, keep: KEEP };
    command(resolved, variables(resolved, &standing.work), &standing.directory, timeout, sink, preparation)
}
