//! The commits of `--git`: the files of each in a directory of its own, and what is built there. All of it is removed again, however this
//! command ends.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use anyhow::{Context as _, anyhow};
use speedup_core::experiment::Experiment;
use speedup_core::experiment::commit::Commit;
use speedup_core::{run::work::ResolvedCommand, value::excerpt::last_lines};

use super::{around, variant};
use crate::console::Console;
use crate::exit::Exit;
use crate::exit::failure::Failure;
use crate::plan::commits;
use crate::plan::repository::{Range, Repository};

/// What a baseline is called that nobody named: the commit from which both came.
const MERGE_BASE: &str = "merge-base";
/// Most bytes and lines of the end of what a build wrote that are shown when it fails.
const SHOWN: (u64, usize) = (8 << 10, 100);
/// Waits until the command that started it has ended, whatever ended that; then ends the build under way and removes the directory. A
/// program that is just being ended may still write to it, and builds make directories that nobody may write to.
const GUARD: &str = "trap '' INT TERM HUP\ngroup=\nwhile read -r line; do group=$line; done\n\
    [ -z \"$group\" ] || kill -s KILL -- \"-$group\" 2>/dev/null\n\
    for _ in 1 2 3 4 5 6 7 8 9 10; do\nrm -rf -- \"$1\" 2>/dev/null && exit\nchmod -R u+rwX -- \"$1\" 2>/dev/null\nsleep 1\ndone\nexit 1";

/// Becomes a build when a line comes; none does if this command ends before the guard knows of the build.
const GATE: &str = "read -r line && exec \"$@\" </dev/null";

/// A commit whose files are on the disk.
#[derive(Clone, Debug)]
pub(super) struct Checkout {
    pub(super) name: String,
    pub(super) commit: Commit,
    /// Where commands stand in it: as this command stands in the working tree.
    pub(super) directory: String,
}

impl Checkout {
    /// Puts the files of the commits of a range, in the repository of this directory, on the disk, the baseline first.
    pub(super) fn all(range: &Range, guard: &CheckoutGuard, console: &Console) -> Result<Vec<Self>, Failure> {
        let repository = Repository::at(Path::new("."))?;
        let commits = repository.commits(range)?;
        let names =
            variant::names([&commits[0], &commits[1]].map(|commit| match commit.revision.contains("...") {
                true => MERGE_BASE.to_owned(),
                false => commit.revision.clone(),
            }));
        let one = |(commit, name)| Self::new(&repository, commit, name, guard, console);
        commits.into_iter().zip(names).map(one).collect()
    }

    fn new(
        repository: &Repository,
        commit: Commit,
        name: String,
        guard: &CheckoutGuard,
        console: &Console,
    ) -> Result<Self, Failure> {
        let source = repository.source(&commit)?;
        let notes = [
            commits::left_out(repository, &commit)?,
            commits::without_submodules(&commit, source.submodules()),
        ];
        notes.into_iter().flatten().for_each(|note| console.warn(note));
        console.talk(format_args!("{name}: {}", commit.in_words()));
        // Names of one length: the path of its directory is in the memory of a program.
        let root = guard.directory.join(commit.short());
        std::fs::create_dir(&root).context("cannot make a directory").map_err(Failure::infrastructure)?;
        source.unpack(&root)?;
        let directory = standing(&root, repository.prefix(), &commit)?;
        Ok(Self { name, commit, directory })
    }
}

/// Where commands stand in a commit.
fn standing(root: &Path, prefix: &Path, commit: &Commit) -> Result<String, Failure> {
    let directory = root.join(prefix);
    if !directory.is_dir() {
        return Err(Failure::usage(anyhow!(
            "commit {} has no directory {}",
            commit.short(),
            prefix.display()
        ))
        .hint("stand in a directory that both commits have"));
    }
    let text = directory.to_str().map(|text| text.trim_end_matches('/').to_owned());
    text.ok_or_else(|| Failure::usage(anyhow!("the path {} is not UTF-8", directory.display())))
}

