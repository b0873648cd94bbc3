//! Hosts from a batch system that a file describes, where the file is wrong: nothing is requested without end.

use serde_json::Value;
use speedup_tests::{output::succeeded, pool::Pool, pool::eventually};

use crate::SPEEDUP;

/// Four hosts are missing at once.
const PLAN: &str = "[experiment]\nname = \"batch\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
                    [benchmarks.true]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n\
                    [independence]\npolicy = \"distinct\"\n";

/// A batch system that notes each submission in a file, and starts nothing.
const SYSTEM: &str = r#"name = "noting"
[submit]
command = ["/bin/sh", "-c", "cat >> NOTES.scripts; echo >> NOTES; ANSWER", "{options}"]
job = '^job ?([^ \n]*)'
[job]
id = "$JOB_ID"
node = "$(hostname)"
[list]
command = ["/bin/sh", "-c", "touch NOTES; LIST", "{name}"]
job = '(?<id>[0-9]+) (?<state>[a-z]+)'
[list.states]
queued = 'q'
running = 'r'
[cancel]
command = ["true", "{jobs}"]
"#;
/// Lists each submission as a job that waits.
const ALL: &str = "seq 101 $((100 + $(wc -l < NOTES))) | sed 's/$/ q/'";

/// What `hosts batch show` says of a queue that has stopped, and how many jobs were submitted.
fn stopped(answer: &str, list: &str) -> (String, usize) {
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.advertise("localhost");
    pool.restart_coordinator();
    let notes = pool.path().join("notes").display().to_string();
    let system = SYSTEM.replace("ANSWER", answer).replace("LIST", list).replace("NOTES", &notes);
    pool.write("noting.toml", system);
    let file = pool.path().join("noting.toml").display().to_string();
    succeeded(&pool.speedup(&["hosts", "batch", "add", &file, "--poll", "1s"]));
    pool.submit(PLAN, &["--wait-for-hosts"]);
    let why = eventually("the queue stops", || {
        let shown: Value = pool.json(&["hosts", "batch", "show"])?;
        Some(shown[0]["stopped"].as_str()?.to_owned())
    });
    // Where it stands still, no more is submitted.
    let noted = std::fs::read_to_string(&notes).expect("notes").lines().count();
    (why, noted)
}

#[test]
fn an_id_that_every_job_has_stops_the_queue_at_the_second() {
    let (why, submitted) = stopped("echo job 7", ALL);
    assert!(why.contains("noting:7"), "{why}");
    assert_eq!(submitted, 2, "{why}");
}

#[test]
fn an_answer_without_an_id_stops_the_queue_at_once() {
    for answer in ["echo job", "echo thank you"] {
        let (why, submitted) = stopped(answer, ALL);
        assert!(why.contains("submit.job"), "{why}");
        assert_eq!(submitted, 1, "{why}");
    }
}

#[test]
fn an_id_under_which_no_job_is_listed_stops_the_queue_after_one_round() {
    let (why, submitted) = stopped("echo job $(wc -l < NOTES)", ALL);
    assert!(why.contains("noting:1") && why.contains("noting:101"), "{why}");
    assert_eq!(submitted, 4, "{why}");
    // Of jobs that are never listed none is known to run: that counts as failures.
    let (why, submitted) = stopped("echo job $(wc -l < NOTES)", "true");
    assert!(submitted <= 24, "{submitted}: {why}");
}
