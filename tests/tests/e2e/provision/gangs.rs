//! Runs that several hosts serve together: all of them prepare, the first starts the program, a host that dies costs the
//! attempt of all, and small runs go on beside large ones.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use speedup_tests::{ledger::Row, output::json_lines, plan, pool::Pool, pool::eventually, process::Process};

use crate::SPEEDUP;

/// Each version of one program on `hosts` hosts, which says on which.
fn plan(hosts: &str, program: &str, more: &str) -> String {
    let benchmark =
        format!("[benchmarks.solve]\nhosts = {hosts}\nranks_per_host = 2\nshell = '''{program}'''\n");
    plan::plan("gangs", 3, "any", &format!("{benchmark}[limits]\nattempts = 20\n{more}"))
}

fn leases(pool: &Pool) -> Vec<serde_json::Value> {
    let hosts = pool.json(&["hosts", "list"]).expect("the hosts");
    let leases = hosts.as_array().expect("a list").iter().map(|host| host["lease"].clone());
    leases.filter(|lease| !lease.is_null()).collect()
}

#[test]
fn a_run_on_several_hosts_knows_them_and_is_executed_once() {
    let mut pool = Pool::start(SPEEDUP, 3);
    let program = "test {hosts} = 3 && test {ranks} = 6 && test {ranks_per_host} = 2 && \
                   test $(wc -l < {hostfile}) = 3 && test $(echo $SPEEDUP_HOSTS | tr , ' ' | wc -w) = 3 && \
                   echo once >> \"$TMPDIR/../ran\"";
    let experiment = pool.finish(&plan("3", program, ""));
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(6), 6, "every run is measured: {}", pool.export(&experiment));
    ledger.assert_leases_are_unique();
    assert!(leases(&pool).is_empty(), "nobody holds anything any more");
    let ran = (0..3).map(|agent| {
        let ran = pool.agent_state(agent).join("scratch/experiments").join(&experiment).join("ran");
        std::fs::read_to_string(ran).map_or(0, |text| text.lines().count())
    });
    let elsewhere = ran.sum::<usize>();
    assert!(elsewhere == 6 || elsewhere == 0, "the first host executes, nobody else: {elsewhere}");
    let links = |pool: &Pool| {
        let own = format!("/dev/shm/speedup-{}", rustix::process::geteuid().as_raw());
        let links = std::fs::read_dir(own).into_iter().flatten().flatten();
        let targets = links.filter_map(|link| std::fs::read_link(link.path()).ok());
        targets.filter(|target| target.starts_with(pool.path())).count()
    };
    assert!(links(&pool) > 0, "hosts of a run reach each other's directories by a link");
    for agent in 0..3 {
        pool.stop_agent(agent);
    }
    assert_eq!(links(&pool), 0, "no link outlives its agent");
}

/// Four hosts have six sets of two, and there are six runs: each set serves one. The report says what is left of independence.
#[test]
fn no_two_hosts_serve_together_twice_where_sets_are_to_be_fresh() {
    let pool = Pool::start(SPEEDUP, 4);
    let text = plan("2", "true", "").replace("policy = \"any\"", "policy = \"distinct_sets\"");
    let words = pool.refused_plan(&text.replace("runs = 3", "runs = 4"), &["submit"]);
    assert!(words.contains("needs 5 hosts") && words.contains(" a set "), "{words}");
    let experiment = pool.finish(&text);
    let ledger = pool.ledger(&experiment);
    ledger.assert_exactly_once(6);
    let sets: BTreeSet<String> = ledger.rows.iter().map(|row| row["gang"].to_string()).collect();
    assert_eq!(sets.len(), 6, "{sets:?}");
    assert!(ledger.rows.iter().all(|row| row["set_served"] == "false"), "{:?}", ledger.rows);
    let report = pool.json(&["report", &experiment]).expect("a report");
    let independence = &report["independence"];
    assert_eq!(independence["kind"], "sets", "{independence}");
    assert_eq!(independence["fresh_runs"], 6, "{independence}");
    assert!(report["warnings"].to_string().contains("each time among others"), "{report}");
    // The bundle has the parts of all hosts, without which the report would be another.
    let bundle = pool.path().join("bundle");
    let bundle = bundle.to_str().expect("UTF-8");
    for words in [&["bundle", &experiment, "-o", bundle][..], &["verify", bundle]] {
        pool.ok(words);
    }
}

