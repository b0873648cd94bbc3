//! Commands of the plan outside the clock: the setup, the preparation and the cleanup; and the canary, which is timed by
//! itself when the run is over.

use std::{collections::BTreeMap, rc::Rc};

use speedup_core::{experiment::environment::DIRECTORY_NAME, value::excerpt::legible, value::time::Span};

use super::judgement::unmeasured;
use super::software::PreparedSoftware;
use super::{
    ExecContext, NotExecuted, PlanCommand, RunExecution, command, interrupted, no_directory, not_launched,
};
use crate::launch::{End, Execution, LaunchCommand, Preparation, Sink};
use crate::surroundings::Established;

/// What is kept of the output of such a command, to say why it failed.
const KEEP: usize = 4_096;
/// What it may write to each stream.
const LIMIT: u64 = 16 << 20;

impl RunExecution<'_> {
    /// Executes a command of the plan outside the clock.
    pub(super) fn outside(&mut self, step: &PlanCommand, context: &ExecContext) -> Result<(), NotExecuted> {
        let user = self.runner.surroundings.user().cloned();
        let preparation = Preparation { user, ..Preparation::default() };
        self.executed(
            step.what,
            &untimed_command(step, context, preparation),
            context.software_variables().as_ref(),
        )
        .map(drop)
    }

    /// Times the canary, in an empty working directory and under what the plan's environment prescribes to processes:
    /// the same for all runs of the experiment.
    pub(super) fn canary(
        &mut self,
        step: &PlanCommand,
        established: &Established,
        software: &Rc<PreparedSoftware>,
    ) -> Result<Span, NotExecuted> {
        let place = self.place;
        place.clear_work();
        let work = place.new_work(DIRECTORY_NAME).map_err(|error| no_directory(&error))?;
        let context = ExecContext { software: software.clone(), ..ExecContext::in_own_directory(work) };
        let command = untimed_command(step, &context, established.preparation.clone());
        let held = self.runner.surroundings.hold(&mut established.clone());
        let execution = self.executed(step.what, &command, context.software_variables().as_ref());
        drop(held);
        let execution = execution?;
        unmeasured(&execution).map_or(Ok(Span(execution.wall_ns)), Err)
    }

    /// Whatever the command ends with but exit code 0 is a failure. `made` are those of its variables that software made.
    pub(super) fn executed(
        &mut self,
        what: &str,
        command: &LaunchCommand,
        made: Option<&BTreeMap<String, String>>,
    ) -> Result<Execution, NotExecuted> {
        self.runner.allow(what, command, made)?;
        self.runner.surroundings.forget_reading();
        let execution = self.runner.launcher.execute(command, self.stop);
        let execution = execution.map_err(|error| not_launched(what, &error))?;
        let told = execution.stderr.as_ref().map(|output| legible(&output.head).trim().to_owned());
        let told = told.filter(|text| !text.is_empty()).map_or(String::new(), |text| format!(": {text}"));
        if execution.end != End::Exited(0) && self.is_cut_off(&execution.end) {
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

fn untimed_command(step: &PlanCommand, context: &ExecContext, preparation: Preparation) -> LaunchCommand {
    let PlanCommand { resolved, timeout, .. } = step;
    let sink = Sink::Capture { limit: LIMIT, keep: KEEP };
    command(resolved, context.variables(resolved), &context.directory, *timeout, sink, preparation)
}
