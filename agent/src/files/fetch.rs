//! Fetching contents from the coordinator, over a connection of its own that is gone before the run begins. Where it
//! breaks off it is taken up again from the last byte that came.

use std::{sync::atomic::AtomicBool, time::Duration};

use speedup_access::Reach;
use speedup_core::experiment::files::Content;
use speedup_proto::{convert::Blob, v1};
use tokio::time::Instant;

use super::{StagingError, cache::Cache, cache::Draft, cache::Rejected, line::Line, line::Trouble};
use crate::stop::Stop;

/// How long nothing of a content may come while the coordinator cannot be reached: it may be starting anew.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a coordinator that is there may say nothing: it serves many hosts at once, each in its turn.
const SILENCE: Duration = Duration::from_secs(600);
/// The pause before it is tried again.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Fetching<'a> {
    line: Line<'a>,
}

/// Why a content did not come.
enum Interrupted {
    Trouble(Trouble),
    /// What came was wrong.
    Wrong(String),
}

impl From<Trouble> for Interrupted {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl<'a> Fetching<'a> {
    /// Nothing is connected until something is fetched.
    pub(super) fn new(coordinator: &'a Reach, stop: &'a mut Stop) -> Self {
        Self { line: Line::new(coordinator, stop) }
    }

    /// Fetches a content into the cache; says where it is.
    pub(super) async fn fetch(
        &mut self,
        cache: &mut Cache,
        content: Content,
        name: &str,
    ) -> Result<std::path::PathBuf, StagingError> {
        let failed = |reason| StagingError::Fetch { name: name.to_owned(), reason };
        let mut draft = cache.draft(content, self.line.stop())?;
        if draft.is_resumed() {
            let (file, had) = (content.blake3, draft.had());
            tracing::info!(%file, had, "fetching of a file resumes where it was interrupted");
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
                            draft = cache.draft(content, self.line.stop())?;
                            continue;
                        }
                        Err(Rejected::Wrong(what)) => return Err(failed(what)),
                        Err(Rejected::Disk(error)) => return Err(error),
                    }
                }
                Err(trouble) => trouble,
            };
            match trouble {
                Interrupted::Trouble(Trouble::Here(error)) => {
                    if matches!(error, StagingError::Disk { .. }) {
                        // A disk that is full is not kept full; the first error is the one to tell.
                        let _ = cache.discard(&draft);
                    }
                    return Err(error);
                }
                Interrupted::Trouble(Trouble::Lasting(reason)) => return Err(failed(reason)),
                Interrupted::Wrong(reason) => {
                    cache.discard(&draft)?;
                    return Err(failed(reason));
                }
                Interrupted::Trouble(Trouble::Passing(reason)) => {
                    if draft.had() > had {
                        deadline = Instant::now() + PATIENCE;
                    }
                    if Instant::now() >= deadline {
                        return Err(failed(reason));
                    }
                    tracing::debug!(file = %content.blake3, had = draft.had(), "fetching again: {reason}");
                    self.line.pause(PAUSE).await?;
                }
            }
        }
    }

    pub(super) fn stop(&self) -> &AtomicBool {
        self.line.stop()
    }

    /// Lets go of the connection, and sees to it that nothing of it is left to be done while the run is timed.
    pub(super) async fn end(self) {
        self.line.end().await;
    }

    async fn receive(&mut self, draft: &mut Draft, content: Content) -> Result<(), Interrupted> {
        if draft.is_complete() {
            return Ok(());
        }
        let mut client = self.line.client(Instant::now() + SILENCE).await?;
        let request = v1::GetContentRequest { blob: Some(Blob::from(content).into()), offset: draft.had() };
        let pieces = self.line.answer(Instant::now() + SILENCE, client.get(request)).await?;
        let mut pieces = pieces.into_inner();
        while let Some(v1::ContentPiece { piece }) =
            self.line.answer(Instant::now() + SILENCE, pieces.message()).await?
        {
            draft.write(&piece).map_err(|rejected| match rejected {
                Rejected::Wrong(what) => Interrupted::Wrong(what),
                Rejected::Disk(error) => Trouble::Here(error).into(),
            })?;
        }
        if draft.is_complete() {
            return Ok(());
        }
        let what = format!("it ends after {} of {} bytes", draft.had(), content.bytes);
        Err(Trouble::Lasting(what).into())
    }
}
