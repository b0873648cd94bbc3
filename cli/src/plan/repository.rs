//! A Git repository of this machine, read by the user's `git`: which commit a revision is, and the source of that commit.
//!
//! Nothing of it is changed: neither working tree, index and stash, nor what `git worktree list` shows. Nothing of it is executed either:
//! no hook, no filter, no monitor of the file system, no helper that its configuration names. The source is what the commit holds, byte for byte.
//!
//! In reading order: `refusal` (why not), `invocation` (how git is executed), `range` (two revisions), `line` (all commits from one to the other), `listing` (the files of a
//! commit), `source` (their contents).

mod invocation;
mod line;
mod listing;
mod range;
mod refusal;
mod source;

use std::{fs, io, path::Path, path::PathBuf};

use speedup_core::experiment::commit::{Commit, MAX_REVISION_BYTES, MAX_SUBJECT_BYTES};
use speedup_core::{plan::file::nearest, value::foreign::is_obeyed};

use self::invocation::{Answer, git};
pub(crate) use self::{line::LineOptions, range::BaseOf, range::Range, refusal::GitRefusal};

/// Digits of a commit's id in a repository that uses SHA-256.
const SHA256_DIGITS: usize = 64;
/// Keys of a repository's own configuration that decide what counts as a change; git executes none of their values.
const KEYS_OF_CHANGES: [&str; 5] =
    ["core.autocrlf", "core.eol", "core.fileMode", "core.ignoreCase", "core.symlinks"];
/// Most bytes of an answer of a few lines.
const MAX_ANSWER_BYTES: u64 = 1 << 20;
/// Most bytes of a list of files: a million paths of 200 bytes.
const MAX_CHANGES_BYTES: u64 = 256 << 20;
/// References among which a mistyped one is looked for.
const MAX_REFERENCES: &str = "--count=1000";

#[derive(Clone, Debug)]
pub(crate) struct Repository {
    /// The directory that named it: itself, or one below it.
    directory: PathBuf,
    /// Where that is in the working tree: empty at its top, else it ends with a slash.
    prefix: PathBuf,
    /// Whether its history is cut off.
    is_shallow: bool,
}

impl Repository {
    pub(crate) fn at(directory: &Path) -> Result<Self, GitRefusal> {
        // An empty path is that of the current directory.
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        if !directory.is_dir() {
            return Err(GitRefusal::NoDirectory(directory.to_owned()));
        }
        let answer = git(directory, &["rev-parse", "--is-shallow-repository", "--show-prefix"]);
        let answer = Answer::wait_for(answer, MAX_ANSWER_BYTES)?;
        if !answer.is_success {
            return Err(GitRefusal::no_repository(directory, answer.words()));
        }
        let text = answer.text();
        let (shallow, prefix) = text.split_once('\n').unwrap_or((&text, ""));
        Ok(Self {
            directory: directory.to_owned(),
            prefix: prefix.strip_suffix('\n').unwrap_or(prefix).into(),
            is_shallow: shallow == "true",
        })
    }

    /// Where the directory is in the working tree.
    pub(crate) fn prefix(&self) -> &Path {
        &self.prefix
    }

    pub(crate) fn commit(&self, revision: &str) -> Result<Commit, GitRefusal> {
        self.named(&self.id(revision)?, revision)
    }

    /// The commits of a range, the baseline first.
    pub(crate) fn commits(&self, range: &Range) -> Result<[Commit; 2], GitRefusal> {
        let [baseline, candidate] = [&range.baseline, &range.candidate].map(|revision| self.id(revision));
        let (baseline, candidate) = (baseline?, candidate?);
        let baseline = match range.base {
            BaseOf::Range => self.named(&baseline, &range.baseline)?,
            BaseOf::Both => self.named(&self.merge_base(&baseline, &candidate, range)?, &range.text())?,
        };
        let candidate = self.named(&candidate, &range.candidate)?;
        if baseline.id == candidate.id {
            let short = baseline.short().to_owned();
            return Err(GitRefusal::SameCommit { range: range.text(), short });
        }
        Ok([baseline, candidate])
    }

