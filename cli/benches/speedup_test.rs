//! The whole process of `speedup test` on 30 benchmarks of 30 + 30 runs: from `fork` to the four files, and beside it what
//! any process costs here.
//!
//! `cargo bench -p speedup-cli --bench speedup_test`; `SPEEDUP_BENCH_RUNS` sets the runs of each command, which take turns.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::{fmt::Write as _, path::Path, process::Command, process::Stdio, time::Instant};

const BENCHMARKS: usize = 30;
const RUNS_OF_EACH: usize = 30;
const SPEEDUP: &str = env!("CARGO_BIN_EXE_speedup");

struct Timed {
    name: &'static str,
    command: &'static [&'static str],
    /// Whether output files of an earlier time are removed before: putting a file in the place of another can wait for
    /// the disk.
    anew: bool,
    milliseconds: Vec<f64>,
}

fn main() {
    let runs = std::env::var("SPEEDUP_BENCH_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let folder = tempfile::tempdir().expect("a folder");
    lay_out(folder.path());
    let exact = &[SPEEDUP, "test", "c.csv", "--mode", "exact", "--format", "json"];
    let mut all = [
        timed("/bin/true", &["/bin/true"], false),
        timed("speedup --version", &[SPEEDUP, "--version"], false),
        timed("speedup test", &[SPEEDUP, "test", "c.csv"], true),
        timed("speedup test, over files of before", &[SPEEDUP, "test", "c.csv"], false),
        timed("speedup test --mode exact --format json", exact, true),
    ];
    for _ in 0..runs {
        for timed in &mut all {
            let time = time(folder.path(), timed);
            timed.milliseconds.push(time);
        }
    }
    println!(
        "{BENCHMARKS} benchmarks of {RUNS_OF_EACH} + {RUNS_OF_EACH} runs, {runs} times, whole process, milliseconds"
    );
    for Timed { name, mut milliseconds, .. } in all {
        milliseconds.sort_by(f64::total_cmp);
        let at = |share: usize| milliseconds[(milliseconds.len() - 1) * share / 100];
        println!(
            "{name:<40} median {:>6.2}   quartiles {:.2} to {:.2}   least {:.2}",
            at(50),
            at(25),
            at(75),
            at(0)
        );
    }
}

fn timed(name: &'static str, command: &'static [&'static str], anew: bool) -> Timed {
    Timed { name, command, anew, milliseconds: Vec::new() }
}

fn time(folder: &Path, timed: &Timed) -> f64 {
    if timed.anew {
        for ending in ["out", "report", "warning", "status"] {
            // The first time there is none.
            let _ = std::fs::remove_file(folder.join(format!("c.csv.{ending}")));
        }
    }
    let mut process = Command::new(timed.command[0]);
    process.args(&timed.command[1..]).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = process.status().expect("the command");
    let elapsed = begin.elapsed().as_secs_f64() * 1e3;
    assert!(status.success(), "{:?}", timed.command);
    elapsed
}

/// A configuration and its samples: times about 1 s, spread by a few per cent, some versions faster.
fn lay_out(folder: &Path) {
    let mut configuration = "Name,Sample1,Sample2,ConfLevel,Coef\n".to_owned();
    for benchmark in 0..BENCHMARKS {
        for (version, time) in [(1, 1.0), (2, 1.0 - 0.002 * benchmark as f64)] {
            let values = (0..RUNS_OF_EACH).map(|run| {
                // A low-discrepancy spread: the figures do not depend on it, only the verdicts do.
                let spread =
                    ((run * 19 + benchmark * 7 + version * 3) as f64 * 0.618_033_988_749_895).fract();
                format!("{:.6}\n", time + 0.05 * spread)
            });
            std::fs::write(folder.join(format!("b{benchmark}.{version}")), values.collect::<String>())
                .expect("a file");
        }
        let _ = writeln!(configuration, "b{benchmark},b{benchmark}.1,b{benchmark}.2,,");
    }
    std::fs::write(folder.join("c.csv"), configuration).expect("a file");
}
