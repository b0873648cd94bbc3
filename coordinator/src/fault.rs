//! The failure of a part without which the coordinator would only look as if it worked. Whoever runs the
//! coordinator waits for it and ends the process with the cause; the next start repairs the part from
//! what is durable. What fails without such harm is told by `health`.

use speedup_journal::WriteError;
use thiserror::Error;
use tokio::sync::watch;

/// Why a running coordinator cannot go on.
#[derive(Clone, Debug, Error)]
pub enum Broken {
    #[error("the coordinator cannot write its journal")]
    Journal(#[source] WriteError),
    #[error("the store of the coordinator failed: {0}")]
    Store(String),
    #[error("the coordinator cannot write its journal of admissions: {0}")]
    Admissions(String),
    #[error("the coordinator cannot tell which contents of files are on the disk: {0}")]
    Blobs(String),
    #[error("the coordinator no longer serves connections: {0}")]
    Server(String),
    /// A task or thread of it died: a bug; its message is in the log.
    #[error("a worker of the coordinator died: {0}")]
    Worker(&'static str),
}

/// The first failure of a part, once there is one. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Fault(watch::Sender<Option<Broken>>);

impl Fault {
    pub(crate) fn none() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Records a failure; those after the first are its consequences.
    pub(crate) fn report(&self, broken: Broken) {
        self.0.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert(broken);
            is_first
        });
    }

    /// Waits for a failure.
    pub(crate) async fn reported(&self) -> Broken {
        let mut seen = self.0.subscribe();
        match seen.wait_for(Option::is_some).await {
            Ok(first) => first.clone().expect("it was waited for"),
            // Its sender is `self`, which outlives this call.
            Err(_) => std::future::pending().await,
        }
    }

    /// Returns what a worker of this name holds while it works.
    pub(crate) fn watch_over(&self, worker: &'static str) -> Vital {
        Vital { fault: self.clone(), worker }
    }
}

/// Held by a task or thread that the coordinator cannot do without, while it works. Its panic is reported: a runtime keeps it to
/// the task, and nobody waits for what is to end only with the process.
#[derive(Debug)]
pub(crate) struct Vital {
    fault: Fault,
    worker: &'static str,
}

impl Drop for Vital {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.fault.report(Broken::Worker(self.worker));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_worker_that_dies_is_reported_and_one_that_ends_is_not() {
        let fault = Fault::none();
        let ending = fault.watch_over("one that ends");
        tokio::spawn(async move { drop(ending) }).await.expect("its end");
        let dying = fault.watch_over("one that dies");
        let died = tokio::spawn(async move {
            let _dying = dying;
            tokio::task::yield_now().await;
            panic!("as it should in this test");
        });
        assert!(died.await.is_err());
        assert!(matches!(fault.reported().await, Broken::Worker("one that dies")));
        let thread = fault.watch_over("a thread");
        let died = std::thread::spawn(move || {
            let _thread = thread;
            panic!("as it should in this test");
        });
        assert!(died.join().is_err());
        assert!(matches!(fault.reported().await, Broken::Worker("one that dies")), "the first counts");
    }
}
