//! The store: sled, as an index of the journal. It never has to be trusted: it is opened under `catch_unwind`, and
//! when it is missing, damaged or of another version it is filled anew. One that is damaged is set aside first, and one of
//! another journal is refused: then directories were mixed, and nobody knows which of the two is the wrong one.
//!
//! Only this module names sled. One thread writes, in batches of bounded size; nothing waits for sled's own flush.
//! Keys are big-endian, so that an experiment's attempts lie together and in the order of its runs.

mod aside;
mod attempts;
mod logged;
mod named;
mod pack;
#[cfg(test)]
mod tests;
mod writes;

pub(crate) use logged::Place as EventPlace;

use std::collections::{BTreeSet, BinaryHeap};
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use prost::Message as _;
use speedup_core::{value::causes::with_causes, value::id::ExperimentId};
use speedup_journal::{JournalId, Position};
use speedup_proto::v1;
use thiserror::Error;
use uuid::Uuid;

pub(crate) use self::writes::Writes;
use self::writes::{Tree, exclusion_begun, exclusions_of};
use crate::{fault::Broken, fault::Fault, status::finished_status};

/// Version of what the trees hold; another one means that the store is built anew.
const FORMAT: u32 = 5;
/// Most writes sled is given at once: it takes much more memory with larger batches.
const BATCH: usize = 1_024;

/// Why the store cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("the store in {} failed", path.display())]
    Sled { path: PathBuf, source: sled::Error },
    /// sled panicked, as it does on damage.
    #[error("the store in {} is damaged: {what}", path.display())]
    Panicked { path: PathBuf, what: String },
    #[error("the store in {} holds a value that cannot be read", path.display())]
    Value { path: PathBuf, source: prost::DecodeError },
    #[error("the store in {} has attempts that cannot be read or written", path.display())]
    Packs { path: PathBuf, source: std::io::Error },
    #[error(
        "the store in {} belongs to another journal, {of}, and not to this one, {journal}: data directories were mixed",
        path.display()
    )]
    Foreign { path: PathBuf, of: JournalId, journal: JournalId },
    #[error("cannot replace the store in {}", path.display())]
    Files { path: PathBuf, source: std::io::Error },
}

speedup_core::hints! { StoreError:
    Self::Foreign { .. } =>
        "nothing was changed: bring the journal of this store back; or, if this journal is the right \
            one, move the store out of the data directory, and it is rebuilt from the journal",
    Self::Sled { .. } | Self::Panicked { .. } | Self::Value { .. } | Self::Packs { .. }
        | Self::Files { .. } => "the journal has everything; the store's directory may be deleted",
}

/// The embedded store. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    path: PathBuf,
    meta: sled::Tree,
    plans: sled::Tree,
    statuses: sled::Tree,
    packs: sled::Tree,
    /// Attempts that are too large for a pack.
    apart: sled::Tree,
    hosts: sled::Tree,
    exclusions: sled::Tree,
    events: sled::Tree,
    requests: sled::Tree,
    /// What the hosts of a gang were like that did not start the program.
    parts: sled::Tree,
    db: sled::Db,
    fault: Fault,
}

/// How much of the store is kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreCache {
    /// That of a coordinator that serves: what many agents write to is there.
    Serving,
    /// That of a coordinator that a command starts for itself: it mostly reads an experiment once, from begin to end.
    Command,
}

impl StoreCache {
    /// What sled may keep of the trees; it takes two to five times that.
    const fn bytes(self) -> u64 {
        match self {
            Self::Serving => 64 << 20,
            Self::Command => 8 << 20,
        }
    }
}

#[derive(Debug)]
pub(crate) struct OpenedStore {
    pub(crate) store: Store,
    /// The end of what the store holds of the journal.
    pub(crate) applied: Position,
    /// Why it is built anew, if it is and was there before.
    pub(crate) rebuilt: Option<String>,
}

/// Why a store is built anew.
enum Unusable {
    Missing,
    /// It is this journal's, in a form that this release does not read.
    OtherVersion,
    /// Nobody knows what it holds.
    Damaged(String),
}

