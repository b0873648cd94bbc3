//! What a job executes: one agent, and around it what its user says; and words as a shell reads them.

use serde::{Deserialize, Serialize};
use speedup_core::machine::provision::MAX_SURROUNDING_BYTES;
use thiserror::Error;

/// Most bytes of a command in front of the agent.
const MAX_WRAP_BYTES: usize = 4_096;
/// Longest name of a user: Linux's own bound.
const MAX_USER_BYTES: usize = 256;
/// The shell, where the prologue does not begin with another.
const SHELL: &str = "#!/bin/sh";
/// The shell on each of several nodes.
const SHELL_ON_NODES: &str = "/bin/sh";

/// What surrounds the agent in the script of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Surroundings {
    /// Lines of the shell before it. A first line `#!…` says which shell.
    #[serde(default)]
    pub(crate) prologue: String,
    /// Lines of the shell after it, whatever it ended with.
    #[serde(default)]
    pub(crate) epilogue: String,
    /// A command in front of it, as the shell of the job reads it.
    #[serde(default)]
    pub(crate) wrap: String,
    /// The user as whom the agent executes programs, if not as its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) run_as: String,
}

/// Why nothing of the kind surrounds an agent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum SurroundingsError {
    #[error("the {what} has {bytes} bytes, more than the {most} allowed")]
    TooLong {
        what: &'static str,
        bytes: usize,
        /// How many it may have.
        most: usize,
    },
    #[error("the {what} holds a control character")]
    Character { what: &'static str },
    #[error("{0:?} is no name of a user")]
    User(String),
}

impl Surroundings {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn check(&self) -> Result<(), SurroundingsError> {
        let parts = [
            ("prologue", &self.prologue, MAX_SURROUNDING_BYTES),
            ("epilogue", &self.epilogue, MAX_SURROUNDING_BYTES),
            ("command before the agent", &self.wrap, MAX_WRAP_BYTES),
        ];
        for (what, text, most) in parts {
            if text.len() > most {
                return Err(SurroundingsError::TooLong { what, bytes: text.len(), most });
            }
            let is_line = most == MAX_WRAP_BYTES;
            let is_allowed = |c: char| !c.is_control() || c == '\t' || !is_line && c == '\n';
            if !text.chars().all(is_allowed) {
                return Err(SurroundingsError::Character { what });
            }
        }
        let has_fitting = self.run_as.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if self.run_as.len() > MAX_USER_BYTES || self.run_as.starts_with('-') || !has_fitting {
            return Err(SurroundingsError::User(self.run_as.clone()));
        }
        Ok(())
    }

    /// The agent's command with what makes it execute programs as another user: whose they are cannot reach directories within the home
    /// directory of the coordinator's.
    fn agent(&self, command: &str) -> String {
        let wrap = if self.wrap.is_empty() { String::new() } else { format!("{} ", self.wrap) };
        let user = match self.run_as.as_str() {
            "" => String::new(),
            user => format!(" --user {user} --scratch \"${{TMPDIR:-/tmp}}\""),
        };
        format!("{wrap}{command}{user}")
    }

    /// The script of a job that executes this command, a line of the shell.
    pub(crate) fn script(&self, agent: &str) -> String {
        self.scripted("One agent of speedup on one whole node", &self.agent(agent))
    }

    /// The same of a job with several nodes, on each of which `spread` has a shell execute it.
    pub(crate) fn script_of_several(&self, agent: &str, spread: &str) -> String {
        let one = quoted(&format!("exec {}", self.agent(agent)));
        self.scripted(
            "One agent of speedup on each whole node",
            &format!("{spread} {SHELL_ON_NODES} -c {one}"),
        )
    }

    fn scripted(&self, title: &str, command: &str) -> String {
        let (shell, prologue) = match self.prologue.split_once('\n') {
            Some((first, rest)) if first.starts_with("#!") => (first, rest),
            Some(_) | None => (SHELL, self.prologue.as_str()),
        };
        let mut script = format!("{shell}\n# {title}, until the job ends.\n");
        script.push_str(&ended(prologue));
        if self.epilogue.is_empty() {
            // In place of the shell, so that the engine's signals reach it.
            script.push_str(&format!("exec {command}\n"));
            return script;
        }
        // The engine's signals reach the shell, which passes them on and waits until the agent has ended. One that comes while the
        // agent is started is passed on when it has started.
        script.push_str(&format!(
            "agent= told=\n\
             trap 'told=1; [ -z \"$agent\" ] || kill -TERM \"$agent\" 2>/dev/null' TERM INT HUP USR1 USR2\n\
             {command} &\nagent=$!\n[ -z \"$told\" ] || kill -TERM \"$agent\" 2>/dev/null\n\
             wait \"$agent\"; ended=$?\n\
             while [ \"$ended\" -gt 128 ] && kill -0 \"$agent\" 2>/dev/null; do wait \"$agent\"; ended=$?; done\n\
             # What follows, whatever it ends with, leaves the job with the end of the agent.\n\
             trap 'exit \"$ended\"' EXIT\n"
        ));
        script.push_str(&ended(&self.epilogue));
        script
    }
}

/// Lines, the last of which ends.
fn ended(lines: &str) -> String {
    match lines {
        "" => String::new(),
        lines if lines.ends_with('\n') => lines.to_owned(),
        lines => format!("{lines}\n"),
    }
}

