//! The runner: a work order into a record. Everything around the timed execution happens outside the clock, in this
//! order: the setup, once on a host; the environment of the host; warm-ups; a new working directory; the preparation;
//! the page cache; the time to settle; a reading of the host; **the program**; another reading; the cleanup; judging the
//! output. Warm-ups have their own working directory, preparation and cleanup, so that they are like the run.
//!
//! In reading order: [`Runner`], `variables` (what a command finds in its environment), `judgement` (whether the benchmark
//! did what is expected), `record` (what is reported).

mod judgement;
mod record;
mod variables;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use speedup_core::conditions::{Conditions, Unmet};
use speedup_core::disturbance::Disturbance;
use speedup_core::environment::PageCache;
use speedup_core::host::HostFacts;
use speedup_core::id::BootId;
use speedup_core::message::Grant;
use speedup_core::metric::Stream;
use speedup_core::record::{Failure, MAX_REASON_BYTES, Outcome, Record};
use speedup_core::template::TemplateError;
use speedup_core::time::Span;
use speedup_core::timer::TimerError;
use speedup_core::work::{Resolved, WorkOrder};

use self::judgement::judge;
use self::record::record;
use self::variables::{pad, size_of_variables, variables};
use crate::causes::with_causes;
use crate::launch::{Command, End, Execution, LaunchError, Launcher, Preparation, Sink, forget_peak};
use crate::series;
use crate::surroundings::{Established, Surroundings};
use crate::wall_clock::unix_ns;
use crate::workplace::Workplace;

/// What a program may do after it was asked to end, before it is killed.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// What is kept of the output of a command outside the clock, to say why it failed.
const OUTSIDE_KEEP: usize = 4_096;
/// What such a command may write to each stream.
const OUTSIDE_LIMIT: u64 = 16 << 20;
/// How often a host that settles looks whether the agent shall stop; the clock does not run yet.
const SETTLE_LOOK: Duration = Duration::from_millis(100);

/// Executes work orders.
#[derive(Debug)]
pub(crate) struct Runner {
    launcher: Launcher,
    state: PathBuf,
    boot: BootId,
    timer: Option<TimerError>,
    surroundings: Surroundings,
}

/// Why a run was not executed, in words.
struct NotExecuted(String);

impl Runner {
    /// A runner with its directories under `state`, on the host with these facts.
    pub(crate) fn new(
        state: &Path,
        facts: &HostFacts,
        surroundings: Surroundings,
    ) -> Result<Self, LaunchError> {
        let (boot, timer) = (facts.boot.clone(), facts.timer.map(|test| test.error));
        Ok(Self { launcher: Launcher::new()?, state: state.to_owned(), boot, timer, surroundings })
    }

    /// Whether settings of the host are changed for the sake of a run.
    pub(crate) fn holds_host(&self) -> bool {
        self.surroundings.are_changed()
    }

    /// Puts the settings of the host back.
    pub(crate) fn release_host(&mut self) {
        self.surroundings.release();
    }

    /// Executes a work order. When `stop` is raised the run is given up.
    pub(crate) fn execute(&mut self, grant: &Grant, stop: &AtomicBool) -> Record {
        let started_unix_ns = unix_ns();
        let done = self.attempt(grant, stop).unwrap_or_else(|NotExecuted(reason)| Record {
            started_unix_ns,
            ..Record::bare(Outcome::NotExecuted { reason: cut(reason) })
        });
        Record { timer: self.timer, ..done }
    }

    /// The record of a run that was not begun.
    pub(crate) fn not_executed(&self, reason: &str) -> Record {
        let outcome = Outcome::NotExecuted { reason: cut(reason.to_owned()) };
        Record { started_unix_ns: unix_ns(), timer: self.timer, ..Record::bare(outcome) }
    }