impl Store {
    /// Opens the store of a journal, or begins a new one where the old cannot be used.
    pub(crate) fn open(
        path: &Path,
        journal: JournalId,
        cache: StoreCache,
    ) -> Result<OpenedStore, StoreError> {
        // A store that cannot be used is rebuilt, unless it is another journal's: the journal has everything, and a store
        // that is wrong costs only time.
        let condemned = condemnation(path).exists();
        let why_not = if condemned {
            Unusable::Damaged("it was marked as damaged".to_owned())
        } else {
            match Self::try_open(path, journal, cache) {
                Ok(Ok(opened)) => return Ok(opened),
                Ok(Err(reason)) => reason,
                Err(foreign @ StoreError::Foreign { .. }) => return Err(foreign),
                Err(error) => Unusable::Damaged(with_causes(&error)),
            }
        };
        let files = |source| StoreError::Files { path: path.to_owned(), source };
        let rebuilt = match why_not {
            Unusable::Missing => None,
            Unusable::OtherVersion => {
                std::fs::remove_dir_all(path).map_err(files)?;
                Some("it was written by another version".to_owned())
            }
            Unusable::Damaged(_) if !path.exists() => None,
            Unusable::Damaged(how) => Some(format!("{how}; {}", aside::set_aside(path).map_err(files)?)),
        };
        let _ = std::fs::remove_file(condemnation(path));
        let store = Self::connect(path, cache)?;
        store.guard(|| {
            store.meta.insert("format", &FORMAT.to_be_bytes())?;
            store.meta.insert("journal", &journal.0)?;
            store.meta.insert("applied", &Position::START.0.to_be_bytes())
        })?;
        Ok(OpenedStore { store, applied: Position::START, rebuilt })
    }

    fn try_open(
        path: &Path,
        journal: JournalId,
        cache: StoreCache,
    ) -> Result<Result<OpenedStore, Unusable>, StoreError> {
        if !path.exists() {
            return Ok(Err(Unusable::Missing));
        }
        let store = Self::connect(path, cache)?;
        let (format, owner, applied) = store.guard(|| {
            Ok((store.meta.get("format")?, store.meta.get("journal")?, store.meta.get("applied")?))
        })?;
        let applied = applied.and_then(|bytes| Some(u64::from_be_bytes(bytes.as_ref().try_into().ok()?)));
        let owner = owner.and_then(|bytes| Some(JournalId(bytes.as_ref().try_into().ok()?)));
        // Another journal's store is refused in any version: rebuilding it would delete what belongs to somebody else.
        Ok(match (format, owner, applied) {
            (_, Some(of), _) if of != journal => {
                return Err(StoreError::Foreign { path: path.to_owned(), of, journal });
            }
            (Some(format), _, _) if format.as_ref() != FORMAT.to_be_bytes() => Err(Unusable::OtherVersion),
            (Some(_), Some(_), Some(applied)) => {
                Ok(OpenedStore { store, applied: Position(applied), rebuilt: None })
            }
            (_, _, _) => Err(Unusable::Damaged("it does not say what it holds".to_owned())),
        })
    }

    fn connect(path: &Path, cache: StoreCache) -> Result<Self, StoreError> {
        guard(path, || {
            let db =
                sled::Config::new().path(path).cache_capacity(cache.bytes()).flush_every_ms(None).open()?;
            Ok(Self {
                path: path.to_owned(),
                meta: db.open_tree("meta")?,
                plans: db.open_tree("plans")?,
                statuses: db.open_tree("statuses")?,
                packs: db.open_tree("packs")?,
                apart: db.open_tree("apart")?,
                hosts: db.open_tree("hosts")?,
                exclusions: db.open_tree("exclusions")?,
                events: db.open_tree("events")?,
                requests: db.open_tree("requests")?,
                parts: db.open_tree("parts")?,
                db,
                fault: Fault::none(),
            })
        })
    }

    /// Applies writes, then moves the mark. Applying them again changes nothing.
    pub(crate) fn apply(&self, mut writes: Writes, end: Position) -> Result<(), StoreError> {
        self.apply_late(&mut writes)?;
        self.apply_extensions(&mut writes)?;
        self.apply_words(&mut writes)?;
        self.apply_finished(&mut writes)?;
        self.apply_resumed(&mut writes)?;
        let trees = [
            &self.plans,
            &self.statuses,
            &self.hosts,
            &self.exclusions,
            &self.events,
            &self.requests,
            &self.parts,
        ];
        self.put_attempts(writes.attempts)?;
        trees.into_iter().zip(writes.puts).try_for_each(|(tree, puts)| self.insert(tree, puts))?;
        self.guard(|| self.meta.insert("applied", &end.0.to_be_bytes()).map(drop))
    }

    /// Writes values in batches.
    fn insert(
        &self,
        tree: &sled::Tree,
        puts: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
    ) -> Result<(), StoreError> {
        let mut puts = puts.into_iter().peekable();
        while puts.peek().is_some() {
            let mut batch = sled::Batch::default();
            puts.by_ref().take(BATCH).for_each(|(key, value)| batch.insert(key, value));
            self.guard(|| tree.apply_batch(batch))?;
        }
        Ok(())
    }

