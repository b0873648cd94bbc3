//! The runner: a work order into a record. Everything around the timed execution happens outside the clock, in this
//! order: the setup, once on a host; the environment of the host; its rest; warm-ups; a new working directory; the
//! preparation; the page cache; the time to settle; a reading of the host; **the program**; another reading; the cleanup;
//! judging the output; collecting what a build made; the canary. Warm-ups have their own working directory, preparation and cleanup, so that they are
//! like the run.
//!
//! In reading order: [`Runner`], `permission` (the owner's limits), `rest` (the wait until the host has come to rest), `outside` (commands of the plan outside
//! the clock, and the canary), `variables` (what a command finds in its environment), `judgement` (whether the benchmark did
//! what is expected, and whether the execution can tell), `cut_off` (whether it ended only because its agent is ended), `record` (what is reported), `not_executed` (why there is nothing to report).

mod cut_off;
mod judgement;
mod not_executed;
mod outside;
mod permission;
mod record;
mod rest;
mod variables;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use speedup_core::agent::message::Grant;
use speedup_core::experiment::environment::{DIRECTORY_NAME, PageCache};
use speedup_core::experiment::metric::Stream;
use speedup_core::experiment::template::TemplateError;
use speedup_core::host::HostFacts;
use speedup_core::run::conditions::{Conditions, Unmet};
use speedup_core::run::disturbance::Disturbance;
use speedup_core::run::program::Program;
use speedup_core::run::record::{Failure, MAX_REASON_BYTES, Outcome, Record};
use speedup_core::run::timer::TimerError;
use speedup_core::run::work::{Resolved, WorkOrder};
use speedup_core::value::causes::with_causes;
use speedup_core::value::id::BootId;
use speedup_core::value::time::Span;

use self::cut_off::EndedBy;
use self::judgement::{judge, unmeasured};
pub(crate) use self::not_executed::NotExecuted;
use self::record::record;
use self::variables::{pad, size_of_variables, variables};
use crate::files::{Files, NotCollected, Programs, Seen};
use crate::launch::{
    End, Execution, LaunchCommand, LaunchError, Launcher, Preparation, Sink, forget_peak, program_of,
};
use crate::limits::Limits;
use crate::series;
use crate::surroundings::{Established, Surroundings};
use crate::wall_clock::unix_ns;
use crate::workplace::Workplace;

/// What a program may do after it was asked to end, before it is killed.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// How often an agent that waits looks whether it shall stop; the clock does not run yet.
const STOP_LOOK: Duration = Duration::from_millis(100);

/// Executes work orders.
#[derive(Debug)]
pub(crate) struct Runner {
    launcher: Launcher,
    state: PathBuf,
    boot: BootId,
    timer: Option<TimerError>,
    surroundings: Surroundings,
    limits: Limits,
    programs: Programs,
    ended_by: EndedBy,
}

impl Runner {
    /// A runner with its directories under `state`, on the host with these facts and the kernel's files at `system`.
    pub(crate) fn new(
        state: &Path,
        facts: &HostFacts,
        system: &Path,
        surroundings: Surroundings,
        limits: Limits,
    ) -> Result<Self, LaunchError> {
        let (boot, timer) = (facts.boot.clone(), facts.timer.map(|test| test.error));
        let (launcher, programs) = (Launcher::new()?, Programs::default());
        let ended_by = EndedBy::of(facts, system);
        Ok(Self { launcher, state: state.to_owned(), boot, timer, surroundings, limits, programs, ended_by })
    }

    /// Whether settings of the host are changed for the sake of a run.
    pub(crate) fn holds_host(&self) -> bool {
        self.surroundings.are_changed()
    }

    /// Puts the settings of the host back.
    pub(crate) fn release_host(&mut self) {
        self.surroundings.release();
    }

