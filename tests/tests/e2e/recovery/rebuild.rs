//! The store can always be rebuilt from the journal; the journal is never written over.

use std::{fs::File, path::Path, path::PathBuf};

use speedup_tests::{plan::trivial, pool::Pool};

use crate::SPEEDUP;

pub(crate) fn finished() -> (Pool, String, String) {
    let mut pool = Pool::start(SPEEDUP, 1);
    let experiment = pool.finish(&trivial("rebuild", 20));
    let export = pool.export(&experiment);
    pool.kill_agent(0);
    pool.stop_coordinator();
    (pool, experiment, export)
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn comes_back_after(damage: impl Fn(&Path)) {
    let (mut pool, experiment, before) = finished();
    damage(&pool.data().join("store"));
    let is_there = pool.data().join("store").exists();
    pool.start_coordinator();
    assert_eq!(pool.data().join("store.aside").exists(), is_there, "the damaged one is kept");
    assert_eq!(pool.export(&experiment), before, "the export is the same to the byte");
    pool.stop_coordinator();
    pool.start_coordinator();
    assert_eq!(pool.export(&experiment), before, "and again");
}

#[test]
fn after_the_store_was_deleted() {
    comes_back_after(|store| std::fs::remove_dir_all(store).expect("deleted"));
}

#[test]
fn after_its_files_were_cut_short() {
    comes_back_after(|store| {
        for file in files(store) {
            let length = file.metadata().expect("metadata").len();
            File::options().write(true).open(&file).and_then(|file| file.set_len(length / 2)).expect("cut");
        }
    });
}

#[test]
fn after_its_files_were_filled_with_garbage() {
    comes_back_after(|store| {
        for file in files(store) {
            let length = usize::try_from(file.metadata().expect("metadata").len()).expect("a small file");
            std::fs::write(&file, vec![0xA5; length]).expect("written");
        }
    });
}

#[test]
fn a_damaged_journal_is_refused_with_its_place_and_left_as_it_is() {
    let (pool, _, _) = finished();
    let segment = files(&pool.data().join("journal"))
        .into_iter()
        .find(|path| path.extension().is_some_and(|e| e == "seg"));
    let segment = segment.expect("a segment");
    let mut bytes = std::fs::read(&segment).expect("read");
    bytes[200] ^= 0xFF;
    std::fs::write(&segment, &bytes).expect("written");
    let output = start(&pool);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(".seg") && said.contains("byte") && said.contains("hint:"), "{said}");
    assert_eq!(std::fs::read(&segment).expect("read"), bytes, "the damaged file is left as it is");
}

#[test]
fn a_journal_of_a_newer_release_is_refused() {
    let (pool, _, _) = finished();
    let segment = files(&pool.data().join("journal"))
        .into_iter()
        .find(|path| path.extension().is_some_and(|e| e == "seg"));
    let segment = segment.expect("a segment");
    let mut bytes = std::fs::read(&segment).expect("read");
    // The format's version stands in bytes 8 to 11, the header's checksum in bytes 36 to 39.
    bytes[8] = 9;
    let checksum = crc32fast::hash(&bytes[..36]);
    bytes[36..40].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(&segment, &bytes).expect("written");
    let output = start(&pool);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("version 9"), "{said}");
    assert_eq!(std::fs::read(&segment).expect("read"), bytes, "it is left as it is");
}

#[test]
fn a_second_coordinator_on_the_same_store_is_told_who_has_it() {
    let pool = Pool::without_agents(SPEEDUP);
    let output = start(&pool);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("journal") && said.contains("hint:"), "{said}");
    assert!(pool.json(&["list"]).is_some(), "the first one serves on");
}

pub(crate) fn start(pool: &Pool) -> std::process::Output {
    let data = pool.data().display().to_string();
    pool.speedup(&["coordinator", "start", "--bind", "127.0.0.1:0", "--data", &data])
}
