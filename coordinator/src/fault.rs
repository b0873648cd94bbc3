//! The failure of a part without which the coordinator would only look as if it worked: the store, or the journal of
//! admissions. Whoever runs the coordinator waits for it and ends the process with the cause; the next start repairs
//! the part from what is durable.

use std::error::Error;

use speedup_core::value::causes::with_causes;
use tokio::sync::watch;

/// The first failure of a part, once there is one. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Fault(watch::Sender<Option<String>>);

impl Fault {
    pub(crate) fn none() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Records a failure; those after the first are its consequences.
    pub(crate) fn report(&self, error: &(dyn Error + 'static)) {
        self.0.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert_with(|| with_causes(error));
            is_first
        });
    }

    /// Waits for a failure, and returns it with its causes.
    pub(crate) async fn reported(&self) -> String {
        let mut seen = self.0.subscribe();
        match seen.wait_for(Option::is_some).await {
            Ok(first) => first.clone().unwrap_or_default(),
            // Its sender is `self`, which outlives this call.
            Err(_) => std::future::pending().await,
        }
    }
}
