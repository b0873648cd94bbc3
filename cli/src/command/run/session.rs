//! One coordinator and one agent on this machine, for the time of one experiment.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use speedup_core::experiment::Experiment;
use speedup_core::value::id::ExperimentId;
use speedup_proto::convert::{ExperimentStatus, StatusPhase};
use uuid::Uuid;

use crate::arguments::Output;
use crate::command::change::request;
use crate::command::report;
use crate::command::submit::{Submitted, submit, submit_once};
use crate::command::user;
use crate::compose::local_agent::LocalAgent;
use crate::compose::{self, Coordinator};
use crate::connection::access::{self, Access, Written};
use crate::connection::selector::{self, Selector};
use crate::connection::started::{self, KeptAt};
use crate::connection::{self, Connection, Embedding, directories};
use crate::console::Console;
use crate::console::render::counted;
use crate::console::render::report::Extent;
use crate::exit::Exit;
use crate::exit::failure::Failure;
use crate::exit::gate::{self, Gate};
use crate::exit::standing::{self, Standing};
use crate::follow::interrupt::Interrupts;
use crate::follow::progress::Progress;
use crate::follow::{Follower, Told};
use crate::plan::files::LocalFiles;
use crate::results::asked::{self, Wanted};
use crate::results::attempts::Attempts;
use crate::results::failed_runs;

/// How long the agent may take to end when it has nothing to do.
const AGENT_END: Duration = Duration::from_secs(10);
/// How long it may take when the user will not wait.
const AGENT_END_AT_ONCE: Duration = Duration::from_millis(500);
/// Experiments that are left for `resume` in a directory; older ones are cancelled, so that the coordinator's own bound is never
/// met by what nobody goes on with.
const MOST_LEFT: usize = 100;
/// A coordinator in this process that does not answer will not come back.
const NO_PATIENCE: Duration = Duration::ZERO;

/// A coordinator and an agent.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    console: &'a Console,
    data: PathBuf,
    connection: Connection,
    /// What the agent is let in with.
    access: Written,
    agent: LocalAgent,
    /// Whether the directory is one of those that are taken where none is named.
    is_usual: bool,
    /// Whether later commands find the experiment by its id alone.
    is_noted: bool,
}

/// An experiment that was left with runs to execute.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    /// Its id.
    pub(crate) experiment: ExperimentId,
    /// Its name.
    name: String,
}

/// What is told when all is done.
#[derive(Clone, Debug)]
pub(crate) struct Telling {
    /// How much of the report is printed.
    pub(crate) extent: Extent,
    /// How it is printed.
    pub(crate) output: Output,
    /// What the exit code goes by besides the runs.
    pub(crate) gate: Option<Gate>,
    /// What becomes of the runs that are left when it is interrupted.
    pub(crate) rest: Remainder,
}

/// What becomes of the runs that are left when the user interrupts an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remainder {
    /// They wait for `resume`.
    Left,
    /// They are cancelled: what they need is gone.
    Cancelled,
}

/// How carrying out ended.
#[derive(Debug)]
enum End {
    /// All runs are settled, or Ctrl-C paused what is left.
    Finished { exit: Exit, abandoned: u32, has_measured: bool },
    /// The coordinator paused the experiment.
    Stuck { reason: String, has_measured: bool },
    /// The user would not wait for the run under way.
    AtOnce,
}

impl End {
    fn has_measured(&self) -> bool {
        match self {
            Self::Finished { has_measured, .. } | Self::Stuck { has_measured, .. } => *has_measured,
            Self::AtOnce => false,
        }
    }
}

impl Telling {
    /// Whether something reads the report that wants one in any case.
    fn is_for_programs(&self) -> bool {
        self.output == Output::Json || self.gate.is_some()
    }
}

