//! What a plan names and does not hold: whoever reads the plan file looks at it.

use crate::experiment::KeyPath;
use crate::experiment::commit::Commit;
use crate::experiment::files::{Content, ContentHash, FileSource};

/// Looks at what a plan names.
pub trait PlanLook {
    /// What a file holds.
    fn file(&mut self, wanted: &WantedFile) -> Result<FileSource, Unusable>;

    /// Which commit a revision is, and its source.
    fn commit(&mut self, wanted: &WantedCommit) -> Result<FoundCommit, Unusable>;
}

/// Why a file or a commit cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// What was tried and why it failed.
    pub cause: String,
    /// What the author of the plan can do about it.
    pub hint: String,
}

/// Looks at nothing: for plans that name nothing outside.
pub(super) struct NoPlanLook;

impl PlanLook for NoPlanLook {
    fn file(&mut self, _: &WantedFile) -> Result<FileSource, Unusable> {
        let cause = "a plan whose files nobody looks at cannot name any".to_owned();
        Err(Unusable { cause, hint: "give the hash of a shared file as `blake3`".to_owned() })
    }

    fn commit(&mut self, _: &WantedCommit) -> Result<FoundCommit, Unusable> {
        let cause = "a plan whose repositories nobody looks at cannot name a revision".to_owned();
        Err(Unusable { cause, hint: "have the version built from files".to_owned() })
    }
}

/// A commit that a plan names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedCommit {
    pub version: String,
    /// What the plan calls it, as Git understands it.
    pub revision: String,
    /// The directory of its repository, relative to the plan file; that of the plan file when absent.
    pub repository: Option<String>,
}

/// A commit as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCommit {
    pub commit: Commit,
    /// Its source: a tar archive that travels by content.
    pub source: Content,
}

impl WantedCommit {
    /// The keys of the plan that name it.
    pub(super) fn place(&self) -> KeyPath {
        KeyPath::from(["versions", &self.version, "git"])
    }
}

/// A file that a plan names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedFile {
    /// What commands call it.
    pub name: String,
    /// Where the plan says that it is.
    pub at: WantedAt,
}

/// Where a plan says that a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedAt {
    /// A file beside the plan, whose content is to travel.
    Here {
        /// Its path, relative to the plan file.
        path: String,
        /// Whether it may be executed.
        executable: bool,
    },
    /// A file at the same path on every host, whose hash the plan does not say.
    Shared { path: String },
}

impl WantedFile {
    /// The keys of the plan that name its path.
    pub(super) fn place(&self) -> KeyPath {
        let key = match self.at {
            WantedAt::Here { .. } => "path",
            WantedAt::Shared { .. } => "shared",
        };
        KeyPath::from(["files", &self.name, key])
    }
}

/// Stands in for the hash of a file that has a flaw, so that the rest of the plan can be checked.
pub(super) const UNSEEN: ContentHash = ContentHash([0; 32]);
