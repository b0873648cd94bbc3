//! Data directories that are not what they were: what is missing, mixed, open to others or in use is refused with what to
//! do, and left as it is.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use speedup_journal::{Journal, Options, Reader};
use speedup_tests::{blake3_hex, output::stderr, output::succeeded, pool::Pool, pool::eventually};

use crate::{SPEEDUP, recovery::rebuild::files, recovery::rebuild::finished, recovery::rebuild::start};

/// Small enough that a finished experiment fills several.
const SEGMENT_BYTES: u64 = 4_000;
/// Not this process, whoever it is.
const SOMEBODY_ELSE: u32 = 65_534;

/// Refused by exit code 4, in words that have all of these and a hint.
fn refused(output: &Output, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    for word in words.iter().chain(&["hint:"]) {
        assert!(said.contains(word), "{word} is not in: {said}");
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("metadata").mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
}

/// All files below a directory with what they hold, but for those that locks are.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = files(folder);
    files.retain(|path| path.file_name().is_some_and(|name| name != "lock"));
    files.sort();
    files.into_iter().map(|path| (path.clone(), fs::read(path).expect("read"))).collect()
}

fn segments(journal: &Path) -> Vec<PathBuf> {
    let mut segments = files(journal);
    segments.retain(|path| path.extension().is_some_and(|extension| extension == "seg"));
    segments.sort();
    segments
}

/// Writes a journal anew, with the same records in many segments.
fn split(journal: &Path) {
    let reader = Reader::open(journal).expect("a journal");
    let options = Options { segment_bytes: SEGMENT_BYTES, ..Options::new(reader.id()) };
    let aside = journal.with_extension("split");
    let mut split = Journal::open(&aside, &options).expect("a new journal").0;
    for record in reader.replay(reader.first()).expect("a replay") {
        let record = record.expect("a record");
        split.append(record.version, &record.payload).expect("appended");
        split.sync().expect("synced");
    }
    split.close().expect("closed");
    for path in segments(journal) {
        fs::remove_file(path).expect("removed");
    }
    for path in segments(&aside) {
        fs::rename(&path, journal.join(path.file_name().expect("a name"))).expect("moved");
    }
    fs::remove_dir_all(aside).expect("removed");
}

/// A finished experiment in a journal of at least four segments, the coordinator stopped.
fn in_many_segments() -> (Pool, String, String) {
    let (pool, experiment, export) = finished();
    split(&pool.data().join("journal"));
    assert!(segments(&pool.data().join("journal")).len() >= 4);
    (pool, experiment, export)
}

/// A plan whose output is too large to be packed with that of others.
const LARGE: &str = "[experiment]\nname = \"large\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [benchmarks.zeros]\ncommand = [\"head\", \"-c\", \"3000000\", \"/dev/urandom\"]\n[repetitions]\nruns = 2\n\
    [independence]\npolicy = \"any\"\n[output]\nkeep_of = \"all\"\nlimit = \"8MiB\"\nkeep = \"1MiB\"\n";

