//! The event log: what people did, and what the coordinator decided about whole experiments and hosts. What happens run by
//! run, and connection by connection, is not in it: of that there are millions.
//!
//! Every event lies under its moment, and once more under its experiment, so that either is read newest first in pages.

use prost::Message as _;
use speedup_core::machine::event::{Change, Event, Tally};
use speedup_core::machine::provision::{EngineNote, EngineNoteKind};
use speedup_core::value::count::counted;
use speedup_core::value::id::{ExperimentId, HostId};
use speedup_proto::{journal::v1::StoredEvent, v1, v1::EventKind as Kind};

use super::{Store, StoreError, Tree, Writes};

/// The first byte of the keys of all events, and of those of each experiment; lost attempts have another.
const ALL: u8 = 0;
const OF_EXPERIMENT: u8 = 1;
/// What tells apart events of one kind at one moment.
const HASH_BYTES: usize = 8;

/// The place of an event in the log: its moment, its kind, and a part of its hash. So writing it again changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place([u8; Place::BYTES]);

impl Place {
    const BYTES: usize = 8 + 1 + HASH_BYTES;

    fn of(event: &StoredEvent, encoded: &[u8]) -> Self {
        let mut bytes = [0; Self::BYTES];
        let (moment, rest) = bytes.split_at_mut(8);
        moment.copy_from_slice(&event.at_ns.to_be_bytes());
        rest[0] = u8::try_from(event.kind).unwrap_or(u8::MAX);
        rest[1..].copy_from_slice(&blake3::hash(encoded).as_bytes()[..HASH_BYTES]);
        Self(bytes)
    }

    /// As a request names it.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// A page of the log, the newest first.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) events: Vec<v1::LoggedEvent>,
    /// Before which place there are more.
    pub(crate) before: Vec<u8>,
}

impl Writes {
    pub(super) fn log(&mut self, event: &Event) {
        let Some(logged) = logged(event) else { return };
        let encoded = logged.encode_to_vec();
        let place = Place::of(&logged, &encoded);
        if !logged.experiment.is_empty() {
            let key = [&[OF_EXPERIMENT], logged.experiment.as_slice(), &place.0].concat();
            self.put(Tree::Events, key, encoded.clone());
        }
        self.put(Tree::Events, [&[ALL], place.0.as_slice()].concat(), encoded);
    }
}

impl Store {
    /// Up to `limit` events before a place, of one experiment or of all.
    pub(crate) fn events(
        &self,
        experiment: Option<ExperimentId>,
        before: Option<Place>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let prefix = match experiment {
            Some(id) => [&[OF_EXPERIMENT], id.0.as_bytes().as_slice()].concat(),
            None => vec![ALL],
        };
        let end = before.map_or([u8::MAX; Place::BYTES], |place| place.0);
        let end = [prefix.as_slice(), &end].concat();
        let rows = self.guard(|| {
            self.events.range(prefix.clone()..end).rev().take(limit + 1).collect::<Result<Vec<_>, _>>()
        })?;
        let before = match rows.get(limit.saturating_sub(1)) {
            Some((key, _)) if rows.len() > limit => key[prefix.len()..].to_vec(),
            _ => Vec::new(),
        };
        let event = |value: &[u8]| self.decode::<StoredEvent>(value).map(v1::LoggedEvent::from);
        let events = rows.iter().take(limit).map(|(_, value)| event(value));
        Ok(Page { events: events.collect::<Result<_, _>>()?, before })
    }
}

