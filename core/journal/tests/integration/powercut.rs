//! Power cuts, killed processes and failed syncs at random points: what was acknowledged is always there.
//!
//! A failure prints its seed. `SPEEDUP_POWERCUT_SEEDS=n` tries n seeds, `SPEEDUP_POWERCUT_FIRST=s` begins with s.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::disk::{Dice, Disk, Faults};
use speedup_journal::{
    Beginning, Journal, JournalId, OpenCheck, OpenError, Options, PayloadVersion, Position, Reader,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const USUAL_SEEDS: u64 = 600;
const LIVES: u64 = 8;

#[test]
fn everything_acknowledged_survives() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("SPEEDUP_POWERCUT_FIRST").unwrap_or(0);
    let seeds = number("SPEEDUP_POWERCUT_SEEDS").unwrap_or(USUAL_SEEDS);
    for seed in first..first + seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| live_and_die(seed))) {
            #[expect(clippy::print_stderr, reason = "the seed is what a person needs to repeat it")]
            {
                eprintln!("failed with SPEEDUP_POWERCUT_FIRST={seed} SPEEDUP_POWERCUT_SEEDS=1");
            }
            resume_unwind(panic);
        }
    }
}

/// What the journal must hold.
struct Expected {
    /// All that was appended and not forgotten, by position from 0 on.
    appended: Vec<Vec<u8>>,
    acknowledged: u64,
    /// Records before this one may be gone.
    forgotten: u64,
}

fn live_and_die(seed: u64) {
    let mut dice = Dice::new(seed);
    let mut disk = Disk::new();
    let mut expected = Expected { appended: Vec::new(), acknowledged: 0, forgotten: 0 };
    let segment_bytes = [1, 300, 2_000, 20_000][dice.below(4) as usize];
    let bytes_ahead = [0, 0, 500, 8_000][dice.below(4) as usize];
    for life in 0..LIVES {
        let last = life + 1 == LIVES;
        disk.set_faults(if last { Faults::default() } else { draw_faults(&mut dice) });
        let check = if dice.chance(50) { OpenCheck::EverySegment } else { OpenCheck::LastSegment };
        // Old segments are removed as in an outbox; what is left has no gap.
        let beginning = Beginning::WhereItWasReset;
        let options =
            Options { segment_bytes, bytes_ahead, check, beginning, ..Options::new(JournalId([3; 16])) };
        match Journal::open_on(disk.shared(), &options) {
            Ok((mut journal, _)) => {
                verify(&journal, &mut expected);
                live(&mut journal, &disk, &mut expected, &mut dice);
            }
            Err(OpenError::Failed(_)) if !last => {}
            Err(error) => panic!("life {life} cannot begin: {error:?}"),
        }
        // A killed process leaves all it wrote in the page cache, the power cut only what was synced.
        if dice.chance(70) {
            disk = disk.after_power_loss(&mut dice);
        }
    }
}

fn draw_faults(dice: &mut Dice) -> Faults {
    let mut when = |percent, limit| dice.chance(percent).then(|| dice.below(limit));
    Faults {
        operations_left: when(80, 60),
        space_left: when(10, 20_000),
        syncs_left: when(20, 12),
        longest_write: when(10, 300).map(|bytes| bytes as usize + 1),
    }
}

/// The journal holds all that was acknowledged, and nothing that was not appended. From now on that is durable.
fn verify(journal: &Journal, expected: &mut Expected) {
    let next = journal.next().0;
    assert!(next >= expected.acknowledged, "{next} records of {} acknowledged", expected.acknowledged);
    assert!(journal.first().0 <= expected.forgotten, "only what was to be forgotten may be gone");
    let mut position = journal.first().0;
    for record in journal.replay(journal.first()).unwrap() {
        let record = record.unwrap();
        assert_eq!(record.position, Position(position));
        assert_eq!(record.payload, expected.appended[position as usize], "position {position}");
        position += 1;
    }
    assert_eq!(position, next);
    expected.appended.truncate(next as usize);
    expected.acknowledged = next;
}

/// Works until the first error or for a while.
fn live(journal: &mut Journal, disk: &Disk, expected: &mut Expected, dice: &mut Dice) {
    for _ in 0..dice.below(40) {
        let result = match dice.below(20) {
            0..12 => {
                let payload = draw_payload(dice);
                expected.appended.push(payload.clone());
                match journal.append(PayloadVersion(1), &payload) {
                    Ok(position) => {
                        assert_eq!(position.0 + 1, expected.appended.len() as u64);
                        Ok(())
                    }
                    Err(error) => {
                        expected.appended.pop();
                        Err(error)
                    }
                }
            }
            12..17 => journal.sync().map(|durable_end| {
                assert_eq!(durable_end.0, expected.appended.len() as u64);
            }),
            17 => journal.seal(),
            18 => {
                let position = dice.below(journal.durable_end().0 + 1);
                expected.forgotten = expected.forgotten.max(position);
                journal.remove_before(Position(position)).map(drop)
            }
            _ => {
                if dice.chance(30) {
                    expected.forgotten = expected.appended.len() as u64;
                    journal.reset()
                } else {
                    Ok(())
                }
            }
        };
        // Also after a failure, what was durable before it stays acknowledged.
        expected.acknowledged = expected.acknowledged.max(journal.durable_end().0);
        if result.is_err() {
            assert!(journal.sync().is_err(), "a failure is final");
            return;
        }
        if dice.chance(10) {
            compare_with_reader(journal, disk);
        }
    }
}

/// A reader beside the running journal sees all that is durable, because the mark of the last sync tells it so.
fn compare_with_reader(journal: &mut Journal, disk: &Disk) {
    let seen = Reader::open_on(disk.shared()).unwrap().durable_end();
    let durable_end = journal.durable_end();
    assert!(seen <= durable_end);
    // A mark that could not be written is told to the next caller.
    if journal.sync().is_ok() {
        assert_eq!(seen, durable_end);
    }
}

/// From nothing to several sectors.
fn draw_payload(dice: &mut Dice) -> Vec<u8> {
    let longest = [30, 300, 3_000][dice.below(3) as usize];
    let length = dice.below(longest) as usize;
    dice.bytes(length)
}
