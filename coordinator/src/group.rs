//! A group: what the owner decided on a batch of requests, made durable with one sync, and then sent and answered.

use speedup_core::machine::event::{EndedAttempt, Event};
use speedup_proto::v1;
use tokio::sync::mpsc;

/// What is done once a group is durable.
pub(crate) type After = Box<dyn FnOnce() + Send>;

/// Where an agent listens. What is said to it at once travels at once.
pub(crate) type Down = mpsc::Sender<Vec<v1::CoordinatorMessage>>;

/// What came of a batch of requests.
#[derive(Default)]
pub(crate) struct Group {
    /// To be made durable.
    pub(crate) events: Vec<Event>,
    /// The attempts they ended, for the index.
    pub(crate) ended: Vec<EndedAttempt>,
    /// To be sent after that.
    pub(crate) sends: Vec<(Down, Vec<v1::CoordinatorMessage>)>,
    /// To be answered after that.
    pub(crate) answers: Vec<After>,
}

impl Group {
    /// Adds to what is sent; what goes to the same agent as the message before goes with it.
    pub(crate) fn send(&mut self, down: &Down, message: v1::CoordinatorMessage) {
        match self.sends.last_mut() {
            Some((last, messages)) if last.same_channel(down) => messages.push(message),
            Some(_) | None => self.sends.push((down.clone(), vec![message])),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.sends.is_empty() && self.answers.is_empty()
    }
}
