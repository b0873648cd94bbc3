//! Copies of a data directory, cut and corrupted at random places: a coordinator starts on one with everything that was
//! acknowledged, or says where the journal is damaged.
//!
//! A failure prints its seed. `SPEEDUP_DAMAGE_SEEDS=n` tries n seeds, `SPEEDUP_DAMAGE_FIRST=s` begins with s.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod recorded;

use std::{
    fs, panic::AssertUnwindSafe, panic::catch_unwind, panic::resume_unwind, path::Path, path::PathBuf,
    sync::Mutex, thread, time::Duration,
};

use rand_chacha::ChaCha8Rng;
use recorded::{Acknowledged, export, record, start};
use speedup_core::{value::causes::with_causes, value::hint::Hinted, value::seed::Seed, value::seed::below};

const USUAL_SEEDS: u64 = 60;

#[test]
fn everything_acknowledged_is_there_or_the_place_is_told() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("SPEEDUP_DAMAGE_FIRST").unwrap_or(0);
    let seeds = number("SPEEDUP_DAMAGE_SEEDS").unwrap_or(USUAL_SEEDS);
    let whole = tempfile::tempdir().unwrap();
    let acknowledged = record(whole.path());
    assert!(whole.path().join("journal/checkpoint").exists(), "a checkpoint was made");
    let (mut started, mut refused) = (0, 0);
    for seed in first..first + seeds {
        let tried = AssertUnwindSafe(|| damage_and_start(seed, whole.path(), &acknowledged));
        match catch_unwind(tried) {
            Ok(true) => started += 1,
            Ok(false) => refused += 1,
            Err(panic) => {
                #[expect(clippy::print_stderr, reason = "the seed is what a person needs to repeat it")]
                {
                    eprintln!("failed with SPEEDUP_DAMAGE_FIRST={seed} SPEEDUP_DAMAGE_SEEDS=1");
                }
                resume_unwind(panic);
            }
        }
    }
    assert!(seeds < USUAL_SEEDS || (started > 0 && refused > 0), "{started} started, {refused} refused");
}

#[test]
fn damage_to_what_a_start_does_not_read_is_told_afterwards() {
    let data = tempfile::tempdir().unwrap();
    let acknowledged = record(data.path());
    let oldest =
        files(&data.path().join("journal")).into_iter().filter(|path| is_segment(path)).min().unwrap();
    let mut bytes = fs::read(&oldest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&oldest, bytes).unwrap();
    let log = tempfile::NamedTempFile::new().unwrap();
    tracing_subscriber::fmt().with_ansi(false).with_writer(Mutex::new(log.reopen().unwrap())).init();
    let coordinator = start(data.path()).unwrap();
    let told = || {
        let log = fs::read_to_string(log.path()).unwrap();
        log.lines().find(|line| line.contains("missing from the store")).map(str::to_owned)
    };
    let waited = (0..1_200).find_map(|_| {
        thread::sleep(Duration::from_millis(50));
        told()
    });
    let line = waited.expect("it is told");
    let name = oldest.file_name().unwrap().to_str().unwrap();
    assert!(line.contains("ERROR") && line.contains(name), "{line}");
    assert_eq!(export(coordinator, acknowledged.keys()), acknowledged);
}

fn damage_and_start(seed: u64, whole: &Path, acknowledged: &Acknowledged) -> bool {
    let mut random = Seed(seed).child("damage");
    let copy = tempfile::tempdir().unwrap();
    copy_all(whole, copy.path());
    let store = files(&copy.path().join("store"));
    let checkpoint = vec![copy.path().join("journal/checkpoint")];
    let mut segments = files(&copy.path().join("journal"));
    segments.retain(|path| is_segment(path));
    // The journal alone, or what was made of it: together nothing would be left to tell what had been there.
    let victims = match below(5, &mut random) {
        0 => segments,
        // The only one that the checkpoint does not stand for.
        1 => segments.split_off(segments.len() - 1),
        2 => checkpoint,
        3 => store,
        _ => [store, checkpoint].concat(),
    };
    let mut damaged = Vec::new();
    for _ in 0..1 + below(3, &mut random) {
        let victim = &victims[below(victims.len() as u64, &mut random) as usize];
        damage(victim, &mut random);
        damaged.push(victim.clone());
    }
    match start(copy.path()) {
        Ok(coordinator) => {
            let found = export(coordinator, acknowledged.keys());
            assert!(found == *acknowledged, "not everything is there: {damaged:?}");
            true
        }
        Err(error) => {
            let said = with_causes(&error);
            assert!(damaged.iter().any(|path| is_segment(path)), "{damaged:?}: {said}");
            assert!(said.contains("position"), "{damaged:?}: {said}");
            assert!(error.hint().is_some(), "{said}");
            false
        }
    }
}

fn is_segment(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "seg")
}

fn damage(path: &Path, random: &mut ChaCha8Rng) {
    let Ok(mut bytes) = fs::read(path) else { return };
    let length = bytes.len() as u64;
    if length == 0 {
        return;
    }
    let at = below(length, random) as usize;
    let end = (at + 1 + below(4_096, random) as usize).min(bytes.len());
    match below(5, random) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << below(8, random),
        2 => bytes[at..end].fill(0),
        3 => bytes[at..end].iter_mut().for_each(|byte| *byte = below(256, random) as u8),
        _ => {
            fs::remove_file(path).unwrap();
            return;
        }
    }
    fs::write(path, bytes).unwrap();
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() { all.extend(files(&entry)) } else { all.push(entry) }
    }
    all.sort();
    all
}
