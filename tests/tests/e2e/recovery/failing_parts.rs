//! A disk that fails under a part of a coordinator or an agent: the part recovers, or ends the process with the cause and the next
//! start has everything; and what does not work meanwhile is seen.

use std::io::{Read as _, Write as _};
use std::{fs, net::TcpStream, path::Path, path::PathBuf, process::Child, process::Command};

use speedup_tests::{output::said, plan::trivial, pool::Pool, pool::eventually, process::Killed};

use crate::SPEEDUP;

/// No space left on the device, and an error of the device.
const ERRORS: [u32; 2] = [28, 5];

/// A library that fails calls while a file is there, which says how.
struct FailingDisk {
    library: PathBuf,
    how: PathBuf,
}

impl FailingDisk {
    fn new(directory: &Path) -> Self {
        let (library, how) = (directory.join("failing.so"), directory.join("failing"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/recovery/failing_parts.c");
        let mut compiler = Command::new("gcc");
        compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]);
        assert!(compiler.status().expect("gcc").success());
        Self { library, how }
    }

    /// The command that starts a command on it: files fail whose path contains `part`.
    fn starter(&self, part: &Path) -> Vec<String> {
        let variables = [
            format!("LD_PRELOAD={}", self.library.display()),
            format!("FAIL_PATH={}", part.display()),
            format!("FAIL_WHILE={}", self.how.display()),
        ];
        let env = std::iter::once("env".to_owned());
        // The coordinator says in its log where it tells whether all of it works.
        let watched = [
            "sh",
            "-c",
            "case $1 in coordinator) set -- \"$@\" --metrics 127.0.0.1:0;; esac; exec \"$0\" \"$@\"",
        ];
        env.chain(variables).chain(watched.map(str::to_owned)).collect()
    }

    /// Fails these calls with an error of this number from now on.
    fn fail(&self, error: u32, calls: &str) {
        fs::write(&self.how, format!("{error} {calls}")).expect("written");
    }

    fn recover(&self) {
        fs::remove_file(&self.how).expect("removed");
    }
}

/// Starts the coordinator of a pool anew, on a disk that may fail in this part of the pool's directory.
fn start_on_failing_disk(pool: &mut Pool, part: &str) -> FailingDisk {
    let disk = FailingDisk::new(pool.path());
    let starter = disk.starter(&pool.path().join(part));
    let starter: Vec<&str> = starter.iter().map(String::as_str).collect();
    pool.stop_coordinator();
    pool.start_coordinator_by(&starter);
    disk
}

/// Gives the command's calls to the coordinator until that ends by itself; gives its exit code.
fn end(pool: &mut Pool, call: &[&str]) -> Option<i32> {
    // Killed with the test where it does not end.
    let mut coordinator = Killed(pool.take_coordinator());
    eventually("the coordinator ends", || {
        // It fails as soon as its part has.
        pool.command().args(call).output().expect("the command");
        exit_code(&mut coordinator.0)
    })
}

/// The exit code of a child, within an answer once it has ended.
fn exit_code(child: &mut Child) -> Option<Option<i32>> {
    child.try_wait().expect("a child").map(|ended| ended.code())
}

fn log(pool: &Pool, name: &str) -> String {
    fs::read_to_string(pool.path().join(format!("{name}.log"))).expect("a log")
}

/// What the latest coordinator of a pool says at this page.
fn asked(pool: &Pool, page: &str) -> String {
    let log = log(pool, "coordinator");
    let address = log.rsplit_once("metrics at http://").expect("an address").1;
    asked_at(address.split_once("/metrics").expect("a page").0, page)
}

