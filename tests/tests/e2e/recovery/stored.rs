//! What earlier releases stored, and what later ones will: directories that earlier releases wrote are opened by this one,
//! with all that was acknowledged in them, and what is of a later version is refused by its name and left as it is.
//!
//! `stored/store-N.tgz` holds the directory that `speedup run --data` left, of the release whose store had format N: 24
//! runs, of which 12 failed; and what that release said of it, as an export and as the numbers of its report.

use std::{collections::BTreeMap, path::Path, path::PathBuf, process::Command, process::Output};

use serde_json::Value;
use speedup_core::journal::{Encoder, JournalId, PayloadVersion, Position, SegmentHeader};
use speedup_tests::{ledger::Ledger, output::stderr, output::succeeded, plan::trivial, pool::Pool};

use crate::SPEEDUP;

/// Formats of the store, the last of which is this release's.
const FORMATS: [u32; 5] = [1, 2, 3, 4, 5];
const RUNS: usize = 24;
/// What a release left, unpacked.
fn left(format: u32, to: &Path) {
    let archive =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/e2e/recovery/stored/store-{format}.tgz"));
    let unpacked = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(to).status().expect("tar");
    assert!(unpacked.success(), "{}", archive.display());
}

fn speedup(directory: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(SPEEDUP).args(arguments).current_dir(directory).output().expect("the command");
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    output
}

/// What a report found, without what it concludes first, which is another since there are headlines. What the Speedup-Test
/// says of mean and median stays.
fn found(mut report: Value) -> Value {
    let of = report.as_object_mut().expect("a report");
    for concluded in ["suites", "warnings", "method"] {
        of.remove(concluded);
    }
    let benchmarks = report["benchmarks"].as_array_mut().expect("benchmarks");
    for benchmark in benchmarks {
        for comparison in benchmark["comparisons"].as_array_mut().expect("comparisons") {
            let of = comparison.as_object_mut().expect("a comparison");
            for concluded in ["verdict", "by", "reason", "one_sided", "adjusted", "advice"] {
                of.remove(concluded);
            }
        }
    }
    report
}

/// Whether it is another sentence or number now: the smallest effect of a control was half the width of its interval, and the family of
/// the diagnostics lacked the failures of each benchmark.
fn is_put_better(place: &str, key: &str) -> bool {
    let is_of_family = place.contains(".diagnostics") && ["tests", "adjusted", "significant"].contains(&key);
    let is_effect = place.contains(".controls") && key.starts_with("smallest_effect");
    key == "sentence" || is_of_family || is_effect
}

/// Asserts that all that was said then is said now; more may be.
fn says_as_much(then: &Value, now: &Value, place: &str) {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => {
            for (key, value) in then.iter().filter(|(key, _)| !is_put_better(place, key)) {
                let place = format!("{place}.{key}");
                says_as_much(value, now.get(key).unwrap_or_else(|| panic!("{place} is gone")), &place);
            }
        }
        (Value::Array(then), Value::Array(now)) => {
            let may_be_more = place.ends_with(".missing") && then.len() < now.len();
            assert!(then.len() == now.len() || may_be_more, "{place}");
            let pairs = then.iter().zip(now).enumerate();
            pairs.for_each(|(at, (then, now))| says_as_much(then, now, &format!("{place}[{at}]")));
        }
        _ => assert_eq!(then, now, "{place}"),
    }
}

#[test]
fn what_earlier_releases_stored_is_read_with_all_that_was_acknowledged() {
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a directory");
        let directory = folder.path();
        left(format, directory);
        let report = speedup(directory, &["report", "last", "--data", "data", "--format", "json"]);
        let is_anew = stderr(&report).contains("rebuilt from the journal");
        assert_eq!(is_anew, format != FORMATS[4], "format {format}: {}", stderr(&report));
        let now: Value = serde_json::from_slice(&report.stdout).expect("JSON");
        let then = std::fs::read(directory.join("report.json")).expect("what was said then");
        let then = String::from_utf8(then).expect("UTF-8").replace("no_difference_shown", "undecided");
        says_as_much(&found(serde_json::from_str(&then).expect("JSON")), &now, "report");

        let export = speedup(directory, &["export", "last", "--data", "data", "-o", "-"]);
        let now = Ledger::read(&String::from_utf8(export.stdout).expect("UTF-8"));
        let then = Ledger::read(&std::fs::read_to_string(directory.join("export.csv")).expect("a file"));
        assert_eq!(now.assert_exactly_once(RUNS), RUNS / 2, "half of them failed");
        assert_eq!(now.rows.len(), then.rows.len());
        for (then, now) in then.rows.iter().zip(&now.rows) {
            let kept: BTreeMap<_, _> = now.iter().filter(|(column, _)| then.contains_key(*column)).collect();
            assert_eq!(kept, then.iter().collect(), "format {format}: no column lost or changed its value");
        }
    }
}

