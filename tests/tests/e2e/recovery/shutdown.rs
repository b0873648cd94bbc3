//! How services end when they are asked to: in bounded time, with exit code 0, and without a run lost or measured twice.

use std::{os::unix::process::ExitStatusExt as _, process::Child, process::Stdio};

use rustix::{io::Errno, process::Pid, process::Signal, process::kill_process};
use speedup_tests::{pool::Pool, pool::eventually, pool::host_id, process::Process};

use crate::SPEEDUP;

/// Four runs that each wait for a file that the test makes.
fn held(gate: &std::path::Path) -> String {
    let gate = gate.display();
    format!(
        "[experiment]\nname = \"held\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n[benchmarks.wait]\n\
         command = [\"sh\", \"-c\", \"until [ -e {gate} ]; do sleep 0.02; done\"]\ntimeout = \"10m\"\n\
         [repetitions]\nruns = 2\n[independence]\npolicy = \"any\"\n"
    )
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("a signal");
}

/// The exit code of a process that ends by itself.
fn code(child: &mut Child) -> Option<i32> {
    let status = eventually("it ends", || child.try_wait().expect("a state"));
    assert_eq!(status.signal(), None, "it ends by itself");
    status.code()
}

fn runs_under_way(pool: &Pool) -> Option<usize> {
    let hosts = pool.json(&["hosts", "list"])?;
    Some(hosts.as_array()?.iter().filter(|host| !host["lease"].is_null()).count())
}

#[test]
fn a_coordinator_that_ends_loses_nothing_of_what_is_under_way() {
    for asked in [Signal::TERM, Signal::INT] {
        let mut pool = Pool::start(SPEEDUP, 2);
        let gate = pool.path().join("open");
        let experiment = pool.submit(&held(&gate), &[]);
        eventually("both hosts execute", || (runs_under_way(&pool)? == 2).then_some(()));
        let mut ending = pool.take_coordinator();
        // Acknowledged right before the end: it has to be there after it.
        let last = pool.submit(&held(&gate), &[]);
        signal(&ending, asked);
        assert_eq!(code(&mut ending), Some(0), "{asked:?}");
        assert!(!pool.access_file().exists(), "nobody is led to where it was");
        std::fs::write(&gate, "").expect("a file");
        eventually("agents end what they execute, and notice", || {
            (0..2).all(|agent| pool.logged(&format!("agent-{agent}")).contains("trying again")).then_some(())
        });
        pool.start_coordinator();
        for experiment in [experiment, last] {
            pool.wait_for(&experiment);
            let ledger = pool.ledger(&experiment);
            assert_eq!(ledger.assert_exactly_once(4), 4, "every run is measured");
            assert_eq!(ledger.rows.len(), 4, "and no attempt was lost: {:?}", ledger.rows);
        }
    }
}

#[test]
fn agents_are_told_that_the_coordinator_ends() {
    let mut pool = Pool::start(SPEEDUP, 2);
    pool.wait_for_hosts(2);
    pool.stop_coordinator();
    eventually("they are told", || {
        let told = |agent| pool.logged(agent).contains("closed the session");
        (told("agent-0") && told("agent-1")).then_some(())
    });
    pool.start_coordinator();
    pool.wait_for_hosts(2);
}

#[test]
fn an_agent_that_ends_gives_its_run_up_and_another_host_has_it() {
    for asked in [Signal::TERM, Signal::INT] {
        let mut pool = Pool::start(SPEEDUP, 1);
        let gate = pool.path().join("open");
        let experiment = pool.submit(&held(&gate), &[]);
        eventually("it executes", || (runs_under_way(&pool)? == 1).then_some(()));
        let mut ending = pool.take_agent(0);
        signal(&ending, asked);
        assert_eq!(code(&mut ending), Some(0), "{asked:?}");
        std::fs::write(&gate, "").expect("a file");
        pool.add_agent();
        pool.wait_for(&experiment);
        let ledger = pool.ledger(&experiment);
        assert_eq!(ledger.assert_exactly_once(4), 4, "every run is measured");
        let lost: Vec<_> = ledger.rows.iter().filter(|row| row["outcome"] == "lost").collect();
        let [lost] = &lost[..] else { panic!("one attempt is lost: {lost:?}") };
        assert_eq!((lost["host"].as_str(), lost["loss"].as_str()), (&*host_id(0), "not_executed"));
        assert!(lost["loss_words"].contains("agent was stopped"), "{lost:?}");
        assert!(
            ledger
                .rows
                .iter()
                .filter(|row| row["outcome"] == "measured")
                .all(|row| row["host"] == host_id(1))
        );
    }
}

#[test]
fn what_an_agent_could_not_report_before_it_ended_is_reported_when_it_is_back() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let gate = pool.path().join("open");
    let experiment = pool.submit(&held(&gate), &[]);
    eventually("it executes", || (runs_under_way(&pool)? == 1).then_some(()));
    pool.kill_coordinator();
    std::fs::write(&gate, "").expect("a file");
    eventually("the agent notices that nobody is there", || {
        pool.logged("agent-0").contains("trying again").then_some(())
    });
    let mut ending = pool.take_agent(0);
    signal(&ending, Signal::TERM);
    assert_eq!(code(&mut ending), Some(0));
    pool.start_coordinator();
    pool.start_agent(0);
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(4), 4, "every run is measured");
    assert_eq!(ledger.rows.len(), 4, "the first was not executed twice: {:?}", ledger.rows);
}

