//! What the store keeps of events and attempts, gathered for one application.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use prost::Message as _;
use speedup_core::host::{Exclusion, ExclusionCause};
use speedup_core::machine::event::{AttemptEnd, Change, EndedAttempt, Event, RequestKey, Tally};
use speedup_core::plan::Extension;
use speedup_core::run::record::Record;
use speedup_core::value::id::{ExperimentId, HostId};
use speedup_core::value::time::Timestamp;
use speedup_proto::{convert::encoded_attempt, v1};

use super::attempts::{AttemptId, attempt_key, lost_key};
use crate::status::submitted_status;

/// What a usual write has, so that gathered writes are bounded in bytes as well.
const BYTES_OF_A_WRITE: usize = 16 << 10;

/// Writes gathered for one application.
#[derive(Default)]
pub(crate) struct Writes {
    pub(super) puts: [BTreeMap<Vec<u8>, Vec<u8>>; 7],
    pub(super) attempts: BTreeMap<AttemptId, Bytes>,
    pub(super) late: Vec<(AttemptId, Arc<Record>)>,
    pub(super) finished: Vec<(ExperimentId, Timestamp, Tally, bool)>,
    pub(super) extended: Vec<(ExperimentId, u32, Extension)>,
    pub(super) words: Vec<(ExperimentId, String)>,
    pub(super) resumed: Vec<(HostId, Timestamp)>,
    bytes: usize,
}

/// Where a write goes; in the order of the store's trees.
#[derive(Clone, Copy)]
pub(super) enum Tree {
    Plans,
    Statuses,
    Hosts,
    Exclusions,
    Events,
    Requests,
    Parts,
}

impl Writes {
    /// How many there are; large ones count as several.
    pub(crate) fn len(&self) -> usize {
        let large = self.bytes / BYTES_OF_A_WRITE;
        large + self.attempts.len() + self.puts.iter().map(BTreeMap::len).sum::<usize>() + self.late.len()
    }

    /// What the store keeps of an event.
    pub(crate) fn event(&mut self, event: &Event) {
        self.log(event);
        match &event.change {
            Change::Submitted { experiment, plan, by, request } => {
                if let Some(RequestKey { id, content }) = request {
                    let value = [experiment.0.as_bytes().as_slice(), content].concat();
                    self.put(Tree::Requests, id.as_bytes().to_vec(), value);
                }
                let status = submitted_status(*experiment, plan, event.at, by);
                let plan = v1::Plan::from(plan.as_ref());
                self.put(Tree::Plans, experiment.0.as_bytes().to_vec(), plan.encode_to_vec());
                self.put(
                    Tree::Statuses,
                    experiment.0.as_bytes().to_vec(),
                    v1::StoredStatus::from(&status).encode_to_vec(),
                );
            }
            Change::Extended { experiment, from, appended, .. } => {
                self.extended.push((*experiment, *from, appended.clone()));
            }
            Change::Finished { experiment, tally, cancelled } => {
                self.finished.push((*experiment, event.at, *tally, *cancelled));
            }
            Change::Cancelled { experiment, reason: words, .. }
            | Change::Decided { experiment, words, .. } => {
                self.words.push((*experiment, words.clone()));
            }
            Change::HostJoined { facts, .. } => {
                let key = facts.host.as_str().as_bytes().to_vec();
                self.put(Tree::Hosts, key, v1::HostFacts::from(facts.as_ref()).encode_to_vec());
            }
            Change::HostDrained { host, by } => {
                self.excluded(event.at, host, ExclusionCause::Drained { by: by.clone() });
            }
            Change::HostQuarantined { host, by, reason } => {
                let cause = ExclusionCause::Quarantined { by: by.clone(), reason: reason.clone() };
                self.excluded(event.at, host, cause);
            }
            Change::HostResumed { host, .. } => self.resumed.push((host.clone(), event.at)),
            Change::LateReport { superseded, record } => {
                let id = (superseded.experiment, (superseded.run.0, superseded.attempt.0));
                self.late.push((id, record.clone()));
            }
            // All that is read of these is in the log.
            Change::CoordinatorStarted
            | Change::Paused { .. }
            | Change::Resumed { .. }
            | Change::ClassPinned { .. }
            | Change::ClassApproved { .. }
            | Change::HostDrifted { .. }
            | Change::HostReset { .. }
            | Change::EngineNoted(_) => {}
            // `ended` stores the attempts that these end.
            Change::RunReported { .. } | Change::PartEnded { .. } | Change::AttemptLost { .. } => {}
            // These change only the machine, whose state the journal and the agents restore.
            Change::AwaitingDecision { .. }
            | Change::RebootAsked { .. }
            | Change::VisitBroken { .. }
            | Change::HostLeft { .. }
            | Change::HostAsked { .. }
            | Change::HostPassed { .. }
            | Change::HostHeld { .. }
            | Change::HostReady { .. }
            | Change::LeaseGranted(_)
            | Change::GangGranted(_)
            | Change::RunStarted { .. } => {}
        }
    }

    pub(crate) fn ended(&mut self, ended: &EndedAttempt) {
        let id = (ended.lease.experiment, (ended.lease.run.0, ended.lease.attempt.0));
        if let (AttemptEnd::Reported(_), Some(seat)) = (&ended.end, &ended.lease.seat)
            && ended.lease.is_of_member()
        {
            return self.put(Tree::Parts, part_key(id, seat.number), encoded_attempt(ended));
        }
        self.put_attempt(id, encoded_attempt(ended));
        match ended.end {
            AttemptEnd::Lost { .. } => self.put(Tree::Events, lost_key(ended), Vec::new()),
            AttemptEnd::Reported(_) => {}
        }
    }

    fn excluded(&mut self, at: Timestamp, host: &HostId, cause: ExclusionCause) {
        let exclusion = Exclusion { host: host.clone(), at, cause, resumed: None };
        self.put(Tree::Exclusions, exclusion_key(host, at), v1::Exclusion::from(&exclusion).encode_to_vec());
    }

    pub(super) fn put_attempt(&mut self, id: AttemptId, encoded: Vec<u8>) {
        self.bytes += encoded.len();
        self.attempts.insert(id, encoded.into());
    }

    pub(super) fn put(&mut self, tree: Tree, key: Vec<u8>, value: Vec<u8>) {
        self.bytes += value.len();
        self.puts[tree as usize].insert(key, value);
    }
}

/// The parts of an attempt lie together, in the order of their seats.
pub(super) fn part_key(id: AttemptId, seat: u32) -> Vec<u8> {
    [attempt_key(id), seat.to_be_bytes().to_vec()].concat()
}

/// Those of a host lie together, in their order; no id of a host has a zero byte.
fn exclusion_key(host: &HostId, at: Timestamp) -> Vec<u8> {
    [exclusions_of(host), at.0.to_be_bytes().to_vec()].concat()
}

/// The host of an exclusion and when it began, from its key.
pub(super) fn exclusion_begun(key: &[u8]) -> Option<(&[u8], u64)> {
    let (host, at) = key.split_last_chunk::<8>()?;
    Some((host.strip_suffix(&[0])?, u64::from_be_bytes(*at)))
}

pub(super) fn exclusions_of(host: &HostId) -> Vec<u8> {
    [host.as_str().as_bytes(), &[0]].concat()
}
