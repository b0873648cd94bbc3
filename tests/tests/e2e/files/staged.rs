//! Staged files, from the plan to the hosts: fetched, verified, kept within a bound; what is wrong never runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use speedup_access::Role;
use speedup_core::experiment::files::{Content, ContentHash, FileSource, StagedFile};
use speedup_core::plan;
use speedup_core::value::seed::Seed;
use speedup_proto::v1;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use speedup_proto::v1::files_client::FilesClient;
use speedup_proto::v1::put_request::Part;
use speedup_tests::{
    blake3_hex, desk::Desk, ledger::Row, output::succeeded, plan::trivial, pool::Pool, pool::eventually,
    process::Killed, root,
};
use tokio_stream::StreamExt as _;
use tonic::Code;

use crate::SPEEDUP;

/// A plan whose benchmark prints a file, `words.txt` beside the plan, and has to print what was in it.
fn plan(policy: &str, runs: usize, words: &[u8]) -> String {
    format!(
        "[experiment]\nname = \"files\"\nseed = 7\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [files.words]\npath = \"words.txt\"\n\
         [benchmarks.cat]\ncommand = [\"cat\", \"{{file.words}}\"]\nexpect = {{ stdout_blake3 = \"{}\" }}\n\
         [repetitions]\nruns = {runs}\n[independence]\npolicy = \"{policy}\"\n",
        blake3_hex(words)
    )
}

fn write(pool: &Pool, words: &[u8]) {
    pool.write("words.txt", words);
}

fn done(pool: &Pool, plan: &str) -> Vec<Row> {
    pool.measure(plan).rows
}

fn all_measured(rows: &[Row], runs: usize) {
    assert_eq!(rows.iter().filter(|row| row["run_state"] == "measured").count(), runs, "{rows:?}");
}

/// Where an agent keeps a content.
fn cached(pool: &Pool, agent: usize, words: &[u8]) -> PathBuf {
    pool.agent_state(agent).join("files").join(blake3_hex(words))
}

/// Where the coordinator keeps a content.
fn blob(pool: &Pool, words: &[u8]) -> PathBuf {
    pool.blob(&blake3_hex(words))
}

fn damage(path: &Path, with: &[u8]) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("permissions");
    fs::write(path, with).expect("written");
}

#[test]
fn a_file_travels_to_every_host_that_needs_it() {
    let mut pool = Pool::start(SPEEDUP, 2);
    write(&pool, b"a few words\n");
    // Each host serves one of the two runs.
    all_measured(&done(&pool, &plan("distinct", 1, b"a few words\n")), 2);
    for agent in 0..2 {
        let kept = cached(&pool, agent, b"a few words\n");
        assert_eq!(fs::read(&kept).expect("it is kept"), b"a few words\n");
        assert_eq!(fs::metadata(&kept).expect("a file").permissions().mode() & 0o777, 0o444);
    }
    // What a finished experiment names is still there after a start; what nobody names goes.
    let stray = pool.data().join("blobs/ab").join("cd".repeat(31));
    fs::create_dir_all(stray.parent().expect("a folder")).expect("a folder");
    fs::write(&stray, b"stray").expect("a file");
    pool.restart_coordinator();
    assert!(blob(&pool, b"a few words\n").exists() && !stray.exists());
}

#[test]
fn a_start_names_the_unfinished_experiments_whose_files_are_gone() {
    let mut pool = Pool::without_agents(SPEEDUP);
    write(&pool, b"words");
    let experiment = pool.submit(&plan("any", 1, b"words"), &["--wait-for-hosts"]);
    pool.stop_coordinator();
    fs::remove_dir_all(pool.data().join("blobs")).expect("removed");
    pool.start_coordinator();
    let log = pool.logged("coordinator");
    assert!(log.lines().any(|line| line.contains("WARN") && line.contains(&experiment)), "{log}");
}

