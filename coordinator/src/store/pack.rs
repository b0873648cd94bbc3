//! A pack: the attempts of neighbouring runs in one compressed value. sled takes as long for a row of bytes as for one of
//! kilobytes, writes each several times, and has a place in memory for every sixteen; neighbours say nearly the same.

use std::io;

use bytes::Bytes;
use prost::Message as _;
use zstd::bulk::{Compressor, Decompressor};

/// Runs whose attempts lie in one pack. With more, one that is added alone would have too much written anew with it.
const RUNS: u32 = 32;
/// An attempt of more bytes lies apart, where the rest of its pack does not move it.
const LARGE: usize = 4 << 10;
/// So much a pack has at most; what comes after that, of runs with very many attempts, lies apart as well.
const MAX_BYTES: usize = 1 << 20;
/// So much its value has at most: sled puts up to sixteen into a page, and a page of more than 128 KiB into a file of its own,
/// whose loss it does not tell.
const MAX_VALUE: usize = 7 << 10;
/// Most that is unpacked: what it has, and as much again for what tells the attempts apart.
const MAX_UNPACKED: usize = 2 * MAX_BYTES;
/// How much zstd tries: from two on it takes twice as long and saves little.
const LEVEL: i32 = 1;

/// The number of a run and that of an attempt.
pub(super) type AttemptPlace = (u32, u32);

/// Attempts that leave their pack.
type MovedRows = Vec<(AttemptPlace, Bytes)>;

/// The attempts of neighbouring runs, in their order.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Pack {
    #[prost(message, repeated, tag = "1")]
    rows: Vec<Row>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Row {
    #[prost(fixed32, tag = "1")]
    run: u32,
    #[prost(fixed32, tag = "2")]
    attempt: u32,
    /// A `speedup.v1.EndedAttempt`, or nothing where it lies apart.
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) encoded: Bytes,
}

impl Row {
    pub(super) fn at(&self) -> AttemptPlace {
        (self.run, self.attempt)
    }

    pub(super) fn lies_apart(&self) -> bool {
        self.encoded.is_empty()
    }
}

/// Where an attempt is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    InPack,
    Apart,
}

impl Pack {
    /// The first run of the pack that has a run.
    pub(super) fn first_run(run: u32) -> u32 {
        run - run % RUNS
    }

    /// Puts an attempt, in place of what it was before, or keeps that it lies apart.
    pub(super) fn put(&mut self, at: AttemptPlace, encoded: &Bytes) -> Placement {
        let (run, attempt) = at;
        let place = self.rows.binary_search_by_key(&at, Row::at);
        let others: usize = self.rows.iter().filter(|row| row.at() != at).map(|row| row.encoded.len()).sum();
        let placed = match encoded.len() {
            large if large > LARGE || others + large > MAX_BYTES => Placement::Apart,
            _ => Placement::InPack,
        };
        let encoded = match placed {
            Placement::InPack => encoded.clone(),
            Placement::Apart => Bytes::new(),
        };
        match place {
            Ok(place) => self.rows[place].encoded = encoded,
            Err(place) => self.rows.insert(place, Row { run, attempt, encoded }),
        }
        placed
    }

    pub(super) fn last_of(&self, run: u32) -> Option<&Row> {
        self.rows.iter().rfind(|row| row.run == run)
    }

    /// Has its largest attempts lie apart, until so many bytes are left; gives them.
    fn relieve(&mut self, left: usize) -> MovedRows {
        let mut bytes: usize = self.rows.iter().map(|row| row.encoded.len()).sum();
        let mut largest: Vec<&mut Row> = self.rows.iter_mut().filter(|row| !row.lies_apart()).collect();
        largest.sort_by_key(|row| std::cmp::Reverse(row.encoded.len()));
        let mut apart = Vec::new();
        for row in largest {
            if bytes <= left {
                break;
            }
            bytes -= row.encoded.len();
            apart.push((row.at(), std::mem::take(&mut row.encoded)));
        }
        apart
    }