    /// Executes a work order; what it makes is taken into the files. When `stop` is raised the run is given up.
    pub(crate) fn execute(&mut self, grant: &Grant, files: &mut Files, stop: &AtomicBool) -> Record {
        let started_unix_ns = unix_ns();
        let done = self
            .attempt(grant, files, stop)
            .unwrap_or_else(|not| Record { started_unix_ns, ..Record::bare(not.outcome()) });
        Record { timer: self.timer, ..done }
    }

    /// The record of a run that was not begun.
    pub(crate) fn not_executed(&self, why: NotExecuted) -> Record {
        Record { started_unix_ns: unix_ns(), timer: self.timer, ..Record::bare(why.outcome()) }
    }

    fn attempt(
        &mut self,
        grant: &Grant,
        files: &mut Files,
        stop: &AtomicBool,
    ) -> Result<Record, NotExecuted> {
        let order = &grant.order;
        let user = self.surroundings.user().cloned();
        let place = Workplace::of(&self.state, &self.boot, user.as_ref(), grant.experiment)
            .map_err(|error| NotExecuted::new(format!("cannot make the experiment's directory: {error}")))?;
        self.permit(order, &place)?;
        let input = place.input();
        let input =
            input.to_str().ok_or_else(|| NotExecuted::new("the state directory's path is not UTF-8"))?;
        self.set_up(order, &place, input, stop)?;
        let done = self.run(order, &place, input, files, stop);
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
        input: &str,
        files: &mut Files,
        stop: &AtomicBool,
    ) -> Result<Record, NotExecuted> {
        let unresolved = |error: TemplateError| NotExecuted::through_plan(error.to_string());
        let steps = Steps {
            prepare: order.resolve_prepare(input).map_err(unresolved)?,
            program: order.resolve(input).map_err(unresolved)?,
            cleanup: order.resolve_cleanup(input).map_err(unresolved)?,
        };
        let canary = order.resolve_canary(input).map_err(unresolved)?;
        let established = self.surroundings.establish(&order.environment);
        insist(order, &established.unmet)?;
        let rest = order.rest.map(|rest| self.rest(&rest, stop)).transpose()?;
        let (done, directory) = self.executions(order, &steps, place, stop, &established)?;
        let done = collected(done, order, &directory, files, stop)?;
        let lacks_product = matches!(done.outcome, Outcome::Failed(Failure::NoProduct { .. }));
        if lacks_product && self.ended_by.explains(&End::Exited(0), stop) {
            return Err(interrupted());
        }
        let canary = canary.zip(order.canary.as_ref());
        let canary = canary.map(|(resolved, canary)| {
            self.canary(&resolved, canary.timeout, place, &established, stop).map_err(|not| cut(not.reason))
        });
        let (canary, canary_failed) = match canary {
            None => (None, None),
            Some(Ok(time)) => (Some(time), None),
            Some(Err(reason)) => (None, Some(reason)),
        };
        Ok(Record { rest, canary, canary_failed, ..done })
    }

    /// The warm-ups and the timed execution; where the last of them stood.
    fn executions(
        &mut self,
        order: &WorkOrder,
        steps: &Steps,
        place: &Workplace,
        stop: &AtomicBool,
        established: &Established,
    ) -> Result<(Record, PathBuf), NotExecuted> {
        let mut unclean = None;
        for number in 1..=order.warmup {
            let Launched { execution, cleanup, directory, .. } =
                self.launch(order, steps, place, stop, established, Turn::WarmUp)?;
            unclean = unclean.or(cleanup.err());
            if let Some(failure) = judge(order, &execution) {
                self.stand_by(&failure, &execution, stop)?;
                let failure = Failure::Warmup { number, failure: failure.words() };
                let record = record(order, execution, Outcome::Failed(failure), BTreeMap::new(), None);
                return Ok((record, directory));
            }
        }
        let launched = self.launch(order, steps, place, stop, established, Turn::Timed)?;
        let Launched { execution, mut conditions, program, cleanup, directory } = launched;
        if let (Some(reason), Some(conditions)) = (unclean.or(cleanup.err()), &mut conditions) {
            conditions.disturbances.push(Disturbance::CleanupFailed { reason });
        }
        let series = match judge(order, &execution) {
            Some(failure) => Err(failure),
            None => series::read(&order.own_metrics, &execution),
        };
        match &series {
            Ok(_) => unmeasured(&execution).map_or(Ok(()), Err)?,
            Err(failure) => self.stand_by(failure, &execution, stop)?,
        }
        let record = match series {
            Ok(series) => record(order, execution, Outcome::Measured, series, conditions),
            Err(failure) => record(order, execution, Outcome::Failed(failure), BTreeMap::new(), conditions),
        };
        Ok((Record { program, ..record }, directory))
    }

