//! A file as a plan names it. Its content is not known here: whoever reads the plan file looks at it.

use crate::experiment::KeyPath;
use crate::experiment::files::ContentHash;

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
    Shared {
        /// Its path.
        path: String,
    },
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
