//! Runs of `/bin/true` a second, end to end with real processes on loopback: plan, lease, execution, outbox, durable
//! record, acknowledgement; with one and with two agents, in turn. Beside it the CPU time that coordinator and agents use for
//! a run, without the program's.
//!
//! `cargo bench -p speedup-tests --bench end_to_end`; `SPEEDUP_BENCH_RUNS` sets the runs of each measurement.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::time::Instant;

use speedup_tests::pool::Pool;
use speedup_tests::process::Process;

const ROUNDS: usize = 3;

/// What one measurement tells of a run.
struct Run {
    per_second: f64,
    coordinator_us: f64,
    agents_us: f64,
}

fn main() {
    let runs: u32 =
        std::env::var("SPEEDUP_BENCH_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(4_000);
    let pools: Vec<(usize, Pool)> = [1, 2]
        .into_iter()
        .map(|agents| (agents, Pool::start(env!("CARGO_BIN_EXE_speedup-under-test"), agents)))
        .collect();
    let mut measured: Vec<Vec<Run>> = pools.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for ((agents, pool), measured) in pools.iter().zip(&mut measured) {
            measured.push(measure(pool, *agents, runs));
        }
    }
    for ((agents, _), measured) in pools.iter().zip(measured) {
        println!(
            "{agents} agents: {} runs of /bin/true a second; CPU time a run: coordinator {} µs, agents {} µs (medians of \
             {ROUNDS}, least and most)",
            in_words(&measured, |run| run.per_second),
            in_words(&measured, |run| run.coordinator_us),
            in_words(&measured, |run| run.agents_us),
        );
    }
}

fn in_words(measured: &[Run], what: fn(&Run) -> f64) -> String {
    let mut values: Vec<f64> = measured.iter().map(what).collect();
    values.sort_by(f64::total_cmp);
    format!("{:.0} ({:.0} to {:.0})", values[ROUNDS / 2], values[0], values[ROUNDS - 1])
}

fn measure(pool: &Pool, agents: usize, runs: u32) -> Run {
    let plan = format!(
        "[experiment]\nname = \"true\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.true]\ncommand = [\"/bin/true\"]\n[repetitions]\nruns = {}\n[independence]\npolicy = \"any\"\n",
        runs / 2
    );
    let used = || {
        let agents = (0..agents).map(|number| Process::of_id(pool.agent_id(number)).cpu_ticks());
        (Process::of_id(pool.coordinator_id().cast_signed()).cpu_ticks(), agents.sum::<u64>())
    };
    let (begin, before) = (Instant::now(), used());
    let experiment = pool.submit(&plan, &[]);
    let waited = pool.speedup(&["wait", &experiment]);
    assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    let (seconds, after) = (begin.elapsed().as_secs_f64(), used());
    let each_us = |before: u64, after: u64| (after - before) as f64 * 1e4 / f64::from(runs);
    Run {
        per_second: f64::from(runs) / seconds,
        coordinator_us: each_us(before.0, after.0),
        agents_us: each_us(before.1, after.1),
    }
}
