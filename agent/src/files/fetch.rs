//! Fetching contents from the coordinator, over a connection of its own that is gone before the run begins. Where it
//! breaks off it is taken up again from the last byte that came.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use speedup_access::Reach;
use speedup_core::files::Content;
use speedup_proto::convert::Blob;
use speedup_proto::limits::MAX_PIECE_MESSAGE_BYTES;
use speedup_proto::v1;
use speedup_proto::v1::files_client::FilesClient;
use tokio::time::Instant;
use tonic::Code;
use tonic::transport::Channel;

use super::StagingError;
use super::cache::{Cache, Draft, Rejected};
use crate::causes::with_causes;
use crate::link::flushed;
use crate::stop::Stop;

/// How long nothing of a content may come while the coordinator cannot be reached: it may be starting anew.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a coordinator that is there may say nothing: it serves many hosts at once, each in its turn.
const SILENCE: Duration = Duration::from_secs(600);
/// The pause before it is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// Fetches contents.
pub(super) struct Fetching<'a> {
    coordinator: &'a Reach,
    stop: &'a mut Stop,
    connection: Option<Channel>,
}

/// Why a content did not come.
enum Trouble {
    /// It may come when it is tried again.
    Passing(String),
    /// It will not.
    Lasting(String),
    /// What came was wrong.
    Wrong(String),
    /// This host's own.
    Here(StagingError),
}

impl<'a> Fetching<'a> {
    /// Nothing is connected until something is fetched.
    pub(super) fn new(coordinator: &'a Reach, stop: &'a mut Stop) -> Self {
        Self { coordinator, stop, connection: None }
    }

    /// Fetches a content into the cache; says where it is.
    pub(super) async fn fetch(
        &mut self,
        cache: &mut Cache,
        content: Content,
        name: &str,
    ) -> Result<std::path::PathBuf, StagingError> {
        let failed = |reason| StagingError::Fetch { name: name.to_owned(), reason };
        let mut draft = cache.draft(content, self.stop.flag())?;
        if draft.is_resumed() {
            let (file, had) = (content.blake3, draft.had());
            tracing::info!(%file, had, "the fetching of a file goes on where it was interrupted");
        }
        let mut deadline = Instant::now() + PATIENCE;
        loop {
            let had = draft.had();
            let trouble = match self.receive(&mut draft, content).await {
                Ok(()) => {
                    let is_resumed = draft.is_resumed();
                    match cache.keep(draft) {
                        Ok(path) => return Ok(path),
                        // The beginning may have been damaged since; once more from the start.
                        Err(Rejected::Wrong(_)) if is_resumed => {
                            draft = cache.draft(content, self.stop.flag())?;
                            continue;
                        }
                        Err(Rejected::Wrong(what)) => return Err(failed(what)),
                        Err(Rejected::Disk(error)) => return Err(error),
                    }
                }
                Err(trouble) => trouble,
            };
            match trouble {
                Trouble::Here(error) => {
                    if matches!(error, StagingError::Disk { .. }) {
                        // A disk that is full is not kept full; the first error is the one to tell.
                        let _ = cache.discard(&draft);
                    }
                    return Err(error);
                }
                Trouble::Lasting(reason) => return Err(failed(reason)),
                Trouble::Wrong(reason) => {
                    cache.discard(&draft)?;
                    return Err(failed(reason));
                }
                Trouble::Passing(reason) => {
                    self.connection = None;
                    if draft.had() > had {
                        deadline = Instant::now() + PATIENCE;
                    }
                    if Instant::now() >= deadline {
                        return Err(failed(reason));
                    }
                    tracing::debug!(file = %content.blake3, had = draft.had(), "fetching again: {reason}");
                    unless_stopped(self.stop, tokio::time::sleep(PAUSE)).await?;
                }
            }
        }
    }

    /// The wish to stop.
    pub(super) fn stop(&self) -> &AtomicBool {
        self.stop.flag()
    }

    /// Lets go of the connection, and sees to it that nothing of it is left to be done while the run is timed.
    pub(super) async fn end(self) {
        if self.connection.is_some() {
            drop(self.connection);
            flushed().await;
        }
    }

    async fn receive(&mut self, draft: &mut Draft, content: Content) -> Result<(), Trouble> {
        if draft.is_complete() {
            return Ok(());
        }
        let connection = match &self.connection {
            Some(connection) => connection.clone(),
            None => {
                let connected =
                    unless_stopped(self.stop, self.coordinator.connect()).await.map_err(Trouble::Here)?;
                let connected = connected.map_err(|error| Trouble::Passing(with_causes(&error)))?;
                self.connection.insert(connected).clone()
            }
        };
        let mut client = FilesClient::new(connection).max_decoding_message_size(MAX_PIECE_MESSAGE_BYTES);
        let request = v1::GetContentRequest { blob: Some(Blob::from(content).into()), offset: draft.had() };
        let pieces = in_time(self.stop, client.get(request)).await?;
        let mut pieces = pieces.into_inner();
        while let Some(v1::ContentPiece { piece }) = in_time(self.stop, pieces.message()).await? {
            draft.write(&piece).map_err(|rejected| match rejected {
                Rejected::Wrong(what) => Trouble::Wrong(what),
                Rejected::Disk(error) => Trouble::Here(error),
            })?;
        }
        if draft.is_complete() {
            return Ok(());
        }
        Err(Trouble::Lasting(format!("it ends after {} of {} bytes", draft.had(), content.bytes)))
    }
}

async fn in_time<T>(
    stop: &mut Stop,
    answer: impl Future<Output = Result<T, tonic::Status>>,
) -> Result<T, Trouble> {
    let answer = unless_stopped(stop, tokio::time::timeout(SILENCE, answer)).await.map_err(Trouble::Here)?;
    let answer = answer.map_err(|_| Trouble::Passing("nothing comes any more".to_owned()))?;
    answer.map_err(|status| {
        let reason = status.message().to_owned();
        match status.code() {
            Code::NotFound | Code::InvalidArgument | Code::Unimplemented | Code::OutOfRange => {
                Trouble::Lasting(reason)
            }
            _ => Trouble::Passing(reason),
        }
    })
}

async fn unless_stopped<T>(stop: &mut Stop, work: impl Future<Output = T>) -> Result<T, StagingError> {
    tokio::select! {
        done = work => Ok(done),
        () = stop.wished() => Err(StagingError::Stopped),
    }
}
