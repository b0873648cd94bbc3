//! A commit as a plan names it. No repository is known here: whoever reads the plan file looks there.

use crate::experiment::KeyPath;
use crate::experiment::commit::Commit;
use crate::experiment::files::Content;

/// A commit that a plan names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedCommit {
    /// The version that is built from it.
    pub version: String,
    /// What the plan calls it, as Git understands it.
    pub revision: String,
    /// The directory of its repository, relative to the plan file; that of the plan file when absent.
    pub repository: Option<String>,
}

/// A commit as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCommit {
    /// Which it is.
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
