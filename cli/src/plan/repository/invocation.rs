//! How git is executed: without what the shell around us says of other repositories, without anything that a repository can have executed,
//! and with bounds on what it answers.

use std::{io, io::Read as _, path::Path, process::Command, process::Stdio, thread};

use speedup_core::{value::bounded::read_at_most, value::excerpt::legible};

use super::GitRefusal;

/// What git goes by besides its command line: all of it is removed, as `GIT_DIR` in a hook, or `GIT_INDEX_FILE`.
const OF_GIT: &str = "GIT_";
/// What is set instead: no lock on the index, no question, no download of what a partial clone lacks, over no protocol, whichever the
/// repository allows; messages that can be told apart.
const SET: [(&str, &str); 6] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // Older releases know no GIT_NO_LAZY_FETCH.
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("LC_ALL", "C"),
    ("LANGUAGE", ""),
];
/// Before the verb: what a repository's configuration can have executed, what makes ids mean something else, and a warning that it
/// can switch off.
const OPTIONS: [&str; 10] = [
    "--no-pager",
    "--no-replace-objects",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "i18n.logOutputEncoding=UTF-8",
    "-c",
    "core.warnAmbiguousRefs=true",
];
/// Most bytes of its messages that are kept.
const MAX_MESSAGE_BYTES: u64 = 4 << 10;
/// Most characters of a message that are told.
const MAX_TOLD: usize = 300;

pub(super) fn git(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(OF_GIT) {
            command.env_remove(name);
        }
    }
    // Of a relative path git would be the one of the directory in which it is executed.
    if let Some(paths) = std::env::var_os("PATH") {
        let absolute = std::env::split_paths(&paths).filter(|path| path.is_absolute());
        command.env("PATH", std::env::join_paths(absolute).unwrap_or_default());
    }
    command.envs(SET).args(OPTIONS).args(arguments).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[derive(Debug)]
pub(super) struct Answer {
    /// Whether it did what it was asked.
    pub(super) is_success: bool,
    pub(super) output: Vec<u8>,
    messages: Vec<u8>,
}

impl Answer {
    /// Waits for it. More than `most` bytes are refused.
    pub(super) fn wait_for(mut command: Command, most: u64) -> Result<Self, GitRefusal> {
        let mut child = command.spawn().map_err(GitRefusal::NoGit)?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let (output, messages) = thread::scope(|scope| {
            let messages = scope.spawn(|| {
                let mut kept = Vec::new();
                if let Some(mut errors) = errors {
                    let read = errors.by_ref().take(MAX_MESSAGE_BYTES).read_to_end(&mut kept);
                    // What nobody reads would hold it up.
                    let _ = read.and_then(|_| io::copy(&mut errors, &mut io::sink()));
                }
                kept
            });
            let output = output.map_or(Ok(Vec::new()), |output| read_at_most(output, most));
            (output, messages.join().unwrap_or_default())
        });
        let status = child.wait().map_err(GitRefusal::NoGit)?;
        let output =
            output.map_err(|error| GitRefusal::failed("read what git answers", error.to_string()))?;
        Ok(Self { is_success: status.success(), output, messages })
    }

    /// Whether it writes anything; more than the first byte is not waited for.
    pub(super) fn is_any(mut command: Command) -> Result<bool, GitRefusal> {
        let mut child = command.stderr(Stdio::null()).spawn().map_err(GitRefusal::NoGit)?;
        let first = child.stdout.take().map_or(Ok(0), |mut output| output.read(&mut [0]));
        // It may have ended.
        let _ = child.kill();
        child.wait().map_err(GitRefusal::NoGit)?;
        Ok(first.is_ok_and(|bytes| bytes > 0))
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// The name of which it warns that there are several references of it.
    pub(super) fn ambiguous_name(&self) -> Option<String> {
        let messages = legible(&self.messages);
        let (_, warning) = messages.split_once("warning: refname '")?;
        let (name, _) = warning.split_once("' is ambiguous")?;
        Some(name.to_owned())
    }

    /// What it said, in one line: the last message that is none of its hints.
    pub(super) fn words(&self) -> String {
        words(&self.messages)
    }
}

fn words(messages: &[u8]) -> String {
    let messages = legible(messages);
    let said = messages.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let line = said.clone().find(|line| line.contains("ambiguous")).or_else(|| said.clone().next());
    let line = line.unwrap_or("it says nothing");
    let line =
        ["fatal: ", "error: "].into_iter().fold(line, |line, mark| line.strip_prefix(mark).unwrap_or(line));
    line.chars().take(MAX_TOLD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_what_git_says_is_told() {
        assert_eq!(words(b"fatal: Needed a single revision\n"), "Needed a single revision");
        let many = "error: short object ID 1b is ambiguous\nhint: The candidates are:\nfatal: Needed a single revision\n";
        assert_eq!(words(many.as_bytes()), "short object ID 1b is ambiguous");
        assert_eq!(words(b"hint: x\n\n"), "it says nothing");
        assert_eq!(words(b"\x1b[31m"), "\\x1b[31m");
    }

    #[test]
    fn nothing_of_another_repository_and_nothing_to_execute_is_passed_on() {
        let command = git(Path::new("."), &["status"]);
        let set: Vec<_> =
            command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?))).collect();
        assert_eq!(set.len(), SET.len() + 1, "PATH is set too");
        let words: Vec<_> = command.get_args().filter_map(|word| word.to_str()).collect();
        assert_eq!(words.last(), Some(&"status"));
        assert!(words.contains(&"core.hooksPath=/dev/null") && words.contains(&"core.fsmonitor=false"));
    }
}
