//! The runner: a work order into a record. Everything around the timed execution — setup, warm-ups, the working
//! directory — happens before the clock starts; judging the output after it has stopped.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use speedup_core::experiment::KeepOutput;
use speedup_core::id::BootId;
use speedup_core::message::Grant;
use speedup_core::metric::{Absence, Metric, Stream};
use speedup_core::record::{Failure, MAX_REASON_BYTES, Outcome, Output, Record};
use speedup_core::time::Span;
use speedup_core::work::{Resolved, WorkOrder};

use crate::launch::{Command, End, Execution, LaunchError, Launcher, Readings, Sink, Usage, forget_peak};
use crate::series;
use crate::workplace::Workplace;

/// What a program may do after it was asked to end, before it is killed.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// Where programs are looked for, unless the plan says otherwise: the same on every host.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What is kept of a setup's output, to say why it failed.
const SETUP_KEEP: usize = 4_096;
/// What a setup may write to each stream.
const SETUP_LIMIT: u64 = 16 << 20;

/// Executes work orders.
#[derive(Debug)]
pub(crate) struct Runner {
    launcher: Launcher,
    state: PathBuf,
    boot: BootId,
}

/// What an execution is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// To warm the host up: its time is forgotten.
    Warmup,
    /// To be measured.
    Timed,
}

/// Why a run was not executed, in words.
struct NotExecuted(String);

impl Runner {
    /// A runner with its directories under `state`.
    pub(crate) fn new(state: &Path, boot: BootId) -> Result<Self, LaunchError> {
        Ok(Self { launcher: Launcher::new()?, state: state.to_owned(), boot })
    }

    /// Executes a work order. When `stop` is raised the run is given up.
    pub(crate) fn execute(&mut self, grant: &Grant, stop: &AtomicBool) -> Record {
        let started_unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let started_unix_ns = u64::try_from(started_unix_ns).unwrap_or(0);
        self.attempt(grant, stop).unwrap_or_else(|NotExecuted(reason)| Record {
            started_unix_ns,
            ..Record::bare(Outcome::NotExecuted { reason: cut(reason) })
        })
    }

    fn attempt(&mut self, grant: &Grant, stop: &AtomicBool) -> Result<Record, NotExecuted> {
        let order = &grant.order;
        let place = Workplace::of(&self.state, &self.boot, grant.experiment)
            .map_err(|error| NotExecuted(format!("cannot make the experiment's directory: {error}")))?;
        self.set_up(order, &place, stop)?;
        let done = self.run(order, &place, stop);
        place.clear_work();
        if !order.own_metrics.is_empty() {
            // The whole output was in memory.
            let _ = forget_peak();
        }
        done
    }

    fn run(
        &mut self,
        order: &WorkOrder,
        place: &Workplace,
        stop: &AtomicBool,
    ) -> Result<Record, NotExecuted> {
        let input = place.input();
        let input = input
            .to_str()
            .ok_or_else(|| NotExecuted("the state directory's path is not UTF-8".to_owned()))?;
        let resolved = order.resolve(input).map_err(|error| NotExecuted(error.to_string()))?;
        for number in 1..=order.warmup {
            let execution = self.launch(order, &resolved, place, stop, Phase::Warmup)?;
            if let Some(failure) = judge(order, &execution) {
                let failure = Failure::Warmup { number, failure: failure.words() };
                return Ok(record(order, execution, Outcome::Failed(failure), BTreeMap::new()));
            }
        }
        let execution = self.launch(order, &resolved, place, stop, Phase::Timed)?;
        let series = match judge(order, &execution) {
            Some(failure) => Err(failure),
            None => series::read(&order.own_metrics, &execution),
        };
        Ok(match series {
            Ok(series) => record(order, execution, Outcome::Measured, series),
            Err(failure) => record(order, execution, Outcome::Failed(failure), BTreeMap::new()),
        })
    }

