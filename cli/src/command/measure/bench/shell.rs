//! What executes the commands: a shell, or nothing between.

use std::str::FromStr;

use anyhow::anyhow;

use super::streams::Streams;
use crate::exit::failure::Failure;

/// The shell of the usual name, which every POSIX system has.
const USUAL: &str = "/bin/sh";
/// The option behind which every shell takes a line.
const LINE: &str = "-c";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shell {
    /// None: words are split as a shell would, and executed.
    None,
    /// This command, followed by `-c` and the line.
    Words(Vec<String>),
}

impl Default for Shell {
    fn default() -> Self {
        Self::Words(vec![USUAL.to_owned()])
    }
}

impl FromStr for Shell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "default" => Ok(Self::default()),
            text => words(text).map(Self::Words).ok_or_else(|| {
                "give a shell with its options, such as \"bash --norc\", or none, or default".to_owned()
            }),
        }
    }
}

impl Shell {
    /// The argument vector of a command whose streams are these. Where there is no shell but a stream to redirect, one opens
    /// the files and becomes the program.
    pub(super) fn argv(&self, command: &str, streams: &Streams) -> Result<Vec<String>, Failure> {
        let redirections = streams.redirections();
        match (self, redirections) {
            (Self::Words(_), None) => Ok(self.argv_of_line(command)),
            (Self::Words(_), Some(redirections)) => {
                Ok(self.argv_of_line(&format!("exec{redirections}\n{command}")))
            }
            (Self::None, redirections) => {
                let words = words(command).ok_or_else(|| {
                    Failure::usage(anyhow!("{command:?} is empty, or a quote in it is not closed"))
                })?;
                let opening = redirections.map(|redirections| {
                    [USUAL, LINE, &format!("exec \"$@\"{redirections}"), USUAL].map(str::to_owned)
                });
                Ok(opening.into_iter().flatten().chain(words).collect())
            }
        }
    }

    /// The argument vector of a line around the commands, which always has a shell.
    pub(super) fn argv_of_line(&self, line: &str) -> Vec<String> {
        let mut argv = self.words();
        argv.extend([LINE.to_owned(), line.to_owned()]);
        argv
    }

    /// The words that a line follows, `-c` left out.
    pub(super) fn words(&self) -> Vec<String> {
        match self {
            Self::None => vec![USUAL.to_owned()],
            Self::Words(words) => words.clone(),
        }
    }

    /// The option before a line.
    pub(super) const fn option() -> &'static str {
        LINE
    }
}

fn words(text: &str) -> Option<Vec<String>> {
    shlex::split(text).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_a_word_or_a_command_line() {
        assert_eq!("none".parse(), Ok(Shell::None));
        assert_eq!("default".parse(), Ok(Shell::default()));
        let bash: Shell = "bash --norc".parse().unwrap();
        assert_eq!(bash.argv_of_line("a; b"), ["bash", "--norc", "-c", "a; b"]);
        assert!("".parse::<Shell>().is_err() && "'bash".parse::<Shell>().is_err());
    }
}
