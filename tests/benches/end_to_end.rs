//! Runs of `/bin/true` a second, end to end with real processes on loopback: plan, lease, execution, outbox, durable
//! record, acknowledgement; with one and with two agents, in turn.
//!
//! `cargo bench -p speedup-tests --bench end_to_end`; `SPEEDUP_BENCH_RUNS` sets the runs of each measurement.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::time::Instant;

use speedup_tests::pool::Pool;

const ROUNDS: usize = 3;

fn main() {
    let runs: u32 =
        std::env::var("SPEEDUP_BENCH_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(4_000);
    let pools: Vec<(usize, Pool)> = [1, 2]
        .into_iter()
        .map(|agents| (agents, Pool::start(env!("CARGO_BIN_EXE_speedup-under-test"), agents)))
        .collect();
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); pools.len()];
    for _ in 0..ROUNDS {
        for ((_, pool), rates) in pools.iter().zip(&mut rates) {
            rates.push(runs_per_second(pool, runs));
        }
    }
    for ((agents, _), mut rates) in pools.iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        println!(
            "{agents} agents: {:>6.0} runs of /bin/true a second (median of {ROUNDS}; {:.0} to {:.0})",
            rates[ROUNDS / 2],
            rates[0],
            rates[ROUNDS - 1]
        );
    }
}

fn runs_per_second(pool: &Pool, runs: u32) -> f64 {
    let plan = format!(
        "[experiment]\nname = \"true\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.true]\ncommand = [\"/bin/true\"]\n[repetitions]\nruns = {}\n[independence]\npolicy = \"any\"\n",
        runs / 2
    );
    let begin = Instant::now();
    let experiment = pool.submit(&plan, &[]);
    let waited = pool.speedup(&["wait", &experiment]);
    assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    f64::from(runs) / begin.elapsed().as_secs_f64()
}
