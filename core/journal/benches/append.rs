//! Durable records a second, by group size, beside the floor: the same bytes appended raw with one `fdatasync` a group.
//!
//! Journal and floor take turns in short blocks of the same run, so that a disk that is busy for a while is busy for
//! both. The median block is printed. `cargo bench -p speedup-journal --bench append [-- <directory>]`.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for a person who measures")]

use speedup_journal::{Journal, JournalId, OpenCheck, Options, PayloadVersion, Position};
use std::{fs::File, os::unix::fs::FileExt, path::Path, path::PathBuf, time::Duration, time::Instant};

const PAYLOAD_BYTES: usize = 200;
const FRAME_BYTES: usize = PAYLOAD_BYTES + 26;
const BLOCKS: usize = 41;
const BLOCK_TIME: Duration = Duration::from_millis(100);
const REPLAYED: u64 = 2_000_000;

fn main() {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let parent = given.map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let directory = tempfile::tempdir_in(parent).unwrap();
    println!("durable records/s, {PAYLOAD_BYTES} bytes each, median of {BLOCKS} blocks (quartiles)\n");
    println!("{:>6} {:>28} {:>28} {:>9}", "group", "journal", "raw append + fdatasync", "of floor");
    for group in [1, 64, 256, 1024] {
        compare(directory.path(), group);
    }
    replay(&directory.path().join("replay"));
}

/// Alternates blocks of both, each block's pair in turned order.
fn compare(directory: &Path, group: usize) {
    let directory = directory.join(group.to_string());
    let (mut journal, _) = Journal::open(&directory, &options()).unwrap();
    let mut floor = Floor { file: File::create_new(directory.join("floor")).unwrap(), offset: 0 };
    let (mut journal_rates, mut floor_rates) = (Vec::new(), Vec::new());
    for block in 0..BLOCKS {
        for turn in 0..2 {
            match (block + turn) % 2 {
                0 => journal_rates.push(rate(group, || append_group(&mut journal, group))),
                _ => floor_rates.push(rate(group, || floor.append_group(group))),
            }
        }
    }
    let (journal_rate, floor_rate) = (median(&journal_rates), median(&floor_rates));
    let share = journal_rate / floor_rate * 100.0;
    println!("{group:>6} {:>28} {:>28} {share:>8.0}%", in_words(&journal_rates), in_words(&floor_rates));
}

fn options() -> Options {
    Options::new(JournalId(*b"speedup-journal!"))
}

/// Something like an observation: no two alike.
fn payload(number: u64) -> [u8; PAYLOAD_BYTES] {
    let mut bytes = [0x5a; PAYLOAD_BYTES];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

fn append_group(journal: &mut Journal, group: usize) {
    for _ in 0..group {
        let number = journal.next().0;
        journal.append(PayloadVersion(1), &payload(number)).unwrap();
    }
    journal.sync().unwrap();
}

/// As many bytes as the journal's frames have, without meaning.
struct Floor {
    file: File,
    offset: u64,
}

impl Floor {
    fn append_group(&mut self, group: usize) {
        let bytes = vec![0x5a; group * FRAME_BYTES];
        self.file.write_all_at(&bytes, self.offset).unwrap();
        self.file.sync_data().unwrap();
        self.offset += bytes.len() as u64;
    }
}

/// Records a second of one block.
fn rate(group: usize, mut append_group: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut records = 0;
    while start.elapsed() < BLOCK_TIME {
        append_group();
        records += group;
    }
    records as f64 / start.elapsed().as_secs_f64()
}

fn replay(directory: &Path) {
    let (mut journal, _) = Journal::open(directory, &options()).unwrap();
    for _ in 0..REPLAYED / 1_000 {
        append_group(&mut journal, 1_000);
    }
    journal.close().unwrap();
    println!("\nreading {REPLAYED} records from the page cache, best of 5");
    let best = |work: &mut dyn FnMut()| {
        let times = (0..5).map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        });
        times.min().unwrap()
    };
    for check in [OpenCheck::EverySegment, OpenCheck::LastSegment] {
        let options = Options { check, ..options() };
        let opened = best(&mut || drop(Journal::open(directory, &options).unwrap()));
        println!("  open, {check:?}: {opened:.1?}");
    }
    let (journal, _) = Journal::open(directory, &options()).unwrap();
    let lent = best(&mut || {
        let mut replay = journal.replay(Position::START).unwrap();
        let mut records = 0;
        while let Some(record) = replay.next_record().unwrap() {
            records += u64::from(record.payload.len() == PAYLOAD_BYTES);
        }
        assert_eq!(records, REPLAYED);
    });
    let owned = best(&mut || {
        assert_eq!(journal.replay(Position::START).unwrap().map(Result::unwrap).count() as u64, REPLAYED);
    });
    println!("  replay, lent records: {:.0} records/s", REPLAYED as f64 / lent.as_secs_f64());
    println!("  replay, owned records: {:.0} records/s", REPLAYED as f64 / owned.as_secs_f64());
}

fn quantile(rates: &[f64], quarter: usize) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) * quarter / 4]
}

fn median(rates: &[f64]) -> f64 {
    quantile(rates, 2)
}

fn in_words(rates: &[f64]) -> String {
    format!("{:.0} ({:.0}–{:.0})", median(rates), quantile(rates, 1), quantile(rates, 3))
}