    fn apply_late(&self, writes: &mut Writes) -> Result<(), StoreError> {
        for (id, record) in std::mem::take(&mut writes.late) {
            let Some(encoded) =
                writes.attempts.get(&id).cloned().map(Ok).or_else(|| self.attempt(id).transpose())
            else {
                continue;
            };
            let mut attempt: v1::EndedAttempt = self.decode(&encoded?)?;
            if let Some(v1::ended_attempt::End::Lost(lost)) = &mut attempt.end {
                lost.late = Some(v1::Record::from(record.as_ref()));
            }
            writes.put_attempt(id, attempt.encode_to_vec());
        }
        Ok(())
    }

    fn apply_words(&self, writes: &mut Writes) -> Result<(), StoreError> {
        for (experiment, words) in std::mem::take(&mut writes.words) {
            let key = experiment.0.as_bytes().to_vec();
            let status = self.get::<v1::StoredStatus>(Tree::Statuses, &key, writes)?;
            if let Some(status) = status {
                let status = v1::StoredStatus { words, ..status };
                writes.put(Tree::Statuses, key, status.encode_to_vec());
            }
        }
        Ok(())
    }

    fn apply_extensions(&self, writes: &mut Writes) -> Result<(), StoreError> {
        for (experiment, from, appended) in std::mem::take(&mut writes.extended) {
            let key = experiment.0.as_bytes().to_vec();
            let Some(mut plan) = self.get::<v1::Plan>(Tree::Plans, &key, writes)? else { continue };
            plan.append(from, appended);
            writes.put(Tree::Plans, key, plan.encode_to_vec());
        }
        Ok(())
    }

    fn apply_finished(&self, writes: &mut Writes) -> Result<(), StoreError> {
        for (experiment, at, tally, cancelled) in std::mem::take(&mut writes.finished) {
            let key = experiment.0.as_bytes().to_vec();
            let Some(status) = self.get::<v1::StoredStatus>(Tree::Statuses, &key, writes)? else {
                continue;
            };
            writes.put(Tree::Statuses, key, finished_status(status, at, tally, cancelled).encode_to_vec());
        }
        Ok(())
    }

    /// Ends the exclusions of hosts that are given runs again.
    fn apply_resumed(&self, writes: &mut Writes) -> Result<(), StoreError> {
        for (host, at) in std::mem::take(&mut writes.resumed) {
            let from = exclusions_of(&host);
            let kept =
                self.guard(|| self.exclusions.scan_prefix(&from).keys().collect::<Result<Vec<_>, _>>())?;
            let pending = writes.puts[Tree::Exclusions as usize].keys().filter(|key| key.starts_with(&from));
            let keys: BTreeSet<Vec<u8>> =
                kept.iter().map(|key| key.to_vec()).chain(pending.cloned()).collect();
            for key in keys {
                let found = self.get::<v1::Exclusion>(Tree::Exclusions, &key, writes)?;
                if let Some(open) = found.filter(|one| one.resumed_ns.is_none() && one.at_ns <= at.0) {
                    let ended = v1::Exclusion { resumed_ns: Some(at.0), ..open };
                    writes.put(Tree::Exclusions, key, ended.encode_to_vec());
                }
            }
        }
        Ok(())
    }

    /// A value, as it will be after the pending writes.
    fn get<M: prost::Message + Default>(
        &self,
        tree: Tree,
        key: &[u8],
        pending: &Writes,
    ) -> Result<Option<M>, StoreError> {
        if let Some(value) = pending.puts[tree as usize].get(key) {
            return self.decode(value).map(Some);
        }
        let tree = match tree {
            Tree::Plans => &self.plans,
            Tree::Statuses => &self.statuses,
            Tree::Hosts => &self.hosts,
            Tree::Exclusions => &self.exclusions,
            Tree::Events => &self.events,
            Tree::Requests => &self.requests,
            Tree::Parts => &self.parts,
        };
        self.guard(|| tree.get(key))?.map(|value| self.decode(&value)).transpose()
    }

    pub(crate) fn plan(&self, experiment: ExperimentId) -> Result<Option<v1::Plan>, StoreError> {
        self.guard(|| self.plans.get(experiment.0.as_bytes()))?.map(|value| self.decode(&value)).transpose()
    }