impl<'a> Session<'a> {
    /// Starts both, and waits until the agent has joined. Without a directory it takes the first that no other command is
    /// measuring on.
    pub(crate) async fn start(console: &'a Console, data: Option<&Path>) -> Result<Self, Failure> {
        let is_usual = data.is_none();
        let (coordinator, data) = match data {
            Some(data) => (compose::embedded(data).await?, data.to_owned()),
            None => of_first_free(console).await?,
        };
        let connection = Connection::within(coordinator);
        leave(&connection, None, console, (!is_usual).then_some(data.as_path())).await?;
        let mut session = Self::within(console, connection, data).await?;
        session.is_usual = is_usual;
        Ok(session)
    }

    /// Starts both on the directory in which an experiment was left. `is_noted` says that later commands find the experiment by its
    /// id alone.
    pub(crate) async fn reopen(
        console: &'a Console,
        data: &Path,
        which: &Selector,
        is_noted: bool,
    ) -> Result<(Self, Left), Failure> {
        let connection = Connection::within(compose::embedded(data).await?);
        let found = left(&connection, which).await;
        let found = match found {
            Ok(found) => found,
            Err(failure) => {
                connection.close().await;
                return Err(failure);
            }
        };
        leave(&connection, Some(found.experiment), console, (!is_noted).then_some(data)).await?;
        let mut session = Self::within(console, connection, data.to_owned()).await?;
        session.is_noted = is_noted;
        Ok((session, found))
    }

    /// Starts both on the directory of a command that goes on by itself with what it left there.
    pub(crate) async fn own(console: &'a Console, data: &Path) -> Result<Self, Failure> {
        Self::within(console, Connection::within(compose::embedded(data).await?), data.to_owned()).await
    }

    /// Starts the agent of a coordinator, and waits until it has joined.
    async fn within(console: &'a Console, connection: Connection, data: PathBuf) -> Result<Self, Failure> {
        let access = let_in(&connection, &data).await?;
        let mut agent = LocalAgent::start(connection.url(), access.path(), &data)?;
        match agent.joined(&connection).await {
            Ok(()) => Ok(Self { console, data, connection, access, agent, is_usual: false, is_noted: false }),
            Err(failure) => {
                agent.stop(AGENT_END).await;
                connection.close().await;
                access.remove()?;
                Err(failure)
            }
        }
    }

    /// Carries an experiment out, reports, and ends.
    pub(crate) async fn carry_out(
        mut self,
        experiment: Experiment,
        files: &LocalFiles,
        telling: Telling,
    ) -> Result<Exit, Failure> {
        let done = self.conduct(experiment, files, telling).await;
        self.end(done.map(|(_, exit)| exit)).await
    }

    /// Carries an experiment out, and reports.
    pub(crate) async fn conduct(
        &mut self,
        experiment: Experiment,
        files: &LocalFiles,
        telling: Telling,
    ) -> Result<(ExperimentId, Exit), Failure> {
        files.send(&self.connection, &experiment, self.console).await?;
        self.submit_and_report(experiment, telling).await
    }

    /// Ends, after this was done.
    pub(crate) async fn end(self, done: Result<Exit, Failure>) -> Result<Exit, Failure> {
        let patience = match done {
            Ok(Exit::Interrupted) | Err(_) => AGENT_END_AT_ONCE,
            Ok(_) => AGENT_END,
        };
        let closed = self.close(patience).await;
        done.and_then(|exit| closed.map(|()| exit))
    }

    async fn close(self, patience: Duration) -> Result<(), Failure> {
        self.agent.stop(patience).await;
        self.connection.close().await;
        self.access.remove()
    }

    /// Carries an experiment out without a report, and ends; gives how it ended, and what is read of it.
    pub(crate) async fn try_out<T>(
        mut self,
        experiment: Experiment,
        files: &LocalFiles,
        read: impl AsyncFnOnce(&Connection, ExperimentId) -> Result<T, Failure>,
    ) -> Result<(Exit, T), Failure> {
        let done = self.tried(experiment, files, read).await;
        let is_over = done.as_ref().is_ok_and(|(exit, _)| *exit != Exit::Interrupted);
        let closed = self.close(if is_over { AGENT_END } else { AGENT_END_AT_ONCE }).await;
        done.and_then(|done| closed.map(|()| done))
    }

