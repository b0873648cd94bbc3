//! Components of a coordinator that may fail while it goes on, and what is noted of them by those who use
//! them. The sentences name no path, host or user, because `/healthz` asks nobody who he is; the log has
//! the cause.

use std::{collections::BTreeSet, sync::Arc, sync::Mutex, sync::PoisonError};

speedup_core::words! {
    /// A component that may fail while the coordinator goes on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CoordinatorComponent {
        AccessFile = "access_file",
        Checkpoints = "checkpoints",
        Disk = "disk",
        Files = "files",
        Queues = "queues",
    }
    /// As the metric's label.
    fn code;
    /// All of them, in the order of their labels.
    const ALL;
}

impl CoordinatorComponent {
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
pub(crate) struct ComponentFailures(Arc<Mutex<BTreeSet<CoordinatorComponent>>>);

impl ComponentFailures {
    /// Notes whether a component works.
    pub(crate) fn note(&self, component: CoordinatorComponent, works: bool) {
        let mut failing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if works {
            failing.remove(&component);
        } else {
            failing.insert(component);
        }
    }

    pub(crate) fn components(&self) -> BTreeSet<CoordinatorComponent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
