//! The runner: turns a work order into a record.
//!
//! Everything around the timed execution happens outside the clock, in this order: the setup, once per host, with the
//! software of all versions; the software, once per version; the host's environment; its rest; the warm-ups; a new working directory; the
//! preparation; the page cache; the time to settle; a reading of the host; **the program**; another reading; the
//! cleanup; the judgement of the output; the products of a build; the canary. A warm-up has a working directory,
//! preparation and cleanup of its own, so that it is like the run.
//!
//! In reading order: [`Runner`], [`RunExecution`], and the modules: most have one of these steps; `permission` has the
//! owner's limits, `variables` a command's environment, `cut_off` whether the agent's own end cut a command off.

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
    run::work::ResolvedCommand, run::work::WorkOrder, value::causes::with_causes, value::hint::Hinted,
    value::id::BootId, value::id::ExperimentId, value::id::JobId, value::time::Span,
};
use speedup_journal::private::Others;

use self::cut_off::EndScope;
use self::judgement::{judge, unmeasured};
pub(crate) use self::part::PreparedPart;
use self::record::record;
use self::software::PreparedSoftware;
use self::variables::{pad, size_of_variables, variables};
use crate::{
    file_system::Mounts, files::Files, files::NotCollected, files::ProgramStamp, files::Programs,
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
    end_scope: EndScope,
    software: software::SoftwareCache,
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
        let end_scope = EndScope::find(facts, system);
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
            end_scope,
            software: software::SoftwareCache::default(),
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

    /// Executes a work order and takes its products into `files`. Gives the run up when `stop` is raised.
    pub(crate) fn execute(&mut self, grant: &Grant, files: &mut Files, stop: &AtomicBool) -> Record {
        let started_unix_ns = unix_ns();
        match self.attempt(grant, files, stop) {
            Ok(record) => record,
            Err(refused) => self.unexecuted(refused, started_unix_ns),
        }
    }

    /// The record of a run that was not begun.
    pub(crate) fn not_executed(&self, why: NotExecuted) -> Record {
        self.unexecuted(why, unix_ns())
    }

    fn unexecuted(&self, why: NotExecuted, started_unix_ns: u64) -> Record {
        Record { started_unix_ns, timer: self.timer, ..Record::bare(why.outcome()) }
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
        let commands = RunCommands::resolve(order, &input.to_string_lossy())
            .map_err(|error| NotExecuted::through_plan(error.to_string()))?;
        let experiment = grant.experiment;
        let mut execution =
            RunExecution { runner: self, experiment, order, commands: &commands, place: &place, files, stop };
        execution.permit()?;
        if order.seat.is_some() {
            execution.clear_ranks()?;
        }
        if input.to_str().is_none() {
            return Err(NotExecuted::new("the scratch directory's path is not UTF-8"));
        }
        execution.set_up()?;
        let record = execution.run();
        place.clear_work();
        self.workplace = Some(place);
        if !order.own_metrics.is_empty() {
            // The whole output was in memory, and the kernel would count its peak as the next program's.
            let _ = forget_peak();
        }
        record
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

/// The execution of one work order.
struct RunExecution<'a> {
    runner: &'a mut Runner,
    experiment: ExperimentId,
    order: &'a WorkOrder,
    commands: &'a RunCommands,
    place: &'a Workplace,
    files: &'a mut Files,
    stop: &'a AtomicBool,
}

impl RunExecution<'_> {
    /// Carries out all steps of the run and assembles its record.
    fn run(&mut self) -> Result<Record, NotExecuted> {
        let Self { order, commands, .. } = *self;
        let software = self.software()?;
        let common = if commands.canary.is_some() { self.common_software()? } else { Rc::default() };
        let established = self.runner.surroundings.establish(&order.environment);
        insist(order, &established.unmet)?;
        let rest = match &order.rest {
            Some(rest) => Some(self.rest(rest)?),
            None => None,
        };

        let (mut record, directory) = self.warm_up_and_time(&established, &software)?;
        self.collect_products(&mut record, &directory)?;
        // An agent that is being ended may have cut its build off before the product was there.
        let lacks_product = matches!(record.outcome, Outcome::Failed(Failure::NoProduct { .. }));
        if lacks_product && self.is_cut_off(&End::Exited(0)) {
            return Err(interrupted());
        }

        if let Some(canary) = &commands.canary {
            match self.canary(canary, &established, &common) {
                Ok(time) => record.canary = Some(time),
                Err(failed) => record.canary_failed = Some(cut(failed.reason)),
            }
        }
        if order.seat.is_some() {
            record.ranks = rank::left(&self.place.ranks());
        }
        record.rest = rest;
        record.timer = self.runner.timer;
        Ok(record)
    }

    /// Executes the warm-ups and the timed execution. Returns the record and the directory in which the program worked.
    fn warm_up_and_time(
        &mut self,
        established: &Established,
        software: &Rc<PreparedSoftware>,
    ) -> Result<(Record, PathBuf), NotExecuted> {
        let order = self.order;
        let mut cleanup_failure = None;
        for number in 1..=order.warmup {
            let warmed = self.launch(established, software, Purpose::WarmUp)?;
            cleanup_failure = cleanup_failure.or(warmed.cleanup.err());
            if let Some(failure) = judge(order, &warmed.execution) {
                self.confirm(&failure, &warmed.execution)?;
                let failure = Failure::Warmup { number, failure: failure.words() };
                let record = record(order, warmed.execution, Outcome::Failed(failure));
                return Ok((record, warmed.directory));
            }
        }

        let timed = self.launch(established, software, Purpose::Timed)?;
        let series = match judge(order, &timed.execution) {
            Some(failure) => Err(failure),
            None => series::read(&order.own_metrics, &timed.execution),
        };
        let mut record = match series {
            Ok(series) => {
                if let Some(unmeasured) = unmeasured(&timed.execution) {
                    return Err(unmeasured);
                }
                Record { series, ..record(order, timed.execution, Outcome::Measured) }
            }
            Err(failure) => {
                self.confirm(&failure, &timed.execution)?;
                record(order, timed.execution, Outcome::Failed(failure))
            }
        };
        record.conditions = timed.conditions;
        // A cleanup that failed may have left something behind that disturbs this run or the next.
        if let (Some(reason), Some(conditions)) =
            (cleanup_failure.or(timed.cleanup.err()), &mut record.conditions)
        {
            conditions.disturbances.push(Disturbance::CleanupFailed { reason });
        }
        record.program = timed.program;
        Ok((record, timed.directory))
    }

    /// Refuses a failure that is not the benchmark's: the agent is being ended, or the host stood still until the timeout.
    fn confirm(&self, failure: &Failure, execution: &Execution) -> Result<(), NotExecuted> {
        if self.is_cut_off(&execution.end) {
            return Err(interrupted());
        }
        match unmeasured(execution) {
            Some(unmeasured) if matches!(failure, Failure::TimedOut { .. }) => Err(unmeasured),
            _ => Ok(()),
        }
    }

    /// Whether the agent's own end caused a failure. Waits for the agent's signal where it may be on its way.
    fn is_cut_off(&self, end: &End) -> bool {
        self.runner.end_scope.explains(end, self.stop)
    }

    /// Executes the setup unless this host has done it for the experiment.
    fn set_up(&mut self) -> Result<(), NotExecuted> {
        let Self { commands, place, .. } = *self;
        let Some(setup) = &commands.setup else { return Ok(()) };
        if place.is_ready(&setup.resolved) {
            return Ok(());
        }
        let software = self.common_software()?;
        let input = place.clear_input().map_err(|error| no_setup_directory(&error))?;
        self.outside(setup, &ExecContext { software, ..ExecContext::in_own_directory(input) })?;
        place.set_ready(&setup.resolved).map_err(|error| no_setup_directory(&error))
    }

    /// Executes the program once in a new working directory, between the plan's preparation and cleanup.
    fn launch(
        &mut self,
        established: &Established,
        software: &Rc<PreparedSoftware>,
        purpose: Purpose,
    ) -> Result<LaunchOutcome, NotExecuted> {
        let Self { order, commands, stop, .. } = *self;
        let program = &commands.program;
        let (context, unmet_length) = self.prepare_directory(software)?;
        let mut variables = context.variables(&program.resolved);
        if order.seat.is_some() {
            self.add_gang_variables(&mut variables, &context.directory, purpose);
        }
        let padding = pad(&mut variables, order.environment.env_size, order.env_padding);
        let env_bytes = size_of_variables(&variables);
        let command = self.program_command(variables, &context, established, purpose)?;

        let mut established = established.clone();
        established.unmet.extend(padding.err());
        established.unmet.extend(unmet_length);
        let mut file_system = None;
        if purpose == Purpose::Timed {
            // Before the host settles: for a network file system the kernel may have to ask the server.
            file_system = self.runner.mounts.of(&context.directory);
            self.settle(&mut established);
        }
        let held = self.runner.surroundings.hold(&mut established);
        let permitted = insist(order, &established.unmet)
            .and_then(|()| self.runner.allow(program.what, &command, context.software_variables().as_ref()));
        let mut stamp = None;
        let mut before = None;
        if purpose == Purpose::Timed {
            stamp = program_of(&command).ok().map(ProgramStamp::at);
            before = Some(self.runner.surroundings.before());
        }
        self.runner.surroundings.forget_reading();
        let executed = permitted.and_then(|()| {
            self.runner.launcher.execute(&command, stop).map_err(|error| not_launched(program.what, &error))
        });
        let was_stopping = stop.load(Ordering::Acquire);
        let conditions = match (before, &executed) {
            (Some(before), Ok(execution)) => {
                // The reading comes first, so that no work of the agent lies between it and the program's end.
                let conditions = self.runner.surroundings.after(before, execution, established);
                Some(Box::new(Conditions {
                    env_bytes: Some(env_bytes),
                    env_padding: order.env_padding,
                    directory_bytes: u32::try_from(context.directory.as_os_str().len()).ok(),
                    file_system,
                    software: self.runner.software.used(software),
                    ..conditions
                }))
            }
            _ => None,
        };
        drop(held);
        // Hashed before the cleanup, which may remove the program.
        let content = match stamp {
            Some(stamp) if executed.is_ok() => Some(Box::new(self.runner.programs.content(stamp, stop))),
            _ => None,
        };
        // Even if the program did not start: the preparation was executed.
        let cleanup = self.clean_up(&context);
        let execution = executed?;
        // The signal that stops the agent may have reached the program first, so its result cannot be trusted.
        if was_stopping {
            return Err(interrupted());
        }
        Ok(LaunchOutcome { execution, conditions, program: content, cleanup, directory: context.directory })
    }

    /// Makes a new working directory and executes the plan's preparation in it. The second part is present if the directory
    /// could not have the length that the plan asks for.
    fn prepare_directory(
        &mut self,
        software: &Rc<PreparedSoftware>,
    ) -> Result<(ExecContext, Option<Unmet>), NotExecuted> {
        let Self { order, commands, place, .. } = *self;
        let name = place.name_of_work(order.environment.directory_length, order.directory_padding);
        let work = place
            .new_work(name.as_deref().unwrap_or(DIRECTORY_NAME))
            .map_err(|error| no_directory(&error))?;
        let context = ExecContext::for_program(&commands.program.resolved, work, software)?;
        if let Some(prepare) = &commands.prepare {
            self.outside(prepare, &context)?;
        }
        Ok((context, name.err()))
    }

    /// Executes the plan's cleanup; the error is why it failed.
    fn clean_up(&mut self, context: &ExecContext) -> Result<(), String> {
        match &self.commands.cleanup {
            Some(cleanup) => self.outside(cleanup, context).map_err(|failed| cut(failed.reason)),
            None => Ok(()),
        }
    }

    /// Adds the variables that the launcher of a gang's ranks needs.
    fn add_gang_variables(
        &self,
        variables: &mut BTreeMap<String, String>,
        directory: &Path,
        purpose: Purpose,
    ) {
        // Launchers start ranks on other hosts in the directory that this names.
        variables.entry("PWD".to_owned()).or_insert(directory.to_string_lossy().into_owned());
        // Slurm's launcher contacts the controller of the configuration that this names.
        if let Ok(configuration) = std::env::var("SLURM_CONF") {
            variables.entry("SLURM_CONF".to_owned()).or_insert(configuration);
        }
        // Ranks of a warm-up are not timed.
        let ranks = if purpose == Purpose::Timed { self.place.ranks() } else { PathBuf::new() };
        variables.insert(RANKS_VARIABLE.to_owned(), ranks.to_string_lossy().into_owned());
    }

    /// The program's command, in its container if the plan has one.
    fn program_command(
        &self,
        variables: BTreeMap<String, String>,
        context: &ExecContext,
        established: &Established,
        purpose: Purpose,
    ) -> Result<LaunchCommand, NotExecuted> {
        let PlanCommand { resolved, timeout, .. } = &self.commands.program;
        let sink = capture(self.order, self.order.output.keep);
        let preparation = established.preparation.clone();
        let command = command(resolved, variables, &context.directory, *timeout, sink, preparation);
        let command = self.in_container(command)?;
        Ok(match purpose {
            Purpose::WarmUp => command,
            Purpose::Timed => timed(self.order, command),
        })
    }

    /// Takes the last steps before the clock: empties the page cache and lets the host settle.
    fn settle(&mut self, established: &mut Established) {
        let environment = &self.order.environment;
        if environment.page_cache == PageCache::Drop {
            self.runner.surroundings.forget_reading();
            established.unmet.extend(self.runner.surroundings.drop_page_cache().err());
        }
        wait(environment.settle.into(), self.stop);
    }

    /// Collects what a successful build made in its directory. A missing product is the benchmark's failure.
    fn collect_products(&mut self, record: &mut Record, directory: &Path) -> Result<(), NotExecuted> {
        let order = self.order;
        if order.collect.is_empty() || record.outcome != Outcome::Measured {
            return Ok(());
        }
        if order.directory.is_some() {
            // The agent may read more than the program could.
            let reason = "products are collected from a new directory alone, and the order names another";
            return Err(NotExecuted::through_plan(reason));
        }
        match self.files.collect(directory, &order.collect, self.stop) {
            Ok(products) => record.products = products,
            Err(NotCollected::NotMade { name, reason }) => {
                record.outcome = Outcome::Failed(Failure::NoProduct { name, reason: cut(reason) });
            }
            Err(NotCollected::NotKept(error)) => {
                let causes = with_causes(&error);
                let reason = format!("the build succeeded, but what it made cannot be kept here: {causes}");
                return Err(NotExecuted::new(reason));
            }
        }
        Ok(())
    }
}