    /// The files that differ from one commit to another, from the top of the repository; one that moved is two.
    pub(crate) fn changed(&self, from: &Commit, to: &Commit) -> Result<Vec<String>, GitRefusal> {
        let arguments = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", &from.id, &to.id];
        let answer = Answer::wait_for(git(&self.directory, &arguments), MAX_CHANGES_BYTES)?;
        if !answer.is_success {
            let tried = format!("list the files that {} changes", to.short());
            return Err(GitRefusal::failed(&tried, answer.words()));
        }
        Ok(answer.text().split_terminator('\0').map(str::to_owned).collect())
    }

    /// Whether the working tree has changes that are in no commit, where what is checked out is this commit.
    pub(crate) fn hides_changes_of(&self, commit: &Commit) -> Result<bool, GitRefusal> {
        if self.rev_parse("HEAD")?.text().trim_end() != commit.id {
            return Ok(false);
        }
        let places = ["rev-parse", "--show-toplevel", "--git-path", "index", "--git-path", "objects"];
        let places = Answer::wait_for(git(&self.directory, &places), MAX_ANSWER_BYTES)?.text();
        let places: Vec<&str> = places.lines().collect();
        let [top, index, objects] = places.as_slice() else {
            // A repository without a working tree has no changes.
            return Ok(false);
        };
        // To compare contents, `status` executes the filters that are configured. Whoever made the repository chose its
        // configuration, so git gets a directory that has none, and only the user's own counts.
        let bare = bare_directory(commit)
            .map_err(|error| GitRefusal::Disk { short: commit.short().to_owned(), error })?;
        let status = ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=all"];
        let mut command = git(&self.directory, &status);
        let mut count = 0;
        for key in KEYS_OF_CHANGES {
            let value = Answer::wait_for(
                git(&self.directory, &["config", "--local", "--get", key]),
                MAX_ANSWER_BYTES,
            )?;
            if value.is_success {
                command.env(format!("GIT_CONFIG_KEY_{count}"), key);
                command.env(format!("GIT_CONFIG_VALUE_{count}"), value.text().trim_end());
                count += 1;
            }
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        command.env("GIT_DIR", bare.path()).env("GIT_WORK_TREE", top);
        for (name, path) in [("GIT_INDEX_FILE", index), ("GIT_OBJECT_DIRECTORY", objects)] {
            let path = self.directory.join(path);
            command.env(name, std::path::absolute(&path).unwrap_or(path));
        }
        Answer::is_any(command)
    }

    /// The id of the commit that a revision is.
    fn id(&self, revision: &str) -> Result<String, GitRefusal> {
        if let Some(why) = not_a_revision(revision) {
            return Err(GitRefusal::NoRevision { revision: revision.to_owned(), why });
        }
        let answer = self.rev_parse(revision)?;
        if !answer.is_success {
            return Err(self.unknown(revision, answer.words()));
        }
        // Git takes the tag, with a warning.
        if let Some(name) = answer.ambiguous_name() {
            return Err(GitRefusal::Ambiguous { revision: revision.to_owned(), name });
        }
        Ok(answer.text().trim_end().to_owned())
    }

    /// What git says of the commit that a revision is.
    fn rev_parse(&self, revision: &str) -> Result<Answer, GitRefusal> {
        let peeled = format!("{revision}^{{commit}}");
        Answer::wait_for(git(&self.directory, &["rev-parse", "--verify", &peeled]), MAX_ANSWER_BYTES)
    }

    fn unknown(&self, revision: &str, words: String) -> GitRefusal {
        let references = ["for-each-ref", MAX_REFERENCES, "--format=%(refname:short)"];
        let references = Answer::wait_for(git(&self.directory, &references), MAX_ANSWER_BYTES);
        let references = references.map(|answer| answer.text()).unwrap_or_default();
        let near = nearest(revision, &references.lines().collect::<Vec<_>>()).map(str::to_owned);
        GitRefusal::Unknown {
            revision: revision.to_owned(),
            repository: self.directory.clone(),
            words,
            near: near.filter(|near| near != revision),
            is_shallow: self.is_shallow,
        }
    }

    /// The best common ancestor of two commits.
    fn merge_base(&self, one: &str, other: &str, range: &Range) -> Result<String, GitRefusal> {
        // Where the history ends early, what git finds need not be the last commit that they share.
        if self.is_shallow {
            return Err(GitRefusal::Shallow { range: range.text() });
        }
        let answer = Answer::wait_for(git(&self.directory, &["merge-base", one, other]), MAX_ANSWER_BYTES)?;
        match answer.text().lines().next() {
            Some(id) if answer.is_success => Ok(id.to_owned()),
            _ => Err(GitRefusal::NoMergeBase { range: range.text() }),
        }
    }

    /// A commit by its id, as the user called it.
    fn named(&self, id: &str, revision: &str) -> Result<Commit, GitRefusal> {
        let format = ["rev-list", "--max-count=1", "--format=%s", id];
        let answer = Answer::wait_for(git(&self.directory, &format), MAX_ANSWER_BYTES)?;
        if !answer.is_success {
            return Err(GitRefusal::failed(&format!("read the commit {id}"), answer.words()));
        }
        let (id, revision) = (id.to_owned(), revision.to_owned());
        Ok(Commit { id, revision, subject: subject(&answer.text()) })
    }
}

/// Makes a directory that git takes for a repository at a commit, without any configuration.
fn bare_directory(commit: &Commit) -> io::Result<tempfile::TempDir> {
    let bare = tempfile::tempdir()?;
    fs::create_dir(bare.path().join("refs"))?;
    fs::write(bare.path().join("HEAD"), format!("{}\n", commit.id))?;
    if commit.id.len() == SHA256_DIGITS {
        let format = "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n";
        fs::write(bare.path().join("config"), format)?;
    }
    Ok(bare)
}

/// Why a text cannot name a commit, whatever a repository has; what begins with a dash would be an option.
fn not_a_revision(text: &str) -> Option<&'static str> {
    match text {
        "" => Some("it is empty"),
        text if text.starts_with('-') => Some("it begins with a dash"),
        text if text.len() > MAX_REVISION_BYTES => Some("it is longer than 256 bytes"),
        text if text.chars().any(char::is_control) => Some("it has a control character"),
        _ => None,
    }
}

