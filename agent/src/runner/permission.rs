//! The owner's permission: a run of which his limits forbid a part is refused before anything of it is executed, and each
//! command is judged again right before it is.

use speedup_core::experiment::template::TemplateError;
use speedup_core::run::work::{Resolved, WorkOrder};

use super::variables::variables;
use super::{NotExecuted, Runner, command};
use crate::launch::{LaunchCommand, Preparation, Sink};
use crate::limits::NotAllowed;
use crate::workplace::{EXPERIMENTS, Workplace};

impl Runner {
    /// Why not even the files of a run may be made ready, if so.
    pub(crate) fn refusal(&self, order: &WorkOrder) -> Option<NotExecuted> {
        self.limits.check_order(order).err().map(NotExecuted::from)
    }

    /// Refuses a run of which the owner's limits forbid a command, as far as can be told now: a program that is not there yet
    /// may be made by the run itself.
    pub(super) fn permit(&self, order: &WorkOrder, place: &Workplace) -> Result<(), NotExecuted> {
        let unresolved = |error: TemplateError| NotExecuted::through_plan(error.to_string());
        let path = place.input();
        let input = path.to_string_lossy();
        let program = order.resolve(&input).map_err(unresolved)?;
        let stands = program.directory.as_ref().map_or_else(|| path.clone(), Into::into);
        let judge = |what, resolved: &Resolved, directory| {
            let env = variables(resolved, &path);
            let wanted = command(resolved, env, directory, order.timeout, Sink::Null, Preparation::default());
            match self.judge(what, &wanted) {
                Err(refused @ NotAllowed::Refused(_)) => Err(NotExecuted::from(refused)),
                Ok(()) | Err(NotAllowed::NotThere(_)) => Ok(()),
            }
        };
        let of_host = [
            ("the setup", order.resolve_setup(&input).map_err(unresolved)?),
            ("the canary", order.resolve_canary(&input).map_err(unresolved)?),
        ];
        let of_run = [
            ("the preparation", order.resolve_prepare(&input).map_err(unresolved)?),
            ("the run", Some(program)),
            ("the cleanup", order.resolve_cleanup(&input).map_err(unresolved)?),
        ];
        for (what, resolved) in of_host {
            resolved.map_or(Ok(()), |resolved| judge(what, &resolved, &path))?;
        }
        for (what, resolved) in of_run {
            resolved.map_or(Ok(()), |resolved| judge(what, &resolved, &stands))?;
        }
        Ok(())
    }

    /// Judges a command that is executed next.
    pub(super) fn allow(&self, what: &str, command: &LaunchCommand) -> Result<(), NotExecuted> {
        self.judge(what, command).map_err(NotExecuted::from)
    }

    fn judge(&self, what: &str, command: &LaunchCommand) -> Result<(), NotAllowed> {
        self.limits.check(what, command, &self.state.join(EXPERIMENTS))
    }
}
