//! Where the commands read from and write to.

use std::{path::Path, path::PathBuf, str::FromStr};

use anyhow::{Context as _, anyhow};

use super::exports::claim;
use crate::{arguments::Output, exit::failure::Failure};

/// What `--output` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OutputWord {
    Answer(Output),
    /// Where a command writes.
    Of(Destination),
}

/// Where a command writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Destination {
    /// Into memory: what a failed run wrote can be told.
    #[default]
    Memory,
    /// To `/dev/null`, which some programs notice.
    Null,
    /// To the standard error of this process.
    Here,
    /// To a file, anew in each run.
    File(PathBuf),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Streams {
    /// What it reads; nothing when absent.
    pub(super) input: Option<PathBuf>,
    pub(super) output: Destination,
}

impl FromStr for OutputWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "table" => Ok(Self::Answer(Output::Table)),
            "json" => Ok(Self::Answer(Output::Json)),
            "pipe" => Ok(Self::Of(Destination::Memory)),
            "null" => Ok(Self::Of(Destination::Null)),
            "inherit" => Ok(Self::Of(Destination::Here)),
            path if path.contains('/') => Ok(Self::Of(Destination::File(path.into()))),
            _ => Err("give null, pipe, inherit, or a path with a slash such as ./FILE".to_owned()),
        }
    }
}

impl Destination {
    /// The same, its path seen so.
    pub(super) fn at(self, seen: impl Fn(PathBuf) -> PathBuf) -> Self {
        match self {
            Self::File(path) => Self::File(seen(path)),
            other @ (Self::Memory | Self::Null | Self::Here) => other,
        }
    }
}

impl Streams {
    /// What a POSIX shell opens them with, if it has to.
    pub(super) fn redirections(&self) -> Option<String> {
        let quoted = |path: &Path| {
            shlex::try_quote(&path.to_string_lossy()).map_or_else(|_| String::new(), Into::into)
        };
        let input = self.input.as_deref().map(|path| format!(" <{}", quoted(path)));
        let output = match &self.output {
            Destination::Memory => None,
            Destination::Null => Some(" >/dev/null".to_owned()),
            // The commands are no children of this process. Appending spares a file that stands there.
            Destination::Here => Some(format!(" >>/proc/{}/fd/2 2>&1", std::process::id())),
            Destination::File(path) => Some(format!(" >{}", quoted(path))),
        };
        if input.is_none() && output.is_none() {
            return None;
        }
        Some(input.into_iter().chain(output).collect())
    }

    /// Sees to it that the files can be opened, before anything is measured.
    pub(super) fn claim(&self) -> Result<(), Failure> {
        let paths = self.input.iter().chain(match &self.output {
            Destination::File(path) => Some(path),
            Destination::Memory | Destination::Null | Destination::Here => None,
        });
        if let Some(path) = paths.clone().find(|path| path.to_str().is_none_or(|path| path.contains('\0'))) {
            return Err(Failure::usage(anyhow!("the path {} is not UTF-8", path.display())));
        }
        if let Some(path) = &self.input {
            let opened = std::fs::File::open(path).map(drop);
            opened.with_context(|| format!("cannot read {}", path.display())).map_err(Failure::usage)?;
        }
        match &self.output {
            Destination::File(path) => claim(path),
            Destination::Memory | Destination::Null | Destination::Here => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_of_the_answer_or_of_the_commands_and_a_file_has_a_slash() {
        assert_eq!("json".parse(), Ok(OutputWord::Answer(Output::Json)));
        assert_eq!("./json".parse(), Ok(OutputWord::Of(Destination::File("./json".into()))));
        assert!("log".parse::<OutputWord>().is_err());
    }

    #[test]
    fn paths_are_quoted_for_the_shell() {
        let streams = Streams { input: Some("a b".into()), output: Destination::File("./it's".into()) };
        assert_eq!(streams.redirections().unwrap(), " <'a b' >\"./it's\"");
        assert_eq!(Streams::default().redirections(), None);
    }
}