/// The launcher starts four ranks on this machine, of which one sleeps longest, one fails, and one is killed.
#[test]
fn each_rank_is_timed_and_ends_as_it_would_alone() {
    let pool = Pool::start(SPEEDUP, 2);
    let program = "case {rank} in 1) exit 7;; 2) kill -s SEGV $$;; *) sleep 0.$(({rank} + 2));; esac";
    let start = "rank=0; while [ $rank -lt {ranks} ]; do PMI_RANK=$rank \"$@\"; echo $rank ended $?; \
                 rank=$((rank + 1)); done";
    let launch = format!("launch = [\"sh\", \"-c\", '{start}', \"launch\"]\ntime_ranks = true\n");
    let text = plan("2", program, "[output]\nkeep_of = \"all\"\n");
    let text = text.replace("ranks_per_host = 2\n", &format!("ranks_per_host = 2\n{launch}"));
    let experiment = pool.finish(&text);
    let rows = |per: &str| -> Vec<serde_json::Value> {
        json_lines(&pool.ok(&["export", &experiment, "--format", "jsonl", "--per", per]))
    };
    let attempts = rows("attempt");
    assert_eq!(attempts.len(), 6, "{attempts:?}");
    assert!(attempts.iter().all(|row| row.get("seat").is_none() && row["counts"] == true), "{attempts:?}");
    let said = "0 ended 0\n1 ended 7\n2 ended 139\n3 ended 0\n";
    assert!(attempts.iter().all(|row| row["stdout_kept"] == said), "{attempts:?}");

    let hosts = rows("host");
    assert_eq!(hosts.len(), 12, "{hosts:?}");
    for host in &hosts {
        let is_first = host["seat"] == 0;
        assert_eq!((host["counts"] == true, host["why_not"] == "part"), (is_first, !is_first), "{host}");
        let gang = host["gang"].as_str().map(|gang| gang.split(' ').next());
        assert!(!is_first || gang == Some(host["host"].as_str()), "{host}");
    }

    let ranks: Vec<_> = rows("rank").into_iter().filter(|row| !row["rank"].is_null()).collect();
    assert_eq!(ranks.len(), 6 * 4, "{ranks:?}");
    for row in &ranks {
        let number = |name: &str| row[name].as_u64();
        let (ended, slept) = match number("rank") {
            Some(0) => ((Some(0), None), 200_000_000),
            Some(1) => ((Some(7), None), 0),
            Some(2) => ((None, Some(11)), 0),
            _ => ((Some(0), None), 500_000_000),
        };
        assert_eq!((number("rank_exit"), number("rank_signal")), ended, "{row}");
        assert!(number("rank_wall_ns") >= Some(slept) && number("wall_ns") > number("rank_wall_ns"), "{row}");
    }
}

/// Launchers end ranks by signals to what they have started, which is the timer.
#[test]
fn what_is_asked_of_a_timed_rank_reaches_it() {
    let home = tempfile::tempdir().expect("a directory");
    let timer = home.path().join("speedup-rank");
    std::os::unix::fs::symlink(SPEEDUP, &timer).expect("a link");
    for (rank, signal) in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"].into_iter().enumerate() {
        let program = format!("trap 'exit 5' {signal}; echo ready; while :; do sleep 0.05; done");
        // A shell in the background ignores some of them, and what is ignored stays so in a rank.
        let mut command = Command::new("env");
        command
            .arg("--default-signal")
            .arg(&timer)
            .args(["sh", "-c", &program])
            .env("PMI_RANK", rank.to_string())
            .env("SPEEDUP_RANKS", home.path());
        let mut timed = command.stdout(Stdio::piped()).spawn().expect("a timer");
        let mut line = String::new();
        let said = timed.stdout.take().expect("a pipe");
        BufReader::new(said).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        let pid = timed.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().expect("kill").success());
        assert_eq!(timed.wait().expect("its end").code(), Some(5), "{signal}");
        let left = std::fs::read_to_string(home.path().join(rank.to_string())).expect("its time");
        assert!(left.contains("\"Exited\":5"), "{left}");
    }
}

/// What a program inherits is the launcher's: masks and dispositions of signals, limits, descriptors.
#[test]
fn a_timed_rank_inherits_what_it_would_without_the_timer() {
    let home = tempfile::tempdir().expect("a directory");
    let timer = home.path().join("speedup-rank");
    std::os::unix::fs::symlink(SPEEDUP, &timer).expect("a link");
    let inherited = |timer: &[&str], words: &[&str]| {
        let mut command = Command::new("env");
        command.args(["--ignore-signal=HUP,PIPE,CHLD", "--block-signal=USR2"]).args(timer).args(words);
        String::from_utf8(command.env("PMI_RANK", "0").output().expect("env").stdout).expect("UTF-8")
    };
    let timer = [timer.to_str().expect("UTF-8")];
    for words in [
        &["grep", "-E", "^Sig(Blk|Ign|Cgt):", "/proc/self/status"][..],
        &["cat", "/proc/self/limits"],
        &["ls", "/proc/self/fd"],
    ] {
        let alone = inherited(&[], words);
        assert!(!alone.is_empty());
        assert_eq!(inherited(&timer, words), alone, "{words:?}");
    }
    for (signal, code) in [("SEGV", 139), ("ALRM", 142), ("TERM", 143)] {
        let mut command = Command::new("sh");
        command.args(["-c", "\"$0\" sh -c \"kill -s $1 \\$\\$\"; exit $?", timer[0], signal]);
        assert_eq!(command.env("PMI_RANK", "0").status().expect("sh").code(), Some(code), "{signal}");
    }
}