/// What a coordinator says at this page of its metrics' address.
pub(crate) fn asked_at(address: &str, page: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    let request = format!("GET {page} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is open");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn is_well(pool: &Pool) -> bool {
    assert!(asked(pool, "/livez").starts_with("HTTP/1.1 200"), "it answers");
    asked(pool, "/healthz").starts_with("HTTP/1.1 200")
}

#[test]
fn a_store_that_cannot_be_written_ends_the_coordinator_and_is_rebuilt() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let before = pool.finish(&trivial("before", 2));
    let export = pool.export(&before);
    // The store writes when a buffer of its log is full, which takes some large plans.
    let large = pool.path().join("large.toml");
    fs::write(&large, trivial("large", 5_000)).expect("written");
    for error in ERRORS {
        let disk = start_on_failing_disk(&mut pool, "data/store");
        disk.fail(error, "w");
        let code = end(&mut pool, &["submit", "--wait-for-hosts", large.to_str().expect("a path")]);
        assert_eq!(code, Some(4), "error {error}");
        disk.recover();
        pool.start_coordinator();
        assert_eq!(pool.export(&before), export);
    }
}

#[test]
fn a_store_that_cannot_be_synced_is_brought_up_to_date_by_the_next_start() {
    let mut pool = Pool::start(SPEEDUP, 1);
    for error in ERRORS {
        let disk = start_on_failing_disk(&mut pool, "data/store");
        pool.wait_for_hosts(1);
        let before = pool.finish(&trivial("before", 2));
        let export = pool.export(&before);
        disk.fail(error, "sd");
        pool.stop_coordinator();
        disk.recover();
        pool.start_coordinator();
        assert_eq!(pool.export(&before), export, "error {error}");
    }
}

#[test]
fn admissions_that_cannot_be_written_end_the_coordinator() {
    let mut pool = Pool::start(SPEEDUP, 0);
    for error in ERRORS {
        for calls in ["w", "s"] {
            let disk = start_on_failing_disk(&mut pool, "data/access/journal");
            disk.fail(error, calls);
            let code = end(&mut pool, &["token", "create", "--role", "agent"]);
            assert_eq!(code, Some(4), "error {error} of {calls}");
            assert!(log(&pool, "coordinator").contains("cannot write its journal of admissions: "));
            disk.recover();
            pool.start_coordinator();
            pool.ok(&["token", "create", "--role", "agent"]);
        }
    }
}

#[test]
fn a_journal_that_cannot_be_written_ends_the_coordinator_and_keeps_what_was_acknowledged() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let mut acknowledged = Vec::new();
    pool.write("another.toml", trivial("another", 1));
    let another = pool.path().join("another.toml");
    for error in ERRORS {
        for calls in ["w", "s"] {
            let disk = start_on_failing_disk(&mut pool, "data/journal");
            pool.wait_for_hosts(1);
            acknowledged.push(pool.finish(&trivial("before", 2)));
            disk.fail(error, calls);
            let code = end(&mut pool, &["submit", another.to_str().expect("a path")]);
            assert_eq!(code, Some(4), "error {error} of {calls}");
            assert!(log(&pool, "coordinator").contains("the coordinator cannot write its journal"));
            disk.recover();
            pool.start_coordinator();
            for experiment in &acknowledged {
                assert!(pool.is_finished(experiment), "error {error} of {calls}");
            }
        }
    }
}

