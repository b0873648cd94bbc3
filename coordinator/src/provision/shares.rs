//! What the queues know of each other: how much each has under way and could have, and which jobs are whose. Who reads it, and asks
//! the machine what is missing, holds it until what it decides is entered: so two queues never ask for the same host.

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc};

use speedup_core::machine::provision::{Claim, share};
use speedup_core::value::id::{JobId, QueueName};
use tokio::sync::{Mutex, MutexGuard, watch};

/// The parts of all queues. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    parts: Arc<Mutex<Parts>>,
    /// Told when a queue may be given more than before.
    demand: Arc<watch::Sender<()>>,
}

#[derive(Debug, Default)]
pub(crate) struct Parts {
    of_queues: BTreeMap<QueueName, Part>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// What it has under way, and could have.
    pub(crate) claim: Claim,
    pub(crate) jobs: BTreeSet<JobId>,
}

impl Shares {
    /// Of no queue yet.
    pub(crate) fn new(demand: Arc<watch::Sender<()>>) -> Self {
        Self { parts: Arc::default(), demand }
    }

    /// All parts, for one queue at a time.
    pub(crate) async fn lock(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().await
    }

    /// Enters the part of a queue, and tells the others if it leaves them more.
    pub(crate) fn enter(&self, parts: &mut Parts, queue: &QueueName, part: Part) {
        let claim = part.claim;
        let before = parts.of_queues.insert(queue.clone(), part).map(|before| before.claim);
        let leaves_more =
            |before: Claim| claim.counted_on() < before.counted_on() || claim.room < before.room;
        // What gains room may be given what others have in their queues.
        if before.is_none_or(|before| leaves_more(before) || before.room == 0 && claim.room > 0) {
            self.tell_others(parts);
        }
    }

    /// That a queue is no more.
    pub(crate) async fn leave(&self, queue: &QueueName) {
        let mut parts = self.lock().await;
        parts.of_queues.remove(queue);
        self.demand.send_replace(());
    }

    fn tell_others(&self, parts: &Parts) {
        if parts.of_queues.len() > 1 {
            self.demand.send_replace(());
        }
    }
}

impl Parts {
    /// What a queue has under way, and could have.
    pub(crate) fn claim(&self, queue: &QueueName) -> Claim {
        self.of_queues.get(queue).map(|part| part.claim).unwrap_or_default()
    }

    /// How many of the missing hosts a queue is to have under way now.
    pub(crate) fn share(&self, missing: u32, queue: &QueueName) -> u32 {
        let claims = self.of_queues.iter().map(|(name, part)| (name.clone(), part.claim)).collect();
        share(missing, &claims, queue)
    }

    pub(crate) fn jobs_of_others(&self, queue: &QueueName) -> BTreeSet<JobId> {
        let others = self.of_queues.iter().filter(|(name, _)| *name != queue);
        others.flat_map(|(_, part)| part.jobs.iter().cloned()).collect()
    }

    pub(crate) fn has_others(&self, queue: &QueueName) -> bool {
        self.of_queues.keys().any(|name| name != queue)
    }

    /// Whether a job is any queue's.
    pub(crate) fn has_job(&self, job: &JobId) -> bool {
        self.of_queues.values().any(|part| part.jobs.contains(job))
    }
}
