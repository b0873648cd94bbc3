//! The export: a head, the plan's order in pieces, then every attempt that ended, as it is stored. Each chunk says from where a
//! later request goes on.

use std::ops::RangeInclusive;

use prost::Message;
use speedup_core::{value::hint::with_hint, value::id::ExperimentId};
use speedup_proto::convert::{ExperimentStatus, Malformed, hex_bytes, hex_text, id_bytes};
use speedup_proto::encoded::ExportAttempts;
use speedup_proto::limits::MAX_EXCLUSIONS;
use speedup_proto::v1;
use tokio::sync::mpsc;
use tonic::Status;
use v1::export_chunk::Part;

use crate::store::Store;

/// Attempts read from the store and sent at once.
const PAGE: usize = 512;
/// Runs whose cells are sent at once: at most two megabytes, where most clients of gRPC take four.
const ORDER_PIECE: usize = 1 << 19;
/// Longest cursor: its fields with the largest numbers.
const MAX_CURSOR_BYTES: usize = 64;

type ChunkSender = mpsc::Sender<Result<v1::ExportChunk, Status>>;

/// What was sent of an export. It is opaque to clients.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Cursor {
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    experiment: Vec<u8>,
    /// The runs that its plan had.
    #[prost(uint64, tag = "2")]
    runs: u64,
    /// How many of them had their cell sent.
    #[prost(uint64, tag = "3")]
    order: u64,
    /// The last attempt that was sent.
    #[prost(message, optional, tag = "4")]
    attempts: Option<SentAttempts>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
struct SentAttempts {
    #[prost(uint32, tag = "1")]
    run: u32,
    #[prost(uint32, tag = "2")]
    attempt: u32,
    /// How many they were.
    #[prost(uint64, tag = "3")]
    count: u64,
}

impl Cursor {
    /// Reads the cursor of a request, if it has one.
    pub(super) fn from_request(text: &str, experiment: ExperimentId) -> Result<Option<Self>, Status> {
        if text.is_empty() {
            return Ok(None);
        }
        let hint = "give the cursor of the latest chunk as it was received, or none for the whole export";
        let bytes = hex_bytes(text, MAX_CURSOR_BYTES, "cursor")
            .map_err(|error: Malformed| Status::invalid_argument(with_hint(error, Some(hint))))?;
        match Self::decode(bytes.as_slice()) {
            Ok(cursor) if cursor.experiment == experiment.0.as_bytes() => Ok(Some(cursor)),
            Ok(_) | Err(_) => {
                let words = format!("cursor: not one of an export of experiment {experiment}");
                Err(Status::invalid_argument(with_hint(words, Some(hint))))
            }
        }
    }

    /// Refuses to go on where what was sent is no longer what would be.
    fn check(&self, store: &Store, id: ExperimentId, runs: usize) -> Result<(), Status> {
        let why = if self.runs != runs as u64 {
            "runs were added to the experiment"
        } else if let Some(SentAttempts { run, attempt, count }) = self.attempts
            && store.count_attempts(id, (run, attempt))? != count
        {
            "attempts ended that come before what was sent"
        } else {
            return Ok(());
        };
        Err(Status::aborted(with_hint(
            format_args!("the cursor is not valid any more: {why}"),
            Some(
                "begin the export anew, without a cursor; once the experiment has finished, cursors stay valid",
            ),
        )))
    }
}

/// Sends an export, or what is left of it.
pub(super) fn export(
    store: &Store,
    status: &ExperimentStatus,
    cursor: Option<Cursor>,
    all_hosts: bool,
    pieces: &ChunkSender,
) -> Result<(), Status> {
    let id = status.experiment;
    let plan = store.plan(id)?;
    let v1::Plan { experiment, benchmarks, order, stages } =
        plan.ok_or_else(|| Status::not_found(format!("there is no experiment {id}")))?;
    let gangs = experiment.as_ref().map_or(&[][..], |experiment| &experiment.benchmarks);
    let with_parts = all_hosts && gangs.iter().any(|benchmark| benchmark.gang.is_some());
    let mut sent = match cursor {
        Some(cursor) => {
            cursor.check(store, id, order.len())?;
            cursor
        }
        None => {
            let until = status.phase.finished().map_or(u64::MAX, |at| at.0);
            let exclusions = exclusions(store, status.submitted.0..=until)?;
            let sent = Cursor { experiment: id_bytes(id.0), runs: order.len() as u64, ..Cursor::default() };
            let status = Some(status.into());
            let head = v1::ExportHead { status, experiment, benchmarks, stages, exclusions };
            send(pieces, Part::Head(head), &sent)?;
            sent
        }
    };
    // A cursor goes on behind what was sent: the head, pieces of the order, attempts.
    let from = usize::try_from(sent.order).unwrap_or(usize::MAX);
    for piece in order.get(from..).unwrap_or_default().chunks(ORDER_PIECE) {
        sent.order += piece.len() as u64;
        send(pieces, Part::Order(v1::ExportOrder { order: piece.to_vec() }), &sent)?;
    }
    let after = sent.attempts.map(|last| (last.run, last.attempt));
    let mut attempts = store.stored_attempts(id, after)?;
    loop {
        let stored = attempts.page(PAGE)?;
        let Some(last) = stored.last() else { return Ok(()) };
        let count = sent.attempts.map_or(0, |sent| sent.count) + stored.len() as u64;
        sent.attempts = Some(SentAttempts { run: last.at.0, attempt: last.at.1, count });
        let mut page = Vec::with_capacity(stored.len());
        for attempt in stored {
            page.push(attempt.encoded);
            if with_parts {
                page.extend(store.parts(id, attempt.at)?);
            }
        }
        send(pieces, Part::Attempts(ExportAttempts { attempts: page }), &sent)?;
    }
}

fn send(pieces: &ChunkSender, part: Part, sent: &Cursor) -> Result<(), Status> {
    let chunk = v1::ExportChunk { part: Some(part), cursor: hex_text(&sent.encode_to_vec()) };
    pieces.blocking_send(Ok(chunk)).map_err(|_| Status::cancelled("the reader is gone"))
}

/// The exclusions of an export. What is left out of it is said in the log.
fn exclusions(store: &Store, between: RangeInclusive<u64>) -> Result<Vec<v1::Exclusion>, Status> {
    let (exclusions, left_out) = store.exclusions(between, MAX_EXCLUSIONS)?;
    if left_out > 0 {
        tracing::warn!(
            "an export names the oldest {MAX_EXCLUSIONS} exclusions of hosts: {left_out} are left out"
        );
    }
    Ok(exclusions)
}
