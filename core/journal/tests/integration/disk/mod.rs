//! A disk in memory that knows what was synced: it can lose power, fill up, fail, and write in small pieces.
//!
//! On power loss it keeps what was synced. Of what was not, each 512-byte sector is there, missing, torn, zeroed or
//! junk, each change of a name has happened or not, and a file's length is anything between the old and the new.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use rustix::io::Errno;
use speedup_journal::{Directory, SegmentFile};
use std::{collections::BTreeMap, io, ops::Range, path::Path, sync::Arc, sync::Mutex, sync::MutexGuard};

const SECTOR: usize = 512;

/// The same numbers for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// A number below `limit`, by SplitMix64 (Steele, Lea and Flood 2014).
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}

/// What the disk will do wrong.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// Changing operations until the power goes.
    pub(crate) operations_left: Option<u64>,
    /// Bytes that files can still grow by.
    pub(crate) space_left: Option<u64>,
    /// The next syncs of files that succeed; then one fails, and its pages are taken for written.
    pub(crate) syncs_left: Option<u64>,
    /// No write takes more bytes at once.
    pub(crate) longest_write: Option<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default, Clone)]
struct State {
    files: Vec<Contents>,
    names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
    unsynced_names: Vec<NameChange>,
    faults: Faults,
}

#[derive(Debug, Default, Clone)]
struct Contents {
    /// What a read gives.
    cached: Vec<u8>,
    synced: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

#[derive(Debug, Clone)]
enum NameChange {
    Set(String, usize),
    /// Of a file, whatever else has had the old name.
    Rename(String, String, usize),
    Remove(String),
}

#[derive(Debug)]
struct OpenFile {
    state: Arc<Mutex<State>>,
    number: usize,
}

impl Disk {
    pub(crate) fn new() -> Disk {
        Disk { state: Arc::default() }
    }

    pub(crate) fn shared(&self) -> Arc<dyn Directory> {
        Arc::new(self.clone())
    }

    pub(crate) fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// What the files hold, by name.
    pub(crate) fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.lock();
        state.names.iter().map(|(name, number)| (name.clone(), state.files[*number].cached.clone())).collect()
    }

    /// Changes a file behind the journal's back, and the synced bytes with it.
    pub(crate) fn tamper(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.lock();
        let number = state.names[name];
        let file = &mut state.files[number];
        change(&mut file.cached);
        file.synced = file.cached.clone();
        file.unsynced.clear();
    }