    /// The status of an experiment as it was submitted, or as it finished.
    pub(crate) fn status(&self, experiment: ExperimentId) -> Result<Option<v1::StoredStatus>, StoreError> {
        self.guard(|| self.statuses.get(experiment.0.as_bytes()))?
            .map(|value| self.decode(&value))
            .transpose()
    }

    /// The statuses of the newest experiments that were submitted before one, or of the newest of all.
    pub(crate) fn statuses(
        &self,
        before: Option<ExperimentId>,
        limit: usize,
    ) -> Result<Vec<v1::StoredStatus>, StoreError> {
        // Ids begin with the millisecond of submission, so their order is that of time.
        let end = before.map_or([u8::MAX; 17].to_vec(), |id| id.0.as_bytes().to_vec());
        let values = self.guard(|| {
            self.statuses.range(..end.as_slice()).rev().take(limit).collect::<Result<Vec<_>, _>>()
        })?;
        values.iter().map(|(_, value)| self.decode(value)).collect()
    }

    /// The experiment that a request made, and the hash of what it asked for.
    pub(crate) fn requested(&self, request: Uuid) -> Result<Option<(ExperimentId, [u8; 32])>, StoreError> {
        let value = self.guard(|| self.requests.get(request.as_bytes()))?;
        Ok(value.and_then(|value| {
            let (experiment, content) = value.split_first_chunk()?;
            Some((ExperimentId(Uuid::from_bytes(*experiment)), content.try_into().ok()?))
        }))
    }

    /// What a host said of itself when it last joined.
    pub(crate) fn host(&self, host: &str) -> Result<Option<v1::HostFacts>, StoreError> {
        self.guard(|| self.hosts.get(host))?.map(|value| self.decode(&value)).transpose()
    }

    /// The exclusions of hosts that began between two moments: the oldest `most`, in their order, and how many are left out.
    pub(crate) fn exclusions(
        &self,
        between: RangeInclusive<u64>,
        most: usize,
    ) -> Result<(Vec<v1::Exclusion>, u64), StoreError> {
        let mut oldest = BinaryHeap::new();
        let mut left_out = 0;
        let mut rows = self.exclusions.iter();
        while let Some((key, value)) = self.guard(|| rows.next().transpose())? {
            let Some((host, at)) = exclusion_begun(&key) else { continue };
            // Its key says when it began: what began at another time is not read any further.
            if !between.contains(&at) {
                continue;
            }
            oldest.push((at, host.to_vec(), value));
            if oldest.len() > most {
                oldest.pop();
                left_out += 1;
            }
        }
        let oldest = oldest.into_sorted_vec().into_iter().map(|(_, _, value)| self.decode(&value));
        Ok((oldest.collect::<Result<_, _>>()?, left_out))
    }

    /// Writes what sled holds back. Slow; at the end only.
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        self.guard(|| self.db.flush()).map(drop)
    }

    /// Gives the store up after a failure, which ends the process: the next start builds it anew. sled is not closed any
    /// more, because on a disk that fails it would wait for ever.
    pub(crate) fn condemn(&self, error: &StoreError) {
        self.mark_for_rebuilding();
        self.fault.report(Broken::Store(with_causes(error)));
        std::mem::forget(self.clone());
    }

    /// The failure for which the coordinator was given up.
    pub(crate) fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Marks the store, so that opening it builds it anew.
    pub(crate) fn mark_for_rebuilding(&self) {
        if let Err(error) = std::fs::write(condemnation(&self.path), b"") {
            tracing::error!("cannot mark the store in {} for rebuilding: {error}", self.path.display());
        }
    }

    fn decode<M: prost::Message + Default>(&self, value: &[u8]) -> Result<M, StoreError> {
        let decoded = M::decode(value);
        let decoded = decoded.map_err(|source| StoreError::Value { path: self.path.clone(), source });
        // One value that cannot be read fails its request, and ends nothing for others.
        decoded.inspect_err(|_| self.mark_for_rebuilding())
    }

    fn guard<T>(&self, work: impl FnOnce() -> sled::Result<T>) -> Result<T, StoreError> {
        guard(&self.path, work).inspect_err(|error| self.condemn(error))
    }
}

fn condemnation(path: &Path) -> PathBuf {
    path.with_extension("damaged")
}

/// sled panics on some damage instead of returning an error.
fn guard<T>(path: &Path, work: impl FnOnce() -> sled::Result<T>) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|source| StoreError::Sled { path: path.to_owned(), source }),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let what =
                text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("sled panicked").to_owned();
            Err(StoreError::Panicked { path: path.to_owned(), what })
        }
    }
}
