//! Limits how many computations run at once, and how many requests wait for one.
//!
//! A permit goes with its computation to the thread that does it, so that a caller who went away does not let another in
//! while the processors are still at work for him.

use std::sync::Arc;

use speedup_access::{FairSemaphore, Identity};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

/// Computations made at once: each may hold the values of millions of runs, and each uses all processors.
const COMPUTATIONS_AT_ONCE: usize = 2;
/// Requests in line for a permit, of which each user has a share; others of his wait until one of them has got its permit, so
/// that nobody waits for more than those.
const MOST_IN_LINE: usize = 32;

/// Limits the computations of one service.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimiter {
    computing: Arc<Semaphore>,
    line: Arc<FairSemaphore>,
}

/// Permission for one computation.
#[derive(Debug)]
pub(crate) struct ComputePermit(OwnedSemaphorePermit);

impl ConcurrencyLimiter {
    pub(crate) fn new() -> Self {
        Self {
            computing: Arc::new(Semaphore::new(COMPUTATIONS_AT_ONCE)),
            line: FairSemaphore::new(MOST_IN_LINE),
        }
    }

    /// Waits for the next permit. Whoever has many requests waits with the rest of them for his share of the line: there only the
    /// first few of each user stand before others.
    pub(crate) async fn next(&self, who: Option<&Identity>) -> Result<ComputePermit, Status> {
        let _place = self.line.acquire(who).await;
        let permit = Arc::clone(&self.computing).acquire_owned().await;
        permit.map(ComputePermit).map_err(|_| Status::unavailable("the analysis is stopping"))
    }
}

impl ComputePermit {
    /// Computes `what` apart from the event loop. The permit ends with the computation, even when nobody waits for it
    /// any more.
    pub(crate) async fn compute<T: Send + 'static>(
        self,
        what: &'static str,
        work: impl FnOnce() -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let computed = tokio::task::spawn_blocking(move || {
            let Self(_permit) = self;
            work()
        });
        computed.await.map_err(|error| {
            tracing::error!(what, %error, "a computation failed: this is a bug");
            Status::internal(format!("{what} failed; the log of the analysis says why"))
        })?
    }
}
