//! The ended attempts of experiments: written into packs, and read one by one.

use std::{collections::BTreeMap, io, vec};

use bytes::Bytes;
use speedup_core::{machine::event::EndedAttempt, value::id::ExperimentId};
use speedup_proto::v1;

use super::pack::{AttemptPlace, Pack, Packer, Placement, Row, Unpacker};
use super::{Store, StoreError};

/// Rows are read at once until they have this many bytes: each may carry two streams of output of a megabyte, and most clients of
/// gRPC take four.
const PAGE_BYTES: usize = 1 << 20;

/// Which attempt of all.
pub(super) type AttemptId = (ExperimentId, AttemptPlace);

#[derive(Debug)]
pub(crate) struct StoredAttempt {
    /// The numbers of its run and of the attempt.
    pub(crate) at: AttemptPlace,
    /// A `speedup.v1.EndedAttempt`.
    pub(crate) encoded: Bytes,
}

/// The key of an attempt, where it lies apart.
pub(super) fn attempt_key((experiment, (run, attempt)): AttemptId) -> Vec<u8> {
    [experiment.0.as_bytes().as_slice(), &run.to_be_bytes(), &attempt.to_be_bytes()].concat()
}

/// The numbers of the run and of the attempt, from such a key.
pub(super) fn attempt_at(key: &[u8]) -> AttemptPlace {
    let (run, attempt) = key.split_at(key.len().saturating_sub(4));
    let [run, attempt] =
        [run, attempt].map(|bytes| bytes.last_chunk().map_or(0, |last| u32::from_be_bytes(*last)));
    (run, attempt)
}

/// The key of the pack that a run is in.
fn pack_key(experiment: ExperimentId, run: u32) -> Vec<u8> {
    [experiment.0.as_bytes().as_slice(), &Pack::first_run(run).to_be_bytes()].concat()
}

impl Store {
    /// Writes attempts into their packs. What lies apart is there before the pack that says so.
    pub(super) fn put_attempts(&self, attempts: BTreeMap<AttemptId, Bytes>) -> Result<(), StoreError> {
        if attempts.is_empty() {
            return Ok(());
        }
        let mut packer = self.packing(Packer::new())?;
        let mut unpacker = self.packing(Unpacker::new())?;
        let mut packs = Vec::new();
        let mut apart = Vec::new();
        let mut attempts = attempts.into_iter().peekable();
        while let Some(&((of, (run, _)), _)) = attempts.peek() {
            let key = pack_key(of, run);
            let mut pack = self.pack(&key, &mut unpacker)?.unwrap_or_default();
            while let Some((id, encoded)) = attempts.next_if(|((of, (run, _)), _)| pack_key(*of, *run) == key)
            {
                match pack.put(id.1, &encoded) {
                    Placement::InPack => {}
                    Placement::Apart => apart.push((attempt_key(id), Vec::from(encoded))),
                }
            }
            let (value, moved) = self.packing(packer.pack(pack))?;
            apart.extend(moved.into_iter().map(|(at, encoded)| (attempt_key((of, at)), Vec::from(encoded))));
            packs.push((key, value));
        }
        self.insert(&self.apart, apart)?;
        self.insert(&self.packs, packs)
    }

    pub(super) fn attempt(&self, id: AttemptId) -> Result<Option<Bytes>, StoreError> {
        let (experiment, at) = id;
        let pack = self.pack(&pack_key(experiment, at.0), &mut self.packing(Unpacker::new())?)?;
        let row = pack.and_then(|pack| pack.into_row(at));
        row.map(|row| self.content(experiment, row)).transpose()
    }

    /// Up to `limit` ended attempts of an experiment, those after the given run and attempt.
    pub(crate) fn attempts(
        &self,
        experiment: ExperimentId,
        after: Option<AttemptPlace>,
        limit: usize,
    ) -> Result<Vec<v1::EndedAttempt>, StoreError> {
        let stored = self.stored_attempts(experiment, after)?.page(limit)?;
        stored.iter().map(|attempt| self.decode(&attempt.encoded)).collect()
    }