/// The subject in what `rev-list` answers: a line with the id, then that of the format. As a report can show it.
fn subject(answer: &str) -> String {
    subject_of_line(answer.lines().nth(1).unwrap_or_default())
}

/// A subject, as a report can show it.
fn subject_of_line(line: &str) -> String {
    let mut shown: String = line.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect();
    shown.truncate(shown.floor_char_boundary(MAX_SUBJECT_BYTES));
    shown.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_an_option_is_no_revision() {
        for bad in ["", "-x", "--upload-pack=sh", "a\nb", "a\0", &"x".repeat(257)] {
            assert!(not_a_revision(bad).is_some(), "{bad:?}");
        }
        for good in ["HEAD", "main~3", "v1.0^{}", ":/fix", "HEAD@{1.day.ago}", "ä"] {
            assert_eq!(not_a_revision(good), None, "{good}");
        }
    }

    #[test]
    fn a_subject_is_a_line_that_fits() {
        assert_eq!(subject("commit 0a\nSort in place\n"), "Sort in place");
        assert_eq!(subject("commit 0a\n"), "");
        assert_eq!(subject(""), "");
        assert_eq!(subject("commit 0a\n\u{1b}[31mred\t!\u{202e}\n"), "[31mred !");
        assert_eq!(subject(&format!("commit 0a\n{}\n", "ß".repeat(500))).len(), MAX_SUBJECT_BYTES);
    }
}
