//! Which files differ between two commits.

use speedup_core::experiment::commit::Commit;

use super::invocation::{Answer, git};
use super::{GitRefusal, Repository};

/// Most bytes of a list of files: a million paths of 200 bytes.
const MAX_CHANGES_BYTES: u64 = 256 << 20;

impl Repository {
    /// The files that differ from one commit to another, from the top of the repository; one that moved is two.
    pub(crate) fn changed(&self, from: &Commit, to: &Commit) -> Result<Vec<String>, GitRefusal> {
        let arguments = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", &from.id, &to.id];
        let answer = Answer::of(git(&self.directory, &arguments), MAX_CHANGES_BYTES)?;
        if !answer.is_success {
            let tried = format!("list the files that {} changes", to.short());
            return Err(GitRefusal::failed(&tried, answer.words()));
        }
        Ok(answer.text().split_terminator('\0').map(str::to_owned).collect())
    }
}
