//! What timers add to the time of a program, against the least that a Linux process costs, in one interleaved session.
//!
//! The floor is clone as vfork does it, `execve`, `wait4` and nothing else (`speedup_agent::selftest::Floor`). In turn
//! with it, in blocks whose order is drawn anew each round: the launcher with its output captured, with its output
//! to `/dev/null`, without the trampoline, with counters of the scheduler, in control groups of the run's own, std's `Command` (which is
//! `posix_spawn` here) timed around the call, and hyperfine, where it is installed, by what it reports itself. A block is some runs in a row, because a process that was started for each run
//! would find the caches that the others left.
//!
//!     cargo bench -p speedup-agent --bench overhead
//!
//! `SPEEDUP_BENCH_RUNS` is the number of runs of each timer (default 1000).
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints its figures, or fails")]

use std::{hint::black_box, path::Path, process::Stdio, sync::atomic::AtomicBool, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use speedup_agent::launch::{End, LaunchCommand, Launcher, Preparation, Sink};
use speedup_agent::selftest::{Floor, MemoryProgram};
use speedup_core::{experiment::metric::Metric, value::seed::Seed, value::seed::shuffle};

/// Runs of one timer in a row.
const BLOCK: usize = 25;

/// A bound on processes that bounds none; the agent starts a program with one from its own memory.
const NO_BOUND: u64 = 1 << 20;

/// Counters of the scheduler.
const COUNTERS: [Metric; 2] = [Metric::TaskClock, Metric::CpuMigrations];
/// What needs control groups of the run's own.
const GROUPS: [Metric; 2] = [Metric::MemoryPeak, Metric::TreeCpu];

/// One timer: its name, and how it times a block of runs, in nanoseconds.
struct Timer<'a> {
    name: &'static str,
    times_ns: Vec<f64>,
    block: Box<dyn FnMut(usize) -> Vec<f64> + 'a>,
}

fn main() {
    let runs = std::env::var("SPEEDUP_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1000);
    let no_op = MemoryProgram::no_op().unwrap();
    let mut programs = vec![("/bin/true", Path::new("/bin/true"))];
    programs.extend(no_op.as_ref().map(|program| ("a program that only exits", program.path())));
    for (name, program) in programs.iter().rev() {
        compare(name, "small parent", program, runs);
    }
    // Written to, so that it is there.
    let ballast = black_box(vec![1_u8; 1 << 30]);
    for (name, program) in programs.iter().rev() {
        compare(name, "1 GiB parent", program, runs);
    }
    black_box(ballast);
}

fn compare(name: &str, parent: &str, program: &Path, runs: usize) {
    let [mut captured, mut silent, mut direct, mut counted, mut grouped] =
        [(); 5].map(|()| Launcher::new().unwrap());
    let floor = Floor::new(program).unwrap();
    let capture = Sink::Capture { limit: 1 << 20, keep: 4096 };
    let (mut switches, mut launched) = (0, 0);
    let each = |run: &mut dyn FnMut() -> u64, block: usize| (0..block).map(|_| run() as f64).collect();
    let mut timers = vec![
        Timer::new("floor (vfork, wait4)", |block| each(&mut || floor.execute().unwrap(), block)),
        Timer::new("agent, output captured", |block| {
            launched += block;
            each(&mut || launch(&mut captured, &command(program, capture, &[]), &mut switches), block)
        }),
        Timer::new("agent, output to null", |block| each(&mut metered(&mut silent, program, &[]), block)),
        Timer::new("agent, no trampoline", |block| {
            let mut bounded = command(program, Sink::Null, &[]);
            bounded.preparation.limits.processes = Some(NO_BOUND);
            each(&mut || launch(&mut direct, &bounded, &mut 0), block)
        }),
        Timer::new("agent, counters", |block| each(&mut metered(&mut counted, program, &COUNTERS), block)),
        Timer::new("agent, control groups", |block| {
            each(&mut metered(&mut grouped, program, &GROUPS), block)
        }),
        Timer::new("std Command (around)", |block| each(&mut || around_std(program), block)),
    ];
    if is_installed("hyperfine") {
        timers.push(Timer::new("hyperfine --shell=none", |block| hyperfine(program, block)));
    }
    // The first block of each warms up and is forgotten.
    for timer in &mut timers {
        (timer.block)(BLOCK);
    }
    let mut order: Vec<usize> = (0..timers.len()).collect();
    let mut random = Seed(0).child("overhead");
    for _ in 0..runs.div_ceil(BLOCK) {
        shuffle(&mut order, &mut random);
        for &at in &order {
            let timer = &mut timers[at];
            let times_ns = (timer.block)(BLOCK);
            timer.times_ns.extend(times_ns);
        }
    }
    println!("\n{name} from a {parent}, {runs} runs each; microseconds");
    println!("{:26}{:>9}{:>9}{:>9}{:>12}{:>9}", "", "median", "IQR", "minimum", "over floor", "IQR -");
    let (median, spread) = (timers[0].quantile(0.5), timers[0].spread());
    for timer in &timers {
        print!(
            "{:26}{:9.1}{:9.1}{:9.1}",
            timer.name,
            timer.quantile(0.5),
            timer.spread(),
            timer.quantile(0.0)
        );
        println!("{:+12.1}{:+9.1}", timer.quantile(0.5) - median, timer.spread() - spread);
    }
    drop(timers);
    println!(
        "context switches of the agent in a run, mean: {:.3} (1 is the wait)",
        switches as f64 / launched as f64
    );
}

impl<'a> Timer<'a> {
    fn new(name: &'static str, block: impl FnMut(usize) -> Vec<f64> + 'a) -> Self {
        Self { name, times_ns: Vec::new(), block: Box::new(block) }
    }

    /// In microseconds.
    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.times_ns.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * share).round() as usize] / 1000.0
    }

    fn spread(&self) -> f64 {
        self.quantile(0.75) - self.quantile(0.25)
    }
}

