//! The container of a run: what its image is, and whether it starts. The launcher is executed with the program, so its start
//! is within the clock; a program that does nothing is therefore tried before the first run, and its time recorded.

use std::{collections::BTreeMap, path::Path, path::PathBuf};

use speedup_core::experiment::environment::DIRECTORY_NAME;
use speedup_core::experiment::software::{Container, IMAGE, SCRATCH, WORK};
use speedup_core::experiment::template::TemplateError;
use speedup_core::run::program::ProgramContent;
use speedup_core::run::software::{ImageIdentity, MAX_DIGEST_BYTES, UsedContainer};
use speedup_core::value::time::Span;

use super::{PreparedSoftware, resolved};
use crate::files::ProgramStamp;
use crate::launch::{Execution, LaunchCommand, Preparation, Sink};
use crate::runner::variables::variables;
use crate::runner::{NotExecuted, RunExecution, command, no_directory};

/// What is kept of the output of a launcher, to say what it is or why it failed.
const KEEP: usize = 4_096;
/// What it may write to each stream: the pull of an image may tell of its progress.
const LIMIT: u64 = 16 << 20;

impl RunExecution<'_> {
    /// The words of a container's command for a program that stands in this directory.
    pub(in crate::runner) fn words_of(
        &self,
        container: &Container,
        words: &[String],
        work: &str,
    ) -> Result<Vec<String>, NotExecuted> {
        let (input, scratch) = (self.place.input(), &self.runner.scratch);
        let (input, scratch) = (input.to_string_lossy(), scratch.to_string_lossy());
        let none = BTreeMap::new();
        let through_plan = |error: TemplateError| NotExecuted::through_plan(error.to_string());
        let image = self.order.expand(&container.image, &input, &none).map_err(through_plan)?;
        let own = BTreeMap::from([(IMAGE, image.as_str()), (WORK, work), (SCRATCH, &*scratch)]);
        let words = words.iter().map(|word| self.order.expand(word, &input, &own));
        words.collect::<Result<_, _>>().map_err(through_plan)
    }

    /// The command as the launcher starts it in the container of the plan, if there is one.
    pub(in crate::runner) fn in_container(
        &self,
        command: LaunchCommand,
    ) -> Result<LaunchCommand, NotExecuted> {
        let Some(container) = &self.order.environment.software.container else { return Ok(command) };
        let words = self.words_of(container, &container.words(), &command.directory.to_string_lossy())?;
        let argv = words.into_iter().map(Into::into).chain(command.argv).collect();
        Ok(LaunchCommand { argv, ..command })
    }

    /// Finds out what the image is, and executes a program in it that does nothing.
    pub(super) fn try_container(
        &mut self,
        container: &Container,
        ready: &PreparedSoftware,
    ) -> Result<UsedContainer, NotExecuted> {
        let work = self.place.new_work(DIRECTORY_NAME).map_err(|error| no_directory(&error))?;
        let image = self.words_of(container, std::slice::from_ref(&container.image), "")?.concat();
        let identity = self.identity(container, &image, ready, &work)?;
        let start = if container.probe.is_empty() {
            None
        } else {
            let probe = self.words_of(container, &container.probe, &work.to_string_lossy())?;
            let command = self.in_container(self.beside(probe, ready, &work))?;
            let what = "a program that does nothing, in the container,";
            Some(Span(self.executed(what, &command, ready.variables(&work).as_ref())?.wall_ns))
        };
        Ok(UsedContainer { image, identity, start })
    }

    fn identity(
        &mut self,
        container: &Container,
        image: &str,
        ready: &PreparedSoftware,
        work: &Path,
    ) -> Result<ImageIdentity, NotExecuted> {
        if !container.digest.is_empty() {
            let words = self.words_of(container, &container.digest, &work.to_string_lossy())?;
            let command = self.beside(words, ready, work);
            let what = "the command for the digest of the image";
            let execution = self.executed(what, &command, ready.variables(work).as_ref())?;
            return Ok(first_line(&execution));
        }
        let path = PathBuf::from(image);
        if !path.is_absolute() || !path.is_file() {
            let reason = "the image is no file of the host, and the plan has no command for its digest";
            return Ok(ImageIdentity::Unknown { reason: reason.to_owned() });
        }
        let program = self.runner.programs.content(ProgramStamp::at(path), self.stop);
        Ok(match program.content {
            ProgramContent::Blake3(hash) => ImageIdentity::Blake3(hash),
            ProgramContent::Unknown { reason } => ImageIdentity::Unknown { reason },
        })
    }

    /// A command outside the clock with the variables of the program.
    fn beside(&self, argv: Vec<String>, ready: &PreparedSoftware, work: &Path) -> LaunchCommand {
        let user = self.runner.surroundings.user().cloned();
        let preparation = Preparation { user, ..Preparation::default() };
        let words = resolved(argv);
        let env = variables(&words, work, ready.variables(work));
        let timeout = self.order.environment.software.timeout;
        command(&words, env, work, timeout, Sink::Capture { limit: LIMIT, keep: KEEP }, preparation)
    }
}

fn first_line(execution: &Execution) -> ImageIdentity {
    let head = execution.stdout.as_ref().map(|output| output.head.as_slice()).unwrap_or_default();
    let text = String::from_utf8_lossy(head);
    let mut line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    line.truncate(line.floor_char_boundary(MAX_DIGEST_BYTES));
    if line.is_empty() {
        let reason = "the command for the digest of the image printed nothing";
        return ImageIdentity::Unknown { reason: reason.to_owned() };
    }
    ImageIdentity::Told(line)
}