    /// The same as they are stored: who only sends them on need not know what is in them.
    pub(crate) fn stored_attempts(
        &self,
        experiment: ExperimentId,
        after: Option<AttemptPlace>,
    ) -> Result<StoredAttempts<'_>, StoreError> {
        let next = pack_key(experiment, after.map_or(0, |(run, _)| run));
        let unpacker = self.packing(Unpacker::new())?;
        let unpacked = Vec::new().into_iter();
        Ok(StoredAttempts { store: self, experiment, after, next, unpacker, unpacked })
    }

    /// What the hosts of the seats after the first reported of an attempt, in their order, as it is stored.
    pub(crate) fn parts(&self, experiment: ExperimentId, at: AttemptPlace) -> Result<Vec<Bytes>, StoreError> {
        let mut parts = self.parts.scan_prefix(attempt_key((experiment, at)));
        let mut found = Vec::new();
        while let Some((_, value)) = self.guard(|| parts.next().transpose())? {
            found.push(Bytes::copy_from_slice(&value));
        }
        Ok(found)
    }

    /// How many attempts of an experiment ended, of those up to a run and attempt.
    pub(crate) fn count_attempts(
        &self,
        experiment: ExperimentId,
        to: AttemptPlace,
    ) -> Result<u64, StoreError> {
        let mut packs = self.packs.range(pack_key(experiment, 0)..=pack_key(experiment, to.0));
        let mut unpacker = self.packing(Unpacker::new())?;
        let mut count = 0;
        while let Some((_, value)) = self.guard(|| packs.next().transpose())? {
            let rows = self.packing(unpacker.unpack(&value))?.into_rows();
            count += rows.iter().filter(|row| row.at() <= to).count() as u64;
        }
        Ok(count)
    }

    /// The last ended attempt of a run.
    pub(crate) fn last_attempt(
        &self,
        experiment: ExperimentId,
        run: u32,
    ) -> Result<Option<v1::EndedAttempt>, StoreError> {
        let pack = self.pack(&pack_key(experiment, run), &mut self.packing(Unpacker::new())?)?;
        let last = pack.as_ref().and_then(|pack| pack.last_of(run)).cloned();
        let last = last.map(|row| self.content(experiment, row)).transpose()?;
        last.map(|encoded| self.decode(&encoded)).transpose()
    }

    fn pack(&self, key: &[u8], unpacker: &mut Unpacker) -> Result<Option<Pack>, StoreError> {
        let value = self.guard(|| self.packs.get(key))?;
        value.map(|value| self.packing(unpacker.unpack(&value))).transpose()
    }

    /// What a row of a pack stands for.
    fn content(&self, experiment: ExperimentId, row: Row) -> Result<Bytes, StoreError> {
        if !row.lies_apart() {
            return Ok(row.encoded);
        }
        let apart = self.guard(|| self.apart.get(attempt_key((experiment, row.at()))))?;
        let apart = apart.map(|value| Bytes::copy_from_slice(&value));
        self.packing(apart.ok_or_else(|| io::Error::other("an attempt that lies apart is missing")))
    }

    fn packing<T>(&self, result: io::Result<T>) -> Result<T, StoreError> {
        let result = result.map_err(|source| StoreError::Packs { path: self.path.clone(), source });
        result.inspect_err(|_| self.mark_for_rebuilding())
    }
}

/// The attempts of an experiment after one, in their order.
pub(crate) struct StoredAttempts<'s> {
    store: &'s Store,
    experiment: ExperimentId,
    after: Option<AttemptPlace>,
    /// The least key of the next pack.
    next: Vec<u8>,
    unpacker: Unpacker,
    unpacked: vec::IntoIter<Row>,
}

impl StoredAttempts<'_> {
    /// Up to `limit` of them that were not given before; fewer where they are large, and none at the end.
    pub(crate) fn page(&mut self, limit: usize) -> Result<Vec<StoredAttempt>, StoreError> {
        let mut page = Vec::new();
        let mut bytes = 0;
        while page.len() < limit
            && bytes < PAGE_BYTES
            && let Some(attempt) = self.advance()?
        {
            bytes += attempt.encoded.len();
            page.push(attempt);
        }
        Ok(page)
    }

    fn advance(&mut self) -> Result<Option<StoredAttempt>, StoreError> {
        loop {
            let after = self.after;
            if let Some(row) = self.unpacked.find(|row| after.is_none_or(|after| row.at() > after)) {
                let at = row.at();
                let encoded = self.store.content(self.experiment, row)?;
                return Ok(Some(StoredAttempt { at, encoded }));
            }
            let last = pack_key(self.experiment, u32::MAX);
            // Each by a search of its own. sled looks what its cache holds when a part of it was asked 64 times: one iterator asks for each
            // page once, and the pages of some millions of runs would all stay.
            let mut packs = self.store.packs.range(&*self.next..=&*last);
            let Some((key, value)) = self.store.guard(|| packs.next().transpose())? else {
                return Ok(None);
            };
            self.next = [&key, &[0][..]].concat();
            let pack = self.store.packing(self.unpacker.unpack(&value))?;
            self.unpacked = pack.into_rows().into_iter();
        }
    }
}

/// The first byte of the keys of lost attempts in the tree of the events.
const LOST: u8 = 2;
/// Bytes of the moment in a key.
const MOMENT_BYTES: usize = 8;

/// Before the keys of an experiment's lost attempts.
fn lost_prefix(experiment: ExperimentId) -> Vec<u8> {
    [&[LOST], experiment.0.as_bytes().as_slice()].concat()
}

/// The key of a lost attempt in the tree of the events, where those of an experiment lie in the order of their moments.
pub(super) fn lost_key(EndedAttempt { lease, ended, .. }: &EndedAttempt) -> Vec<u8> {
    let key = attempt_key((lease.experiment, (lease.run.0, lease.attempt.0)));
    [&lost_prefix(lease.experiment), ended.0.to_be_bytes().as_slice(), &key].concat()
}

impl Store {
    /// The latest lost attempts of an experiment, up to so many, the latest first.
    pub(crate) fn latest_losses(
        &self,
        experiment: ExperimentId,
        most: usize,
    ) -> Result<Vec<v1::EndedAttempt>, StoreError> {
        let prefix = lost_prefix(experiment);
        let places = self.guard(|| {
            self.events.scan_prefix(&prefix).keys().rev().take(most).collect::<Result<Vec<_>, _>>()
        })?;
        let attempts = places.iter().map(|place| {
            let key = place.get(prefix.len() + MOMENT_BYTES..).unwrap_or_default();
            let stored = self.attempt((experiment, attempt_at(key)))?;
            stored.map(|encoded| self.decode(&encoded)).transpose()
        });
        attempts.filter_map(Result::transpose).collect()
    }
}