#[test]
fn all_that_a_coordinator_and_an_agent_write_is_their_users_alone() {
    let mut pool = Pool::start(SPEEDUP, 1);
    pool.finish(LARGE);
    pool.kill_coordinator();
    pool.start_coordinator();
    pool.finish(LARGE);
    let backup = pool.path().join("backup");
    let arguments = [
        "coordinator",
        "backup",
        &backup.display().to_string(),
        "--data",
        &pool.data().display().to_string(),
    ];
    succeeded(&pool.speedup(&arguments));
    pool.stop_coordinator();
    pool.stop_agent(0);
    let state = pool.agent_state(0);
    let mut seen = 0;
    for folder in [pool.data(), backup, state.join("outbox")] {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for path in files(&folder) {
            assert_eq!(mode(path.parent().expect("a directory")), 0o700, "{}", path.display());
            // The authority's certificate is public, and sled's threads write with the user's umask.
            let is_sleds = path.starts_with(pool.data().join("store"));
            if !is_sleds && path.file_name().is_some_and(|name| name != "authority.pem") {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen} files");
    assert_eq!((mode(&state), mode(&state.join("identity.toml"))), (0o700, 0o600));
}

#[test]
fn a_journal_in_many_segments_is_what_it_was() {
    let (mut pool, experiment, export) = in_many_segments();
    pool.start_coordinator();
    assert_eq!(pool.export(&experiment), export);
}

#[test]
fn a_journal_that_lacks_a_segment_is_refused_by_whoever_reads_it() {
    let (pool, ..) = in_many_segments();
    let (data, journal) = (pool.data().display().to_string(), pool.data().join("journal"));
    let backup = pool.path().join("backup");
    succeeded(&pool.speedup(&["coordinator", "backup", &backup.display().to_string(), "--data", &data]));
    for (number, lost) in segments(&journal)[..3].iter().enumerate() {
        let bytes = fs::read(lost).expect("read");
        fs::remove_file(lost).expect("removed");
        let name = lost.file_name().expect("a name").to_string_lossy().into_owned();
        let words = ["records are missing", "position", name.as_str()];
        let before = contents(&pool.data());
        refused(&start(&pool), &words);
        let to = pool.path().join("never").display().to_string();
        refused(&pool.speedup(&["coordinator", "backup", &to, "--data", &data]), &words);
        assert!(!Path::new(&to).exists(), "nothing is called a backup");
        let bundle = pool.path().join("bundle.tar.gz").display().to_string();
        let mut command = pool.command();
        command.env_remove("SPEEDUP_COORDINATOR").args(["bundle", "last", "--data", &data, "-o", &bundle]);
        refused(&command.output().expect("the command"), &words);
        assert_eq!(contents(&pool.data()), before, "nothing was changed");
        fs::write(lost, bytes).expect("written");

        // A backup of an earlier release, which did not look.
        let old = pool.path().join(format!("old-{number}"));
        copy(&backup, &old);
        without(&old, &format!("journal/{name}"));
        let into = pool.path().join(format!("restored-{number}"));
        let (from, to) = (old.display().to_string(), into.display().to_string());
        refused(&pool.speedup(&["coordinator", "restore", &from, "--data", &to]), &words[..1]);
        assert_eq!(fs::read_dir(&into).expect("a directory").count(), 0, "nothing was restored");
    }
    assert!(start_and_stop(pool), "with all segments it starts");
}

fn start_and_stop(mut pool: Pool) -> bool {
    pool.start_coordinator();
    pool.json(&["list"]).is_some()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &to) } else { drop(fs::copy(entry.path(), to)) }
    }
}

/// Takes a file out of a backup and out of its manifest.
fn without(backup: &Path, file: &str) {
    fs::remove_file(backup.join(file)).expect("removed");
    let path = backup.join("MANIFEST");
    let manifest = fs::read_to_string(&path).expect("a manifest");
    let (body, end) = manifest.trim_end().rsplit_once('\n').expect("lines");
    let body: String =
        body.lines().filter(|line| !line.ends_with(file)).map(|line| format!("{line}\n")).collect();
    let (word, _) = end.rsplit_once(' ').expect("a hash");
    fs::write(&path, format!("{body}{word} {}\n", blake3_hex(body.as_bytes()))).expect("written");
}

#[test]
fn a_journal_that_is_not_mounted_is_refused_and_none_is_made() {
    let (mut pool, experiment, export) = finished();
    let data = pool.data();
    let (journal, away) = (data.join("journal"), pool.path().join("away"));
    let words = ["there is no journal", "mounted"];
    // A directory that is gone, or the empty one of a mount that failed.
    fs::rename(&journal, &away).expect("moved");
    refused(&start(&pool), &words);
    fs::create_dir(&journal).expect("a directory");
    refused(&start(&pool), &words);
    let store = pool.path().join("store");
    fs::rename(data.join("store"), &store).expect("moved");
    refused(&start(&pool), &[words[0], words[1], "access"]);
    let access = pool.path().join("access");
    fs::rename(data.join("access"), &access).expect("moved");
    fs::write(journal.join("checkpoint"), "of a journal").expect("written");
    refused(&start(&pool), &[words[0], words[1], "checkpoint"]);
    let to = pool.path().join("never").display().to_string();
    let backup = pool.speedup(&["coordinator", "backup", &to, "--data", &data.display().to_string()]);
    refused(&backup, &["no journal"]);
    assert_eq!(fs::read_dir(&journal).expect("a directory").count(), 1, "no journal was made");
    // All in its place again.
    fs::remove_dir_all(&journal).expect("removed");
    for (from, name) in [(&away, "journal"), (&store, "store"), (&access, "access")] {
        fs::rename(from, data.join(name)).expect("moved");
    }
    pool.start_coordinator();
    assert_eq!(pool.export(&experiment), export);
    pool.stop_coordinator();
    // Who was let in is not forgotten either.
    fs::rename(data.join("access/journal"), &away).expect("moved");
    refused(&start(&pool), &["no journal of admissions"]);
    fs::rename(&away, data.join("access/journal")).expect("moved");
    pool.start_coordinator();
}