/// The directory of the commits, and the process that removes it when this one has ended.
#[derive(Debug)]
pub(super) struct CheckoutGuard {
    child: Child,
    /// Closed by our end, whatever it is.
    ended: Option<ChildStdin>,
    directory: PathBuf,
}

impl CheckoutGuard {
    pub(super) fn start() -> Result<Self, Failure> {
        let started = Self::started().context("cannot make a directory for the commits");
        started.map_err(|error| Failure::infrastructure(error).hint("TMPDIR names another place"))
    }

    fn started() -> io::Result<Self> {
        // Of its owner alone.
        let made = tempfile::Builder::new().prefix("speedup-").tempdir()?;
        let directory = made.path().canonicalize()?;
        let mut child = Command::new("/bin/sh")
            .args(["-c", GUARD, "speedup-keeper"])
            .arg(&directory)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C at the terminal is not for it.
            .process_group(0)
            .spawn()?;
        let ended = child.stdin.take();
        let _ = made.keep();
        Ok(Self { child, ended, directory })
    }

    pub(super) fn build(
        &mut self,
        checkouts: &[Checkout],
        experiment: &Experiment,
        argv: &[String],
        console: &Console,
    ) -> Result<(), Failure> {
        let line = argv.last().map_or("", String::as_str);
        for (number, Checkout { name, commit, .. }) in (0..).zip(checkouts) {
            console.talk(format_args!("building {name}: {line}"));
            let built = self
                .execute(&ResolvedCommand { argv: argv.to_vec(), ..around::standing(experiment, number)? });
            let (status, output) =
                built.context("cannot execute the build").map_err(Failure::infrastructure)?;
            if !status.success() {
                let error =
                    anyhow!("{output}").context(format!("the build of {name} ended with {status}: {line}"));
                let failure = Failure { exit: Exit::Failed, error, hint: None };
                let hint = format!("{}; its files are as Git keeps them, without .git", commit.in_words());
                return Err(failure.hint(hint));
            }
        }
        Ok(())
    }

    /// Executes a build, which the guard ends if we end first; and the end of what it wrote.
    fn execute(&mut self, resolved: &ResolvedCommand) -> io::Result<(ExitStatus, String)> {
        let log = tempfile::tempfile()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GATE, "speedup-build"]).args(&resolved.argv);
        command.env_clear().envs(&resolved.env).stdin(Stdio::piped());
        command.stdout(log.try_clone()?).stderr(log.try_clone()?).process_group(0);
        if let Some(directory) = &resolved.directory {
            command.current_dir(directory);
        }
        let mut build = command.spawn()?;
        let gate = build.stdin.take();
        let noted = self.note(&build.id().to_string());
        // A guard that is gone removes nothing any more.
        if let Err(error) = noted.and_then(|()| gate.map_or(Ok(()), |mut gate| writeln!(gate))) {
            build.kill()?;
            build.wait()?;
            return Err(error);
        }
        let status = build.wait()?;
        self.note("")?;
        let end = last_lines(log, SHOWN.0, SHOWN.1)?;
        Ok((status, if end.is_empty() { "it wrote nothing".to_owned() } else { end.join("\n") }))
    }

    /// Says which group of processes is to end with this one.
    fn note(&mut self, group: &str) -> io::Result<()> {
        self.ended.as_mut().map_or(Ok(()), |to| writeln!(to, "{group}"))
    }

    pub(super) fn remove(mut self) -> Result<(), Failure> {
        let status = self.end().context("cannot wait for what removes the commits");
        match status.map_err(Failure::infrastructure)?.success() {
            true => Ok(()),
            false => Err(Failure::infrastructure(anyhow!("cannot remove {}", self.directory.display()))),
        }
    }

    fn end(&mut self) -> io::Result<ExitStatus> {
        drop(self.ended.take());
        self.child.wait()
    }
}

impl Drop for CheckoutGuard {
    fn drop(&mut self) {
        // Whoever wants to know whether it did asks for it.
        let _ = self.end();
    }
}
