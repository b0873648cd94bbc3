//! Putting what a build made at the coordinator, before anybody is told of the build: what is reported is durable there.
//! Where it breaks off it is put once more, until the build's lease is over.

use std::{fs::File, io, path::Path, path::PathBuf, sync::mpsc, time::Duration};

use speedup_access::Reach;
use speedup_core::experiment::build::Product;
use speedup_core::experiment::files::{Content, staging_time, time_for};
use speedup_core::run::work::WorkOrder;
use speedup_core::value::time::Span;
use speedup_proto::{convert::Blob, pieces::Pieces, v1};
use tokio::time::Instant;

use super::{StagingError, cache::Cache, line::Line, line::Trouble};
use crate::stop::Stop;

/// Pauses before it is tried again: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// How long after its grant what a build made may be on its way to the coordinator: the lease, without its margin, which is
/// for the report.
pub(crate) fn time_of_build(order: &WorkOrder) -> Duration {
    let setup = order.setup.as_ref().map_or(Span(0), |setup| setup.timeout);
    (staging_time(&order.files) + setup + order.timeout + time_for([None])).into()
}

pub(super) struct Putting<'a> {
    line: Line<'a>,
    deadline: Instant,
}

impl<'a> Putting<'a> {
    /// Nothing is connected until something is put.
    pub(super) fn new(coordinator: &'a Reach, stop: &'a mut Stop, deadline: Instant) -> Self {
        Self { line: Line::new(coordinator, stop), deadline }
    }

    /// Puts a product that was collected here, unless the coordinator has it.
    pub(super) async fn put(&mut self, cache: &mut Cache, product: &Product) -> Result<(), StagingError> {
        let Product { name, content } = product;
        let failed = |reason| StagingError::Put { name: name.clone(), reason };
        let path = cache.find(*content, self.line.stop())?;
        let path = path.ok_or_else(|| failed("it was damaged on this host".to_owned()))?;
        let mut pause = PAUSES.0;
        loop {
            match self.send(*content, &path).await {
                Ok(()) => return Ok(()),
                Err(Trouble::Here(error)) => return Err(error),
                Err(Trouble::Lasting(reason)) => return Err(failed(reason)),
                Err(Trouble::Passing(reason)) if Instant::now() + pause >= self.deadline => {
                    return Err(failed(format!("{reason}, until the lease of the build was over")));
                }
                Err(Trouble::Passing(reason)) => {
                    tracing::debug!(file = %content.blake3, "putting again: {reason}");
                    self.line.pause(pause).await?;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
    }

    /// Lets go of the connection.
    pub(super) async fn end(self) {
        self.line.end().await;
    }

    async fn send(&mut self, content: Content, path: &Path) -> Result<(), Trouble> {
        let mut client = self.line.client(self.deadline).await?;
        let blob = Blob::from(content);
        let request = v1::MissingRequest { blobs: vec![blob.into()] };
        let missing = self.line.answer(self.deadline, client.missing(request)).await?;
        if missing.into_inner().blobs.is_empty() {
            return Ok(());
        }
        let unread = |source| StagingError::Disk { what: "read", path: PathBuf::from(path), source };
        let file = File::open(path).map_err(|error| Trouble::Here(unread(error)))?;
        let (tell, told) = mpsc::channel::<io::Error>();
        let pieces = Pieces::of(blob, file).map_while(move |message| {
            // Nobody listens any more when nobody takes the pieces either.
            message.map_err(|error| tell.send(error)).ok()
        });
        let answered = self.line.answer(self.deadline, client.put(tokio_stream::iter(pieces))).await;
        match told.try_recv() {
            // What could not be read is why the rest is missing there.
            Ok(error) => Err(Trouble::Here(unread(error))),
            Err(_) => answered.map(drop),
        }
    }
}