    pub(super) fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    pub(super) fn into_row(self, at: AttemptPlace) -> Option<Row> {
        self.rows.into_iter().find(|row| row.at() == at)
    }
}

pub(super) struct Packer(Compressor<'static>);

impl Packer {
    pub(super) fn new() -> io::Result<Self> {
        Compressor::new(LEVEL).map(Self)
    }

    /// The value of a pack, and the attempts of it that lie apart from now on, because it would be too large.
    pub(super) fn pack(&mut self, mut pack: Pack) -> io::Result<(Vec<u8>, MovedRows)> {
        let mut apart = Vec::new();
        loop {
            let value = self.0.compress(&pack.encode_to_vec())?;
            let bytes: usize = pack.rows.iter().map(|row| row.encoded.len()).sum();
            if value.len() <= MAX_VALUE || bytes == 0 {
                return Ok((value, apart));
            }
            // What is left is packed about as well.
            apart.extend(pack.relieve(bytes * MAX_VALUE / value.len() * 9 / 10));
        }
    }
}

pub(super) struct Unpacker(Decompressor<'static>);

impl Unpacker {
    pub(super) fn new() -> io::Result<Self> {
        Decompressor::new().map(Self)
    }

    pub(super) fn unpack(&mut self, value: &[u8]) -> io::Result<Pack> {
        let bytes = self.0.decompress(value, MAX_UNPACKED)?;
        Pack::decode(Bytes::from(bytes)).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand_chacha::{ChaCha8Rng, rand_core::Rng as _, rand_core::SeedableRng as _};

    use super::*;

    #[test]
    fn a_pack_has_a_bound_and_comes_back_as_it_was() {
        let mut pack = Pack::default();
        let encoded = Bytes::from(vec![7; LARGE]);
        let attempts = u32::try_from(2 * MAX_BYTES / LARGE).unwrap();
        let placed: Vec<_> = (0..attempts).map(|attempt| pack.put((3, attempt), &encoded)).collect();
        assert_eq!(placed.iter().filter(|placed| **placed == Placement::InPack).count(), MAX_BYTES / LARGE);
        // What is in it already changes its place for none.
        assert_eq!(pack.put((3, 0), &encoded), Placement::InPack);
        assert_eq!(pack.put((3, 0), &Bytes::from(vec![7; LARGE + 1])), Placement::Apart);
        let (value, apart) = Packer::new().unwrap().pack(pack.clone()).unwrap();
        assert_eq!((Unpacker::new().unwrap().unpack(&value).unwrap(), apart), (pack, Vec::new()));
        assert!(value.len() < MAX_VALUE);
    }

    #[test]
    fn a_value_has_a_bound_whatever_cannot_be_compressed() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut pack = Pack::default();
        let mut expected = BTreeMap::new();
        for run in 0..RUNS {
            let mut encoded = vec![0; 1 + random.next_u32() as usize % LARGE];
            random.fill_bytes(&mut encoded);
            pack.put((run, 0), &encoded.clone().into());
            expected.insert((run, 0), Bytes::from(encoded));
        }
        let (value, apart) = Packer::new().unwrap().pack(pack).unwrap();
        assert!(value.len() <= MAX_VALUE);
        let rows = Unpacker::new().unwrap().unpack(&value).unwrap().into_rows();
        let mut found: BTreeMap<AttemptPlace, Bytes> =
            rows.iter().map(|row| (row.at(), row.encoded.clone())).collect();
        assert!(apart.iter().all(|(at, _)| found[at].is_empty()) && apart.len() < rows.len());
        found.extend(apart);
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_pack_is_refused() {
        let mut unpacker = Unpacker::new().unwrap();
        assert!(unpacker.unpack(b"no pack").is_err());
        let too_much = zstd::bulk::compress(&vec![0; MAX_UNPACKED + 1], LEVEL).unwrap();
        assert!(unpacker.unpack(&too_much).is_err());
    }
}