    /// Refuses a failure that says nothing of the benchmark: its agent is being ended, or stood still until its time was
    /// up.
    fn stand_by(
        &self,
        failure: &Failure,
        execution: &Execution,
        stop: &AtomicBool,
    ) -> Result<(), NotExecuted> {
        if self.ended_by.explains(&execution.end, stop) {
            return Err(interrupted());
        }
        let needs_time = matches!(failure, Failure::TimedOut { .. });
        unmeasured(execution).filter(|_| needs_time).map_or(Ok(()), Err)
    }

    fn set_up(
        &mut self,
        order: &WorkOrder,
        place: &Workplace,
        input: &str,
        stop: &AtomicBool,
    ) -> Result<(), NotExecuted> {
        let resolved =
            order.resolve_setup(input).map_err(|error| NotExecuted::through_plan(error.to_string()))?;
        let (Some(resolved), Some(setup)) = (resolved, &order.setup) else { return Ok(()) };
        if place.is_ready(&resolved) {
            return Ok(());
        }
        let directory =
            |error| NotExecuted::new(format!("cannot prepare the directory of the setup: {error}"));
        let input = place.clear_input().map_err(directory)?;
        self.outside("the setup", &resolved, &Standing::alone(input), setup.timeout, stop)?;
        place.set_ready(&resolved).map_err(directory)
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
        let name = place.name_of_work(order.environment.directory_length, order.directory_padding);
        let work = place
            .new_work(name.as_deref().unwrap_or(DIRECTORY_NAME))
            .map_err(|error| no_directory(&error))?;
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
        established.unmet.extend([padding.err(), name.err()].into_iter().flatten());
        if turn == Turn::Timed {
            self.settle(order, &mut established, stop);
        }
        let held = self.surroundings.hold(&mut established);
        let insisted = insist(order, &established.unmet).and_then(|()| self.allow("the run", &command));
        let seen = (turn == Turn::Timed).then(|| program_of(&command).ok().map(Seen::at)).flatten();
        let before = (turn == Turn::Timed).then(|| self.surroundings.before());
        let executed = insisted.and_then(|()| {
            self.launcher.execute(&command, stop).map_err(|error| not_launched("the run", &error))
        });
        let is_stopping = stop.load(Ordering::Acquire);
        let conditions = before.zip(executed.as_ref().ok()).map(|(before, execution)| {
            let conditions = self.surroundings.after(before, execution, established);
            let directory_bytes = u32::try_from(standing.directory.as_os_str().len()).ok();
            let (env_bytes, env_padding) = (Some(env_bytes), order.env_padding);
            Conditions { env_bytes, env_padding, directory_bytes, ..conditions }
        });
        drop(held);
        // Before the cleanup, which may remove it.
        let program = seen.filter(|_| executed.is_ok()).map(|seen| self.programs.content(seen, stop));
        // Whatever became of the program: the preparation was.
        let cleanup = match (&steps.cleanup, &order.cleanup) {
            (Some(resolved), Some(cleanup)) => {
                self.outside("the cleanup", resolved, &standing, cleanup.timeout, stop)
            }
            (Some(_), None) | (None, _) => Ok(()),
        };
        let cleanup = cleanup.map_err(|not| cut(not.reason));
        let execution = executed?;
        // Whoever asked the agent may have asked the program just before, and nobody knows what it left undone.
        if is_stopping {
            return Err(interrupted());
        }
        let (conditions, program) = (conditions.map(Box::new), program.map(Box::new));
        Ok(Launched { execution, conditions, program, cleanup, directory: standing.directory })
    }