    fn attempt(&mut self, grant: &Grant, stop: &AtomicBool) -> Result<Record, NotExecuted> {
        let order = &grant.order;
        let user = self.surroundings.user().cloned();
        let place = Workplace::of(&self.state, &self.boot, user.as_ref(), grant.experiment)
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
        let unresolved = |error: TemplateError| NotExecuted(error.to_string());
        let steps = Steps {
            prepare: order.resolve_prepare(input).map_err(unresolved)?,
            program: order.resolve(input).map_err(unresolved)?,
            cleanup: order.resolve_cleanup(input).map_err(unresolved)?,
        };
        let established = self.surroundings.establish(&order.environment);
        insist(order, &established.unmet)?;
        let mut unclean = None;
        for number in 1..=order.warmup {
            let Launched { execution, cleanup, .. } =
                self.launch(order, &steps, place, stop, &established, Turn::WarmUp)?;
            unclean = unclean.or(cleanup.err());
            if let Some(failure) = judge(order, &execution) {
                let failure = Failure::Warmup { number, failure: failure.words() };
                return Ok(record(order, execution, Outcome::Failed(failure), BTreeMap::new(), None));
            }
        }
        let launched = self.launch(order, &steps, place, stop, &established, Turn::Timed)?;
        let Launched { execution, mut conditions, cleanup } = launched;
        if let (Some(reason), Some(conditions)) = (unclean.or(cleanup.err()), &mut conditions) {
            conditions.disturbances.push(Disturbance::CleanupFailed { reason });
        }
        let series = match judge(order, &execution) {
            Some(failure) => Err(failure),
            None => series::read(&order.own_metrics, &execution),
        };
        Ok(match series {
            Ok(series) => record(order, execution, Outcome::Measured, series, conditions),
            Err(failure) => record(order, execution, Outcome::Failed(failure), BTreeMap::new(), conditions),
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
        self.outside("the setup", &resolved, &Standing::alone(input), setup.timeout, stop)?;
        place.set_ready(&resolved).map_err(directory)
    }

    /// A command of the plan outside the clock. Whatever it ends with but exit code 0 is a failure.
    fn outside(
        &mut self,
        what: &str,
        resolved: &Resolved,
        standing: &Standing,
        timeout: Span,
        stop: &AtomicBool,
    ) -> Result<(), NotExecuted> {
        let sink = Sink::Capture { limit: OUTSIDE_LIMIT, keep: OUTSIDE_KEEP };
        let preparation = Preparation { user: self.surroundings.user().cloned(), ..Preparation::default() };
        let env = variables(resolved, &standing.work);
        let command = command(resolved, env, &standing.directory, timeout, sink, preparation);
        let execution = self.launcher.execute(&command, stop).map_err(|error| not_launched(what, &error))?;
        let told =
            execution.stderr.as_ref().map(|output| String::from_utf8_lossy(&output.head).trim().to_owned());
        let told = told.filter(|text| !text.is_empty()).map_or(String::new(), |text| format!(": {text}"));
        match execution.end {
            End::Exited(0) => Ok(()),
            End::Exited(code) => Err(NotExecuted(format!("{what} ended with exit code {code}{told}"))),
            End::Signaled { signal, .. } => Err(NotExecuted(format!("signal {signal} ended {what}{told}"))),
            End::TimedOut { .. } => Err(NotExecuted(format!("{what} did not end within {timeout}{told}"))),
            End::Interrupted { .. } => Err(interrupted()),
        }
    }

    /// One execution in a new working directory, with what the plan wants before and after it.
    fn launch(
        &mut self,
        order: &WorkOrder,
        steps: &Steps,
        place: &Workplace,
        stop: &AtomicBool,
        established: &Established,
        turn: Turn,
    ) -> Result<Launched, NotExecuted> {
        let work = place.new_work();
        let work =
            work.map_err(|error| NotExecuted(format!("cannot make the working directory: {error}")))?;
        let standing = Standing::of(&steps.program, work)?;
        if let (Some(resolved), Some(prepare)) = (&steps.prepare, &order.prepare) {
            self.outside("the preparation", resolved, &standing, prepare.timeout, stop)?;
        }
        let mut variables = variables(&steps.program, &standing.work);
        let padding = pad(&mut variables, order.environment.env_size, order.env_padding);
        let env_bytes = size_of_variables(&variables);
        let sink = capture(order, order.output.keep);
        let preparation = established.preparation.clone();
        let command =
            command(&steps.program, variables, &standing.directory, order.timeout, sink, preparation);
        let command = match turn {
            Turn::WarmUp => command,
            Turn::Timed => timed(order, command),
        };

        let mut established = established.clone();
        established.unmet.extend(padding.err());
        if turn == Turn::Timed {
            self.settle(order, &mut established, stop);
        }
        let held = self.surroundings.hold(&mut established);
        let insisted = insist(order, &established.unmet);
        let before = (turn == Turn::Timed).then(|| self.surroundings.before());
        let executed = insisted.and_then(|()| {
            self.launcher.execute(&command, stop).map_err(|error| not_launched("the run", &error))
        });
        let conditions = before.zip(executed.as_ref().ok()).map(|(before, execution)| {
            let conditions = self.surroundings.after(before, execution, established);
            Conditions { env_bytes: Some(env_bytes), env_padding: order.env_padding, ..conditions }
        });
        drop(held);
        // Whatever became of the program: the preparation was.
        let cleanup = match (&steps.cleanup, &order.cleanup) {
            (Some(resolved), Some(cleanup)) => {
                self.outside("the cleanup", resolved, &standing, cleanup.timeout, stop)
            }
            (Some(_), None) | (None, _) => Ok(()),
        };
        let cleanup = cleanup.map_err(|NotExecuted(reason)| cut(reason));
        let execution = executed?;
        match execution.end {
            End::Interrupted { .. } => Err(interrupted()),
            End::Exited(_) | End::Signaled { .. } | End::TimedOut { .. } => {
                Ok(Launched { execution, conditions: conditions.map(Box::new), cleanup })
            }
        }
    }

    /// The last before the clock: an empty page cache, and rest.
    fn settle(&self, order: &WorkOrder, established: &mut Established, stop: &AtomicBool) {
        if order.environment.page_cache == PageCache::Drop {
            established.unmet.extend(self.surroundings.drop_page_cache().err());
        }
        let deadline = Instant::now() + Duration::from(order.environment.settle);
        while !stop.load(Ordering::Acquire) {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                break;
            }
            std::thread::sleep(remaining.min(SETTLE_LOOK));
        }
    }
}

/// Where a command stands, and what it may call its own.
struct Standing {
    /// Its working directory.
    directory: PathBuf,
    /// Home and place for temporary files.
    work: PathBuf,
}

impl Standing {
    /// In its own directory.
    fn alone(work: PathBuf) -> Self {
        Self { directory: work.clone(), work }
    }