/// A program may take its signals by `sigwait`, for which it is started with them blocked.
#[test]
fn a_signal_that_is_blocked_reaches_the_rank_through_the_timer() {
    let home = tempfile::tempdir().expect("a directory");
    let timer = home.path().join("speedup-rank");
    std::os::unix::fs::symlink(SPEEDUP, &timer).expect("a link");
    let mut command = Command::new("env");
    command.args(["--default-signal", "--block-signal=USR1"]).arg(&timer).args(["sleep", "1000"]);
    let mut timed = command.env("PMI_RANK", "0").spawn().expect("a timer");
    let rank = eventually("the rank is there", || {
        let rank = Process::of(&timed).children().into_iter().next()?;
        std::fs::read_to_string(format!("/proc/{rank}/comm"))
            .is_ok_and(|name| name == "sleep\n")
            .then_some(rank)
    });
    let signal = |name: &str| {
        let pid = timed.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().expect("kill").success());
    };
    signal("USR1");
    eventually("it waits for the rank to take it", || {
        let status = std::fs::read_to_string(format!("/proc/{rank}/status")).expect("a process");
        status.contains("ShdPnd:\t0000000000000200").then_some(())
    });
    signal("TERM");
    assert_eq!(timed.wait().expect("its end").signal(), Some(15));
}

#[test]
fn several_sizes_are_benchmarks_of_one_program() {
    let pool = Pool::start(SPEEDUP, 3);
    let ledger = pool.measure(&plan("[1, 2, 3]", "sleep 0.0{hosts}", ""));
    ledger.assert_exactly_once(18);
    let mut counts = BTreeMap::new();
    for row in &ledger.rows {
        *counts.entry(row["benchmark"].clone()).or_insert(0) += 1;
    }
    let wanted = ["solve-1host", "solve-2hosts", "solve-3hosts"].map(|name| (name.to_owned(), 6));
    assert_eq!(counts, BTreeMap::from(wanted));
}

#[test]
fn a_member_that_dies_costs_the_attempt_of_all_and_the_run_is_measured_elsewhere() {
    let mut pool = Pool::start(SPEEDUP, 4);
    // No run ends before its member is lost, however slow this machine is.
    let program = format!("until test -e {}; do sleep 0.05; done", pool.path().join("lost").display());
    let experiment = pool.submit(&plan("3", &program, ""), &[]);
    let begun = || {
        let leases = leases(&pool);
        let is_running = leases.iter().any(|lease| !lease["started"].is_null());
        (leases.len() == 3 && is_running).then_some(())
    };
    eventually("a gang is at work", begun);
    // One that did not start the program: it bears no time of a start.
    let hosts = pool.json(&["hosts", "list"]).expect("the hosts");
    let is_member = |host: &serde_json::Value| !host["lease"].is_null() && host["lease"]["started"].is_null();
    let members = hosts.as_array().expect("a list").iter().filter(|host| is_member(host));
    let member = members.filter_map(|host| host["host"].as_str()).next().expect("a member").to_owned();
    let number = (0..4).find(|number| speedup_tests::pool::host_id(*number) == member).expect("an agent");
    pool.kill_agent(number);
    pool.start_agent(number);
    let is_lost = |row: &&Row| row["outcome"] == "lost";
    eventually("an attempt is lost", || pool.ledger(&experiment).rows.iter().find(is_lost).map(drop));
    pool.write("lost", "");
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(6), 6, "every run is measured");
    let lost: Vec<_> = ledger.rows.iter().filter(is_lost).collect();
    assert_eq!(lost.len(), 1, "one attempt was lost, of all hosts: {lost:?}");
    assert_eq!(lost[0]["host"], member, "through the host that died");
}

#[test]
fn a_coordinator_that_dies_finds_its_gangs_again() {
    let mut pool = Pool::start(SPEEDUP, 3);
    let experiment = pool.submit(&plan("3", "sleep 0.3", ""), &[]);
    for _ in 0..3 {
        eventually("a gang is at work", || (leases(&pool).len() == 3).then_some(()));
        pool.restart_coordinator();
        pool.wait_for_hosts(3);
    }
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(6), 6, "every run is measured");
    ledger.assert_leases_are_unique();
}

#[test]
fn a_gang_larger_than_the_pool_is_refused_with_the_numbers() {
    let pool = Pool::start(SPEEDUP, 2);
    let words = pool.refused_plan(&plan("3", "true", ""), &["submit"]);
    assert!(words.contains("3 hosts at once,"), "{words}");
    let words = pool.refused_plan(&plan("3", "true", "[design]\norder = \"blocked\"\n"), &["plan", "check"]);
    assert!(words.contains("the order is blocked"), "{words}");
}

#[test]
fn large_runs_are_not_kept_waiting_by_small_ones() {
    let pool = Pool::start(SPEEDUP, 3);
    let small = plan("1", "sleep 0.05", "").replace("runs = 3", "runs = 100").replace("gangs", "small");
    let small = pool.submit(&small, &[]);
    eventually("the small ones are at work", || (leases(&pool).len() == 3).then_some(()));
    pool.finish(&plan("3", "true", ""));
    assert!(!pool.is_finished(&small), "before the small ones are");
    pool.wait_for(&small);
    pool.ledger(&small).assert_exactly_once(200);
}
