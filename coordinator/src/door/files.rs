//! The door through which the content of files comes in and goes out. Files are read and written where they do not hold
//! up the service, one piece at a time, so that slow peers take no thread.

use std::{fs::File, pin::Pin, sync::Arc, time::Duration};

use futures_util::Stream;
use speedup_access::{FairPermit, FairSemaphore};
use speedup_core::experiment::build::Product;
use speedup_core::experiment::files::{ContentHash, MAX_FILES, StagedFile, contents};
use speedup_core::value::causes::with_causes;
use speedup_core::value::hint::with_hint;
use speedup_proto::{convert::Blob, convert::required, v1, v1::files_server::Files, v1::put_request::Part};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::{Caller, Reply, blocking};
use crate::blobs::{BlobError, Blobs, Upload, next_piece};

/// Contents that are put at once, of which each user and host has a share; others wait.
const PUT_AT_ONCE: usize = 16;
/// Contents that are fetched at once, and so pieces in memory; of ten thousand hosts that ask together most wait.
const GET_AT_ONCE: usize = 128;
/// Pieces that may wait for one who fetches.
const WAITING_PIECES: usize = 2;
/// How long an upload or download may stall: others wait for its permit.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub(crate) struct FilesDoor {
    blobs: Blobs,
    putting: Arc<FairSemaphore>,
    getting: Arc<FairSemaphore>,
}

type PieceStream = Pin<Box<dyn Stream<Item = Result<v1::ContentPiece, Status>> + Send>>;

impl FilesDoor {
    pub(crate) fn new(blobs: Blobs) -> Self {
        Self { blobs, putting: FairSemaphore::new(PUT_AT_ONCE), getting: FairSemaphore::new(GET_AT_ONCE) }
    }
}

#[tonic::async_trait]
impl Files for FilesDoor {
    async fn missing(&self, request: Request<v1::MissingRequest>) -> Reply<v1::MissingResponse> {
        let asked = request.into_inner().blobs;
        if asked.len() > MAX_FILES {
            return Err(Status::invalid_argument(format!("at most {MAX_FILES} files are asked for at once")));
        }
        let mut asked = asked.into_iter().map(Blob::try_from).collect::<Result<Vec<_>, _>>()?;
        let blobs = self.blobs.clone();
        let missing = blocking(move || {
            asked.retain(|blob| !blobs.has(*blob));
            Ok::<_, Status>(asked)
        });
        let missing = missing.await?.into_iter().map(Into::into).collect();
        Ok(Response::new(v1::MissingResponse { blobs: missing }))
    }

    async fn put(&self, request: Request<Streaming<v1::PutRequest>>) -> Reply<v1::PutResponse> {
        let caller = Caller::from_request(&request)?;
        let mut pieces = request.into_inner();
        let _permit = self.putting.acquire(caller.identity()).await;
        let Some(Part::Blob(blob)) = next_part(&mut pieces).await? else {
            return Err(Status::invalid_argument("an upload must first name its file"));
        };
        let blob: Blob = required(Some(blob), "blob")?;
        let blobs = self.blobs.clone();
        let by = caller.identity().cloned();
        let mut upload = blocking(move || blobs.put(blob, by)).await?;
        while let Some(part) = next_part(&mut pieces).await? {
            let Part::Piece(piece) = part else {
                return Err(Status::invalid_argument("one upload has one file"));
            };
            upload = blocking(move || upload.write(&piece).map(|()| upload)).await?;
        }
        blocking(move || Upload::finish(upload)).await?;
        tracing::info!(file = %ContentHash(blob.blake3), bytes = blob.bytes, "stored file");
        Ok(Response::new(v1::PutResponse {}))
    }

    type GetStream = PieceStream;