#[test]
fn a_file_that_is_not_there_is_told_with_its_line() {
    let pool = Pool::without_agents(SPEEDUP);
    let path = pool.path().join("plan.toml");
    fs::write(&path, plan("any", 1, b"")).expect("a plan");
    for verb in [&["plan", "check"][..], &["submit"], &["run"]] {
        let said = pool.refused(&[verb, &[path.to_str().expect("UTF-8")]].concat());
        assert!(said.contains("line 8, column 8") && said.contains("words.txt"), "{said}");
    }
}

#[test]
fn a_damaged_file_in_the_cache_is_noticed_and_fetched_again() {
    let pool = Pool::start(SPEEDUP, 1);
    write(&pool, b"right");
    let plan = plan("any", 3, b"right");
    all_measured(&done(&pool, &plan), 6);
    damage(&cached(&pool, 0, b"right"), b"wrong");
    all_measured(&done(&pool, &plan), 6);
    assert!(pool.logged("agent-0").contains("was damaged"));
    assert_eq!(fs::read(cached(&pool, 0, b"right")).expect("a file"), b"right");
}

#[test]
fn a_file_that_is_damaged_or_gone_at_the_coordinator_is_no_run() {
    let pool = Pool::start(SPEEDUP, 1);
    let limits = "[limits]\nattempts = 1\n";
    for (words, damaged, told) in [
        (&b"words of mine"[..], Some(&b"words of wine"[..]), "its BLAKE3 hash is"),
        (b"cut", Some(b"cu"), "2 of 3 bytes"),
        (b"short", Some(b"not so short"), "its 5 bytes"),
        (b"gone", None, "there is no file"),
    ] {
        write(&pool, words);
        // Nobody takes the runs until the file is damaged.
        let text = plan("any", 1, words) + limits;
        let experiment = submit_paused(&pool, &text);
        match damaged {
            Some(damaged) => fs::write(blob(&pool, words), damaged).expect("written"),
            None => fs::remove_file(blob(&pool, words)).expect("removed"),
        }
        assert!(pool.speedup(&["resume", &experiment]).status.success());
        pool.wait_for(&experiment);
        let rows = pool.ledger(&experiment).rows;
        assert!(
            rows.iter().all(|row| row["loss"] == "not_executed" && row["loss_words"].contains(told)),
            "{told}: {rows:?}"
        );
        assert!(rows.iter().all(|row| row["loss_words"].contains("the file words")), "{rows:?}");
        assert!(!cached(&pool, 0, words).exists());
    }
}

/// Submits a plan behind an experiment that holds the only host, and pauses it before it begins.
fn submit_paused(pool: &Pool, plan: &str) -> String {
    let wait = pool.path().join("wait");
    fs::write(&wait, b"").expect("a file");
    let shell =
        format!("[benchmarks.nap]\nshell = \"while test -e {}; do sleep 0.01; done\"\n", wait.display());
    let blocker = pool.submit(&speedup_tests::plan::plan("blocker", 1, "any", &shell), &[]);
    let experiment = pool.submit(plan, &[]);
    assert!(pool.speedup(&["pause", &experiment]).status.success());
    fs::remove_file(wait).expect("removed");
    pool.wait_for(&blocker);
    experiment
}

#[test]
fn an_agent_that_is_killed_while_it_fetches_goes_on_where_it_was() {
    let mut pool = Pool::start(SPEEDUP, 1);
    // Large enough that it takes a while.
    let words: Vec<u8> =
        (0..24_u32 << 20).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    write(&pool, &words);
    let plan = plan("any", 1, &words).replace("\"cat\"", "\"b2sum\"") + "[limits]\nattempts = 9\n";
    let plan: Vec<&str> = plan.lines().filter(|line| !line.starts_with("expect")).collect();
    let experiment = pool.submit(&plan.join("\n"), &[]);
    let part = pool.agent_state(0).join("files").join(format!("{}.part", blake3_hex(&words)));
    eventually("some of it has come", || fs::metadata(&part).is_ok_and(|part| part.len() > 0).then_some(()));
    pool.kill_agent(0);
    let had = fs::metadata(&part).expect("it is left").len();
    assert!(had > 0 && had < words.len() as u64, "{had}");
    pool.start_agent(0);
    pool.wait_for(&experiment);
    all_measured(&pool.ledger(&experiment).rows, 2);
    assert!(pool.logged("agent-0").contains("resumes"));
    assert!(!part.exists() && cached(&pool, 0, &words).exists());
}