#[test]
fn services_go_on_with_what_earlier_releases_stored() {
    for format in FORMATS {
        let mut pool = Pool::without_agents(SPEEDUP);
        pool.stop_coordinator();
        std::fs::remove_dir_all(pool.data()).expect("its own data");
        left(format, pool.path());
        // The outbox of the agent of then.
        std::fs::rename(pool.data().join("agent"), pool.agent_state(0)).expect("a state directory");
        pool.start_coordinator();
        let listed = pool.json(&["list"]).expect("experiments");
        assert_eq!(listed[0]["name"], "kept", "{listed}");
        assert_eq!(listed[0]["phase"], "finished", "{listed}");
        pool.add_agent();
        let experiment = pool.submit(&trivial("next", 2), &["--wait-for-hosts"]);
        pool.wait_for(&experiment);
        // Both are there after a start that finds the store as it was left.
        pool.stop_coordinator();
        pool.start_coordinator();
        let listed = pool.json(&["list"]).expect("experiments");
        assert_eq!(listed.as_array().map(Vec::len), Some(2), "format {format}: {listed}");
    }
}

/// Every file below a directory with its content, but locks, which say who holds them.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if !path.ends_with("lock") {
            let content = std::fs::read(&path).expect("a file");
            files.insert(path, content);
        }
    }
    files
}

/// A segment of this format whose second record is of a payload version that nobody knows yet.
fn segment_of_a_newer_record() -> Vec<u8> {
    let header = SegmentHeader { journal: JournalId([7; 16]), first: Position::START };
    let (mut encoder, mut bytes) = (Encoder::new(&header), header.encode().to_vec());
    encoder.record(PayloadVersion(99), b"of a later release", &mut bytes).expect("a record");
    encoder.mark(&mut bytes);
    bytes
}

#[test]
fn what_a_later_release_stored_is_refused_by_its_name_and_left_as_it_is() {
    let later_segment = include_bytes!("../../../../core/journal/tests/golden/format-2.seg").to_vec();
    let segment = "0000000000000000.seg";
    let cases = [
        (format!("journal/{segment}"), later_segment.clone(), "format version 2"),
        (format!("journal/{segment}"), segment_of_a_newer_record(), "99"),
        (format!("access/journal/{segment}"), later_segment, "format version 2"),
        (format!("access/journal/{segment}"), segment_of_a_newer_record(), "99"),
        ("provision.json".to_owned(), br#"{"version": 99}"#.to_vec(), "99"),
        ("ssh.json".to_owned(), br#"{"version": 99}"#.to_vec(), "99"),
    ];
    for (name, content, version) in cases {
        let pool = Pool::without_agents(SPEEDUP);
        let data = pool.path().join("later");
        let path = data.join(&name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, content).expect("a file");
        let before = files(&data);
        if name.starts_with("access/") {
            // Admissions are made beside a journal.
            let header = SegmentHeader { journal: JournalId([8; 16]), first: Position::START };
            std::fs::create_dir_all(data.join("journal")).expect("a directory");
            std::fs::write(data.join("journal").join(segment), header.encode()).expect("a journal");
        }
        let mut start = pool.command();
        start.args(["coordinator", "start", "--name", "later", "--bind", "127.0.0.1:0", "--web", "off"]);
        let refused = start.arg("--data").arg(&data).output().expect("a coordinator");
        let words = stderr(&refused);
        assert_eq!(refused.status.code(), Some(4), "{name}: {words}");
        assert!(words.contains(version) && words.contains("hint:"), "{name}: {words}");
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(words.contains(&file) || words.contains("record"), "{name} is named: {words}");
        let after = files(&data);
        for (path, content) in before {
            assert_eq!(after.get(&path), Some(&content), "{} is left as it was", path.display());
        }
    }
}

#[test]
fn a_backup_of_a_later_release_is_not_restored() {
    let pool = Pool::without_agents(SPEEDUP);
    let (backup, to) = (pool.path().join("backup"), pool.path().join("restored"));
    let (backup, to) = (backup.display().to_string(), to.display().to_string());
    let data = pool.data().display().to_string();
    succeeded(&pool.speedup(&["coordinator", "backup", &backup, "--data", &data]));
    let manifest = Path::new(&backup).join("MANIFEST");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let (title, rest) = text.split_once('\n').expect("lines");
    let later = format!("{} 99\n{rest}", title.rsplit_once(' ').expect("a version").0);
    std::fs::write(&manifest, later).expect("a manifest");
    let refused = pool.speedup(&["coordinator", "restore", &backup, "--data", &to]);
    assert!(!refused.status.success() && stderr(&refused).contains("version 99"), "{}", stderr(&refused));
    assert!(!Path::new(&to).exists(), "nothing is put in place");
}