#[test]
fn what_was_made_of_another_journal_is_refused_and_kept() {
    let (mut mine, experiment, export) = finished();
    let (other, ..) = finished();
    for name in ["store", "journal/checkpoint"] {
        let (theirs, here) = (other.data().join(name), mine.data().join(name));
        let aside = mine.path().join("mine");
        if name == "journal/checkpoint" {
            make_checkpoint(&theirs);
        }
        let is_there = here.exists();
        if is_there {
            fs::rename(&here, &aside).expect("moved");
        }
        if theirs.is_dir() {
            copy(&theirs, &here);
        } else {
            drop(fs::copy(&theirs, &here));
        }
        let before = fs::metadata(&here).expect("it is there").ino();
        refused(&start(&mine), &["another journal", "mixed"]);
        assert_eq!(fs::metadata(&here).expect("it is there").ino(), before);
        assert!(!mine.data().join("store.aside").exists());
        if here.is_dir() {
            fs::remove_dir_all(&here).expect("removed");
        } else {
            fs::remove_file(&here).expect("removed");
        }
        if is_there {
            fs::rename(&aside, &here).expect("moved");
        }
    }
    mine.start_coordinator();
    assert_eq!(mine.export(&experiment), export);
}

/// A whole checkpoint of the journal beside it, of no records.
fn make_checkpoint(path: &Path) {
    let journal = path.parent().expect("a journal");
    let reader = Reader::open(journal).expect("a journal");
    let version = speedup_journal::PayloadVersion(1);
    reader.checkpoints().write(reader.first(), version, |_| Ok(())).expect("written");
}

#[test]
fn without_the_lock_file_of_a_live_coordinator_nobody_is_let_in() {
    let (mut pool, experiment, export) = finished();
    pool.start_coordinator();
    let journal = pool.data().join("journal");
    for _ in 0..2 {
        fs::remove_file(journal.join("lock")).expect("removed");
        let before: Vec<_> = segments(&journal).iter().map(|path| fs::read(path).expect("read")).collect();
        refused(&start(&pool), &["in use"]);
        let after: Vec<_> = segments(&journal).iter().map(|path| fs::read(path).expect("read")).collect();
        assert_eq!(before, after);
    }
    assert_eq!(pool.export(&experiment), export, "the first one serves on");
}

#[test]
fn a_lock_file_that_leads_elsewhere_is_refused_and_what_is_there_is_kept() {
    let (mut pool, ..) = finished();
    let (lock, thesis) = (pool.data().join("journal/lock"), pool.path().join("thesis"));
    fs::write(&thesis, "years of work").expect("written");
    fs::remove_file(&lock).expect("removed");
    symlink(&thesis, &lock).expect("a link");
    refused(&start(&pool), &["symbolic link", &lock.display().to_string()]);
    assert_eq!(fs::read_to_string(&thesis).expect("read"), "years of work");
    fs::remove_file(&lock).expect("removed");
    pool.start_coordinator();
}

#[test]
fn a_data_directory_that_others_could_read_is_closed_with_all_in_it_and_said_once() {
    let (mut pool, ..) = finished();
    let data = pool.data();
    for path in files(&data) {
        set_mode(path.parent().expect("a directory"), 0o755);
        // A key that others could read is refused as ever.
        if !path.starts_with(data.join("access")) || path.extension().is_some_and(|end| end == "seg") {
            set_mode(&path, 0o644);
        }
    }
    set_mode(&data, 0o755);
    let line = "mode was 0755";
    assert!(!pool.logged("coordinator").contains(line));
    for _ in 0..2 {
        pool.start_coordinator();
        for path in files(&data).iter().filter(|path| !path.starts_with(data.join("store"))) {
            let folder = path.parent().expect("a directory");
            assert_eq!((mode(path), mode(folder)), (0o600, 0o700), "{}", path.display());
        }
        assert_eq!((mode(&data), mode(&data.join("store"))), (0o700, 0o700));
        pool.stop_coordinator();
    }
    assert_eq!(pool.logged("coordinator").matches(line).count(), 1, "{}", pool.logged("coordinator"));
}

