//! What does not work while the coordinator goes on, looked at whenever somebody asks: by `/healthz`, by
//! `list` and `doctor`, and as a metric. Its sentences name no path, host or user, because `/healthz`
//! asks nobody who he is; the log has the cause. A component without which it would be useless ends it
//! instead (`fault`).

use std::{collections::BTreeSet, path::Path, path::PathBuf, sync::Arc, sync::Mutex, sync::PoisonError};

use rustix::fs::statvfs;
use tokio::time::{Duration, timeout};

use crate::blobs::Blobs;
use crate::provision::{Provisioning, Selected, Shown};
use crate::timeline::wall_clock;

/// Less free space than this is nearly none: a segment of the journal, and the checkpoint and writes of the store beside it.
const LITTLE_BYTES: u64 = 64 << 20;
/// How long queues are waited for that are being added or removed, which takes as long as their engines do.
const QUEUES: Duration = Duration::from_secs(1);

speedup_core::words! {
    /// A component that may fail while the coordinator goes on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Component {
        AccessFile = "access_file",
        Checkpoints = "checkpoints",
        Disk = "disk",
        Files = "files",
        Queues = "queues",
    }
    /// As the metric's label.
    fn code;
    /// Every component.
    const ALL;
}

impl Component {
    /// What is wrong where it fails, and what can be done.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::AccessFile => {
                "the access file cannot be written, so commands and new agents may not be let in: check its directory"
            }
            Self::Checkpoints => {
                "no checkpoint can be written, so the next start takes longer: check the disk of the data directory"
            }
            Self::Disk => {
                "the disk of the data directory is nearly full, and a full one ends the coordinator: make room"
            }
            Self::Files => {
                "files of plans and builds cannot be stored: check free space and errors of the disk of the data directory"
            }
            Self::Queues => {
                "a queue requests no hosts, or its engine does not answer: see `speedup hosts slurm show`, and the same of batch and local"
            }
        }
    }
}

/// The components that were last seen to fail by those who use them. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failing(Arc<Mutex<BTreeSet<Component>>>);

impl Failing {
    /// Notes whether a component works.
    pub(crate) fn note(&self, component: Component, works: bool) {
        let mut failing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if works {
            failing.remove(&component);
        } else {
            failing.insert(component);
        }
    }

    fn components(&self) -> BTreeSet<Component> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Who looks at all components. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    pub(crate) failing: Failing,
    pub(crate) blobs: Blobs,
    pub(crate) provisioning: Provisioning,
    pub(crate) data: PathBuf,
}

impl Health {
    /// Returns the components that fail now.
    pub(crate) async fn look(&self) -> BTreeSet<Component> {
        if self.failing.components().contains(&Component::Files) {
            // Nobody may put a file for a long time, and what was wrong may be over.
            let blobs = self.blobs.clone();
            let _ = tokio::task::spawn_blocking(move || blobs.try_out()).await;
        }
        let mut components = self.failing.components();
        if is_nearly_full(&self.data) {
            components.insert(Component::Disk);
        }
        if let Ok(queues) = timeout(QUEUES, self.provisioning.show(&Selected::default())).await {
            let now = wall_clock();
            for Shown { queue, seen } in &queues {
                if seen.ledger.stands_still(now, &queue.limits).is_some() || seen.trouble.is_some() {
                    components.insert(Component::Queues);
                }
            }
        }
        components
    }
}

/// Whether little is left on the disk of a directory. A disk that cannot be asked is noticed by whoever writes there.
fn is_nearly_full(directory: &Path) -> bool {
    let Ok(disk) = statvfs(directory) else { return false };
    // Some file systems do not say how large they are.
    disk.f_blocks > 0 && disk.f_bavail.saturating_mul(disk.f_frsize) < LITTLE_BYTES
}