    fn set_up(&mut self, order: &WorkOrder, place: &Workplace, stop: &AtomicBool) -> Result<(), NotExecuted> {
        let input = place.input();
        let resolved =
            order.resolve_setup(&input.to_string_lossy()).map_err(|error| NotExecuted(error.to_string()))?;
        let (Some(resolved), Some(setup)) = (resolved, &order.setup) else { return Ok(()) };
        if place.is_ready(&resolved) {
            return Ok(());
        }
        let directory = |error| NotExecuted(format!("cannot prepare the directory of the setup: {error}"));
        let input = place.clear_input().map_err(directory)?;
        let sink = Sink::Capture { limit: SETUP_LIMIT, keep: SETUP_KEEP };
        let command = command(&resolved, input, setup.timeout, sink);
        let execution =
            self.launcher.execute(&command, stop).map_err(|error| not_launched("the setup", &error))?;
        let told =
            execution.stderr.as_ref().map(|output| String::from_utf8_lossy(&output.head).trim().to_owned());
        let told = told.filter(|text| !text.is_empty()).map_or(String::new(), |text| format!(": {text}"));
        match execution.end {
            End::Exited(0) => place.set_ready(&resolved).map_err(directory),
            End::Exited(code) => Err(NotExecuted(format!("the setup ended with exit code {code}{told}"))),
            End::Signaled { signal, .. } => {
                Err(NotExecuted(format!("signal {signal} ended the setup{told}")))
            }
            End::TimedOut { .. } => {
                Err(NotExecuted(format!("the setup did not end within {}{told}", setup.timeout)))
            }
            End::Interrupted { .. } => Err(interrupted()),
        }
    }

    fn launch(
        &mut self,
        order: &WorkOrder,
        resolved: &Resolved,
        place: &Workplace,
        stop: &AtomicBool,
        phase: Phase,
    ) -> Result<Execution, NotExecuted> {
        let work = place.new_work();
        let work =
            work.map_err(|error| NotExecuted(format!("cannot make the working directory: {error}")))?;
        let kept = command(resolved, work, order.timeout, capture(order, order.output.keep));
        let command = match phase {
            Phase::Warmup => kept,
            Phase::Timed => timed(order, kept),
        };
        let execution =
            self.launcher.execute(&command, stop).map_err(|error| not_launched("the run", &error))?;
        match execution.end {
            End::Interrupted { .. } => Err(interrupted()),
            End::Exited(_) | End::Signaled { .. } | End::TimedOut { .. } => Ok(execution),
        }
    }
}

fn command(resolved: &Resolved, directory: PathBuf, timeout: Span, sink: Sink) -> Command {
    let mut env = BTreeMap::from([
        ("HOME".to_owned(), directory.to_string_lossy().into_owned()),
        ("PATH".to_owned(), PATH.to_owned()),
        ("TMPDIR".to_owned(), directory.to_string_lossy().into_owned()),
    ]);
    env.extend(resolved.env.clone());
    Command {
        argv: resolved.argv.iter().map(OsString::from).collect(),
        env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        directory,
        timeout: timeout.into(),
        kill_grace: KILL_GRACE,
        stdout: sink,
        stderr: sink,
        metrics: Vec::new(),
    }
}

fn capture(order: &WorkOrder, keep: u64) -> Sink {
    Sink::Capture { limit: order.output.limit, keep: usize::try_from(keep).unwrap_or(usize::MAX) }
}

/// With all that is measured, and the streams whole from which metrics are read.
fn timed(order: &WorkOrder, command: Command) -> Command {
    let is_read = |stream| order.own_metrics.iter().any(|metric| metric.from == stream);
    let sink = |stream, kept| if is_read(stream) { capture(order, order.output.limit) } else { kept };
    Command {
        stdout: sink(Stream::Stdout, command.stdout),
        stderr: sink(Stream::Stderr, command.stderr),
        metrics: order.metrics.clone(),
        ..command
    }
}

