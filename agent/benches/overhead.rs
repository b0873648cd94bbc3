//! What the launcher adds to the time of a program, against the least that a Linux process costs.
//!
//! The floor is clone as vfork does it, `execve`, `wait4` and nothing else. In turn with it, run by run: the
//! launcher with its output captured, with its output to `/dev/null`, with counters of the scheduler, in control
//! groups of the run's own, and std's `Command`. Two
//! times are taken: `timed`, what the timer would report (from the child's last moment before `execve`; std
//! has only the time around it), and `around`, what a run costs the caller. `SPEEDUP_BENCH_RUNS` sets the
//! number of rounds.
//!
//!     cargo bench -p speedup-agent --bench overhead
#![expect(unsafe_code, reason = "the floor is made of clone, execve and wait4")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints its figures, or fails")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use speedup_agent::launch::{Command, End, Launcher, Sink};
use speedup_core::metric::Metric;

/// Nanoseconds of each round.
#[derive(Default)]
struct Series(Vec<f64>);

#[derive(Default)]
struct Timer {
    timed: Series,
    around: Series,
}

fn main() {
    let runs = std::env::var("SPEEDUP_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1000);
    let folder = tempfile::tempdir().unwrap();
    let mut programs = vec![PathBuf::from("/bin/true")];
    programs.extend(no_op(folder.path()));
    for program in programs.iter().rev() {
        compare("small parent", program, runs);
    }
    let ballast = black_box(vec![1_u8; 1 << 30]);
    for program in programs.iter().rev() {
        compare("1 GiB parent", program, runs);
    }
    black_box(ballast);
}

/// A static program without a C library that only exits; none where there is no C compiler or it is not for
/// `x86_64`.
fn no_op(folder: &Path) -> Option<PathBuf> {
    let (source, program) = (folder.join("no-op.c"), folder.join("no-op"));
    let text = "void _start(void) { __asm__ volatile(\"syscall\" : : \"a\"(231), \"D\"(0)); }";
    std::fs::write(&source, text).unwrap();
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-O2", "-static", "-nostdlib", "-o"]).arg(&program).arg(&source).stderr(Stdio::null());
    (cfg!(target_arch = "x86_64") && compiler.status().is_ok_and(|status| status.success()))
        .then_some(program)
}

fn compare(title: &str, program: &Path, runs: usize) {
    let mut launcher = Launcher::new().unwrap();
    let capture = Sink::Capture { limit: 1 << 20, keep: 4096 };
    let [mut floor, mut captured, mut silent, mut counted, mut grouped, mut std] =
        [(); 6].map(|()| Timer::default());
    let (counters, groups) =
        ([Metric::TaskClock, Metric::CpuMigrations], [Metric::MemoryPeak, Metric::TreeCpu]);
    let mut switches = Series::default();
    // The first tenth warms up and is forgotten.
    for round in 0..runs + runs / 10 {
        if round == runs / 10 {
            [floor, captured, silent, counted, grouped, std] = [(); 6].map(|()| Timer::default());
            switches = Series::default();
        }
        floor.record(|| bare(program));
        captured.record(|| launch(&mut launcher, program, capture, &[], &mut switches));
        silent.record(|| launch(&mut launcher, program, Sink::Null, &[], &mut switches));
        counted.record(|| launch(&mut launcher, program, Sink::Null, &counters, &mut switches));
        grouped.record(|| launch(&mut launcher, program, Sink::Null, &groups, &mut switches));
        std.record(|| around_std(program));
    }
    println!("\n{} from a {title}, {runs} rounds; microseconds", program.display());
    println!("{:26}{:>9}{:>9}{:>9}{:>12}{:>9}", "", "median", "IQR", "minimum", "over floor", "IQR -");
    floor.timed.print("timed   floor", None);
    captured.timed.print("timed   launcher, capture", Some(&floor.timed));
    silent.timed.print("timed   launcher, null", Some(&floor.timed));
    counted.timed.print("timed   launcher, counters", Some(&floor.timed));
    grouped.timed.print("timed   launcher, groups", Some(&floor.timed));
    floor.around.print("around  floor", None);
    captured.around.print("around  launcher, capture", Some(&floor.around));
    silent.around.print("around  launcher, null", Some(&floor.around));
    counted.around.print("around  launcher, counters", Some(&floor.around));
    grouped.around.print("around  launcher, groups", Some(&floor.around));
    std.around.print("around  std", Some(&floor.around));
    let usage = launcher.execute(&command(program, Sink::Null), &AtomicBool::new(false)).unwrap().usage;
    println!("peak memory {} KiB, floor {} KiB", usage.max_rss_bytes >> 10, usage.max_rss_floor_bytes >> 10);
    let mean = switches.0.iter().sum::<f64>() / switches.0.len() as f64;
    println!("context switches of the launcher's process in a run, mean: {mean:.3}");
}

impl Timer {
    fn record(&mut self, run: impl FnOnce() -> f64) {
        let before = now();
        let timed = run();
        self.around.0.push((now() - before) as f64);
        self.timed.0.push(timed);
    }
}

impl Series {
    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * share).round() as usize] / 1000.0
    }

    fn spread(&self) -> f64 {
        self.quantile(0.75) - self.quantile(0.25)
    }

    fn print(&self, name: &str, floor: Option<&Self>) {
        let (median, spread) = (self.quantile(0.5), self.spread());
        print!("{name:26}{median:9.1}{spread:9.1}{:9.1}", self.quantile(0.0));
        match floor {
            Some(floor) => println!("{:+12.1}{:+9.1}", median - floor.quantile(0.5), spread - floor.spread()),
            None => println!(),
        }
    }
}