/// A command with its arguments, as a shell reads it.
pub(super) fn line(words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it.
pub(super) fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-:=,@%+".contains(c)) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn executed(script: &str) -> std::process::Output {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("script");
        std::fs::write(&path, script).unwrap();
        Command::new("sh").arg(&path).output().unwrap()
    }

    fn surroundings(prologue: &str, epilogue: &str, wrap: &str) -> Surroundings {
        let [prologue, epilogue, wrap] = [prologue, epilogue, wrap].map(str::to_owned);
        Surroundings { prologue, epilogue, wrap, run_as: String::new() }
    }

    #[test]
    fn programs_have_a_user_of_their_own_if_one_is_named() {
        let around = Surroundings { run_as: "bench".to_owned(), ..surroundings("", "", "sudo -n") };
        assert_eq!(around.check(), Ok(()));
        let script = around.script("speedup agent start");
        let line = "exec sudo -n speedup agent start --user bench --scratch \"${TMPDIR:-/tmp}\"\n";
        assert!(script.ends_with(line), "{script}");
        for wrong in ["-x", "a b", "a;b", "$(id)", "ä", &"x".repeat(257)] {
            let around = Surroundings { run_as: wrong.to_owned(), ..Surroundings::default() };
            assert_eq!(around.check(), Err(SurroundingsError::User(wrong.to_owned())));
        }
    }

    #[test]
    fn without_more_the_agent_takes_the_place_of_the_shell() {
        let script = Surroundings::default().script("agent start");
        assert_eq!(script.lines().last(), Some("exec agent start"));
        assert!(script.starts_with("#!/bin/sh\n"), "{script}");
    }

    #[test]
    fn on_several_nodes_a_shell_of_each_expands_the_words() {
        let around = surroundings("export A=1", "", "env \"B=$A\"");
        let script = around.script_of_several("sh -c 'echo $B on $NODE'", "env NODE=n1");
        assert_eq!(String::from_utf8(executed(&script).stdout).unwrap(), "1 on n1\n");
        assert!(script.lines().last().unwrap().starts_with("exec env NODE=n1 /bin/sh -c "), "{script}");
    }

    #[test]
    fn lines_come_before_and_after_the_agent_and_a_command_in_front_of_it() {
        let around = surroundings("A=1", "echo after $ended", "env \"B=$A\"");
        let output = executed(&around.script("sh -c 'echo agent $B; exit 7'"));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "agent 1\nafter 7\n");
        assert_eq!(output.status.code(), Some(7), "the job ends as its agent");
    }

    #[test]
    fn the_job_ends_as_its_agent_whatever_the_epilogue_does() {
        for epilogue in ["exit 3", "false", "set -e; false"] {
            let output = executed(&surroundings("", epilogue, "").script("true"));
            assert_eq!(output.status.code(), Some(0), "{epilogue}");
        }
    }

    #[test]
    fn a_signal_to_the_job_reaches_the_agent_and_the_epilogue_follows() {
        let around = surroundings("", "echo after", "");
        let agent = "sh -c 'trap \"echo told; exit 5\" TERM; echo ready; while :; do sleep 0.05; done'";
        let mut child = Command::new("sh");
        let mut child = child.args(["-c", &around.script(agent)]).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut said, &mut line).unwrap();
        assert_eq!(line, "ready\n");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut said, &mut rest).unwrap();
        assert_eq!(rest, "told\nafter\n");
        assert_eq!(child.wait().unwrap().code(), Some(5));
    }

    #[test]
    fn a_signal_that_comes_while_the_agent_starts_reaches_it() {
        let agent = "sh -c 'trap \"echo told; exit 5\" TERM; kill -TERM $PPID; while :; do sleep 0.05; done'";
        for _ in 0..20 {
            let output = executed(&surroundings("", "echo after", "").script(agent));
            assert_eq!(String::from_utf8(output.stdout).unwrap(), "told\nafter\n");
            assert_eq!(output.status.code(), Some(5));
        }
    }

    #[test]
    fn the_prologue_says_which_shell() {
        let script = surroundings("#!/bin/bash -l\nmodule load x\n", "", "").script("agent");
        assert_eq!(script.lines().next(), Some("#!/bin/bash -l"));
        assert_eq!(script.matches("#!").count(), 1, "{script}");
        assert!(script.ends_with("module load x\nexec agent\n"), "{script}");
    }

    #[test]
    fn what_is_too_long_or_holds_control_characters_is_refused() {
        assert_eq!(surroundings("a\n\tb\n", "c", "d e").check(), Ok(()));
        let error = surroundings(&"x".repeat(MAX_SURROUNDING_BYTES + 1), "", "").check().unwrap_err();
        assert!(error.to_string().contains("prologue has 65537"), "{error}");
        let error = surroundings("", "\u{7}", "").check().unwrap_err();
        assert_eq!(error, SurroundingsError::Character { what: "epilogue" });
        assert!(surroundings("", "", "a\nb").check().is_err(), "a command is one line");
    }

    #[test]
    fn a_word_comes_out_of_a_shell_as_it_went_in() {
        for word in ["plain/word-1", "two words", "it's", "", "$HOME `x` \"y\" \\", "ä\n"] {
            let script = format!("printf %s {}", quoted(word));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
