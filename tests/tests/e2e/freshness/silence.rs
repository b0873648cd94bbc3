//! While a run is timed nothing of the agent wakes: seen from outside, and told by the agent itself.

use speedup_tests::{plan::plan, pool::Pool, pool::eventually};

use crate::SPEEDUP;

#[test]
fn no_thread_of_the_agent_is_switched_while_a_program_runs() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let agent = pool.agent_process(0);
    let desk = tempfile::tempdir().expect("a directory");
    let at = |name: &str| desk.path().join(name);
    let [begun, ending, seen] = ["begun", "ending", "seen"].map(|name| at(name).display().to_string());
    // The program says when it has begun and when it is about to end, and ends when that was seen. In between it writes
    // to both streams, starts processes, and orphans one: nothing of it may wake the agent.
    let program = format!(
        "touch {begun}; head -c 1000000 /dev/zero; (sleep 0.5 &); echo err >&2; sleep 2; touch {ending}; \
         until [ -e {seen} ]; do sleep 0.01; done; rm {begun} {ending} {seen}"
    );
    let plan = plan("silence", 1, "any", &format!("[benchmarks.sleeper]\nshell = '{program}'\n"));
    let experiment = pool.submit(&plan, &[]);
    for _ in 0..2 {
        eventually("a run has begun", || at("begun").exists().then_some(()));
        // It may be on its way into the wait still.
        let before = eventually("the agent is asleep", || agent.switches_asleep());
        assert!(!before.is_empty());
        eventually("the run is about to end", || at("ending").exists().then_some(()));
        assert_eq!(agent.switches_asleep().as_ref(), Some(&before), "nothing woke in between");
        std::fs::write(at("seen"), "").expect("a file");
        eventually("the run ends", || (!at("seen").exists()).then_some(()));
    }
    pool.wait_for(&experiment);
    let ledger = pool.ledger(&experiment);
    assert_eq!(ledger.assert_exactly_once(2), 2);
    for row in &ledger.rows {
        // Into the wait once; more only if another process took the CPU from the agent on its way there.
        let switches: u64 = row["agent_switches"].parse().expect("a number");
        assert!(switches >= 1, "the agent counts its own sleep: {row:?}");
        assert!(row["wall_ns"].parse::<u64>().expect("a time") >= 2_000_000_000, "{row:?}");
    }
}