    /// Where the plan wants the program to stand.
    fn of(program: &Resolved, work: PathBuf) -> Result<Self, NotExecuted> {
        match &program.directory {
            None => Ok(Self::alone(work)),
            Some(directory) if Path::new(directory).is_absolute() && Path::new(directory).is_dir() => {
                Ok(Self { directory: directory.into(), work })
            }
            Some(directory) => {
                Err(NotExecuted(format!("the plan's directory {directory} is no directory on this host")))
            }
        }
    }
}

/// The commands of a run with nothing left to fill in.
struct Steps {
    prepare: Option<Resolved>,
    program: Resolved,
    cleanup: Option<Resolved>,
}

/// An execution with what surrounded it.
struct Launched {
    execution: Execution,
    /// Of a timed one.
    conditions: Option<Box<Conditions>>,
    /// Why the cleanup failed, if it did.
    cleanup: Result<(), String>,
}

/// What an execution is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    WarmUp,
    Timed,
}

/// Refuses a run whose plan insists on what this host does not give.
fn insist(order: &WorkOrder, unmet: &[Unmet]) -> Result<(), NotExecuted> {
    if !order.environment.strict || unmet.is_empty() {
        return Ok(());
    }
    let each: Vec<String> =
        unmet.iter().map(|unmet| format!("{}: {}", unmet.setting.name(), unmet.reason)).collect();
    Err(NotExecuted(format!(
        "the plan insists on an environment that this host does not give: {}",
        each.join("; ")
    )))
}

fn command(
    resolved: &Resolved,
    variables: BTreeMap<String, String>,
    directory: &Path,
    timeout: Span,
    sink: Sink,
    preparation: Preparation,
) -> Command {
    Command {
        argv: resolved.argv.iter().map(OsString::from).collect(),
        env: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        directory: directory.to_owned(),
        timeout: timeout.into(),
        kill_grace: KILL_GRACE,
        stdout: sink,
        stderr: sink,
        preparation,
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

fn not_launched(what: &str, error: &LaunchError) -> NotExecuted {
    let text = with_causes(error);
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