#[test]
fn a_data_directory_that_others_may_write_or_own_is_refused_with_what_mends_it() {
    let (mut pool, ..) = finished();
    let data = pool.data();
    let shown = data.display().to_string();
    for open in [0o777, 0o770, 0o775] {
        set_mode(&data, open);
        refused(&start(&pool), &[&format!("{open:04o}"), &format!("`chmod go-rwx {shown}`")]);
        assert_eq!(mode(&data), open, "it is left as it is");
    }
    set_mode(&data, 0o755);
    let inner = data.join("journal");
    set_mode(&inner, 0o777);
    refused(&start(&pool), &[&format!("`chmod go-rwx {}`", inner.display())]);
    set_mode(&inner, 0o700);
    if rustix::process::geteuid().is_root() {
        for path in [&inner, &data] {
            chown(path, Some(SOMEBODY_ELSE), None).expect("another owner");
            refused(&start(&pool), &[&format!("`chown -R 0 {}`", path.display()), "65534"]);
            chown(path, Some(0), None).expect("the owner");
        }
    }
    pool.start_coordinator();
}

#[test]
fn the_state_of_an_agent_is_its_owners_alone() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let state = pool.agent_state(0);
    let all_closed = |state: &Path| {
        let outbox = state.join("outbox");
        let segments = segments(&outbox);
        assert!(!segments.is_empty());
        assert!(segments.iter().all(|path| mode(path) == 0o600));
        assert_eq!((mode(state), mode(&outbox)), (0o700, 0o700));
    };
    all_closed(&state);
    pool.stop_agent(0);
    for path in [&state, &state.join("outbox")] {
        set_mode(path, 0o755);
    }
    segments(&state.join("outbox")).iter().for_each(|path| set_mode(path, 0o644));
    pool.start_agent(0);
    eventually("it is said", || pool.logged("agent-0").contains("could enter it").then_some(()));
    all_closed(&state);
    pool.stop_agent(0);
    set_mode(&state, 0o777);
    let mut child = pool.spawn_agent(0, "agent-0");
    assert_eq!(child.wait().expect("an end").code(), Some(4));
    let told = pool.logged("agent-0");
    assert!(told.contains(&format!("`chmod go-rwx {}`", state.display())), "{told}");
    assert!(told.contains("hint:"), "{told}");
    set_mode(&state, 0o700);
    pool.start_agent(0);
    pool.wait_for_hosts(1);
}

#[test]
fn of_a_torn_end_no_more_is_said_than_is_known() {
    let (mut pool, experiment, export) = finished();
    let last = segments(&pool.data().join("journal")).pop().expect("a segment");
    let whole = fs::read(&last).expect("read");
    // What a power cut leaves of a group that was being written.
    fs::write(&last, [&whole[..], &[1; 300]].concat()).expect("written");
    pool.start_coordinator();
    assert_eq!(pool.export(&experiment), export);
    pool.stop_coordinator();
    let told = pool.logged("coordinator");
    assert!(told.contains("truncated the journal"), "{told}");
    assert!(told.contains("in the store"), "{told}");
    assert!(!told.contains("had been acknowledged"), "{told}");
    // The end of a group that was acknowledged looks the same; but the store has seen it.
    let whole = fs::read(&last).expect("read");
    // Some marks, and a record before them.
    let cut = &whole[..whole.len() - 120];
    fs::write(&last, cut).expect("written");
    refused(&start(&pool), &["is missing", "nothing was changed"]);
    assert_eq!(fs::read(&last).expect("read"), cut, "nothing was changed");
    // Without the store nobody knows, and that is said.
    fs::rename(pool.data().join("store"), pool.path().join("store")).expect("moved");
    let _ = fs::remove_file(pool.data().join("journal/checkpoint"));
    pool.start_coordinator();
    let told = pool.logged("coordinator");
    assert!(told.contains("no store"), "{told}");
}
