//! A checkpoint is read to its end as it was written, or not believed: whatever the power, the disk or a bad bit did.
//!
//! A failure prints its seed. `SPEEDUP_POWERCUT_SEEDS=n` tries n seeds, `SPEEDUP_POWERCUT_FIRST=s` begins with s.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::disk::{Dice, Disk, Faults};
use speedup_journal::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const V1: PayloadVersion = PayloadVersion(1);
const USUAL_SEEDS: u64 = 400;
const NAME: &str = "checkpoint";

/// What a checkpoint stands for, and its records.
type Contents = (u64, Vec<Vec<u8>>);

fn open(disk: &Disk) -> Journal {
    let options = Options { segment_bytes: 300, ..Options::new(JournalId([5; 16])) };
    Journal::open_on(disk.shared(), &options).unwrap().0
}

fn write(checkpoints: &Checkpoints, contents: &Contents) -> Result<(), CheckpointWriteError> {
    let (position, records) = contents;
    checkpoints
        .write(Position(*position), V1, |writer| records.iter().try_for_each(|record| writer.append(record)))
}

/// What is believed: nothing when there is none, or when it is not believed.
fn read(checkpoints: &Checkpoints) -> Result<Option<Contents>, CheckpointReadError> {
    let Some(mut reader) = checkpoints.read()? else { return Ok(None) };
    let mut records = Vec::new();
    while let Some(record) = reader.next_record()? {
        assert_eq!(record.version, V1);
        records.push(record.payload.to_vec());
    }
    Ok(Some((reader.position().0, records)))
}

fn draw(dice: &mut Dice) -> Contents {
    let records = dice.below(6);
    let record = |dice: &mut Dice| {
        let longest = [1, 40, 3_000][dice.below(3) as usize];
        let length = dice.below(longest) as usize;
        dice.bytes(length)
    };
    (dice.below(1 << 40), (0..records).map(|_| record(dice)).collect())
}

fn for_all_seeds(test: impl Fn(&mut Dice)) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("SPEEDUP_POWERCUT_FIRST").unwrap_or(0);
    let seeds = number("SPEEDUP_POWERCUT_SEEDS").unwrap_or(USUAL_SEEDS);
    for seed in first..first + seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(&mut Dice::new(seed)))) {
            #[expect(clippy::print_stderr, reason = "the seed is what a person needs to repeat it")]
            {
                eprintln!("failed with SPEEDUP_POWERCUT_FIRST={seed} SPEEDUP_POWERCUT_SEEDS=1");
            }
            resume_unwind(panic);
        }
    }
}

#[test]
fn after_any_power_cut_there_is_the_old_one_or_the_new_one() {
    for_all_seeds(|dice| {
        let mut disk = Disk::new();
        drop(open(&disk));
        let mut last = None;
        for _ in 0..6 {
            let checkpoints = open(&disk).checkpoints();
            let next = draw(dice);
            let when = |dice: &mut Dice, limit| dice.chance(50).then(|| dice.below(limit));
            disk.set_faults(Faults {
                operations_left: when(dice, 12),
                space_left: when(dice, 8_000),
                syncs_left: when(dice, 2),
                longest_write: Some(1 + dice.below(500) as usize),
            });
            let written = write(&checkpoints, &next);
            disk.set_faults(Faults::default());
            if dice.chance(70) {
                disk = disk.after_power_loss(dice);
            }
            let found = read(&open(&disk).checkpoints()).unwrap();
            if written.is_ok() {
                assert_eq!(found.as_ref(), Some(&next), "what was written is there");
            } else {
                assert!(found == last || found.as_ref() == Some(&next), "{found:?}");
            }
            last = found;
        }
    });
}

#[test]
fn no_damage_is_believed() {
    for_all_seeds(|dice| {
        let disk = Disk::new();
        let checkpoints = open(&disk).checkpoints();
        let contents = draw(dice);
        write(&checkpoints, &contents).unwrap();
        disk.tamper(NAME, |bytes| {
            let at = dice.below(bytes.len() as u64) as usize;
            match dice.below(4) {
                0 => bytes.truncate(at),
                1 => bytes[at] ^= 1 << dice.below(8),
                2 => bytes.extend(dice.bytes(at + 1)),
                _ => {
                    let junk = dice.bytes(512);
                    let end = bytes.len().min(at + junk.len());
                    let before = bytes[at..end].to_vec();
                    bytes[at..end].copy_from_slice(&junk[..end - at]);
                    if bytes[at..end] == before {
                        bytes[at] ^= 1;
                    }
                }
            }
        });
        assert!(read(&checkpoints).is_err(), "{contents:?}");
        checkpoints.set_aside().unwrap();
        assert_eq!(read(&checkpoints).unwrap(), None);
    });
}

#[test]
fn one_of_another_journal_is_not_believed() {
    let (disk, other) = (Disk::new(), Disk::new());
    let checkpoints = open(&disk).checkpoints();
    write(&checkpoints, &(3, vec![b"machine".to_vec()])).unwrap();
    let options = Options::new(JournalId([6; 16]));
    let foreign = Journal::open_on(other.shared(), &options).unwrap().0.checkpoints();
    write(&foreign, &(3, vec![b"machine".to_vec()])).unwrap();
    let bytes = other.contents()[NAME].clone();
    disk.tamper(NAME, |mine| *mine = bytes);
    assert!(read(&checkpoints).is_err());
}

#[test]
fn a_segment_under_its_name_is_not_believed() {
    let disk = Disk::new();
    let mut journal = open(&disk);
    journal.append(V1, b"record").unwrap();
    journal.seal().unwrap();
    let checkpoints = journal.checkpoints();
    write(&checkpoints, &(0, vec![b"machine".to_vec()])).unwrap();
    let segment = disk.contents()["0000000000000000.seg"].clone();
    disk.tamper(NAME, |bytes| *bytes = segment);
    assert!(read(&checkpoints).is_err());
}