    async fn tried<T>(
        &mut self,
        experiment: Experiment,
        files: &LocalFiles,
        read: impl AsyncFnOnce(&Connection, ExperimentId) -> Result<T, Failure>,
    ) -> Result<(Exit, T), Failure> {
        files.send(&self.connection, &experiment, self.console).await?;
        let mut interrupts = Interrupts::listen()?;
        let Submitted { experiment, .. } = submit(&self.connection, experiment, false).await?;
        let exit = match self.follow(experiment, &mut interrupts).await? {
            End::Finished { exit, .. } => exit,
            // Why no run is left that this host can execute stands with what failed.
            End::Stuck { .. } => {
                cancel(&self.connection, experiment).await?;
                Exit::Failed
            }
            End::AtOnce => Exit::Interrupted,
        };
        Ok((exit, read(&self.connection, experiment).await?))
    }

    /// Carries an experiment out without a report; the same `known_by` again goes on with what it left.
    pub(crate) async fn measure(
        &mut self,
        experiment: Experiment,
        files: &LocalFiles,
        known_by: Uuid,
    ) -> Result<(ExperimentId, Exit), Failure> {
        files.send(&self.connection, &experiment, self.console).await?;
        let mut interrupts = Interrupts::listen()?;
        let submitted = submit_once(&self.connection, experiment, false, Some(known_by)).await?;
        let experiment = submitted.experiment;
        // One that was interrupted is paused; others have nothing to resume.
        let _ = self.connection.experiments().resume(request(experiment)).await;
        match self.follow(experiment, &mut interrupts).await? {
            End::Finished { exit, .. } => Ok((experiment, exit)),
            End::Stuck { reason, .. } => {
                let told = failed_runs::read(&self.connection, experiment).await?;
                Err(stuck(&reason, &told).hint("check that the plan's programs and files exist"))
            }
            End::AtOnce => Ok((experiment, Exit::Interrupted)),
        }
    }