#[test]
fn files_are_kept_within_the_bound_and_larger_ones_are_no_run() {
    let pool = Pool::with_agent(SPEEDUP, &["--file-cache", "1KiB"]);
    let contents = [vec![b'a'; 700], vec![b'b'; 700]];
    for words in &contents {
        write(&pool, words);
        all_measured(&done(&pool, &plan("any", 1, words)), 2);
    }
    assert!(!cached(&pool, 0, &contents[0]).exists() && cached(&pool, 0, &contents[1]).exists());
    let large = vec![b'c'; 2_000];
    write(&pool, &large);
    let rows = done(&pool, &(plan("any", 1, &large) + "[limits]\nattempts = 1\n"));
    for row in &rows {
        assert!(row["loss_words"].contains("2000 bytes") && row["loss_words"].contains(" 1024"), "{row:?}");
    }
}

/// An agent with a working directory of its own.
fn standing(pool: &Pool, name: &str, words: &str) -> Killed {
    let directory = pool.path().join(format!("at-{name}"));
    fs::create_dir_all(&directory).expect("a directory");
    fs::write(directory.join("words"), words).expect("a file");
    let mut command = pool.command();
    command.args(["agent", "start", "--no-selftest", "--share-machine"]);
    command.args(["--host-id", name, "--boot-id", name, "--state"]);
    command.arg(pool.path().join(name)).current_dir(directory);
    Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("an agent"))
}

#[test]
fn a_shared_file_that_differs_on_a_host_is_refused_there() {
    let pool = Pool::without_agents(SPEEDUP);
    // A path that is the same on both hosts and leads each to a file of its own.
    let _agents = [standing(&pool, "good", "words"), standing(&pool, "bad", "other")];
    pool.wait_for_hosts(2);
    let text = plan("any", 20, b"").replace(
        "path = \"words.txt\"",
        &format!("shared = \"/proc/self/cwd/words\"\nblake3 = \"{}\"", blake3_hex(b"words")),
    );
    let text = text.replace("command = [\"cat\"", "command = [\"echo\", \"-n\"");
    let text = text.replace(&blake3_hex(b""), &blake3_hex(b"/proc/self/cwd/words"));
    let rows = done(&pool, &text);
    all_measured(&rows, 40);
    let refused: Vec<&Row> = rows.iter().filter(|row| row["run_state"] != "measured").collect();
    assert!(!refused.is_empty(), "the other host asked too");
    for row in rows.iter().filter(|row| row["run_state"] == "measured") {
        assert_eq!(row["host"], "good", "{row:?}");
    }
    for row in refused {
        assert_eq!((row["host"].as_str(), row["loss"].as_str()), ("bad", "not_executed"), "{row:?}");
        let words = &row["loss_words"];
        assert!(words.contains("(words) ") && words.contains("BLAKE3"), "{words}");
    }
}

#[test]
fn a_host_whose_disk_is_full_says_so_and_serves_on() {
    let allowed = Command::new("unshare").args(["-rm", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        return speedup_tests::skip("this machine lets nobody mount a small disk");
    }
    let pool = Pool::without_agents(SPEEDUP);
    let state = pool.path().join("small");
    fs::create_dir_all(&state).expect("a directory");
    let on_small_disk = "mount -t tmpfs -o size=6m,mode=700 tmpfs \"$STATE\" && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", on_small_disk, "sh", SPEEDUP, "agent", "start", "--no-selftest"]);
    command.args(["--host-id", "small", "--boot-id", "small", "--coordinator", &pool.url(), "--access-file"]);
    command.arg(pool.access_file()).arg("--state");
    command.arg(&state).env("STATE", &state).stdout(Stdio::null()).stderr(Stdio::null());
    let _agent = Killed(command.spawn().expect("an agent"));
    pool.wait_for_hosts(1);
    let large = vec![b'l'; 8 << 20];
    write(&pool, &large);
    let rows = done(&pool, &(plan("any", 1, &large) + "[limits]\nattempts = 1\n"));
    for row in &rows {
        assert_eq!(row["loss"], "not_executed", "{row:?}");
        assert!(row["loss_words"].contains("No space left on device"), "{row:?}");
    }
    write(&pool, b"little");
    all_measured(&done(&pool, &plan("any", 1, b"little")), 2);
}