/// Waits until the time is over or the agent is to stop.
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

/// Working directory, private directory and software of a command.
struct ExecContext {
    directory: PathBuf,
    /// The command's `HOME` and `TMPDIR`.
    work: PathBuf,
    software: Rc<PreparedSoftware>,
}

impl ExecContext {
    /// A command that works in its private directory, without software.
    fn in_own_directory(work: PathBuf) -> Self {
        Self { directory: work.clone(), work, software: Rc::default() }
    }

    /// The program, in the directory that the plan names.
    fn for_program(
        program: &ResolvedCommand,
        work: PathBuf,
        software: &Rc<PreparedSoftware>,
    ) -> Result<Self, NotExecuted> {
        let software = software.clone();
        let Some(directory) = &program.directory else {
            return Ok(Self { software, ..Self::in_own_directory(work) });
        };
        let path = PathBuf::from(directory);
        if !path.is_absolute() || !path.is_dir() {
            let reason = format!("the plan's directory {directory} is no directory on this host");
            return Err(NotExecuted::through_plan(reason));
        }
        Ok(Self { directory: path, work, software })
    }

    /// The variables that the software set for this command.
    fn software_variables(&self) -> Option<BTreeMap<String, String>> {
        self.software.variables(&self.work)
    }

    fn variables(&self, resolved: &ResolvedCommand) -> BTreeMap<String, String> {
        variables(resolved, &self.work, self.software_variables())
    }
}