    /// The connection to its coordinator.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    async fn submit_and_report(
        &mut self,
        experiment: Experiment,
        telling: Telling,
    ) -> Result<(ExperimentId, Exit), Failure> {
        let (name, seed) = (experiment.name.clone(), experiment.seed);
        let most = experiment.bisection().map(|bisection| bisection.maximum);
        // From here on Ctrl-C ends the experiment and not this process.
        let interrupts = Interrupts::listen()?;
        let Submitted { experiment, runs, .. } = submit(&self.connection, experiment, false).await?;
        // Who names a directory names it again.
        self.is_noted = self.is_usual && started::note(experiment, &name, KeptAt::Data(self.data.clone()));
        self.console.talk(format_args!(
            "seed {seed}: {name} ({}), {}{} on this machine",
            selector::short(experiment),
            if most.is_some() { "at most " } else { "" },
            counted(most.unwrap_or(runs).into(), "run")
        ));
        let exit = self.attend(experiment, interrupts, telling).await?;
        Ok((experiment, exit))
    }

    /// Goes on with an experiment that was left, and reports.
    pub(crate) async fn go_on(&mut self, left: &Left, telling: Telling) -> Result<Exit, Failure> {
        let Left { experiment, ref name } = *left;
        let interrupts = Interrupts::listen()?;
        let answer = self.connection.experiments().resume(request(experiment)).await;
        answer.map_err(|status| Failure::status("cannot resume the experiment", &status))?;
        self.console.talk(format_args!("{name} ({}) continues on this machine", selector::short(experiment)));
        self.attend(experiment, interrupts, telling).await
    }

    /// Follows an experiment to its end, and reports.
    async fn attend(
        &mut self,
        experiment: ExperimentId,
        mut interrupts: Interrupts,
        telling: Telling,
    ) -> Result<Exit, Failure> {
        let end = match self.follow(experiment, &mut interrupts).await {
            Ok(End::AtOnce) => {
                self.tell_kept(experiment, telling.rest).await?;
                return Ok(Exit::Interrupted);
            }
            Ok(end) => end,
            Err(failure) => {
                // Why it failed weighs more than what cannot be done then.
                let _ = self.tell_kept(experiment, telling.rest).await;
                return Err(failure);
            }
        };
        if matches!(end, End::Stuck { has_measured: false, .. }) {
            // To resume it is no better than to run the plan again.
            cancel(&self.connection, experiment).await?;
        }
        let rest = telling.rest;
        let reported = match end.has_measured() || telling.is_for_programs() {
            true => self.report(experiment, telling).await,
            // What went wrong says all there is to say.
            false => Ok(Exit::Done),
        };
        let told = failed_runs::read(&self.connection, experiment).await?;
        self.tell_failed(experiment, &told);
        match end {
            End::Finished { exit, abandoned, has_measured } => {
                if let Some(text) = told.abandoned(abandoned) {
                    self.console.warn(text);
                }
                let gated = reported?;
                if has_measured {
                    self.tell_again(experiment);
                }
                if exit == Exit::Interrupted {
                    self.settle_rest(experiment, rest).await?;
                }
                // A sample that is not the planned one weighs more than what it says.
                Ok(if exit == Exit::Done { gated } else { exit })
            }
            End::Stuck { reason, has_measured } => {
                let again = format!("`speedup resume {}` continues where it stopped", self.which(experiment));
                let again = if has_measured { &again } else { "run the plan again" };
                Err(stuck(&reason, &told)
                    .hint(format!("check that the plan's programs and files exist, then {again}")))
            }
            End::AtOnce => Ok(Exit::Interrupted),
        }
    }

    /// Whether a run of every cell failed and none was measured. What fails at once fails again, and is looked for in vain at
    /// the end of a long plan.
    async fn is_hopeless(&self, status: &ExperimentStatus) -> Result<bool, Failure> {
        if status.tally.measured > 0 || status.tally.failed < status.cells {
            return Ok(false);
        }
        Ok(failed_runs::read(&self.connection, status.experiment).await?.in_every_cell)
    }

    /// Follows the experiment to its end, whatever happens first.
    async fn follow(
        &mut self,
        experiment: ExperimentId,
        interrupts: &mut Interrupts,
    ) -> Result<End, Failure> {
        let Attempts { plan, .. } = Attempts::open(&self.connection, experiment).await?;
        let mut progress = Progress::here(self.console, plan.with_first_runs().order().to_vec());
        let mut follower = Follower::new(self.connection.experiments(), experiment, NO_PATIENCE);
        let (mut interrupted, mut given_up) = (false, false);
        let end = loop {
            tokio::select! {
                told = follower.next() => match told? {
                    Told::Away { failure } => break Err(failure),
                    Told::Status(status) => {
                        progress.show(&status);
                        if let Some(end) = end_of(&status, interrupted) {
                            break Ok(end);
                        }
                        if !given_up && self.is_hopeless(&status).await? {
                            given_up = true;
                            progress.say("Every benchmark failed in every version before any run was measured: \
                                skipping the rest.");
                            // It may have finished meanwhile, which its status says next.
                            let _ = cancel(&self.connection, experiment).await;
                        }
                    }
                },
                () = interrupts.next() => {
                    if interrupted {
                        break Ok(End::AtOnce);
                    }
                    interrupted = true;
                    progress.say("Interrupted: finishing the current run; press Ctrl-C again to stop at once.");
                    // It may have finished meanwhile, which its status says next.
                    let _ = pause(&self.connection, experiment).await;
                }
                failure = self.agent.ended() => break Err(failure),
                failure = self.connection.failed() => break Err(failure),
            }
        };
        progress.end();
        end
    }

    async fn report(&self, experiment: ExperimentId, telling: Telling) -> Result<Exit, Failure> {
        let json = asked::report(&self.connection, experiment, Wanted::default()).await?;
        report::show(&json, &telling.extent, telling.output, self.console)?;
        let gated = telling.gate.map_or(Ok(Exit::Done), |gate| gate.of_report(&json, self.console))?;
        Ok(if gated == Exit::Done { gate::of_ends(&json) } else { gated })
    }

    fn tell_again(&self, experiment: ExperimentId) {
        let which = self.which(experiment);
        self.console.talk(format_args!("`speedup report {which} -v` shows all of the report."));
    }

    async fn tell_kept(&self, experiment: ExperimentId, rest: Remainder) -> Result<(), Failure> {
        let which = self.which(experiment);
        self.console.talk(format_args!("The results so far are kept: `speedup report {which}`"));
        self.settle_rest(experiment, rest).await
    }

    /// Says how to go on with the runs that are left, or cancels them.
    async fn settle_rest(&self, experiment: ExperimentId, rest: Remainder) -> Result<(), Failure> {
        match rest {
            Remainder::Left => {
                let which = self.which(experiment);
                self.console.talk(format_args!("`speedup resume {which}` continues where it stopped."));
                Ok(())
            }
            Remainder::Cancelled => cancel(&self.connection, experiment).await,
        }
    }

    /// The experiment as a later command finds it.
    fn which(&self, experiment: ExperimentId) -> String {
        named(experiment, (!self.is_noted).then_some(self.data.as_path()))
    }

    fn tell_failed(&self, experiment: ExperimentId, told: &failed_runs::Told) {
        if told.failed.is_empty() {
            return;
        }
        self.console.warn("benchmarks failed:");
        told.failed.iter().for_each(|line| self.console.talk(format_args!("  {line}")));
        let which = self.which(experiment);
        self.console
            .talk(format_args!("`speedup export {which} --format jsonl` has all of them with their output."));
    }
}

