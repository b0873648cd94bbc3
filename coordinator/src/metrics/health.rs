//! What does not work while the coordinator goes on, looked at whenever somebody asks: by `/healthz`, by
//! `list` and `doctor`, and as a metric. A component without which it would be useless ends it instead
//! (`fault`).

use std::{collections::BTreeSet, path::Path, path::PathBuf};

use rustix::fs::statvfs;
use tokio::time::{Duration, timeout};

use crate::blobs::Blobs;
use crate::component::{ComponentFailures, CoordinatorComponent};
use crate::provision::{Provisioning, Selected, Shown};
use crate::timeline::wall_clock;

/// Less free space than this is nearly none: a segment of the journal, and the checkpoint and writes of the store beside it.
const LITTLE_BYTES: u64 = 64 << 20;
/// How long queues are waited for that are being added or removed, which takes as long as their engines do.
const QUEUES: Duration = Duration::from_secs(1);

/// Who looks at all components. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    pub(crate) failing: ComponentFailures,
    pub(crate) blobs: Blobs,
    pub(crate) provisioning: Provisioning,
    pub(crate) data: PathBuf,
}

impl Health {
    /// Returns the components that fail now.
    pub(crate) async fn look(&self) -> BTreeSet<CoordinatorComponent> {
        if self.failing.components().contains(&CoordinatorComponent::Files) {
            // Nobody may put a file for a long time, and what was wrong may be over.
            let blobs = self.blobs.clone();
            let _ = tokio::task::spawn_blocking(move || blobs.try_out()).await;
        }
        let mut components = self.failing.components();
        if is_nearly_full(&self.data) {
            components.insert(CoordinatorComponent::Disk);
        }
        if let Ok(queues) = timeout(QUEUES, self.provisioning.show(&Selected::default())).await {
            let now = wall_clock();
            for Shown { queue, seen } in &queues {
                if seen.ledger.stands_still(now, &queue.limits).is_some() || seen.trouble.is_some() {
                    components.insert(CoordinatorComponent::Queues);
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
