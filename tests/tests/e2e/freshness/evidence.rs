//! What makes a host fresh beside its agent's word: that it has rested; what watches it: the canary, and facts that are
//! read again; and what is drawn for a run beside its environment: the length of its directory.

use std::{collections::BTreeSet, path::Path, path::PathBuf, process::Command, time::Instant};

use speedup_tests::{ledger::Row, pool::Pool, pool::eventually, pool::host_id};

use crate::SPEEDUP;

const HEAD: &str = "[experiment]\nname = \"freshness\"\nseed = 5\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [output]\nkeep_of = \"all\"\n";

fn plan(policy: &str, runs: u32, more: &str) -> String {
    format!(
        "{HEAD}[repetitions]\nruns = {runs}\n[independence]\npolicy = \"{policy}\"\nhosts = \"any\"\n{more}\n"
    )
}

fn number(row: &Row, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column}: {row:?}"))
}

/// A host whose load the test says.
fn set_load(machine: &Path, load: &str) {
    std::fs::create_dir_all(machine.join("proc")).expect("a directory");
    std::fs::write(machine.join("proc/loadavg"), format!("{load} 9.99 9.99 1/100 1000\n")).expect("a file");
}

const RESTS: &str = "rest = { idle = \"10ms\", load = 0.5, wait = \"WAIT\" }\n[benchmarks.true]\ncommand = [\"true\"]\n\
    [limits]\nattempts = 1";

#[test]
fn a_run_waits_until_its_host_has_rested() {
    let machine = tempfile::tempdir().expect("a machine");
    set_load(machine.path(), "3.00");
    let pool = Pool::on(SPEEDUP, machine.path(), 2);
    let experiment = pool.submit(&plan("rested", 1, &RESTS.replace("WAIT", "1h")), &[]);
    pool.wait_until_all_have_a_run();
    assert!(pool.ledger(&experiment).rows.iter().all(|row| row["outcome"].is_empty()));
    set_load(machine.path(), "0.50");
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(2), 2);
    for row in &ledger.rows {
        assert_eq!(number(row, "rest_load_percent"), 50, "at the bound it has rested");
        assert!(number(row, "rest_waited_ns") > 0, "{row:?}");
        assert_eq!((row["rest_temperature_mc"].as_str(), row["rest_frequency_percent"].as_str()), ("", ""));
    }
}

#[test]
fn a_host_that_does_not_come_to_rest_is_no_host_for_the_run() {
    let machine = tempfile::tempdir().expect("a machine");
    set_load(machine.path(), "3.00");
    let pool = Pool::on(SPEEDUP, machine.path(), 2);
    let lost = |more: &str, reason: &str| {
        let experiment = pool.submit(&plan("rested", 1, more), &[]);
        eventually("no run is executed", || {
            let ledger = pool.ledger(&experiment);
            let is_lost = |row: &Row| row["loss"] == "not_executed" && row["loss_words"].contains(reason);
            (ledger.rows.iter().filter(|row| is_lost(row)).count() == 2).then_some(())
        });
    };
    lost(&RESTS.replace("WAIT", "20ms"), "20 ms: its load is 3.00");
    let cool = RESTS.replace("load = 0.5", "temperature = 60.0").replace("WAIT", "1h");
    lost(&cool, "temperature");
}

/// A library that puts the wall clock of whatever loads it four minutes ahead.
fn clock_ahead(directory: &Path) -> PathBuf {
    const SOURCE: &str = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <time.h>\n\
        int clock_gettime(clockid_t id, struct timespec *at) {\n\
          static int (*real)(clockid_t, struct timespec *);\n\
          if (!real) real = dlsym(RTLD_NEXT, \"clock_gettime\");\n\
          int failed = real(id, at);\n\
          if (!failed && id == CLOCK_REALTIME) at->tv_sec += 240;\n\
          return failed;\n\
        }\n";
    let (source, library) = (directory.join("ahead.c"), directory.join("ahead.so"));
    std::fs::write(&source, SOURCE).expect("a file");
    let mut compiler = Command::new("cc");
    let made = compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl").status();
    assert!(made.expect("a C compiler").success());
    library
}

#[test]
fn rest_begins_anew_with_the_coordinator_whatever_its_clock_says() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let desk = tempfile::tempdir().expect("a directory");
    let preload = format!("LD_PRELOAD={}", clock_ahead(desk.path()).display());
    let begun = Instant::now();
    let rests = "rest = { idle = \"5s\" }\n[benchmarks.true]\ncommand = [\"true\"]";
    let experiment = pool.submit(&plan("rested", 1, rests), &[]);
    eventually("one run is measured", || {
        let ledger = pool.ledger(&experiment);
        ledger.rows.iter().any(|row| row["outcome"] == "measured").then_some(())
    });
    pool.stop_coordinator();
    pool.start_coordinator_by(&["env", &preload]);
    pool.wait_for(&experiment);
    let most = u64::try_from(begun.elapsed().as_nanos()).expect("a time");
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(2), 2);
    let granted = |row: &&Row| number(row, "granted_ns");
    let last = ledger.rows.iter().max_by_key(granted).expect("a row");
    let first = ledger.rows.iter().min_by_key(granted).expect("a row");
    assert!(granted(&last) - granted(&first) > 240_000_000_000, "the clock stepped: {:?}", ledger.rows);
    assert!((5_000_000_000..most).contains(&number(last, "idle_ns")), "{last:?}");
}