    /// The disk as it is found when the power is back.
    pub(crate) fn after_power_loss(&self, dice: &mut Dice) -> Disk {
        let state = self.lock();
        let mut names = state.synced_names.clone();
        for change in &state.unsynced_names {
            if dice.chance(50) {
                change.apply(&mut names);
            }
        }
        let fates = Fates::draw(dice);
        let files = state.files.iter().map(|file| file.after_power_loss(&fates, dice)).collect();
        let state = State {
            files,
            synced_names: names.clone(),
            names,
            unsynced_names: Vec::new(),
            ..State::default()
        };
        Disk { state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn file(&self, number: usize) -> Box<dyn SegmentFile> {
        Box::new(OpenFile { state: self.state.clone(), number })
    }

    fn change_name(&self, change: &NameChange) -> io::Result<()> {
        let mut state = self.lock();
        state.unsynced_names.push(change.clone());
        state.use_power()?;
        change.apply(&mut state.names);
        Ok(())
    }

    fn find(&self, name: &str) -> io::Result<Box<dyn SegmentFile>> {
        let number = self.lock().names.get(name).copied();
        number.map(|number| self.file(number)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl State {
    /// Once the power is gone, each operation may have happened or not; none returns.
    fn use_power(&mut self) -> io::Result<()> {
        match &mut self.faults.operations_left {
            Some(0) => Err(Errno::NODEV.into()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            NameChange::Set(name, number) => {
                names.insert(name.clone(), *number);
            }
            NameChange::Rename(from, to, number) => {
                names.remove(from);
                names.insert(to.clone(), *number);
            }
            NameChange::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

/// How likely, in percent, each fate of a sector is in one power loss; the rest is missing.
struct Fates {
    there: u64,
    torn: u64,
    zeroed: u64,
    junk: u64,
}

impl Fates {
    fn draw(dice: &mut Dice) -> Fates {
        match dice.below(5) {
            0 => Fates { there: 100, torn: 0, zeroed: 0, junk: 0 },
            1 => Fates { there: 0, torn: 0, zeroed: 0, junk: 0 },
            2 => Fates { there: 90, torn: 4, zeroed: 3, junk: 1 },
            3 => Fates { there: 50, torn: 10, zeroed: 20, junk: 10 },
            _ => Fates { there: 20, torn: 20, zeroed: 20, junk: 20 },
        }
    }
}

impl Contents {
    fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.apply(&mut self.synced);
        }
    }

    fn after_power_loss(&self, fates: &Fates, dice: &mut Dice) -> Contents {
        let mut bytes = self.synced.clone();
        for change in &self.unsynced {
            match change {
                Change::Truncate(_) if dice.chance(50) => change.apply(&mut bytes),
                Change::Truncate(_) => {}
                Change::Write(offset, written) => {
                    let length = surviving_length(bytes.len(), offset + written.len(), dice);
                    bytes.resize(length, 0);
                    for sector in sectors(*offset..offset + written.len()) {
                        let new = &written[sector.start - offset..sector.end - offset];
                        write_sector(&mut bytes, sector, new, self.synced.len(), fates, dice);
                    }
                }
            }
        }
        Contents { cached: bytes.clone(), synced: bytes, unsynced: Vec::new() }
    }
}

fn surviving_length(old: usize, new: usize, dice: &mut Dice) -> usize {
    if new <= old || dice.chance(20) {
        old
    } else if dice.chance(70) {
        new
    } else {
        old + dice.below((new - old) as u64) as usize
    }
}

/// The parts of a range that lie in one sector each.
fn sectors(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let first = range.start / SECTOR;
    let last = range.end.div_ceil(SECTOR);
    (first..last)
        .map(move |sector| (sector * SECTOR).max(range.start)..((sector + 1) * SECTOR).min(range.end))
}

/// What was synced in a sector stays, or is overwritten with what was written; only new bytes are zeroed or junk.
fn write_sector(
    bytes: &mut [u8],
    sector: Range<usize>,
    new: &[u8],
    synced: usize,
    fates: &Fates,
    dice: &mut Dice,
) {
    let end = sector.end.min(bytes.len());
    let Some(old) = bytes.get_mut(sector.start..end) else { return };
    let new = &new[..old.len()];
    let fresh = synced.saturating_sub(sector.start).min(old.len());
    let fate = dice.below(100);
    if fate < fates.there {
        old.copy_from_slice(new);
    } else if fate < fates.there + fates.torn {
        let kept = dice.below(old.len() as u64 + 1) as usize;
        old[..kept].copy_from_slice(&new[..kept]);
    } else if fate < fates.there + fates.torn + fates.zeroed {
        old[fresh..].fill(0);
    } else if fate < fates.there + fates.torn + fates.zeroed + fates.junk {
        old[fresh..].fill_with(|| dice.below(256) as u8);
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Truncate(length) => bytes.truncate(*length),
            Change::Write(offset, written) => {
                let end = offset + written.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*offset..end].copy_from_slice(written);
            }
        }
    }
}

impl Directory for Disk {
    fn path(&self) -> &Path {
        Path::new("/simulated")
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.lock().names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn SegmentFile>> {
        let number = self.lock().files.len();
        self.lock().files.push(Contents::default());
        self.change_name(&NameChange::Set(name.to_owned(), number))?;
        Ok(self.file(number))
    }

    fn open_to_read(&self, name: &str) -> io::Result<Box<dyn SegmentFile>> {
        self.find(name)
    }

    fn open_to_write(&self, name: &str) -> io::Result<Box<dyn SegmentFile>> {
        self.find(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let number = self.lock().names.get(from).copied().ok_or(io::ErrorKind::NotFound)?;
        self.change_name(&NameChange::Rename(from.to_owned(), to.to_owned(), number))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change_name(&NameChange::Remove(name.to_owned()))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.use_power()?;
        state.synced_names = state.names.clone();
        state.unsynced_names.clear();
        Ok(())
    }
}

impl OpenFile {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn change(&self, state: &mut State, change: Change) -> io::Result<()> {
        let file = &mut state.files[self.number];
        change.apply(&mut file.cached);
        file.unsynced.push(change);
        state.use_power()
    }
}

impl SegmentFile for OpenFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.lock().files[self.number].cached.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.lock();
        let from = state.files[self.number].cached.get(offset as usize..).unwrap_or_default();
        let read = from.len().min(buffer.len());
        buffer[..read].copy_from_slice(&from[..read]);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.lock();
        let offset = offset as usize;
        let mut bytes = &bytes[..bytes.len().min(state.faults.longest_write.unwrap_or(usize::MAX))];
        let length = state.files[self.number].cached.len();
        if let Some(space) = &mut state.faults.space_left {
            let room = length.saturating_sub(offset) + *space as usize;
            if room == 0 {
                return Err(Errno::NOSPC.into());
            }
            bytes = &bytes[..bytes.len().min(room)];
            *space -= (offset + bytes.len()).saturating_sub(length) as u64;
        }
        self.change(&mut state, Change::Write(offset, bytes.to_vec()))?;
        Ok(bytes.len())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.change(&mut self.lock(), Change::Truncate(length as usize))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.use_power()?;
        match &mut state.faults.syncs_left {
            Some(0) => {
                state.faults.syncs_left = None;
                state.files[self.number].unsynced.clear();
                return Err(Errno::IO.into());
            }
            Some(left) => *left -= 1,
            None => {}
        }
        state.files[self.number].sync();
        Ok(())
    }
}
