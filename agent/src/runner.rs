//! The runner: a work order into a record. Everything around the timed execution happens outside the clock, in this
//! order: the setup, once on a host, with the software of all versions; the software, once for a version; the environment of the host; its rest; warm-ups; a new working directory; the
//! preparation; the page cache; the time to settle; a reading of the host; **the program**; another reading; the cleanup;
//! judging the output; collecting what a build made; the canary. Warm-ups have their own working directory, preparation and cleanup, so that they are
//! like the run.
//!
//! In reading order: [`Runner`], [`Undertaking`] (one run on its way through all this), `permission` (the owner's limits), `rest` (the wait until the host has come to rest), `outside` (commands of the plan outside
//! the clock, and the canary), `software` (modules, Spack, prologue and container), `variables` (what a command finds in its environment), `part` (what a host does for a run that several serve together), `judgement` (whether the benchmark did
//! what is expected, and whether the execution can tell), `cut_off` (whether it ended only because its agent is ended), `record` (what is reported).

mod cut_off;
mod judgement;
mod outside;
mod part;
mod permission;
mod record;
mod rest;
mod software;
mod variables;

use std::{
    collections::BTreeMap, ffi::OsString, path::Path, path::PathBuf, rc::Rc, sync::atomic::AtomicBool,
    sync::atomic::Ordering, time::Duration, time::Instant,
};

use speedup_core::{
    agent::STOPPED, agent::message::Grant, experiment::Setup, experiment::environment::DIRECTORY_NAME,
    experiment::environment::PageCache, experiment::gang::RANKS_VARIABLE, experiment::metric::Stream,
    experiment::template::TemplateError, host::HostFacts, run::Obstacle, run::conditions::Conditions,
    run::conditions::Unmet, run::disturbance::Disturbance, run::program::Program, run::record::Failure,
    run::record::MAX_REASON_BYTES, run::record::Outcome, run::record::Record, run::timer::TimerError,
    run::work::Resolved, run::work::WorkOrder, value::causes::with_causes, value::hint::Hinted,
    value::id::BootId, value::id::ExperimentId, value::id::JobId, value::time::Span,
};
use speedup_journal::private::Others;

use self::cut_off::EndedBy;
use self::judgement::{judge, unmeasured};
pub(crate) use self::part::Part;
use self::record::record;
use self::software::Ready;
use self::variables::{pad, size_of_variables, variables};
use crate::{
    file_system::Mounts, files::Files, files::NotCollected, files::Programs, files::Seen,
    files::StagingError, launch::End, launch::Execution, launch::LaunchCommand, launch::LaunchError,
    launch::Launcher, launch::Preparation, launch::Sink, launch::forget_peak, launch::program_of,
    launch::rank, limits::Limits, limits::NotAllowed, scratch, series, surroundings::Established,
    surroundings::Surroundings, wall_clock::unix_ns, workplace, workplace::Workplace,
};

/// What a program may do after it was asked to end, before it is killed.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// How often an agent that waits looks whether it shall stop; the clock does not run yet.
const STOP_LOOK: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Runner {
    launcher: Launcher,
    scratch: PathBuf,
    boot: BootId,
    /// The engine's job in which this agent lives.
    job: Option<JobId>,
    timer: Option<TimerError>,
    surroundings: Surroundings,
    limits: Limits,
    programs: Programs,
    mounts: Mounts,
    ended_by: EndedBy,
    software: software::Kept,
    /// Where the last run was.
    workplace: Option<Workplace>,
}

impl Runner {
    /// A runner with its directories under `scratch`, on the host with these facts and the kernel's files at `system`.
    pub(crate) fn new(
        scratch: &Path,
        facts: &HostFacts,
        system: &Path,
        surroundings: Surroundings,
        limits: Limits,
    ) -> Result<Self, LaunchError> {
        let (boot, timer) = (facts.boot.clone(), facts.timer.map(|test| test.error));
        let (launcher, programs) = (Launcher::new()?, Programs::default());
        let ended_by = EndedBy::of(facts, system);
        workplace::remove_old(scratch);
        Ok(Self {
            launcher,
            scratch: scratch.to_owned(),
            boot,
            job: facts.job.clone(),
            timer,
            surroundings,
            limits,
            programs,
            mounts: Mounts::default(),
            ended_by,
            software: software::Kept::default(),
            workplace: None,
        })
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
        let place = self.workplace(grant).map_err(|error| no_place(&error))?;
        let job = self.job.clone();
        let order = &*part::seated(grant, &place, job.as_ref())?;
        let input = place.input();
        let steps = Steps::of(order, &input.to_string_lossy())
            .map_err(|error| NotExecuted::through_plan(error.to_string()))?;
        let experiment = grant.experiment;
        let mut undertaking =
            Undertaking { runner: self, experiment, order, steps: &steps, place: &place, files, stop };
        undertaking.permit()?;
        if order.seat.is_some() {
            undertaking.clear_ranks()?;
        }
        if input.to_str().is_none() {
            return Err(NotExecuted::new("the scratch directory's path is not UTF-8"));
        }
        undertaking.set_up()?;
        let done = undertaking.run();
        let ranks = if order.seat.is_some() { rank::left(&place.ranks()) } else { Vec::new() };
        let done = done.map(|record| Record { ranks, ..record });
        place.clear_work();
        self.workplace = Some(place);
        if !order.own_metrics.is_empty() {
            // The whole output was in memory.
            let _ = forget_peak();
        }
        done
    }
}