fn logged(event: &Event) -> Option<StoredEvent> {
    let of = |kind: Kind| StoredEvent { at_ns: event.at.0, kind: kind.into(), ..StoredEvent::default() };
    let about = |kind, experiment: &ExperimentId, by: &str, words: String| StoredEvent {
        experiment: experiment.0.as_bytes().to_vec(),
        by: by.to_owned(),
        words,
        ..of(kind)
    };
    let host = |kind, host: &HostId, by: &str, words: String| StoredEvent {
        host: host.as_str().to_owned(),
        by: by.to_owned(),
        words,
        ..of(kind)
    };
    Some(match &event.change {
        Change::CoordinatorStarted => of(Kind::CoordinatorStarted),
        Change::Submitted { experiment, plan, by, request: _ } => {
            let words = format!("{}: {}", plan.experiment.name, counted(plan.runs().into(), "run"));
            about(Kind::Submitted, experiment, by, words)
        }
        Change::Paused { experiment, by, reason } => about(Kind::Paused, experiment, by, reason.clone()),
        Change::Resumed { experiment, by } => about(Kind::Resumed, experiment, by, String::new()),
        Change::Cancelled { experiment, by, reason } => {
            about(Kind::Cancelled, experiment, by, reason.clone())
        }
        Change::Extended { experiment, appended, by, .. } => {
            let more = u32::try_from(appended.order.len()).unwrap_or(u32::MAX);
            about(Kind::Extended, experiment, by, format!("{} more", counted(more.into(), "run")))
        }
        Change::Decided { experiment, by, enough, words } => {
            let decided = if *enough { "enough runs" } else { "more runs" };
            about(Kind::Decided, experiment, by, format!("{decided}: {words}"))
        }
        Change::ClassPinned { experiment, class } => {
            about(Kind::ClassPinned, experiment, "", format!("hosts of class {class}"))
        }
        Change::ClassApproved { experiment, host, class, by } => StoredEvent {
            host: host.as_str().to_owned(),
            ..about(Kind::ClassApproved, experiment, by, format!("hosts of class {class}"))
        },
        Change::Finished { experiment, tally, cancelled } => {
            about(Kind::Finished, experiment, "", settled(tally, *cancelled))
        }
        Change::HostDrifted { host: id, facts } => host(Kind::HostDrifted, id, "", facts.join(", ")),
        Change::HostDrained { host: id, by } => host(Kind::HostDrained, id, by, String::new()),
        Change::HostQuarantined { host: id, by, reason } => {
            host(Kind::HostQuarantined, id, by, reason.clone())
        }
        Change::HostResumed { host: id, by } => host(Kind::HostResumed, id, by, String::new()),
        Change::HostReset { host: id, by } => host(Kind::HostReset, id, by, String::new()),
        Change::EngineNoted(EngineNote { kind, host, by, words }) => StoredEvent {
            host: host.as_ref().map_or_else(String::new, |host| host.as_str().to_owned()),
            by: by.clone(),
            words: words.clone(),
            ..of(noted(*kind))
        },
        // The decision that follows is logged; of each of the others there is one a run, visit or connection, which are
        // millions. A lost attempt has a row of its own, which `Writes::ended` makes.
        Change::AwaitingDecision { .. }
        | Change::HostJoined { .. }
        | Change::HostLeft { .. }
        | Change::RebootAsked { .. }
        | Change::VisitBroken { .. }
        | Change::HostAsked { .. }
        | Change::HostPassed { .. }
        | Change::HostHeld { .. }
        | Change::HostReady { .. }
        | Change::LeaseGranted(_)
        | Change::GangGranted(_)
        | Change::RunStarted { .. }
        | Change::RunReported { .. }
        | Change::PartEnded { .. }
        | Change::AttemptLost { .. }
        | Change::LateReport { .. } => return None,
    })
}

fn noted(kind: EngineNoteKind) -> Kind {
    match kind {
        EngineNoteKind::Added => Kind::HostsRequested,
        EngineNoteKind::Removed => Kind::HostsRequestEnded,
        EngineNoteKind::JobsAsked => Kind::JobsAsked,
        EngineNoteKind::JobBegan => Kind::JobBegan,
        EngineNoteKind::JobEnded => Kind::JobEnded,
        EngineNoteKind::JobFailed => Kind::JobFailed,
        EngineNoteKind::Stopped => Kind::HostsRequestStopped,
        EngineNoteKind::SshAdded => Kind::SshHostAdded,
        EngineNoteKind::SshRemoved => Kind::SshHostRemoved,
        EngineNoteKind::SshStarted => Kind::SshAgentStarted,
    }
}

fn settled(tally: &Tally, cancelled: bool) -> String {
    let Tally { measured, failed, abandoned, cancelled: never, .. } = tally;
    let how = if cancelled { "as cancelled: " } else { "" };
    let others = [(failed, "failed"), (abandoned, "abandoned"), (never, "cancelled")];
    let others = others.iter().filter(|(number, _)| **number > 0);
    others
        .fold(format!("{how}{measured} measured"), |text, (number, word)| format!("{text}, {number} {word}"))
}

#[cfg(test)]
mod tests {
    use speedup_core::value::time::Timestamp;
    use speedup_journal::{JournalId, Position};
    use speedup_proto::convert::known_moment;
    use uuid::Uuid;

    use super::*;
    use crate::store::StoreCache;

    fn paused(at: u64, experiment: ExperimentId, reason: String) -> Event {
        let change = Change::Paused { experiment, by: "alice".to_owned(), reason };
        Event { at: Timestamp(at), change }
    }

    #[test]
    fn the_log_is_read_newest_first_in_pages_whatever_is_written_twice() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("store"), JournalId([1; 16]), StoreCache::Command)
            .unwrap()
            .store;
        let ids = [1, 2].map(|byte| ExperimentId(Uuid::from_bytes([byte; 16])));
        for _ in 0..2 {
            let mut writes = Writes::default();
            for number in 0..10_u64 {
                // Two of one moment differ in nothing but their words.
                writes.event(&paused(number / 2, ids[(number % 2) as usize], number.to_string()));
            }
            store.apply(writes, Position(1)).unwrap();
        }
        let all = store.events(None, None, 100).unwrap();
        assert_eq!((all.events.len(), all.before.is_empty()), (10, true));
        let at = |event: &v1::LoggedEvent| known_moment(event.at.as_ref()).expect("a moment");
        assert!(all.events.is_sorted_by(|a, b| at(a) >= at(b)));
        let mut found = Vec::new();
        let mut before = None;
        loop {
            let page = store.events(Some(ids[1]), before, 2).unwrap();
            found.extend(page.events.into_iter().map(|event| event.words));
            before = Place::from_bytes(&page.before);
            if before.is_none() {
                break;
            }
        }
        assert_eq!(found, ["9", "7", "5", "3", "1"]);
    }
}