/// A coordinator on the first local directory that no other command is measuring on. One that a command only reads is waited
/// for.
async fn of_first_free(console: &Console) -> Result<(Coordinator, PathBuf), Failure> {
    let mut in_use = None;
    for data in directories::locals()? {
        match connection::embed(&data, async || Some(())).await? {
            Embedding::Done(coordinator) => return Ok((*coordinator, data)),
            Embedding::Measured(()) => {}
            Embedding::InUse(failure) => in_use = Some(failure),
        }
        console.warn("another command is measuring on this machine: they disturb each other's times");
    }
    let measured = || Failure::infrastructure(anyhow!("too many commands are measuring on this machine"));
    Err(in_use
        .unwrap_or_else(|| measured().hint("wait until one has ended, or name a directory with --data")))
}

/// Writes what the agent is let in with where no other user of this machine can read it.
async fn let_in(connection: &Connection, data: &Path) -> Result<Written, Failure> {
    let path = access::within(data);
    let credentials = match connection.embedded() {
        Some(coordinator) => {
            // One that was left by a command that was killed serves again, unless it is damaged.
            let before =
                access::read(&path).ok().flatten().and_then(|access| access.credentials().ok().flatten());
            coordinator.own_credentials(&user(), before).await?
        }
        None => None,
    };
    access::write(&path, Access::of_this_process(connection.url().to_owned(), credentials.as_ref()))
}

fn end_of(status: &ExperimentStatus, interrupted: bool) -> Option<End> {
    let (abandoned, has_measured) = (status.tally.abandoned, status.tally.measured > 0);
    let is_at_rest = status.tally.leased + status.tally.running == 0;
    let is_held = matches!(status.phase, StatusPhase::Paused { .. } | StatusPhase::Deciding);
    match Standing::from(status) {
        Standing::Open if interrupted && is_at_rest && is_held => {
            Some(End::Finished { exit: Exit::Interrupted, abandoned, has_measured })
        }
        Standing::Open => None,
        Standing::Finished(exit) => Some(End::Finished { exit, abandoned, has_measured }),
        Standing::Stuck { reason } => Some(End::Stuck { reason, has_measured }),
    }
}

