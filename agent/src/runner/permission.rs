//! The owner's permission: a run of which his limits forbid a part is refused before anything of it is executed, and each
//! command is judged again right before it is.

use std::{collections::BTreeMap, path::Path};

use speedup_core::run::work::{ResolvedCommand, WorkOrder};

use super::{NotExecuted, PlanCommand, RunCommands, RunExecution, Runner, command, variables::variables};
use crate::launch::{LaunchCommand, Preparation, Sink};
use crate::limits::NotAllowed;
use crate::workplace::EXPERIMENTS;

impl Runner {
    /// Why not even the files of a run may be made ready, if so.
    pub(crate) fn refusal(&self, order: &WorkOrder) -> Option<NotExecuted> {
        self.limits.check_order(order).err().map(NotExecuted::from)
    }

    /// Judges a command that is executed next.
    pub(super) fn allow(
        &self,
        what: &str,
        command: &LaunchCommand,
        made: Option<&BTreeMap<String, String>>,
    ) -> Result<(), NotExecuted> {
        self.judge(what, command, made).map_err(NotExecuted::from)
    }

    /// `made` are those of its variables that software made, of which the owner has allowed each part.
    fn judge(
        &self,
        what: &str,
        command: &LaunchCommand,
        made: Option<&BTreeMap<String, String>>,
    ) -> Result<(), NotAllowed> {
        self.limits.check(what, command, made, &self.scratch.join(EXPERIMENTS))
    }
}

impl RunExecution<'_> {
    /// Refuses a run of which the owner's limits forbid a command, as far as can be told now: a program that is not there yet
    /// may be made by the run itself.
    pub(super) fn permit(&self) -> Result<(), NotExecuted> {
        let RunCommands { setup, prepare, program, cleanup, canary } = self.commands;
        let path = self.place.input();
        let stands = program.resolved.directory.as_ref().map_or_else(|| path.clone(), Into::into);
        let of_host = [setup, canary].into_iter().flatten().map(|step| (step, &path));
        let of_run = prepare.iter().chain([program]).chain(cleanup).map(|step| (step, &stands));
        for (PlanCommand { what, resolved, .. }, directory) in of_host.chain(of_run) {
            let (env, timeout) = (variables(resolved, &path, None), self.order.timeout);
            let wanted = command(resolved, env, directory, timeout, Sink::Null, Preparation::default());
            self.refuse(what, &wanted)?;
        }
        self.permit_container(&stands)
    }

    /// The same of what starts the container, and of what identifies its image.
    fn permit_container(&self, stands: &Path) -> Result<(), NotExecuted> {
        let Some(container) = &self.order.environment.software.container else { return Ok(()) };
        for (what, words) in [
            ("the container of the run", container.words()),
            ("the digest of the image", container.digest.clone()),
        ] {
            let argv = self.words_of(container, &words, &stands.to_string_lossy())?;
            let resolved = ResolvedCommand { argv, env: BTreeMap::new(), directory: None };
            let (env, timeout) = (variables(&resolved, stands, None), self.order.timeout);
            let wanted = command(&resolved, env, stands, timeout, Sink::Null, Preparation::default());
            if !wanted.argv.is_empty() {
                self.refuse(what, &wanted)?;
            }
        }
        Ok(())
    }

    fn refuse(&self, what: &str, wanted: &LaunchCommand) -> Result<(), NotExecuted> {
        match self.runner.judge(what, wanted, None) {
            Err(refused @ NotAllowed::Refused(_)) => Err(NotExecuted::from(refused)),
            Ok(()) | Err(NotAllowed::NotThere(_)) => Ok(()),
        }
    }
}