    /// The last before the clock: an empty page cache, and rest.
    fn settle(&self, order: &WorkOrder, established: &mut Established, stop: &AtomicBool) {
        if order.environment.page_cache == PageCache::Drop {
            established.unmet.extend(self.surroundings.drop_page_cache().err());
        }
        wait(order.environment.settle.into(), stop);
    }
}

/// Waits, unless the agent shall stop.
fn wait(time: Duration, stop: &AtomicBool) {
    let deadline = Instant::now() + time;
    while !stop.load(Ordering::Acquire) {
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            break;
        }
        std::thread::sleep(remaining.min(STOP_LOOK));
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
            Some(directory) => Err(NotExecuted::through_plan(format!(
                "the plan's directory {directory} is no directory on this host"
            ))),
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
    /// What was executed, likewise.
    program: Option<Box<Program>>,
    /// Why the cleanup failed, if it did.
    cleanup: Result<(), String>,
    /// Where the program stood.
    directory: PathBuf,
}

/// With what a build that succeeded made in its directory.
fn collected(
    done: Record,
    order: &WorkOrder,
    directory: &Path,
    files: &mut Files,
    stop: &AtomicBool,
) -> Result<Record, NotExecuted> {
    if order.collect.is_empty() || done.outcome != Outcome::Measured {
        return Ok(done);
    }
    if order.directory.is_some() {
        // The agent may read more than the program could.
        let reason = "products are collected from a new directory alone, and the order names another";
        return Err(NotExecuted::through_plan(reason));
    }
    match files.collect(directory, &order.collect, stop) {
        Ok(products) => Ok(Record { products, ..done }),
        Err(NotCollected::NotMade { name, reason }) => {
            let failure = Failure::NoProduct { name, reason: cut(reason) };
            Ok(Record { outcome: Outcome::Failed(failure), ..done })
        }
        Err(NotCollected::NotKept(error)) => {
            let causes = with_causes(&error);
            Err(NotExecuted::new(format!(
                "the build succeeded, but what it made cannot be kept here: {causes}"
            )))
        }
    }
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
    Err(NotExecuted::through_plan(format!(
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
) -> LaunchCommand {
    LaunchCommand {
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
fn timed(order: &WorkOrder, command: LaunchCommand) -> LaunchCommand {
    let is_read = |stream| order.own_metrics.iter().any(|metric| metric.from == stream);
    let sink = |stream, kept| if is_read(stream) { capture(order, order.output.limit) } else { kept };
    LaunchCommand {
        stdout: sink(Stream::Stdout, command.stdout),
        stderr: sink(Stream::Stderr, command.stderr),
        metrics: order.metrics.clone(),
        ..command
    }
}

fn not_launched(what: &str, error: &LaunchError) -> NotExecuted {
    let text = with_causes(error);
    let reason = match error.hint() {
        Some(hint) => format!("{what} was not executed: {text} ({hint})"),
        None => format!("{what} was not executed: {text}"),
    };
    if error.is_the_commands() { NotExecuted::through_plan(reason) } else { NotExecuted::new(reason) }
}

fn no_directory(error: &std::io::Error) -> NotExecuted {
    NotExecuted::new(format!("cannot make the working directory: {error}"))
}

fn interrupted() -> NotExecuted {
    NotExecuted::new("the agent was stopped during the run")
}

fn cut(mut reason: String) -> String {
    reason.truncate(reason.floor_char_boundary(MAX_REASON_BYTES));
    reason
}