    async fn get(&self, request: Request<v1::GetContentRequest>) -> Reply<PieceStream> {
        let caller = Caller::from_request(&request)?;
        let v1::GetContentRequest { blob, offset } = request.into_inner();
        let blob: Blob = required(blob, "blob")?;
        let permit = self.getting.acquire(caller.identity()).await;
        let blobs = self.blobs.clone();
        let file = blocking(move || blobs.read(blob, offset)).await?;
        let (sender, receiver) = mpsc::channel(WAITING_PIECES);
        tokio::spawn(send(file, sender, permit));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }
}

/// Refuses an experiment of which a file is not here, by the file's name.
pub(crate) async fn require_files(blobs: &Blobs, files: &[StagedFile]) -> Result<(), Status> {
    if contents(files).is_empty() {
        return Ok(());
    }
    let blobs = blobs.clone();
    let files = files.to_vec();
    let missing = blocking(move || {
        let mut files = files.into_iter();
        let missing = files.find(|file| file.content().is_some_and(|content| !blobs.has(content.into())));
        Ok::<_, Status>(missing)
    });
    let Some(file) = missing.await? else { return Ok(()) };
    let hash = file.content().map_or(String::new(), |content| format!(" (BLAKE3 {})", content.blake3));
    Err(Status::failed_precondition(with_hint(
        format_args!("the content of the file {}{hash} is not here", file.name),
        Some(
            "submit the plan with `speedup submit`, which sends its files first; if that was done, submit it again",
        ),
    )))
}

/// The first of these products whose content is not here.
pub(super) async fn missing(blobs: &Blobs, products: &[Product]) -> Result<Option<Product>, Status> {
    let blobs = blobs.clone();
    let products = products.to_vec();
    blocking(move || {
        let mut products = products.into_iter();
        Ok::<_, Status>(products.find(|product| !blobs.has(product.content.into())))
    })
    .await
}

async fn send(mut file: File, sender: mpsc::Sender<Result<v1::ContentPiece, Status>>, _permit: FairPermit) {
    loop {
        let message = match piece_of(file).await {
            Ok((_, piece)) if piece.is_empty() => return,
            Ok((rest, piece)) => {
                file = rest;
                Ok(v1::ContentPiece { piece })
            }
            Err(status) => {
                // Who cannot be told is gone.
                let _ = sender.send(Err(status)).await;
                return;
            }
        };
        // Either the reader is gone, or it reads nothing any more.
        if sender.send_timeout(message, PATIENCE).await.is_err() {
            return;
        }
    }
}

async fn piece_of(mut file: File) -> Result<(File, Vec<u8>), Status> {
    let read = tokio::task::spawn_blocking(move || next_piece(&mut file).map(|piece| (file, piece)));
    let read = read.await.map_err(|error| Status::internal(error.to_string()))?;
    read.map_err(|error| Status::internal(format!("cannot read the file: {error}")))
}

async fn next_part(pieces: &mut Streaming<v1::PutRequest>) -> Result<Option<Part>, Status> {
    let next = tokio::time::timeout(PATIENCE, pieces.message()).await;
    let next = next.map_err(|_| Status::deadline_exceeded("the upload timed out"))??;
    match next.map(|message| message.part) {
        None => Ok(None),
        Some(Some(part)) => Ok(Some(part)),
        Some(None) => Err(Status::invalid_argument("a message without a part of a file")),
    }
}

impl From<BlobError> for Status {
    fn from(error: BlobError) -> Self {
        let text = with_causes(&error);
        match error {
            BlobError::TooLarge { .. } | BlobError::Differs { .. } => Self::invalid_argument(text),
            BlobError::Missing(_) => Self::not_found(text),
            BlobError::Full { .. } | BlobError::Share { .. } => {
                let hint = "files that no experiment names are removed when the coordinator starts";
                Self::resource_exhausted(with_hint(text, Some(hint)))
            }
            BlobError::Disk { .. } => {
                tracing::error!("{text}");
                let hint = "check free space and errors of the coordinator's disk";
                Self::resource_exhausted(with_hint(text, Some(hint)))
            }
        }
    }
}