#[test]
fn the_stop_signal_ends_the_wait_for_rest() {
    let machine = tempfile::tempdir().expect("a machine");
    set_load(machine.path(), "3.00");
    let mut pool = Pool::on(SPEEDUP, machine.path(), 2);
    let experiment = pool.submit(&plan("rested", 1, &RESTS.replace("WAIT", "1h")), &[]);
    pool.wait_until_all_have_a_run();
    pool.stop_agent(0);
    eventually("it says that it was stopped", || {
        pool.export(&experiment).contains("the agent was stopped").then_some(())
    });
}

#[test]
fn the_canary_is_timed_after_the_cleanup_and_never_fails_a_run() {
    let pool = Pool::start(SPEEDUP, 1);
    let more = "[benchmarks.touch]\nshell = \"touch left\"\nwarmup = 1\n\
        [cleanup]\nshell = \"test -e left && touch {input}/cleaned\"\n\
        [canary]\nshell = \"test ! -e left && rm {input}/cleaned && sleep 0.05\"";
    let ledger = pool.measure(&plan("any", 2, more));
    assert_eq!(ledger.assert_exactly_once(4), 4);
    for row in &ledger.rows {
        assert_eq!(row["canary_failed"], "", "once, after the cleanup, in a directory of its own");
        assert!(number(row, "canary_ns") >= 50_000_000, "{row:?}");
    }
    let more = "[benchmarks.false]\ncommand = [\"false\"]\n[canary]\nshell = \"echo sick >&2; exit 3\"";
    for row in &pool.measure(&plan("any", 1, more)).rows {
        assert_eq!((row["outcome"].as_str(), row["failure"].as_str()), ("failed", "exit"));
        assert!(row["canary_failed"].ends_with("exit code 3: sick"), "{row:?}");
        assert_eq!(row["canary_ns"], "");
    }
    let more = "[benchmarks.true]\ncommand = [\"true\"]\n[canary]\ncommand = [\"sleep\", \"1000\"]\ntimeout = \"100ms\"";
    for row in &pool.measure(&plan("any", 1, more)).rows {
        assert_eq!(row["outcome"], "measured");
        assert!(!row["disturbances"].contains("cleanup_failed"), "the canary is not the run: {row:?}");
        assert!(row["canary_failed"].ends_with("100 ms"), "{row:?}");
    }
}

#[test]
fn the_canary_executes_as_the_user_that_the_owner_named() {
    if !rustix::process::geteuid().is_root() {
        return speedup_tests::skip("only root executes programs as another user");
    }
    let pool = Pool::with_agent(SPEEDUP, &["--user", "nobody"]);
    let more =
        "[benchmarks.true]\ncommand = [\"true\"]\n[canary]\nshell = \"test $(id -u) = 65534 && touch mine\"";
    for row in &pool.measure(&plan("any", 1, more)).rows {
        assert_eq!(row["canary_failed"], "", "{row:?}");
    }
}