fn command(program: &Path, sink: Sink, metrics: &[Metric]) -> LaunchCommand {
    let minute = Duration::from_secs(60);
    LaunchCommand {
        argv: vec![program.into()],
        env: vec![],
        directory: "/".into(),
        timeout: minute,
        kill_grace: minute,
        stdout: sink,
        stderr: sink,
        metrics: metrics.to_vec(),
        preparation: Preparation::default(),
    }
}

fn launch(launcher: &mut Launcher, command: &LaunchCommand, switches: &mut u64) -> u64 {
    let execution = launcher.execute(command, &AtomicBool::new(false)).unwrap();
    assert_eq!(execution.end, End::Exited(0));
    *switches += execution.agent_switches.voluntary + execution.agent_switches.involuntary;
    execution.wall_ns
}

/// A run whose output goes nowhere, with these metrics.
fn metered(launcher: &mut Launcher, program: &Path, metrics: &[Metric]) -> impl FnMut() -> u64 {
    let command = command(program, Sink::Null, metrics);
    move || launch(launcher, &command, &mut 0)
}

/// With nothing to change in the child, std uses `posix_spawn`.
fn around_std(program: &Path) -> u64 {
    let mut command = std::process::Command::new(program);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let before = now_ns();
    assert!(command.status().unwrap().success());
    now_ns() - before
}

/// The times that hyperfine reports.
fn hyperfine(program: &Path, block: usize) -> Vec<f64> {
    let mut command = std::process::Command::new("hyperfine");
    // The environment of the others: none.
    command.env_clear().args(["--shell=none", "--style=none", "--warmup=1", "--runs"]).arg(block.to_string());
    command.args(["--export-json", "/dev/stdout"]).arg(program).stderr(Stdio::null());
    let json: serde_json::Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let times = json["results"][0]["times"].as_array().unwrap();
    times.iter().map(|time| time.as_f64().unwrap() * 1e9).collect()
}

fn is_installed(program: &str) -> bool {
    let mut command = std::process::Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
