//! What the agent of an engine's job leaves in its state directory while it cannot reach the coordinator: the coordinator may
//! see that directory, as on the shared disk of a cluster, and tell the user what an agent that is never heard cannot.

use std::{fs, io::ErrorKind, path::Path, path::PathBuf};

use speedup_access::private_file::{self, PrivateFileError};
use speedup_core::{machine::provision::UnreachedAgent, value::causes::with_causes, value::id::JobId};

/// Most bytes of the reason, so that the file is not longer than what is read of it.
const MAX_REASON_BYTES: usize = 2_048;

/// The file, if this agent lives in a job.
#[derive(Debug)]
pub(crate) struct Unreached {
    path: PathBuf,
    job: Option<JobId>,
    /// Whether something may lie there.
    is_there: bool,
}

impl Unreached {
    /// Nothing is known yet; what an earlier agent left is removed.
    pub(crate) fn new(state: &Path, job: Option<JobId>) -> Self {
        let mut this = Self { path: state.join(UnreachedAgent::FILE), job, is_there: true };
        this.clear();
        this
    }

    /// The coordinator cannot be reached at this address.
    pub(crate) fn tell(&mut self, url: &str, words: &str) {
        let Some(job) = self.job.clone() else { return };
        let mut reason = format!("{url}: {words}");
        reason.truncate(reason.floor_char_boundary(MAX_REASON_BYTES));
        self.is_there = true;
        if let Err(error) = write(&self.path, &UnreachedAgent { job, reason }) {
            tracing::debug!("cannot leave word of that: {}", with_causes(&*error));
        }
    }

    /// It is reached.
    pub(crate) fn clear(&mut self) {
        if !std::mem::take(&mut self.is_there) {
            return;
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::debug!("cannot remove {}: {error}", self.path.display());
            }
            Ok(()) | Err(_) => {}
        }
    }
}

fn write(path: &Path, agent: &UnreachedAgent) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let text = serde_json::to_string(agent)?;
    private_file::write(path, &text).map_err(|error: PrivateFileError| error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_what_the_coordinator_reads_and_goes_when_it_is_reached() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(UnreachedAgent::FILE);
        fs::write(&path, "of an earlier agent").unwrap();
        let mut unreached = Unreached::new(directory.path(), Some("17".parse().unwrap()));
        assert!(!path.exists());
        unreached.tell("https://login1:7077", &"no such name\u{1}".repeat(1_000));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.len() as u64 <= UnreachedAgent::MAX_BYTES, "{}", text.len());
        let read: UnreachedAgent = serde_json::from_str(&text).unwrap();
        assert_eq!(read.job.as_str(), "17");
        assert!(read.reason.starts_with("https://login1:7077: no such name"), "{}", read.reason);
        unreached.clear();
        assert!(!path.exists());
    }

    #[test]
    fn an_agent_of_no_job_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        Unreached::new(directory.path(), None).tell("https://login1:7077", "no such name");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