/// A content that has its name and is not durable would pass for stored when its sender tries again.
#[test]
fn contents_that_cannot_be_stored_are_told_and_stored_once_the_disk_works() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let disk = start_on_failing_disk(&mut pool, "data/blobs");
    pool.wait_for_hosts(1);
    for (number, error) in ERRORS.into_iter().enumerate() {
        for calls in ["w", "s", "d"] {
            assert!(is_well(&pool), "error {error} of {calls}");
            pool.write("content", format!("content {number} {calls}"));
            let plan = trivial("staged", 1) + "[files.content]\npath = \"content\"\n";
            pool.write("staged.toml", &plan);
            let staged = pool.path().join("staged.toml");
            let submit = ["submit", staged.to_str().expect("a path")];
            disk.fail(error, calls);
            let refused = pool.speedup(&submit);
            assert!(!refused.status.success(), "error {error} of {calls}");
            assert!(said(&refused).contains("/blobs"), "{}", said(&refused));
            let named = fs::read_dir(pool.data().join("blobs")).expect("the contents").flatten();
            let named = named.filter(|folder| folder.file_name().len() == 2);
            let named: usize =
                named.map(|folder| fs::read_dir(folder.path()).expect("a folder").count()).sum();
            assert_eq!(
                named,
                3 * number + ["w", "s", "d"].iter().position(|these| *these == calls).expect("one")
            );
            if calls != "d" {
                // What fails at directories alone is not seen by looking again.
                assert!(!is_well(&pool));
                let listed = said(&pool.speedup(&["list"]));
                assert!(listed.contains("files of plans and builds cannot be stored"), "{listed}");
                let doctor = pool.speedup(&["doctor"]);
                assert_eq!(doctor.status.code(), Some(1), "{}", said(&doctor));
                assert!(said(&doctor).contains("files of plans and builds cannot be stored"));
                let metrics = asked(&pool, "/metrics");
                assert!(metrics.contains("speedup_component_failing{component=\"files\"} 1"), "{metrics}");
            }
            disk.recover();
            eventually("it is looked at again", || is_well(&pool).then_some(()));
            pool.finish(&plan);
        }
    }
}

/// The coordinator is away when the run has ended: a report that is acknowledged at once needs no disk.
#[test]
fn an_outbox_that_cannot_be_written_ends_the_agent_and_its_run_is_measured() {
    let mut pool = Pool::start(SPEEDUP, 0);
    let disk = FailingDisk::new(pool.path());
    let (begun, go) = (pool.path().join("begun"), pool.path().join("go"));
    let wait = format!("touch {}; until test -e {}; do sleep 0.05; done", begun.display(), go.display());
    let plan = trivial("lost", 1).replace("command = [\"true\"]", &format!("shell = \"{wait}\""));
    let starter = disk.starter(Path::new("/outbox/"));
    let starter: Vec<&str> = starter.iter().map(String::as_str).collect();
    for error in ERRORS {
        for calls in ["w", "s"] {
            let number = pool.add_agent_by(&starter);
            pool.wait_for_hosts(1);
            let experiment = pool.submit(&plan, &[]);
            eventually("a run is executed", || begun.exists().then_some(()));
            pool.kill_coordinator();
            disk.fail(error, calls);
            fs::write(&go, "").expect("written");
            eventually("the agent ends", || pool.has_ended(number).then_some(()));
            let ended = pool.take_agent(number).wait().expect("its end");
            assert_eq!(ended.code(), Some(4), "error {error} of {calls}");
            let log = log(&pool, &format!("agent-{number}"));
            assert!(log.contains("the agent cannot continue") && log.contains("outbox"), "{log}");
            disk.recover();
            pool.start_coordinator();
            pool.start_agent(number);
            pool.wait_for(&experiment);
            pool.kill_agent(number);
            fs::remove_file(&begun).expect("removed");
            fs::remove_file(&go).expect("removed");
        }
    }
}

/// As where the home directory is full: the data directory lies elsewhere.
#[test]
fn an_access_file_that_cannot_be_written_ends_nothing_and_is_told_and_written_later() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let disk = start_on_failing_disk(&mut pool, "speedup/access.toml");
    pool.wait_for_hosts(1);
    assert!(is_well(&pool));
    disk.fail(28, "w");
    fs::remove_file(pool.access_file()).expect("a file that was written");
    eventually("it is told", || (!is_well(&pool)).then_some(()));
    let told = asked(&pool, "/healthz");
    assert!(told.starts_with("HTTP/1.1 503") && told.contains("the access file cannot be written"), "{told}");
    assert!(
        !told.contains(pool.path().to_str().expect("a path")),
        "to nobody's eyes but those of the log: {told}"
    );
    assert_eq!(log(&pool, "coordinator").matches("warning: the access file cannot be written").count(), 1);
    disk.recover();
    eventually("it is written", || is_well(&pool).then_some(()));
    pool.finish(&trivial("after", 1));
}
