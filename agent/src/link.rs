//! The link: one session with the coordinator, as a channel up and a stream down.

use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;
use speedup_core::message::{AgentMessage, CoordinatorMessage};
use speedup_proto::convert::Malformed;
use speedup_proto::v1::agents_client::AgentsClient;
use speedup_proto::{limits, v1};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

/// Messages that may wait for the connection; the machine never has more than its outbox and one question to say.
const WAITING_MESSAGES: usize = 1_024;
/// How long a connection may take to stand.
const CONNECT: Duration = Duration::from_secs(10);
/// After how long without a word the kernel asks whether the coordinator is still there, and how often.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(10), Duration::from_secs(5), 4);
/// How long what was said may stay without an acknowledgement until the connection counts as broken. While the kernel waits
/// for one it asks nothing, and by itself it waits for a quarter of an hour. As long as the questions take.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);
/// How often the loop gives way so that what was said leaves this process: once for the stream, once for the
/// connection's task, and some to spare.
const TURNS_TO_FLUSH: usize = 8;

/// Why there is no session, or no more.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The address is none.
    #[error("the coordinator's address {address:?} is not a URL such as http://127.0.0.1:7077")]
    Address {
        /// What was given.
        address: String,
        /// Why it is none.
        source: tonic::transport::Error,
    },
    /// Nobody is reached there.
    #[error("cannot reach the coordinator")]
    Unreachable(#[source] tonic::transport::Error),
    /// The coordinator ended the session.
    #[error("the session ended")]
    Ended(#[source] Status),
    /// The coordinator closed the session without a word.
    #[error("the coordinator closed the session")]
    Closed,
    /// The coordinator said something that cannot be understood.
    #[error("the coordinator said something that cannot be understood")]
    Malformed(#[source] Malformed),
    /// What was said does not leave.
    #[error("the connection takes nothing more")]
    Stuck,
}

/// One session with the coordinator.
#[derive(Debug)]
pub(crate) struct Link {
    up: mpsc::Sender<v1::AgentMessage>,
    down: Streaming<v1::CoordinatorMessage>,
    /// Whether something was said since the last flush.
    has_said: bool,
}

/// Where the coordinator is, checked.
#[derive(Clone, Debug)]
pub(crate) struct Address(Endpoint);

impl Address {
    /// Checks a URL.
    pub(crate) fn parse(url: &str) -> Result<Self, LinkError> {
        let wrong = |source| LinkError::Address { address: url.to_owned(), source };
        let endpoint = Endpoint::from_shared(url.to_owned()).map_err(wrong)?;
        Ok(Self(endpoint.connect_timeout(CONNECT)))
    }

    async fn connect(&self) -> Result<Channel, tonic::transport::Error> {
        let (time, interval, retries) = KEEPALIVE;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_keepalive(Some(time));
        connector.set_keepalive_interval(Some(interval));
        connector.set_keepalive_retries(Some(retries));
        connector.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
        self.0.connect_with_connector(connector).await
    }
}

impl Link {
    /// Connects and says the first words of the session.
    pub(crate) async fn connect(address: &Address, first: Vec<AgentMessage>) -> Result<Self, LinkError> {
        let channel = address.connect().await.map_err(LinkError::Unreachable)?;
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
        for _ in 0..TURNS_TO_FLUSH {
            tokio::task::yield_now().await;
        }
    }

    /// Waits for what the coordinator says next.
    pub(crate) async fn hear(&mut self) -> Result<CoordinatorMessage, LinkError> {
        let message = self.down.message().await.map_err(LinkError::Ended)?.ok_or(LinkError::Closed)?;
        CoordinatorMessage::try_from(message).map_err(LinkError::Malformed)
    }
}
