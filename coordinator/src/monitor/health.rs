//! What does not work while the coordinator goes on, looked at whenever somebody asks: by `/healthz`, by
//! `list` and `doctor`, and as a metric. A component without which it would be useless ends it instead
//! (`fault`).

use std::{collections::BTreeSet, path::Path, path::PathBuf, sync::Arc};

use rustix::fs::statvfs;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant, timeout};

use crate::blobs::Blobs;
use crate::component::{ComponentFailures, CoordinatorComponent};
use crate::provision::{Provisioning, QueueSelector};
use crate::timeline::wall_clock;

/// Less free space than this is nearly none: a segment of the journal, and the checkpoint and writes of the store beside it.
const LITTLE_BYTES: u64 = 64 << 20;
/// How long is waited for a disk that may hang, and for queues that are being added or removed, which takes as long as their engines do.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long an answer is good for: pages and probes ask every few seconds, and each look may write to a sick disk.
const KEPT: Duration = Duration::from_secs(2);

/// What was found, and when.
#[derive(Clone, Debug)]
struct LatestLook {
    at: Instant,
    components: BTreeSet<CoordinatorComponent>,
}

/// Who looks at all components. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    pub(crate) failing: ComponentFailures,
    pub(crate) blobs: Blobs,
    pub(crate) provisioning: Provisioning,
    pub(crate) data: PathBuf,
    latest: Arc<Mutex<Option<LatestLook>>>,
}

impl Health {
    pub(crate) fn new(
        failing: ComponentFailures,
        blobs: Blobs,
        provisioning: &Provisioning,
        data: &Path,
    ) -> Self {
        Self {
            failing,
            blobs,
            provisioning: provisioning.clone(),
            data: data.to_owned(),
            latest: Arc::default(),
        }
    }

    /// Returns the components that fail now. While files cannot be stored, a look writes to a sick disk, and is not repeated within two
    /// seconds however many ask.
    pub(crate) async fn look(&self) -> BTreeSet<CoordinatorComponent> {
        if !self.failing.components().contains(&CoordinatorComponent::Files) {
            return self.look_now().await;
        }
        let mut latest = self.latest.lock().await;
        if let Some(look) = latest.as_ref().filter(|look| look.at.elapsed() < KEPT) {
            return look.components.clone();
        }
        let components = self.look_now().await;
        let still_fails = components.contains(&CoordinatorComponent::Files);
        *latest = still_fails.then_some(LatestLook { at: Instant::now(), components: components.clone() });
        components
    }

    async fn look_now(&self) -> BTreeSet<CoordinatorComponent> {
        let blobs = self.blobs.clone();
        let data = self.data.clone();
        let is_tried = self.failing.components().contains(&CoordinatorComponent::Files);
        let disk = tokio::task::spawn_blocking(move || {
            // Nobody may put a file for a long time, and what was wrong may be over.
            if is_tried {
                blobs.try_out();
            }
            is_nearly_full(&data)
        });
        let disk = timeout(PATIENCE, disk).await;
        let mut components = self.failing.components();
        match disk {
            Ok(Ok(false)) => {}
            Ok(Ok(true)) => drop(components.insert(CoordinatorComponent::Disk)),
            // A file system that does not answer stores nothing either.
            Ok(Err(_)) | Err(_) => drop(components.insert(CoordinatorComponent::Files)),
        }
        if let Ok(queues) = timeout(PATIENCE, self.provisioning.show(&QueueSelector::default())).await {
            let now = wall_clock();
            for queue in &queues {
                if queue.stands_still(now).is_some() || queue.snapshot.trouble.is_some() {
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