#[tokio::test]
async fn what_was_not_put_is_refused_by_name_and_what_is_put_has_to_be_right() {
    let pool = Pool::without_agents(SPEEDUP);
    let mut experiment = plan::file::parse(&trivial("f", 1), Seed(1)).expect("a plan");
    let blake3 = ContentHash::from_hex(&blake3_hex(b"words")).expect("a hash");
    let content = Content { blake3, bytes: 5, executable: false };
    experiment.files = vec![StagedFile { name: "words".to_owned(), source: FileSource::Content(content) }];
    let submit = || v1::SubmitRequest {
        plan: Some(v1::submit_request::Plan::Experiment((&experiment).into())),
        wait_for_hosts: true,
        ..Default::default()
    };
    let mut experiments = ExperimentsClient::new(pool.channel(None).await);
    let refused = experiments.submit(submit()).await.expect_err("a refusal");
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    assert!(refused.message().contains("the file words") && refused.message().contains("hint:"), "{refused}");

    let mut files = FilesClient::new(pool.channel(None).await);
    let blob = v1::Blob { blake3: blake3.0.to_vec(), bytes: 5 };
    let part = |part| v1::PutRequest { part: Some(part) };
    let piece = |bytes: &[u8]| part(Part::Piece(bytes.to_vec()));
    let begin = part(Part::Blob(blob.clone()));
    let path = part(Part::Blob(v1::Blob { blake3: b"../../../etc/passwd".to_vec(), bytes: 5 }));
    for (wrong, told) in [
        (vec![begin.clone(), piece(b"wordz")], "its hash is"),
        (vec![begin.clone(), piece(b"word")], "ends after 4 of 5"),
        (vec![begin.clone(), piece(b"wor"), piece(b"ds!")], "more than the 5 bytes"),
        (vec![piece(b"words")], "must first name its file"),
        (vec![begin.clone(), begin.clone()], "one file"),
        (vec![path], "19 bytes instead of 32"),
        (vec![v1::PutRequest { part: None }], "without a part"),
        (vec![], "must first name its file"),
    ] {
        let refused = files.put(tokio_stream::iter(wrong)).await.expect_err(told);
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().contains(told), "{refused}");
    }
    let ask = || v1::MissingRequest { blobs: vec![blob.clone()] };
    assert_eq!(files.missing(ask()).await.expect("an answer").into_inner().blobs.len(), 1);
    let partial = fs::read_dir(pool.data().join("blobs/partial")).expect("a folder");
    assert_eq!(partial.count(), 0, "nothing is left of what was refused");

    files.put(tokio_stream::iter([begin, piece(b"wo"), piece(b"rds")])).await.expect("taken");
    assert!(files.missing(ask()).await.expect("an answer").into_inner().blobs.is_empty());
    let request = v1::GetContentRequest { blob: Some(blob), offset: 2 };
    let agent = pool.credentials_of("some-host", Role::Agent).await;
    let mut files = FilesClient::new(pool.channel(Some(&agent)).await);
    let pieces: Vec<_> = files.get(request).await.expect("a file").into_inner().collect().await;
    assert_eq!(pieces.len(), 1);
    assert_eq!(pieces[0].as_ref().expect("a piece").piece, b"rds");
    experiments.submit(submit()).await.expect("all is there");
}

#[test]
fn the_example_runs_as_it_stands() {
    let desk = Desk::new(SPEEDUP);
    let ok = |arguments: &[&str]| {
        succeeded(&desk.command(arguments).current_dir(root()).output().expect("the command"))
    };
    let report = ok(&["run", "examples/files.toml", "-r", "3", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report).expect("one JSON value");
    assert_eq!(report["head"]["state"], "complete", "{report}");
    assert!(ok(&["plan", "check", "examples/files.toml"]).contains("text (content, "));
}