/// The commands of a run, with all placeholders filled in.
struct RunCommands {
    setup: Option<PlanCommand>,
    prepare: Option<PlanCommand>,
    program: PlanCommand,
    cleanup: Option<PlanCommand>,
    canary: Option<PlanCommand>,
}

struct PlanCommand {
    what: &'static str,
    resolved: ResolvedCommand,
    timeout: Span,
}

impl RunCommands {
    /// Fills in the placeholders for a host whose input directory is `input`.
    fn resolve(order: &WorkOrder, input: &str) -> Result<Self, TemplateError> {
        Ok(Self {
            program: PlanCommand { what: "the run", resolved: order.resolve(input)?, timeout: order.timeout },
            setup: PlanCommand::around("the setup", order.resolve_setup(input)?, order.setup.as_ref()),
            canary: PlanCommand::around("the canary", order.resolve_canary(input)?, order.canary.as_ref()),
            prepare: PlanCommand::around(
                "the preparation",
                order.resolve_prepare(input)?,
                order.prepare.as_ref(),
            ),
            cleanup: PlanCommand::around(
                "the cleanup",
                order.resolve_cleanup(input)?,
                order.cleanup.as_ref(),
            ),
        })
    }
}

impl PlanCommand {
    /// A command beside the program, if the plan has it.
    fn around(what: &'static str, resolved: Option<ResolvedCommand>, setup: Option<&Setup>) -> Option<Self> {
        Some(Self { what, resolved: resolved?, timeout: setup?.timeout })
    }
}

/// An execution of the program with all that was observed beside it.
struct LaunchOutcome {
    execution: Execution,
    /// Absent for a warm-up.
    conditions: Option<Box<Conditions>>,
    /// The content of the executed file; absent for a warm-up.
    program: Option<Box<Program>>,
    /// The error is why the cleanup failed.
    cleanup: Result<(), String>,
    /// The directory in which the program worked.
    directory: PathBuf,
}

/// What an execution is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
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
    resolved: &ResolvedCommand,
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

fn no_setup_directory(error: &std::io::Error) -> NotExecuted {
    NotExecuted::new(format!("cannot prepare the directory of the setup: {error}"))
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
