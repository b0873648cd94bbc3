//! The observations of an experiment as a table, sent while it is written: neither rows nor bytes are ever all here.

use std::{io, io::ErrorKind, io::Write, iter, time::Duration};

use speedup_access::FairPermit;
use speedup_core::{
    machine::event::EndedAttempt, plan::Plan, value::hint::with_hint, value::id::ExperimentId,
};
use speedup_observations::{ExportForm, PagesError, RowForm, RunSheet, write_rows};
use speedup_proto::convert::{ExperimentStatus, ExportPart, experiment_named};
use speedup_proto::{v1, v1::export_chunk::Part, v1::observations_request::Form};
use tokio::runtime::Handle;
use tokio::sync::{mpsc::Receiver, mpsc::Sender, mpsc::channel};
use tonic::{Status, Streaming};

use crate::{from_coordinator, intake::Intake, intake::IntakeError, reporter::Reporter};

/// Bytes of a chunk: clients of gRPC usually take four megabytes.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks that wait for their reader.
const CHUNKS_AHEAD: usize = 2;
/// Pages of the export that are read before they are wanted.
const PAGES_AHEAD: usize = 4;
/// How long a reader may take for a chunk: one that stopped reading keeps a permit from others.
const PATIENCE: Duration = Duration::from_secs(300);

/// What is asked of a table.
pub(crate) struct TableRequest {
    experiment: ExperimentId,
    form: ExportForm,
}

type Page = Result<v1::ExportChunk, Status>;
type Chunk = Result<v1::ObservationsChunk, Status>;

impl TryFrom<v1::ObservationsRequest> for TableRequest {
    type Error = Status;

    fn try_from(request: v1::ObservationsRequest) -> Result<Self, Status> {
        let form = match Form::try_from(request.form) {
            Ok(Form::Unspecified | Form::Arrow) => ExportForm::ArrowStream,
            Ok(Form::Parquet) => ExportForm::Parquet,
            Ok(Form::Csv) => ExportForm::Csv,
            Ok(Form::JsonLines) => ExportForm::Jsonl,
            Err(_) => {
                return Err(Status::invalid_argument(with_hint(
                    format_args!("form: there is no form {}", request.form),
                    Some("use a client of the coordinator's release"),
                )));
            }
        };
        Ok(Self { experiment: experiment_named(&request.experiment, "experiment")?, form })
    }
}

/// Begins to write a table while it holds a permit; its chunks are sent as they are full.
pub(crate) async fn begin(
    reporter: &Reporter,
    asked: TableRequest,
    permit: FairPermit,
) -> Result<Receiver<Chunk>, Status> {
    let mut export = reporter.export(asked.experiment).await?;
    let (status, plan, first) = planned(asked.experiment, &mut export).await?;
    let (chunks, received) = channel(CHUNKS_AHEAD);
    let (pages, taken) = channel(PAGES_AHEAD);
    tokio::spawn(read_ahead(first, export, pages, chunks.clone()));
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let written = write(asked.form, &status, &plan, taken, Chunks::new(chunks.clone(), runtime.clone()));
        if let Err(status) = written {
            // Nobody may hear it any more.
            let _ = runtime.block_on(tokio::time::timeout(PATIENCE, chunks.send(Err(status))));
        }
        drop(permit);
    });
    Ok(received)
}

/// The head of an export and its plan, and the first page of attempts.
async fn planned(
    experiment: ExperimentId,
    export: &mut Streaming<v1::ExportChunk>,
) -> Result<(ExperimentStatus, Plan, Option<Page>), Status> {
    let mut intake = Intake::new(experiment);
    let mut first = None;
    while let Some(chunk) = next(export).await? {
        if matches!(chunk.part, Some(Part::Attempts(_))) {
            first = Some(Ok(chunk));
            break;
        }
        intake.take(chunk)?;
    }
    let (status, plan) = intake.into_planned()?;
    Ok((status, plan, first))
}

/// Reads pages while others are written, until the last, a failure, or nobody wants them.
async fn read_ahead(
    mut page: Option<Page>,
    mut export: Streaming<v1::ExportChunk>,
    pages: Sender<Page>,
    chunks: Sender<Chunk>,
) {
    let pass_on = async {
        while let Some(one) = page.take() {
            let failed = one.is_err();
            if pages.send(one).await.is_err() || failed {
                return;
            }
            page = next(&mut export).await.transpose();
        }
    };
    tokio::select! {
        () = pass_on => {}
        () = chunks.closed() => {}
    }
}

async fn next(export: &mut Streaming<v1::ExportChunk>) -> Result<Option<v1::ExportChunk>, Status> {
    export.message().await.map_err(|status| from_coordinator(&status))
}

fn write(
    form: ExportForm,
    status: &ExperimentStatus,
    plan: &Plan,
    mut pages: Receiver<Page>,
    to: Chunks,
) -> Result<(), Status> {
    let sheet = RunSheet::new(status, plan);
    let form = RowForm::new(form, &sheet);
    let reader = to.chunks.clone();
    let pages = iter::from_fn(|| pages.blocking_recv());
    match write_rows(&form, pages, attempts, to, || !reader.is_closed()) {
        Ok(()) => Ok(()),
        Err(PagesError::Page(status)) => Err(status),
        Err(PagesError::Write(error)) if error.kind() == ErrorKind::TimedOut => {
            Err(Status::deadline_exceeded(error.to_string()))
        }
        Err(PagesError::Write(error)) => Err(Status::internal(format!("the table has no end: {error}"))),
    }
}

fn attempts(page: Page) -> Result<impl Iterator<Item = Result<EndedAttempt, Status>>, Status> {
    match ExportPart::try_from(page?).map_err(IntakeError::from)? {
        ExportPart::Attempts(attempts) => {
            Ok(attempts.read().map(|attempt| attempt.map_err(|error| IntakeError::from(error).into())))
        }
        ExportPart::Head { .. } | ExportPart::Order(_) => {
            Err(IntakeError::OutOfOrder("a piece of the plan comes after attempts").into())
        }
    }
}

/// Bytes of a table become chunks of it.
struct Chunks {
    chunks: Sender<Chunk>,
    runtime: Handle,
    bytes: Vec<u8>,
}

impl Chunks {
    fn new(chunks: Sender<Chunk>, runtime: Handle) -> Self {
        Self { chunks, runtime, bytes: Vec::with_capacity(CHUNK_BYTES) }
    }

    fn send(&mut self) -> io::Result<()> {
        let content = std::mem::replace(&mut self.bytes, Vec::with_capacity(CHUNK_BYTES));
        let sending = self.chunks.send(Ok(v1::ObservationsChunk { content }));
        match self.runtime.block_on(async { tokio::time::timeout(PATIENCE, sending).await }) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::Error::new(ErrorKind::BrokenPipe, "the reader is gone")),
            Err(_) => {
                let waited = format!("no chunk was read for {} s", PATIENCE.as_secs());
                Err(io::Error::new(ErrorKind::TimedOut, waited))
            }
        }
    }
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK_BYTES - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if self.bytes.len() == CHUNK_BYTES {
            self.send()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.bytes.is_empty() { Ok(()) } else { self.send() }
    }
}
