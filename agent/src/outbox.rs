//! The outbox: reports on disk until the coordinator has them. It is the journal of the coordinator, small; its id is the
//! agent's, its lock keeps a second agent from the same state directory, and it counts the starts.

use std::{collections::BTreeMap, path::Path};

use speedup_core::agent::message::AttemptReport;
use speedup_core::value::id::{AgentEpoch, AgentId, LeaseEpoch};
use speedup_journal::{
    Beginning, Journal, JournalId, OpenError, Options, PayloadVersion, ReplayError, WriteError,
};
use speedup_proto::{convert::OutboxEntry, outbox_payload, payload::PayloadError};
use thiserror::Error;
use uuid::Uuid;

use crate::wall_clock::unix_ns;

/// Entries after which an outbox without unacknowledged reports begins anew.
const ENTRIES_KEPT: u64 = 4_096;
/// Size of a segment: an outbox holds few reports.
const SEGMENT_BYTES: u64 = 8 << 20;

/// Why the outbox cannot be used.
#[derive(Debug, Error)]
pub enum OutboxError {
    #[error("cannot open the outbox")]
    Open(#[source] OpenError),
    #[error("cannot read the outbox")]
    Read(#[source] ReplayError),
    #[error("cannot decode the outbox")]
    Entry(#[source] PayloadError),
    #[error("cannot write the outbox")]
    Write(#[source] WriteError),
}

speedup_core::hints! { OutboxError:
    Self::Open(error) => error.hint(),
    Self::Read(error) => error.hint(),
    Self::Entry(error) => error.hint(),
    Self::Write(error) => error.hint(),
}

#[derive(Debug)]
pub(crate) struct Outbox {
    journal: Journal,
    unacknowledged: BTreeMap<LeaseEpoch, AttemptReport>,
    epoch: AgentEpoch,
    entries: u64,
    /// Whether something was written that has to be durable before the agent goes on.
    is_due: bool,
}

/// How many reports wait in the outbox of an agent that does not run.
pub(crate) fn waiting(directory: &Path) -> Result<usize, OutboxError> {
    if !Journal::lies_in(directory).map_err(OutboxError::Open)? {
        return Ok(0);
    }
    Ok(Outbox::read(directory)?.unacknowledged.len())
}

impl Outbox {
    /// Opens the outbox of a state directory and counts this start.
    pub(crate) fn open(directory: &Path) -> Result<Self, OutboxError> {
        let mut outbox = Self::read(directory)?;
        // The wall clock keeps starts growing when a state directory is lost, the count when the clock is wrong.
        outbox.remember(AgentEpoch(unix_ns().max(outbox.epoch.0.saturating_add(1))))?;
        Ok(outbox)
    }

    fn read(directory: &Path) -> Result<Self, OutboxError> {
        let id = JournalId(*Uuid::new_v4().as_bytes());
        // What the coordinator has was removed; what is left has to be without a gap all the same.
        let beginning = Beginning::WhereItWasReset;
        let options = Options { segment_bytes: SEGMENT_BYTES, beginning, ..Options::new(id) };
        let (journal, recovery) = Journal::open(directory, &options).map_err(OutboxError::Open)?;
        if let Some(cut) = recovery.cut {
            tracing::warn!(file = %cut.file.display(), bytes = cut.bytes, "cut off the torn tail of the outbox");
        }
        let mut outbox = Self {
            journal,
            unacknowledged: BTreeMap::new(),
            epoch: AgentEpoch(0),
            entries: 0,
            is_due: false,
        };
        outbox.replay()?;
        Ok(outbox)
    }

    pub(crate) fn agent(&self) -> AgentId {
        AgentId(Uuid::from_bytes(self.journal.id().0))
    }

    pub(crate) fn epoch(&self) -> AgentEpoch {
        self.epoch
    }

    /// Reports that the coordinator has not acknowledged.
    pub(crate) fn reports(&self) -> Vec<AttemptReport> {
        self.unacknowledged.values().cloned().collect()
    }

    /// Remembers a start, durably.
    pub(crate) fn remember(&mut self, epoch: AgentEpoch) -> Result<(), OutboxError> {
        self.epoch = epoch;
        self.is_due = true;
        self.write(&OutboxEntry::Epoch(epoch))?;
        self.sync()
    }

    /// Keeps a report; on the disk after [`Outbox::sync`].
    pub(crate) fn keep(&mut self, report: AttemptReport) -> Result<(), OutboxError> {
        let mut bytes = Vec::new();
        outbox_payload::encode_report(&report, &mut bytes);
        self.append(&bytes)?;
        self.is_due = true;
        self.unacknowledged.insert(report.lease, report);
        Ok(())
    }

    /// Whether a report waits for a sync.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Makes what was kept durable. What was let go of waits for the next report: to send one once more does no harm.
    pub(crate) fn sync(&mut self) -> Result<(), OutboxError> {
        if !std::mem::take(&mut self.is_due) {
            return Ok(());
        }
        self.journal.sync().map(drop).map_err(OutboxError::Write)
    }

    /// Makes all of it durable, also what was let go of: whoever counts what is left after the end is not to count that.
    pub(crate) fn settle(&mut self) -> Result<(), OutboxError> {
        self.is_due = false;
        self.journal.sync().map(drop).map_err(OutboxError::Write)
    }

    /// Lets go of a report that the coordinator has.
    pub(crate) fn forget(&mut self, lease: LeaseEpoch) -> Result<(), OutboxError> {
        self.unacknowledged.remove(&lease);
        self.is_due &= !self.unacknowledged.is_empty();
        if self.unacknowledged.is_empty() && self.entries > ENTRIES_KEPT {
            self.journal.reset().map_err(OutboxError::Write)?;
            self.entries = 0;
            return self.remember(self.epoch);
        }
        self.write(&OutboxEntry::Acknowledged(lease))
    }

    fn write(&mut self, entry: &OutboxEntry) -> Result<(), OutboxError> {
        let mut bytes = Vec::new();
        outbox_payload::encode(entry, &mut bytes);
        self.append(&bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), OutboxError> {
        self.journal.append(PayloadVersion(outbox_payload::VERSION), bytes).map_err(OutboxError::Write)?;
        self.entries += 1;
        Ok(())
    }

    fn replay(&mut self) -> Result<(), OutboxError> {
        let mut records = self.journal.replay(self.journal.first()).map_err(OutboxError::Read)?;
        while let Some(record) = records.next_record().map_err(OutboxError::Read)? {
            match outbox_payload::decode(record.version.0, record.payload).map_err(OutboxError::Entry)? {
                OutboxEntry::Report(report) => drop(self.unacknowledged.insert(report.lease, *report)),
                OutboxEntry::Acknowledged(lease) => drop(self.unacknowledged.remove(&lease)),
                OutboxEntry::Epoch(epoch) => self.epoch = self.epoch.max(epoch),
            }
            self.entries += 1;
        }
        Ok(())
    }
}
