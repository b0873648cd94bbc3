//! Turns at computing: few at once, and not many in line.
//!
//! A turn goes with its computation to the thread that makes it, so that a caller who went away does not let another in
//! while the processors are still at work for him.

use std::sync::Arc;

use speedup_core::value::hint::with_hint;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tonic::Status;

/// Computations made at once: each may hold the values of millions of runs, and each uses all processors.
const COMPUTATIONS_AT_ONCE: usize = 2;
/// Requests in line: each may hold a message of the largest size.
const MOST_WAITING: usize = 16;

/// The turns of one door.
#[derive(Debug)]
pub(crate) struct Turns {
    computing: Arc<Semaphore>,
    waiting: Semaphore,
}

/// A turn at computing.
#[derive(Debug)]
pub(crate) struct Turn(OwnedSemaphorePermit);

/// A place in line, for as long as the request is held.
pub(crate) type Place<'a> = SemaphorePermit<'a>;

impl Turns {
    pub(crate) fn new() -> Self {
        Self {
            computing: Arc::new(Semaphore::new(COMPUTATIONS_AT_ONCE)),
            waiting: Semaphore::new(MOST_WAITING + COMPUTATIONS_AT_ONCE),
        }
    }

    pub(crate) async fn next(&self) -> Result<Turn, Status> {
        let _place: Place<'_> = self.waiting.try_acquire().map_err(|_| {
            Status::resource_exhausted(with_hint(
                format_args!("{MOST_WAITING} requests wait already"),
                Some("ask again in a minute"),
            ))
        })?;
        let turn = Arc::clone(&self.computing).acquire_owned().await;
        turn.map(Turn).map_err(|_| Status::unavailable("the analysis is stopping"))
    }
}

impl Turn {
    /// Computes `what` apart from the event loop. The turn ends with the computation, even when nobody waits for it any
    /// more.
    pub(crate) async fn compute<T: Send + 'static>(
        self,
        what: &'static str,
        work: impl FnOnce() -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let computed = tokio::task::spawn_blocking(move || {
            let Self(_turn) = self;
            work()
        });
        computed.await.map_err(|error| {
            tracing::error!(what, %error, "a computation failed: this is a bug");
            Status::internal(format!("{what} failed; the log of the analysis says why"))
        })?
    }
}