#[test]
fn the_length_of_the_directory_is_that_of_the_plan() {
    let pool = Pool::start(SPEEDUP, 1);
    let program = "[benchmarks.pwd]\nshell = \"pwd -P | tr -d '\\\\n' | wc -c\"\nwarmup = 1\n[environment]\n";
    let lengths = |setting: &str| {
        let experiment = pool.finish(&plan("any", 5, &format!("{program}{setting}")));
        let mut lengths = Vec::new();
        for row in pool.rows(&experiment) {
            assert_eq!((&row["outcome"], &row["unmet"]), (&"measured".into(), &"".into()), "{row}");
            let seen: u64 = row["stdout_kept"].as_str().expect("text").trim().parse().expect("a length");
            assert_eq!(row["directory_bytes"], seen, "what is recorded is what the program sees: {row}");
            lengths.push((row["run"].as_u64().expect("a run"), seen));
        }
        lengths.sort_unstable();
        assert_eq!(lengths.len(), 10);
        lengths
    };
    let as_is = lengths("")[0].1;
    assert!(lengths("directory_bytes = 200\nstrict = true").iter().all(|(_, length)| *length == 200));
    let drawn = lengths("directory_bytes_random = 100");
    assert_eq!(drawn, lengths("directory_bytes_random = 100"), "the seed says them");
    assert!(drawn.iter().all(|(_, length)| (as_is..=as_is + 100).contains(length)), "{as_is} {drawn:?}");
    assert!(drawn.iter().map(|(_, length)| length).collect::<BTreeSet<_>>().len() > 3, "{drawn:?}");
}

#[test]
fn a_length_that_the_host_cannot_give_is_recorded() {
    let pool = Pool::start(SPEEDUP, 1);
    let more = "[benchmarks.true]\ncommand = [\"true\"]\n[environment]\ndirectory_bytes = 9";
    for row in &pool.measure(&plan("any", 1, more)).rows {
        assert_eq!((row["outcome"].as_str(), row["unmet"].as_str()), ("measured", "directory_bytes"));
        assert!(number(row, "directory_bytes") > 9);
    }
}

/// By which start of it the only agent is connected.
fn epoch(pool: &Pool) -> Option<u64> {
    let listed = pool.json(&["hosts", "list"])?;
    let host = listed.as_array()?.iter().find(|host| host["connected"] == true)?;
    host["agent_epoch"].as_u64()
}

#[test]
fn a_reboot_that_fails_is_told_and_the_host_is_not_waited_for() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let marks = pool.path().join("asked");
    let command = format!("sh -c 'echo asked >> {}; exit 3'", marks.display());
    pool.add_agent_with(&["--reboot-command", &command]);
    pool.wait_for_hosts(1);
    let first = epoch(&pool).expect("the agent is connected");
    let experiment = pool.submit(&plan("rebooted", 2, "[benchmarks.true]\ncommand = [\"true\"]"), &[]);
    eventually("it joins as a later start in the same boot", || (epoch(&pool)? > first).then_some(()));
    let asked = std::fs::read_to_string(&marks).expect("the command was executed");
    assert_eq!(asked, "asked\n", "once");
    let log = pool.logged("agent-0");
    assert!(log.contains("this host reboots") && log.contains("did not reboot"), "{log}");
    assert!(log.contains("failed: exit status: 3"), "{log}");
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.rows.iter().filter(|row| row["outcome"] == "measured").count(), 1, "before the reboot");
}

#[test]
fn a_host_that_stays_up_has_the_time_its_owner_gives_it() {
    let pool = Pool::with_agent(SPEEDUP, &["--reboot-command", "true", "--reboot-patience", "200ms"]);
    let first = epoch(&pool).expect("the agent is connected");
    pool.submit(&plan("rebooted", 2, "[benchmarks.true]\ncommand = [\"true\"]"), &[]);
    eventually("the agent tells it", || pool.logged("agent-0").contains("still up 200ms").then_some(()));
    eventually("it joins as a later start in the same boot", || (epoch(&pool)? > first).then_some(()));
}

#[test]
fn facts_are_read_again_when_the_connection_was_lost() {
    let machine = tempfile::tempdir().expect("a machine");
    let aslr = machine.path().join("proc/sys/kernel/randomize_va_space");
    std::fs::create_dir_all(aslr.parent().expect("a directory")).expect("a directory");
    std::fs::write(&aslr, "2\n").expect("a file");
    let mut pool = Pool::on(SPEEDUP, machine.path(), 1);
    let fact = |pool: &Pool| {
        let listed = pool.json(&["hosts", "list"])?;
        let host = listed.as_array()?.iter().find(|host| host["host"] == host_id(0))?.clone();
        (host["connected"] == true).then(|| host["fingerprint"]["kernel.aslr"].clone())
    };
    assert_eq!(fact(&pool), Some("2".into()));
    pool.kill_coordinator();
    std::fs::write(&aslr, "0\n").expect("a file");
    pool.start_coordinator();
    eventually("the host says what it is now", || (fact(&pool)? == "0").then_some(()));
    assert!(pool.logged("agent-0").contains("changed: kernel.aslr"));
}