#[test]
fn a_second_signal_ends_at_once_and_loses_nothing_either() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let gate = pool.path().join("open");
    let experiment = pool.submit(&held(&gate), &[]);
    eventually("it executes", || (runs_under_way(&pool)? == 1).then_some(()));
    let mut ending = pool.take_coordinator();
    let mut agent = pool.take_agent(0);
    for child in [&ending, &agent] {
        signal(child, Signal::TERM);
        signal(child, Signal::INT);
    }
    // Which of the two it saw first, and whether it had ended by then, is the kernel's affair.
    let ended = code(&mut ending);
    assert!(matches!(ended, Some(0 | 130 | 143)), "{ended:?}");
    assert_eq!(code(&mut agent), Some(0), "an agent has seconds to do anyway");
    std::fs::write(&gate, "").expect("a file");
    pool.start_coordinator();
    pool.start_agent(0);
    pool.wait_for(&experiment);
    assert_eq!(pool.ledger(&experiment).assert_exactly_once(4), 4);
}

#[test]
fn an_analysis_of_its_own_ends_when_it_is_asked_to() {
    let pool = Pool::without_agents(SPEEDUP);
    let mut command = pool.command();
    command.args(["analysis", "start", "--insecure", "--bind", "127.0.0.1:0", "--format", "json"]);
    let mut analysis = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("an analysis");
    let mut line = String::new();
    let output = analysis.stdout.take().expect("its output");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
    assert!(line.contains("http://127.0.0.1:"), "{line}");
    signal(&analysis, Signal::TERM);
    assert_eq!(code(&mut analysis), Some(0));
}

/// What gives an agent a job of an engine.
const IN_A_JOB: [&str; 2] = ["env", "SLURM_JOB_ID=7"];
/// Of a shell that says who it is, waits for a command, and ends as that did.
const AS_ITS_COMMAND: &str = "exit $?";

/// Two runs; this table of the plan has a shell with a command that does not end by itself.
fn with_shell(desk: &std::path::Path, table: &str, last: &str) -> String {
    let at = desk.display();
    let shell = format!(
        "[ -e {at}/gate ] && exit 0; echo $$ > {at}/shell; sleep 1000 & echo $! > {at}/new; mv {at}/new {at}/command; \
         wait $!; {last}"
    );
    let program = if table == "benchmarks.wait" { "" } else { "[benchmarks.wait]\ncommand = [\"true\"]\n" };
    format!(
        "[experiment]\nname = \"shell\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n{program}\
         [{table}]\nshell = '{shell}'\n[repetitions]\nruns = 1\n[independence]\npolicy = \"any\"\n"
    )
}

fn id_in(desk: &std::path::Path, name: &str) -> Option<i32> {
    std::fs::read_to_string(desk.join(name)).ok()?.trim().parse().ok()
}

/// One that its agent has ended already needs no signal.
fn ask_to_end(id: i32) {
    match kill_process(Pid::from_raw(id).expect("an id"), Signal::TERM) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => panic!("a signal: {error}"),
    }
}

/// An engine ends everything in a job, one process after another. A shell whose command got the signal before it makes
/// an exit code of that, and the agent may get it last.
#[test]
fn what_ends_with_its_job_is_no_failure_of_the_benchmark() {
    let cases = [
        ("benchmarks.wait", AS_ITS_COMMAND, true),
        ("benchmarks.wait", "exit 1", true),
        ("benchmarks.wait", AS_ITS_COMMAND, false),
        ("setup", AS_ITS_COMMAND, true),
        ("prepare", "exit 1", true),
    ];
    for (table, last, agent_is_last) in cases {
        let mut pool = Pool::without_agents(SPEEDUP);
        pool.add_agent_by(&IN_A_JOB);
        pool.wait_for_hosts(1);
        let desk = tempfile::tempdir().expect("a directory");
        let experiment = pool.submit(&with_shell(desk.path(), table, last), &[]);
        let command = eventually("it executes", || id_in(desk.path(), "command"));
        let shell = id_in(desk.path(), "shell").expect("it was there first");
        let mut ending = pool.take_agent(0);
        if agent_is_last {
            ask_to_end(command);
            eventually("the shell ends", || Process::of_id(shell).has_ended().then_some(()));
            signal(&ending, Signal::TERM);
        } else {
            signal(&ending, Signal::TERM);
            ask_to_end(command);
        }
        assert_eq!(code(&mut ending), Some(0), "{table}, {last}");
        std::fs::write(desk.path().join("gate"), "").expect("a file");
        pool.add_agent_by(&IN_A_JOB);
        pool.wait_for(&experiment);
        let ledger = pool.ledger(&experiment);
        assert_eq!(ledger.assert_exactly_once(2), 2, "{table}, {last}: {:?}", ledger.rows);
        let lost: Vec<_> = ledger.rows.iter().filter(|row| row["outcome"] == "lost").collect();
        let [lost] = &lost[..] else { panic!("{table}, {last}: one attempt is lost: {:?}", ledger.rows) };
        assert!(lost["loss_words"].contains("agent was stopped"), "{table}, {last}: {lost:?}");
    }
}

/// A job that goes on makes no failure another's.
#[test]
fn a_shell_that_ends_alone_has_failed() {
    let mut pool = Pool::without_agents(SPEEDUP);
    pool.add_agent_by(&IN_A_JOB);
    pool.wait_for_hosts(1);
    let desk = tempfile::tempdir().expect("a directory");
    let experiment = pool.submit(&with_shell(desk.path(), "benchmarks.wait", AS_ITS_COMMAND), &[]);
    ask_to_end(eventually("it executes", || id_in(desk.path(), "command")));
    std::fs::write(desk.path().join("gate"), "").expect("a file");
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.rows.len(), 2, "no attempt was lost: {:?}", ledger.rows);
    let failed: Vec<_> = ledger.rows.iter().filter(|row| row["outcome"] == "failed").collect();
    let [failed] = &failed[..] else { panic!("one run failed: {:?}", ledger.rows) };
    assert!(failed["failure_words"].contains("143"), "{failed:?}");
}
