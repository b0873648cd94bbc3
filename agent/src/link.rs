//! The link: one session with the coordinator, as a channel up and a stream down.

use speedup_access::Reach;
use speedup_core::agent::message::{AgentMessage, CoordinatorMessage};
use speedup_core::value::causes::with_causes;
use speedup_proto::{convert::Malformed, limits, v1, v1::agents_client::AgentsClient};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

/// Messages that may wait for the connection; the machine never has more than its outbox and one question to say.
const WAITING_MESSAGES: usize = 1_024;
/// How often the loop gives way so that what was said leaves this process. In one turn all tasks run that have something to do, those
/// included that have it from each other; the others are to spare.
const TURNS_TO_FLUSH: usize = 3;

/// Why there is no session, or no more.
#[derive(Debug, Error)]
pub(crate) enum LinkError {
    #[error("cannot reach the coordinator")]
    Unreachable(#[source] tonic::transport::Error),
    #[error("the session ended")]
    Ended(#[source] Status),
    #[error("the coordinator closed the session")]
    Closed,
    #[error("cannot decode a message from the coordinator")]
    Malformed(#[source] Malformed),
    #[error("the connection is closed for sending")]
    Stuck,
}

impl LinkError {
    /// Why the coordinator cannot be reached, if that is it.
    pub(crate) fn unreached(&self) -> Option<String> {
        match self {
            Self::Unreachable(error) => Some(with_causes(error)),
            Self::Ended(_) | Self::Closed | Self::Malformed(_) | Self::Stuck => None,
        }
    }

    /// Whether the coordinator does not take the certificate for one that holds.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        matches!(self, Self::Ended(status) if status.code() == Code::Unauthenticated)
    }
}

#[derive(Debug)]
pub(crate) struct Link {
    up: mpsc::Sender<v1::AgentMessage>,
    down: Streaming<v1::CoordinatorMessage>,
    /// Whether something was said since the last flush.
    has_said: bool,
}

impl Link {
    /// Connects and says the first words of the session.
    pub(crate) async fn connect(coordinator: &Reach, first: Vec<AgentMessage>) -> Result<Self, LinkError> {
        let channel = coordinator.connect().await.map_err(LinkError::Unreachable)?;
        let mut client = AgentsClient::new(channel)
            .max_decoding_message_size(limits::MAX_GRANT_BYTES)
            .max_encoding_message_size(limits::MAX_AGENT_MESSAGE_BYTES);
        let (up, messages) = mpsc::channel(WAITING_MESSAGES);
        for message in first {
            up.try_send(message.into()).map_err(|_| LinkError::Stuck)?;
        }
        let session = client.session(ReceiverStream::new(messages)).await.map_err(LinkError::Ended)?;
        Ok(Self { up, down: session.into_inner(), has_said: false })
    }

    /// Says something; it leaves while the loop waits, or with [`Link::flush`].
    pub(crate) fn say(&mut self, message: AgentMessage) -> Result<(), LinkError> {
        self.has_said = true;
        self.up.try_send(message.into()).map_err(|_| LinkError::Stuck)
    }

    /// Lets what was said leave this process, as far as the connection takes it.
    pub(crate) async fn flush(&mut self) {
        if !std::mem::take(&mut self.has_said) {
            return;
        }
        flushed().await;
    }

    /// Waits for what the coordinator says next.
    pub(crate) async fn hear(&mut self) -> Result<CoordinatorMessage, LinkError> {
        let message = self.down.message().await.map_err(LinkError::Ended)?.ok_or(LinkError::Closed)?;
        CoordinatorMessage::try_from(message).map_err(LinkError::Malformed)
    }
}

/// Lets the tasks of connections do what they have to do, as far as the connections take it.
pub(crate) async fn flushed() {
    for _ in 0..TURNS_TO_FLUSH {
        tokio::task::yield_now().await;
    }
}
