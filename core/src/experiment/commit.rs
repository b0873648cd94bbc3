//! The commit whose source a version is built from: what tells a reader of the report which source was measured. The source itself is a staged
//! file, so that machine, coordinator and agent know nothing of Git.

use serde::{Deserialize, Serialize};

use crate::experiment::files::{PREFIX, StagedFile};
use crate::experiment::{CommandLine, Experiment};

/// Longest name of a revision: Git's own names of branches are bounded by those of files.
pub const MAX_REVISION_BYTES: usize = 256;
/// Longest subject that is kept: it stands on one line of a report.
pub const MAX_SUBJECT_BYTES: usize = 256;
/// Digits of an id in SHA-1 and SHA-256.
const ID_DIGITS: [usize; 2] = [40, 64];
/// Digits that people are shown: in the largest repositories that are known they tell all commits apart.
const SHORT_DIGITS: usize = 12;
/// Unpacks the source in the working directory of a build, whose own words follow. Not by its name: tar takes one with a colon for that of another
/// machine.
const UNPACK: &str = "tar -xf - <\"$0\" && exec \"$@\"";

/// What the name of a staged file begins with that is the source of a commit.
const SOURCE: &str = "git_";

/// A commit of a Git repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Its full id, in lower-case hexadecimal digits.
    pub id: String,
    /// What the user called it: `HEAD`, `main~3`.
    pub revision: String,
    /// The first line of its message; may be empty.
    pub subject: String,
}

impl Commit {
    /// Its id as people are shown it.
    pub fn short(&self) -> &str {
        self.id.get(..SHORT_DIGITS).unwrap_or(&self.id)
    }

    /// As in `HEAD is 1b4e9f2a77c0, Sort in place`.
    pub fn in_words(&self) -> String {
        let comma = if self.subject.is_empty() { "" } else { ", " };
        format!("{} is {}{comma}{}", self.revision, self.short(), self.subject)
    }

    /// What the staged file with its source is called.
    pub fn source(&self) -> String {
        format!("{SOURCE}{}", self.id)
    }

    /// The id of the commit whose source a staged file of this name is.
    fn source_id(name: &str) -> Option<&str> {
        name.strip_prefix(SOURCE)
    }

    /// The command of a build that unpacks the source of this commit first.
    pub(crate) fn unpacked_before(&self, command: CommandLine) -> CommandLine {
        let source = format!("{{{PREFIX}{}}}", self.source());
        match command {
            CommandLine::Exact(argv) => {
                let unpack = ["/bin/sh", "-c", UNPACK, &source].map(str::to_owned);
                CommandLine::Exact(unpack.into_iter().chain(argv).collect())
            }
            CommandLine::Shell(line) => {
                CommandLine::Shell(format!("tar -xf - <\"{source}\" || exit\n{line}"))
            }
        }
    }

    /// Whether it can be what Git says of a commit.
    pub(crate) fn is_sound(&self) -> bool {
        let has_controls =
            [&self.revision, &self.subject].into_iter().any(|text| text.contains(char::is_control));
        ID_DIGITS.contains(&self.id.len())
            && self.id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            && (1..=MAX_REVISION_BYTES).contains(&self.revision.len())
            && self.subject.len() <= MAX_SUBJECT_BYTES
            && !has_controls
    }
}

impl Experiment {
    /// The files that a run may need, or the build of this commit: the sources of others are none of them.
    pub(crate) fn files_of<'e>(
        &'e self,
        commit: Option<&'e Commit>,
    ) -> impl Iterator<Item = &'e StagedFile> + 'e {
        let has_commits = self.versions.iter().any(|version| version.commit.is_some());
        self.files.iter().filter(move |file| match Commit::source_id(&file.name) {
            Some(id) if has_commits => commit.is_some_and(|commit| commit.id == id),
            Some(_) | None => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(id: &str) -> Commit {
        Commit { id: id.to_owned(), revision: "HEAD".to_owned(), subject: "Sort in place".to_owned() }
    }

    #[test]
    fn a_commit_is_sound_with_a_full_id_and_one_line() {
        let good = commit(&"0a".repeat(20));
        assert!(good.is_sound() && commit(&"0a".repeat(32)).is_sound());
        assert_eq!(good.in_words(), "HEAD is 0a0a0a0a0a0a, Sort in place");
        for id in ["", "0a0a", &"0A".repeat(20), &"0g".repeat(20), &"0a".repeat(21)] {
            assert!(!commit(id).is_sound(), "{id}");
        }
        assert!(!Commit { subject: "a\nb".to_owned(), ..good.clone() }.is_sound());
        assert!(!Commit { subject: "x".repeat(MAX_SUBJECT_BYTES + 1), ..good.clone() }.is_sound());
        assert!(!Commit { revision: String::new(), ..good }.is_sound());
    }

    #[test]
    fn a_build_unpacks_first_and_then_is_what_it_was() {
        let commit = commit(&"0a".repeat(20));
        let file = format!("{{file.git_{}}}", commit.id);
        let exact = commit.unpacked_before(CommandLine::Exact(vec!["make".to_owned(), "a b".to_owned()]));
        let words = ["/bin/sh", "-c", UNPACK, &file, "make", "a b"].map(str::to_owned).to_vec();
        assert_eq!(exact, CommandLine::Exact(words));
        let shell = commit.unpacked_before(CommandLine::Shell("make && ls".to_owned()));
        assert_eq!(shell, CommandLine::Shell(format!("tar -xf - <\"{file}\" || exit\nmake && ls")));
    }
}
