//! The line on which contents travel: a connection of its own, that is gone before a run begins.

use std::{sync::atomic::AtomicBool, time::Duration};

use speedup_access::Reach;
use speedup_core::value::causes::with_causes;
use speedup_proto::{limits::MAX_PIECE_MESSAGE_BYTES, v1::files_client::FilesClient};
use tokio::time::Instant;
use tonic::{Code, Status, transport::Channel};

use super::StagingError;
use crate::{link::flushed, stop::Stop};

pub(super) struct Line<'a> {
    coordinator: &'a Reach,
    stop: &'a mut Stop,
    connection: Option<Channel>,
}

/// Why a content did not travel.
pub(super) enum Trouble {
    /// It may when it is tried again.
    Passing(String),
    /// It will not.
    Lasting(String),
    Here(StagingError),
}

impl<'a> Line<'a> {
    /// Nothing is connected until something is asked.
    pub(super) fn new(coordinator: &'a Reach, stop: &'a mut Stop) -> Self {
        Self { coordinator, stop, connection: None }
    }

    pub(super) fn stop(&self) -> &AtomicBool {
        self.stop.flag()
    }

    /// One who asks on this line, connected by a deadline.
    pub(super) async fn client(&mut self, deadline: Instant) -> Result<FilesClient<Channel>, Trouble> {
        let connection = match &self.connection {
            Some(connection) => connection.clone(),
            None => {
                let connecting = tokio::time::timeout_at(deadline, self.coordinator.connect());
                let connected = unless_stopped(self.stop, connecting).await?;
                let connected = connected.map_err(|_| nothing_comes())?;
                let connected = connected.map_err(|error| Trouble::Passing(with_causes(&error)))?;
                self.connection.insert(connected).clone()
            }
        };
        Ok(FilesClient::new(connection)
            .max_decoding_message_size(MAX_PIECE_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_PIECE_MESSAGE_BYTES))
    }

    /// An answer, by a deadline.
    pub(super) async fn answer<T>(
        &mut self,
        deadline: Instant,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Trouble> {
        let answer = unless_stopped(self.stop, tokio::time::timeout_at(deadline, answer)).await?;
        answer.map_err(|_| nothing_comes())?.map_err(|status| {
            let reason = status.message().to_owned();
            match status.code() {
                Code::NotFound
                | Code::InvalidArgument
                | Code::Unimplemented
                | Code::OutOfRange
                | Code::ResourceExhausted => Trouble::Lasting(reason),
                _ => Trouble::Passing(reason),
            }
        })
    }

    /// Hangs up, and waits before it is tried again.
    pub(super) async fn pause(&mut self, time: Duration) -> Result<(), StagingError> {
        self.connection = None;
        let waited = unless_stopped(self.stop, tokio::time::sleep(time)).await;
        waited.map_err(|Stopped| StagingError::Stopped)
    }

    /// Hangs up, and sees to it that nothing of it is left to be done while a run is timed.
    pub(super) async fn end(self) {
        if self.connection.is_some() {
            drop(self.connection);
            flushed().await;
        }
    }
}

/// The agent was asked to stop.
struct Stopped;

impl From<Stopped> for Trouble {
    fn from(_: Stopped) -> Self {
        Self::Here(StagingError::Stopped)
    }
}

fn nothing_comes() -> Trouble {
    Trouble::Passing("nothing comes any more".to_owned())
}

async fn unless_stopped<T>(stop: &mut Stop, work: impl Future<Output = T>) -> Result<T, Stopped> {
    tokio::select! {
        done = work => Ok(done),
        () = stop.wished() => Err(Stopped),
    }
}
