//! Why a commit or its source cannot be taken, and what the user can do about it.

use std::{io, path::Path, path::PathBuf};

use speedup_core::repetition::MAX_LINE;
use thiserror::Error;

use super::listing::{MAX_SOURCE_BYTES, MAX_SOURCE_FILES};
use crate::exit::failure::Failure;

/// Why a commit or its source cannot be taken.
#[derive(Debug, Error)]
pub(crate) enum GitRefusal {
    #[error("cannot execute git: {0}")]
    NoGit(io::Error),
    #[error("there is no directory {}", .0.display())]
    NoDirectory(PathBuf),
    #[error("{} is in no Git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("git cannot {tried}: {words}")]
    Failed { tried: String, words: String },
    #[error("{revision:?} is no revision: {why}")]
    NoRevision { revision: String, why: &'static str },
    #[error("{} has no commit {revision:?}: {words}", .repository.display())]
    Unknown {
        revision: String,
        repository: PathBuf,
        words: String,
        /// A reference that is spelled nearly so.
        near: Option<String>,
        is_shallow: bool,
    },
    #[error("{name:?} in {revision:?} is the name of several references")]
    Ambiguous { revision: String, name: String },
    #[error("{0:?} is not two revisions")]
    NoRange(String),
    #[error("{range} is one commit, {short}: nothing differs")]
    SameCommit { range: String, short: String },
    #[error("{range} asks for a merge base, but the history of this clone is cut off")]
    Shallow { range: String },
    #[error("{range} asks for a merge base, but its commits have none")]
    NoMergeBase { range: String },
    #[error(
        "{range} has merges, as {short}: its commits are no line, of which each has all that the one before it has"
    )]
    Merges { range: String, short: String },
    #[error("{range} is no line of commits: the one does not lead to the other{}", if *.first_parent { " by first parents" } else { "" })]
    NoLine { range: String, first_parent: bool },
    #[error("{branch} does not have the commit {short} among its first parents")]
    NotOnBranch { branch: String, short: String, is_shallow: bool },
    #[error("{range} has {commits} commits, and at most {MAX_LINE} can be searched")]
    TooLong { range: String, commits: usize },
    #[error("the commit {short} has more than {MAX_SOURCE_FILES} files")]
    TooManyFiles { short: String },
    #[error("the files of commit {short} have {bytes} bytes, but at most {MAX_SOURCE_BYTES} are sent")]
    TooLarge { short: String, bytes: u64 },
    #[error("the commit {short} has a file that cannot be put on a disk: {path:?} {why}")]
    BadPath { short: String, path: String, why: &'static str },
    #[error("{path:?} of commit {short} is not the file but a pointer of Git LFS to it")]
    Pointer { short: String, path: String },
    #[error("the repository lacks {path:?} of commit {short}: {words}")]
    Lacking { short: String, path: String, words: String },
    #[error("cannot keep the source of commit {short}: {error}")]
    Disk { short: String, error: io::Error },
}

impl GitRefusal {
    /// What git was to do and did not.
    pub(super) fn failed(tried: &str, words: String) -> Self {
        Self::Failed { tried: tried.to_owned(), words }
    }

    /// Why git takes a directory for none of a repository.
    pub(super) fn no_repository(directory: &Path, words: String) -> Self {
        match words.starts_with("not a git repository") {
            true => Self::NoRepository(directory.to_owned()),
            false => Self::failed(&format!("read the repository of {}", directory.display()), words),
        }
    }

    /// What the user can do about it.
    pub(crate) fn hint(&self) -> String {
        let hint = match self {
            Self::NoGit(_) => "install git, or check that it is on the PATH",
            Self::NoDirectory(_) => "`repository` is relative to the plan file",
            Self::NoRepository(_) => {
                "stand in the repository; in a plan, write repository = \"the directory of the repository\""
            }
            Self::Failed { words, .. } if words.contains("dubious ownership") => {
                "it belongs to another user; if you trust it: git config --global --add safe.directory DIRECTORY"
            }
            Self::Failed { .. } => "check what `git status` says there",
            Self::NoRevision { .. } => "name a branch, a tag or a commit",
            Self::Unknown { is_shallow: true, .. } => {
                "the history of this clone is cut off: git fetch --unshallow; in GitHub Actions, fetch-depth: 0"
            }
            Self::Unknown { near: Some(near), .. } => return format!("did you mean `{near}`?"),
            Self::Unknown { revision, .. } if revision.contains("..") => {
                "it is a range: name one commit; `speedup bench --git A..B` compares two"
            }
            Self::Unknown { .. } => {
                "`git log --oneline --all` lists commits, `git branch --all` and `git tag` their names"
            }
            Self::Ambiguous { name, .. } => {
                return format!(
                    "write refs/heads/{name} for the branch or refs/tags/{name} for the tag; `git show-ref {name}` lists all"
                );
            }
            Self::NoRange(_) => {
                "write main..HEAD to compare HEAD with main; what is not committed yet is in no commit, so commit it first"
            }
            Self::SameCommit { .. } => "name two commits; --control measures one against itself",
            Self::Shallow { .. } => "git fetch --unshallow, or name the baseline itself: A..B",
            Self::NoMergeBase { .. } => "name the baseline itself: A..B",
            Self::Merges { .. } => "take each merge as one commit: --first-parent",
            Self::NoLine { .. } => {
                "the good end has to be an ancestor of the bad one; A...B begins at their merge base"
            }
            Self::NotOnBranch { is_shallow: true, .. } => {
                "the history of this clone is cut off: git fetch --unshallow; in GitHub Actions, fetch-depth: 0"
            }
            Self::NotOnBranch { .. } => {
                "the branch was rewritten, or never had it: begin a new track, whose --from is a commit of the branch"
            }
            Self::TooLong { .. } => {
                "bisect a part of it, name paths (-- PATH), or take each merge as one commit: --first-parent"
            }
            Self::TooManyFiles { .. } | Self::TooLarge { .. } => {
                "have the version built elsewhere, and name what was built in [files]"
            }
            Self::BadPath { .. } => {
                "no checkout of this commit would have it either; check the repository with git fsck"
            }
            Self::Pointer { .. } => {
                "the program would be built and measured with the pointer: have the file outside Git LFS, or name it in [files]"
            }
            Self::Lacking { .. } => {
                "a partial clone fetches it by: git checkout of this commit, or git fetch --refetch"
            }
            Self::Disk { .. } => "free some space there, or name another directory in TMPDIR",
        };
        hint.to_owned()
    }
}

impl From<GitRefusal> for Failure {
    fn from(refusal: GitRefusal) -> Self {
        let hint = refusal.hint();
        Self::usage(refusal).hint(hint)
    }
}