impl Runner {
    /// The path by which a run reaches the scratch directory.
    pub(crate) fn scratch_for(&self, grant: &Grant) -> PathBuf {
        if grant.order.seat.is_none() {
            return self.scratch.clone();
        }
        let others = if self.surroundings.user().is_some() { Others::Pass } else { Others::Nothing };
        scratch::common(&self.scratch, grant.experiment, others)
    }

    /// The workplace of a run: that of the run before, if it was of the same experiment.
    fn workplace(&mut self, grant: &Grant) -> std::io::Result<Workplace> {
        let scratch = self.scratch_for(grant);
        match self.workplace.take().filter(|place| place.is_of(&scratch, grant.experiment)) {
            Some(place) => place.make().map(|()| place),
            None => Workplace::of(&scratch, &self.boot, self.surroundings.user(), grant.experiment),
        }
    }
}

/// A work order that is carried out: with what, where, and until when.
struct Undertaking<'a> {
    runner: &'a mut Runner,
    experiment: ExperimentId,
    order: &'a WorkOrder,
    steps: &'a Steps,
    place: &'a Workplace,
    files: &'a mut Files,
    stop: &'a AtomicBool,
}

impl Undertaking<'_> {
    fn run(&mut self) -> Result<Record, NotExecuted> {
        let Self { order, steps, .. } = *self;
        let software = self.software()?;
        let common = if steps.canary.is_some() { self.common_software()? } else { Rc::default() };
        let established = self.runner.surroundings.establish(&order.environment);
        insist(order, &established.unmet)?;
        let rest = order.rest.map(|rest| self.rest(&rest)).transpose()?;
        let (done, directory) = self.executions(&established, &software)?;
        let done = self.collected(done, &directory)?;
        let lacks_product = matches!(done.outcome, Outcome::Failed(Failure::NoProduct { .. }));
        if lacks_product && self.is_cut_off(&End::Exited(0)) {
            return Err(interrupted());
        }
        let canary = steps.canary.as_ref();
        let canary =
            canary.map(|step| self.canary(step, &established, &common).map_err(|not| cut(not.reason)));
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
        established: &Established,
        software: &Rc<Ready>,
    ) -> Result<(Record, PathBuf), NotExecuted> {
        let order = self.order;
        let mut unclean = None;
        for number in 1..=order.warmup {
            let Launched { execution, cleanup, directory, .. } =
                self.launch(established, software, Turn::WarmUp)?;
            unclean = unclean.or(cleanup.err());
            if let Some(failure) = judge(order, &execution) {
                self.stand_by(&failure, &execution)?;
                let failure = Failure::Warmup { number, failure: failure.words() };
                let record = record(order, execution, Outcome::Failed(failure), BTreeMap::new(), None);
                return Ok((record, directory));
            }
        }
        let launched = self.launch(established, software, Turn::Timed)?;
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
            Err(failure) => self.stand_by(failure, &execution)?,
        }
        let record = match series {
            Ok(series) => record(order, execution, Outcome::Measured, series, conditions),
            Err(failure) => record(order, execution, Outcome::Failed(failure), BTreeMap::new(), conditions),
        };
        Ok((Record { program, ..record }, directory))
    }

    /// Refuses a failure that says nothing of the benchmark: its agent is being ended, or stood still until its time was
    /// up.
    fn stand_by(&self, failure: &Failure, execution: &Execution) -> Result<(), NotExecuted> {
        if self.is_cut_off(&execution.end) {
            return Err(interrupted());
        }
        let needs_time = matches!(failure, Failure::TimedOut { .. });
        unmeasured(execution).filter(|_| needs_time).map_or(Ok(()), Err)
    }

    /// Whether a failure came of the agent's own end. Waits for that where it may be on its way.
    fn is_cut_off(&self, end: &End) -> bool {
        self.runner.ended_by.explains(end, self.stop)
    }

    fn set_up(&mut self) -> Result<(), NotExecuted> {
        let Self { steps, place, .. } = *self;
        let Some(setup) = steps.setup.as_ref().filter(|setup| !place.is_ready(&setup.resolved)) else {
            return Ok(());
        };
        let software = self.common_software()?;
        let directory =
            |error| NotExecuted::new(format!("cannot prepare the directory of the setup: {error}"));
        let input = place.clear_input().map_err(directory)?;
        self.outside(setup, &Standing { software, ..Standing::alone(input) })?;
        place.set_ready(&setup.resolved).map_err(directory)
    }

    /// One execution in a new working directory, with what the plan wants before and after it.
    fn launch(
        &mut self,
        established: &Established,
        software: &Rc<Ready>,
        turn: Turn,
    ) -> Result<Launched, NotExecuted> {
        let Self { order, steps, place, stop, .. } = *self;
        let Step { what, resolved: program, timeout } = &steps.program;
        let name = place.name_of_work(order.environment.directory_length, order.directory_padding);
        let work = place
            .new_work(name.as_deref().unwrap_or(DIRECTORY_NAME))
            .map_err(|error| no_directory(&error))?;
        let standing = Standing::of(program, work, software)?;
        if let Some(prepare) = &steps.prepare {
            self.outside(prepare, &standing)?;
        }
        let mut variables = standing.variables(program);
        if order.seat.is_some() {
            // By which path launchers find it on other hosts.
            let directory = standing.directory.to_string_lossy().into_owned();
            variables.entry("PWD".to_owned()).or_insert(directory);
            // A launcher of Slurm asks the controller that this names.
            if let Ok(configuration) = std::env::var("SLURM_CONF") {
                variables.entry("SLURM_CONF".to_owned()).or_insert(configuration);
            }
            let ranks = if turn == Turn::Timed { place.ranks() } else { PathBuf::new() };
            variables.insert(RANKS_VARIABLE.to_owned(), ranks.to_string_lossy().into_owned());
        }
        let padding = pad(&mut variables, order.environment.env_size, order.env_padding);
        let env_bytes = size_of_variables(&variables);
        let sink = capture(order, order.output.keep);
        let preparation = established.preparation.clone();
        let command = command(program, variables, &standing.directory, *timeout, sink, preparation);
        let command = self.in_container(command)?;
        let command = match turn {
            Turn::WarmUp => command,
            Turn::Timed => timed(order, command),
        };

        // Before the host settles: of a network file system the kernel may have to ask the server.
        let stood_on = (turn == Turn::Timed).then(|| self.runner.mounts.of(&standing.directory)).flatten();
        let mut established = established.clone();
        established.unmet.extend([padding.err(), name.err()].into_iter().flatten());
        if turn == Turn::Timed {
            self.settle(&mut established);
        }
        let held = self.runner.surroundings.hold(&mut established);
        let given = standing.made();
        let insisted = insist(order, &established.unmet)
            .and_then(|()| self.runner.allow(what, &command, given.as_ref()));
        let seen = (turn == Turn::Timed).then(|| program_of(&command).ok().map(Seen::at)).flatten();
        let before = (turn == Turn::Timed).then(|| self.runner.surroundings.before());
        self.runner.surroundings.forget_reading();
        let executed = insisted.and_then(|()| {
            self.runner.launcher.execute(&command, stop).map_err(|error| not_launched(what, &error))
        });
        let is_stopping = stop.load(Ordering::Acquire);
        let conditions = before.zip(executed.as_ref().ok()).map(|(before, execution)| {
            let conditions = self.runner.surroundings.after(before, execution, established);
            let directory_bytes = u32::try_from(standing.directory.as_os_str().len()).ok();
            let (file_system, software) = (stood_on.clone(), self.runner.software.used(software));
            let (env_bytes, env_padding) = (Some(env_bytes), order.env_padding);
            Conditions { env_bytes, env_padding, directory_bytes, file_system, software, ..conditions }
        });
        drop(held);
        // Before the cleanup, which may remove it.
        let program = seen.filter(|_| executed.is_ok()).map(|seen| self.runner.programs.content(seen, stop));
        // Whatever became of the program: the preparation was.
        let cleanup = steps.cleanup.as_ref().map_or(Ok(()), |cleanup| self.outside(cleanup, &standing));
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
    fn settle(&mut self, established: &mut Established) {
        let environment = &self.order.environment;
        if environment.page_cache == PageCache::Drop {
            self.runner.surroundings.forget_reading();
            established.unmet.extend(self.runner.surroundings.drop_page_cache().err());
        }
        wait(environment.settle.into(), self.stop);
    }

    /// With what a build that succeeded made in its directory.
    fn collected(&mut self, done: Record, directory: &Path) -> Result<Record, NotExecuted> {
        let order = self.order;
        if order.collect.is_empty() || done.outcome != Outcome::Measured {
            return Ok(done);
        }
        if order.directory.is_some() {
            // The agent may read more than the program could.
            let reason = "products are collected from a new directory alone, and the order names another";
            return Err(NotExecuted::through_plan(reason));
        }
        match self.files.collect(directory, &order.collect, self.stop) {
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
    directory: PathBuf,
    /// Home and place for temporary files.
    work: PathBuf,
    software: Rc<Ready>,
}

impl Standing {
    /// In its own directory.
    fn alone(work: PathBuf) -> Self {
        Self { directory: work.clone(), work, software: Rc::default() }
    }

    /// Where the plan wants the program to stand.
    fn of(program: &Resolved, work: PathBuf, software: &Rc<Ready>) -> Result<Self, NotExecuted> {
        let software = software.clone();
        match &program.directory {
            None => Ok(Self { software, ..Self::alone(work) }),
            Some(directory) if Path::new(directory).is_absolute() && Path::new(directory).is_dir() => {
                Ok(Self { directory: directory.into(), work, software })
            }
            Some(directory) => Err(NotExecuted::through_plan(format!(
                "the plan's directory {directory} is no directory on this host"
            ))),
        }
    }
}

impl Standing {
    /// The variables that software made for what stands here.
    fn made(&self) -> Option<BTreeMap<String, String>> {
        self.software.variables(&self.work)
    }

    /// The variables of a command that stands here.
    fn variables(&self, resolved: &Resolved) -> BTreeMap<String, String> {
        variables(resolved, &self.work, self.made())
    }
}

/// The commands of a run with nothing left to fill in.
struct Steps {
    setup: Option<Step>,
    prepare: Option<Step>,
    program: Step,
    cleanup: Option<Step>,
    canary: Option<Step>,
}

struct Step {
    what: &'static str,
    resolved: Resolved,
    timeout: Span,
}

impl Steps {
    /// On a host whose input directory is `input`.
    fn of(order: &WorkOrder, input: &str) -> Result<Self, TemplateError> {
        let step = |what, resolved: Option<Resolved>, setup: &Option<Setup>| {
            let (resolved, timeout) = (resolved?, setup.as_ref()?.timeout);
            Some(Step { what, resolved, timeout })
        };
        Ok(Self {
            program: Step { what: "the run", resolved: order.resolve(input)?, timeout: order.timeout },
            setup: step("the setup", order.resolve_setup(input)?, &order.setup),
            canary: step("the canary", order.resolve_canary(input)?, &order.canary),
            prepare: step("the preparation", order.resolve_prepare(input)?, &order.prepare),
            cleanup: step("the cleanup", order.resolve_cleanup(input)?, &order.cleanup),
        })
    }
}

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
        "the plan requires an environment that this host cannot provide: {}",
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

fn no_place(error: &std::io::Error) -> NotExecuted {
    NotExecuted::new(format!("cannot create the directory of the experiment: {error}"))
}

fn no_directory(error: &std::io::Error) -> NotExecuted {
    NotExecuted::new(format!("cannot create the working directory: {error}"))
}

fn interrupted() -> NotExecuted {
    NotExecuted::new(STOPPED)
}

fn cut(mut reason: String) -> String {
    reason.truncate(reason.floor_char_boundary(MAX_REASON_BYTES));
    reason
}

/// Why a run was not executed.
#[derive(Debug)]
pub(crate) struct NotExecuted {
    reason: String,
    /// Who stood in the way.
    obstacle: Obstacle,
}

impl NotExecuted {
    /// For want of something that the host has not, or that failed.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), obstacle: Obstacle::Host }
    }

    /// For want of something that the plan asks for: this host may well execute other plans.
    pub(crate) fn through_plan(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), obstacle: Obstacle::Plan }
    }

    /// What the record says.
    fn outcome(self) -> Outcome {
        Outcome::NotExecuted { reason: cut(self.reason), obstacle: self.obstacle }
    }
}

impl From<&StagingError> for NotExecuted {
    fn from(error: &StagingError) -> Self {
        let reason = with_causes(error);
        match error {
            StagingError::TooLarge { .. } | StagingError::Differs { .. } => Self::through_plan(reason),
            StagingError::Fetch { .. }
            | StagingError::Put { .. }
            | StagingError::Disk { .. }
            | StagingError::NotUtf8
            | StagingError::Stopped => Self::new(reason),
        }
    }
}

impl From<NotAllowed> for NotExecuted {
    fn from(not: NotAllowed) -> Self {
        match not {
            NotAllowed::Refused(reason) => Self { reason, obstacle: Obstacle::Owner },
            NotAllowed::NotThere(reason) => Self::through_plan(reason),
        }
    }
}