/// How the benchmark failed, if it did.
fn judge(order: &WorkOrder, execution: &Execution) -> Option<Failure> {
    let streams = [&execution.stdout, &execution.stderr];
    if streams.into_iter().flatten().any(|output| output.over_limit) {
        return Some(Failure::TooMuchOutput { limit: order.output.limit });
    }
    match execution.end {
        End::TimedOut { .. } => return Some(Failure::TimedOut { limit: order.timeout }),
        End::Signaled { signal, .. } => {
            return Some(Failure::Signal { signal: u8::try_from(signal).unwrap_or(u8::MAX) });
        }
        End::Exited(code) if code != i32::from(order.expect.exit) => {
            let code = u8::try_from(code & 0xFF).unwrap_or(u8::MAX);
            return Some(Failure::Exit { code, expected: order.expect.exit });
        }
        End::Exited(_) | End::Interrupted { .. } => {}
    }
    let blake3 = execution.stdout.as_ref().map(|output| *output.blake3.as_bytes())?;
    let expected = order.expect.stdout_blake3?;
    (blake3 != expected).then_some(Failure::WrongOutput { blake3, expected })
}

fn record(
    order: &WorkOrder,
    execution: Execution,
    outcome: Outcome,
    series: BTreeMap<String, Vec<f64>>,
) -> Record {
    let mut readings = execution.readings;
    read_usage(&order.metrics, execution.wall_ns, &execution.usage, &mut readings);
    let ended = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ended = u64::try_from(ended.as_nanos()).unwrap_or(0);
    let keep = match order.output.keep_of {
        KeepOutput::All => order.output.keep,
        KeepOutput::Failed if outcome != Outcome::Measured => order.output.keep,
        KeepOutput::Failed => 0,
    };
    Record {
        outcome,
        started_unix_ns: ended.saturating_sub(execution.wall_ns),
        metrics: readings.values,
        user_only: readings.user_only,
        absent: readings.absent,
        series,
        stdout: output(execution.stdout, keep),
        stderr: output(execution.stderr, keep),
        survivors: execution.survivors_killed,
        agent_switches: execution.agent_switches.voluntary + execution.agent_switches.involuntary,
    }
}

/// Adds what the clock and `wait4` say of the wanted metrics.
fn read_usage(wanted: &[Metric], wall_ns: u64, usage: &Usage, readings: &mut Readings) {
    for &metric in wanted {
        let value = match metric {
            Metric::Wall => wall_ns,
            Metric::User => usage.user_ns,
            Metric::System => usage.system_ns,
            // Linux counts the agent's own memory as the program's until it has more: up to there its peak is not known.
            Metric::MaxRss if usage.max_rss_bytes <= usage.max_rss_floor_bytes => {
                readings.absent.insert(metric, Absence::BelowFloor);
                continue;
            }
            Metric::MaxRss => usage.max_rss_bytes,
            Metric::MinorFaults => usage.minor_faults,
            Metric::MajorFaults => usage.major_faults,
            Metric::VoluntarySwitches => usage.switches.voluntary,
            Metric::InvoluntarySwitches => usage.switches.involuntary,
            Metric::BlockReads => usage.block_in,
            Metric::BlockWrites => usage.block_out,
            Metric::Instructions
            | Metric::Cycles
            | Metric::CacheReferences
            | Metric::CacheMisses
            | Metric::Branches
            | Metric::BranchMisses
            | Metric::TaskClock
            | Metric::CpuMigrations
            | Metric::EnergyPackage
            | Metric::EnergyDram
            | Metric::MemoryPeak
            | Metric::TreeCpu
            | Metric::TreeUser
            | Metric::TreeSystem => continue,
        };
        readings.values.insert(metric, value);
    }
}

/// The stream as it is reported, with the first `keep` of its bytes: it may have been captured whole.
fn output(captured: Option<crate::launch::Output>, keep: u64) -> Output {
    captured.map_or_else(Output::default, |mut output| {
        output.head.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
        output.head.shrink_to_fit();
        Output { bytes: output.bytes, blake3: *output.blake3.as_bytes(), kept: output.head }
    })
}

fn not_launched(what: &str, error: &LaunchError) -> NotExecuted {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    match error.hint() {
        Some(hint) => NotExecuted(format!("{what} was not executed: {text} ({hint})")),
        None => NotExecuted(format!("{what} was not executed: {text}")),
    }
}

fn interrupted() -> NotExecuted {
    NotExecuted("the agent was stopped during the run".to_owned())
}

fn cut(mut reason: String) -> String {
    let end = (0..=MAX_REASON_BYTES.min(reason.len())).rev().find(|at| reason.is_char_boundary(*at));
    reason.truncate(end.unwrap_or(0));
    reason
}
