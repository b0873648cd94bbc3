//! The selftest of a host's timer, and where its result is found again.

use serde_json::Value;
use speedup_tests::{desk::Desk, plan::trivial, pool::Pool, pool::eventually};

use crate::SPEEDUP;

/// The only host of the pool.
fn host(pool: &Pool) -> Value {
    pool.json(&["hosts", "list"]).expect("hosts")[0].clone()
}

/// The columns of the timer in each row of an experiment that is carried out now.
fn timers(pool: &Pool) -> Vec<(String, String)> {
    let rows = pool.measure(&trivial("timer", 1)).rows;
    assert_eq!(rows.len(), 2);
    rows.into_iter().map(|row| (row["timer_bias_ns"].clone(), row["timer_spread_ns"].clone())).collect()
}

#[test]
fn a_selftest_is_silent_and_its_result_reaches_hosts_and_exports() {
    let mut pool = Pool::without_agents(SPEEDUP);
    let state = pool.agent_state(0).display().to_string();
    let arguments =
        ["agent", "selftest", "--rounds", "20", "--busy-runs", "5", "--boot-id", "boot-of-0", "--state"];
    let found = pool.json(&[&arguments[..], &[&state]].concat()).expect("a selftest");
    // Once into the wait. Others may take the CPU from it on a busy host; what they did is found and not judged.
    assert_eq!(found["asleep"]["voluntary"], 1, "{found}");
    assert!(found["asleep"]["involuntary"].is_u64(), "{found}");
    assert!(found["asleep"]["wall_ns"].as_u64().expect("a time") >= 1_000_000_000, "{found}");
    assert_ne!(found["verdict"]["quality"], "short", "{found}");
    assert!(found["verdict"]["sentences"].as_array().is_some_and(|sentences| sentences.len() > 2), "{found}");

    pool.add_agent();
    pool.wait_for_hosts(1);
    let shortest = if found["no_op"].is_null() { &found["bin_true"] } else { &found["no_op"] };
    let time = |quartile: &str| shortest["timer"][quartile].as_u64().expect("a time");
    let (bias, spread) = (&shortest["bias_ns"], time("upper_quartile_ns") - time("lower_quartile_ns"));
    let kept = &host(&pool)["timer"]["error"];
    assert_eq!((&kept["bias_ns"], &kept["spread_ns"]), (bias, &spread.into()));
    for timer in timers(&pool) {
        assert_eq!(timer, (bias.to_string(), spread.to_string()));
    }
}

#[test]
fn an_agent_tests_its_timer_once_for_a_boot() {
    let mut pool = Pool::start(SPEEDUP, 1);
    let first = host(&pool)["timer"].clone();
    assert!(first["tested_unix_ns"].is_u64(), "{first}");
    pool.kill_agent(0);
    eventually("the host goes", || (host(&pool)["connected"] == false).then_some(()));
    pool.start_agent(0);
    pool.wait_for_hosts(1);
    assert_eq!(host(&pool)["timer"], first, "the result of this boot is kept");
}

#[test]
fn an_untested_host_says_so() {
    let pool = Pool::with_agent(SPEEDUP, &["--no-selftest"]);
    assert!(host(&pool)["timer"].is_null());
    assert!(pool.ok(&["hosts", "list"]).contains("untested"));
    let nothing = (String::new(), String::new());
    assert!(timers(&pool).into_iter().all(|timer| timer == nothing), "absent, not zero");
}

#[test]
fn a_person_is_told_in_words_what_the_timer_is_worth() {
    let desk = Desk::new(SPEEDUP);
    let said = desk.ok(&["agent", "selftest", "--rounds", "10", "--busy-runs", "1", "--state", "."]);
    for part in ["microseconds", "floor", "This timer is", "0 times in 1", "near this timer's own error"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(desk.path().join("selftest.json").exists());
}