fn stuck(reason: &str, told: &failed_runs::Told) -> Failure {
    let mut text = reason.to_owned();
    // The reason often tells the last of them.
    for lost in
        told.lost.iter().filter(|lost| lost.split_once(": ").is_none_or(|(_, words)| !reason.contains(words)))
    {
        text += &format!("\n  {lost}");
    }
    Failure::infrastructure(anyhow!(text).context("the experiment cannot be carried out here"))
}

/// The experiment as a later command finds it: by its id alone, or in the directory that has to be named.
fn named(experiment: ExperimentId, data: Option<&Path>) -> String {
    match data {
        None => selector::short(experiment),
        Some(data) => format!("{experiment} --data {}", data.display()),
    }
}

/// The experiment that is meant, with its name, if it is not finished.
async fn left(connection: &Connection, which: &Selector) -> Result<Left, Failure> {
    let mut client = connection.experiments();
    let experiment = which.resolve(&mut client, &[]).await?;
    let answer = client.get(selector::get(experiment)).await;
    let answer = answer.map_err(|status| Failure::status("cannot find the experiment", &status))?;
    let status = ExperimentStatus::try_from(answer.into_inner());
    let status = status.map_err(|error| Failure::malformed("cannot find the experiment", error))?;
    match status.phase {
        StatusPhase::Finished { .. } | StatusPhase::Cancelling => {
            let words = anyhow!("{} ({experiment}) is {}", status.name, standing::phase(&status));
            Err(Failure::usage(words.context("the experiment has no runs left to execute"))
                .hint("`speedup run PLAN` starts a new one"))
        }
        StatusPhase::Running
        | StatusPhase::WaitingForHosts
        | StatusPhase::Deciding
        | StatusPhase::Paused { .. } => Ok(Left { experiment, name: status.name }),
    }
}

/// Pauses the experiments of commands that were killed: their runs must not go before ours. `data` is the directory, where it
/// has to be named to find them.
async fn leave(
    connection: &Connection,
    except: Option<ExperimentId>,
    console: &Console,
    data: Option<&Path>,
) -> Result<(), Failure> {
    let listed = selector::list(&mut connection.experiments(), 0).await?;
    let open = listed.into_iter().filter(|one| Some(one.experiment) != except);
    let open = open.filter(|one| match one.phase {
        StatusPhase::Finished { .. } | StatusPhase::Cancelling => false,
        StatusPhase::Running
        | StatusPhase::WaitingForHosts
        | StatusPhase::Deciding
        | StatusPhase::Paused { .. } => true,
    });
    for (place, left) in open.enumerate() {
        let experiment = left.experiment;
        if place >= MOST_LEFT {
            cancel(connection, experiment).await?;
        } else if !matches!(left.phase, StatusPhase::Paused { .. }) {
            pause(connection, experiment).await?;
            console.talk(format_args!(
                "{} was not finished when the command that started it ended: `speedup resume {}` continues where it stopped",
                left.name,
                named(experiment, data)
            ));
        }
    }
    Ok(())
}

async fn pause(connection: &Connection, experiment: ExperimentId) -> Result<(), Failure> {
    let answer = connection.experiments().pause(request(experiment)).await;
    answer.map_err(|status| Failure::status("cannot pause the experiment", &status))?;
    Ok(())
}

async fn cancel(connection: &Connection, experiment: ExperimentId) -> Result<(), Failure> {
    let answer = connection.experiments().cancel(request(experiment)).await;
    answer.map_err(|status| Failure::status("cannot cancel the experiment", &status))?;
    Ok(())
}
