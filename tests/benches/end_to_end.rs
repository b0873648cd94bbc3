//! Runs of `/bin/true` a second, end to end with real processes on loopback: plan, lease, execution, outbox, durable
//! record, acknowledgement; with one and with two agents. Beside it the CPU time that coordinator and agents use for a
//! run, without the program's, and what the steps of a run cost at least on this machine.
//!
//! `cargo bench -p speedup-tests --bench end_to_end`; `SPEEDUP_BENCH_RUNS` sets the runs of each measurement.
//! `SPEEDUP_BENCH_HQ=/path/to/hq` measures HyperQueue beside it, with a journal, in turn.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

mod floors;
mod system;

use std::{path::PathBuf, time::Instant};

use floors::{Floors, floors};
use system::{HyperQueue, Ours, System};

const ROUNDS: usize = 5;

/// What one measurement tells of a run.
struct Run {
    per_second: f64,
    server_us: f64,
    workers_us: f64,
}

fn main() {
    let runs: u32 =
        std::env::var("SPEEDUP_BENCH_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(4_000);
    let hq = std::env::var_os("SPEEDUP_BENCH_HQ").map(PathBuf::from);
    let ours = [1, 2].map(Ours::start);
    let peers: Vec<HyperQueue> =
        hq.iter().flat_map(|hq| [1, 2].map(|workers| HyperQueue::start(hq, workers))).collect();
    let systems: Vec<&dyn System> =
        ours.iter().map(|ours| ours as &dyn System).chain(peers.iter().map(|peer| peer as _)).collect();
    let directory = tempfile::tempdir().expect("a directory");
    let mut measured: Vec<Vec<Run>> = systems.iter().map(|_| Vec::new()).collect();
    let mut least: Vec<Floors> = Vec::new();
    for _ in 0..ROUNDS {
        least.push(floors(directory.path(), &ours[0].pool));
        for (system, measured) in systems.iter().zip(&mut measured) {
            measured.push(measure(*system, runs));
        }
    }
    println!("{runs} runs of /bin/true, medians of {ROUNDS} turns (least to most)\n");
    println!(
        "{:24} {:>26} {:>26} {:>26}",
        "", "runs a second", "server, CPU µs a run", "workers, CPU µs a run"
    );
    for (system, measured) in systems.iter().zip(&measured) {
        println!(
            "{:24} {:>26} {:>26} {:>26}",
            system.name(),
            in_words(measured, |run| run.per_second),
            in_words(measured, |run| run.server_us),
            in_words(measured, |run| run.workers_us),
        );
    }
    println!(
        "\nfloors, µs: vfork, execve and wait4 of /bin/true {}; append and fdatasync {}; the same where the file has zeros {}; \
         round trip by gRPC and mutual TLS {}; processor time of sleeping and waking once {}",
        in_words(&least, |floors| floors.process),
        in_words(&least, |floors| floors.sync),
        in_words(&least, |floors| floors.sync_in_place),
        in_words(&least, |floors| floors.round_trip),
        in_words(&least, |floors| floors.wake),
    );
}

fn in_words<T>(measured: &[T], what: fn(&T) -> f64) -> String {
    let mut values: Vec<f64> = measured.iter().map(what).collect();
    values.sort_by(f64::total_cmp);
    format!("{:.0} ({:.0} to {:.0})", values[ROUNDS / 2], values[0], values[ROUNDS - 1])
}

fn measure(system: &dyn System, runs: u32) -> Run {
    let used = || {
        let workers = system.workers().iter().map(speedup_tests::process::Process::cpu_ticks).sum::<u64>();
        (system.server().cpu_ticks(), workers)
    };
    let (begin, before) = (Instant::now(), used());
    system.execute(runs);
    let (seconds, after) = (begin.elapsed().as_secs_f64(), used());
    // A tick is a hundredth of a second.
    let each_us = |before: u64, after: u64| (after - before) as f64 * 1e4 / f64::from(runs);
    Run {
        per_second: f64::from(runs) / seconds,
        server_us: each_us(before.0, after.0),
        workers_us: each_us(before.1, after.1),
    }
}