fn launch(
    launcher: &mut Launcher,
    program: &Path,
    sink: Sink,
    metrics: &[Metric],
    switches: &mut Series,
) -> f64 {
    let command = Command { metrics: metrics.to_vec(), ..command(program, sink) };
    let execution = launcher.execute(&command, &AtomicBool::new(false)).unwrap();
    assert_eq!(execution.end, End::Exited(0));
    let agent = execution.agent_switches;
    switches.0.push((agent.voluntary + agent.involuntary) as f64);
    execution.wall_ns as f64
}

fn command(program: &Path, sink: Sink) -> Command {
    let minute = Duration::from_secs(60);
    Command {
        argv: vec![program.into()],
        env: vec![],
        directory: "/".into(),
        timeout: minute,
        kill_grace: minute,
        stdout: sink,
        stderr: sink,
        metrics: Vec::new(),
    }
}

fn around_std(program: &Path) -> f64 {
    let before = now();
    let mut command = std::process::Command::new(program);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().unwrap().success());
    (now() - before) as f64
}

struct Bare {
    program: CString,
    argv: [*const c_char; 2],
    env: [*const c_char; 1],
    started_ns: AtomicU64,
}

/// The floor.
fn bare(program: &Path) -> f64 {
    let program = CString::new(program.to_str().unwrap()).unwrap();
    let argv = [program.as_ptr(), ptr::null()];
    let bare = Bare { argv, env: [ptr::null()], started_ns: AtomicU64::new(0), program };
    let mut stack = [0_u128; 1024];
    let mut status = 0;
    // SAFETY: as in the launcher, with the parent suspended until `execve`.
    unsafe {
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let pid = libc::clone(execute, top, flags, ptr::from_ref(&bare).cast::<c_void>().cast_mut());
        assert!(pid > 0);
        libc::wait4(pid, &raw mut status, 0, ptr::null_mut());
    }
    let stopped_ns = now();
    assert_eq!(status, 0);
    (stopped_ns - bare.started_ns.load(Ordering::Acquire)) as f64
}

extern "C" fn execute(argument: *mut c_void) -> c_int {
    // SAFETY: `bare` passes its own, which outlives the child.
    let bare = unsafe { &*argument.cast::<Bare>() };
    bare.started_ns.store(now(), Ordering::Release);
    // SAFETY: null-terminated vectors of C strings.
    unsafe { libc::execve(bare.program.as_ptr(), bare.argv.as_ptr(), bare.env.as_ptr()) };
    127
}

fn now() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
