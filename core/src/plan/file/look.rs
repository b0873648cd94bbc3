//! What a plan names and does not hold: whoever reads the plan file looks at it.

use super::wanted_commit::{FoundCommit, WantedCommit};
use super::wanted_file::WantedFile;
use crate::experiment::files::FileSource;

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
pub(super) struct Unseeing;

impl PlanLook for Unseeing {
    fn file(&mut self, _: &WantedFile) -> Result<FileSource, Unusable> {
        let cause = "a plan whose files nobody looks at cannot name any".to_owned();
        Err(Unusable { cause, hint: "give the hash of a shared file as `blake3`".to_owned() })
    }

    fn commit(&mut self, _: &WantedCommit) -> Result<FoundCommit, Unusable> {
        let cause = "a plan whose repositories nobody looks at cannot name a revision".to_owned();
        Err(Unusable { cause, hint: "have the version built from files".to_owned() })
    }
}
