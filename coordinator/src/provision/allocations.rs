//! What the queues know of each other: how much each has under way and could have, and which jobs are whose. Whoever reads
//! it, and asks the machine what is missing, holds it until what it decides is entered: so two queues never ask for the
//! same host.

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc};

use speedup_core::machine::provision::{Claim, share};
use speedup_core::value::id::{JobId, QueueName};
use tokio::sync::{Mutex, MutexGuard, watch};

/// The allocations of all queues, shared among their tasks. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct QueueAllocations {
    allocations: Arc<Mutex<Allocations>>,
    /// Notified when a queue may be given more than before.
    demand: Arc<watch::Sender<()>>,
}

#[derive(Debug, Default)]
pub(crate) struct Allocations {
    by_queue: BTreeMap<QueueName, Allocation>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Allocation {
    /// What the queue has under way, and could have.
    pub(crate) claim: Claim,
    pub(crate) jobs: BTreeSet<JobId>,
}

impl QueueAllocations {
    pub(crate) fn new(demand: Arc<watch::Sender<()>>) -> Self {
        Self { allocations: Arc::default(), demand }
    }

    /// Locks all allocations, for one queue at a time.
    pub(crate) async fn lock(&self) -> MutexGuard<'_, Allocations> {
        self.allocations.lock().await
    }

    /// Enters the allocation of a queue, and wakes the others if it leaves them more.
    pub(crate) fn enter(&self, allocations: &mut Allocations, queue: &QueueName, allocation: Allocation) {
        let claim = allocation.claim;
        let leaves_more = match allocations.by_queue.insert(queue.clone(), allocation) {
            None => true,
            Some(Allocation { claim: before, .. }) => {
                claim.counted_on() < before.counted_on()
                    || claim.room < before.room
                    // What gains room may be given what others have in their queues.
                    || before.room == 0 && claim.room > 0
            }
        };
        if leaves_more && allocations.by_queue.len() > 1 {
            self.demand.send_replace(());
        }
    }

    /// Forgets a queue.
    pub(crate) async fn leave(&self, queue: &QueueName) {
        let mut allocations = self.lock().await;
        allocations.by_queue.remove(queue);
        self.demand.send_replace(());
    }
}

impl Allocations {
    /// What a queue has under way, and could have.
    pub(crate) fn claim(&self, queue: &QueueName) -> Claim {
        self.by_queue.get(queue).map(|allocation| allocation.claim).unwrap_or_default()
    }

    /// How many of the missing hosts a queue is to have under way now.
    pub(crate) fn share(&self, missing: u32, queue: &QueueName) -> u32 {
        let claims = self.by_queue.iter().map(|(name, allocation)| (name.clone(), allocation.claim));
        share(missing, &claims.collect(), queue)
    }

    pub(crate) fn jobs_of_others(&self, queue: &QueueName) -> BTreeSet<JobId> {
        let others = self.by_queue.iter().filter(|(name, _)| *name != queue);
        others.flat_map(|(_, allocation)| allocation.jobs.iter().cloned()).collect()
    }

    pub(crate) fn has_others(&self, queue: &QueueName) -> bool {
        self.by_queue.keys().any(|name| name != queue)
    }

    /// Whether a job is any queue's.
    pub(crate) fn has_job(&self, job: &JobId) -> bool {
        self.by_queue.values().any(|allocation| allocation.jobs.contains(job))
    }
}
