//! What becomes of an experiment on this machine, from its submission to its report.

use std::time::Duration;

use anyhow::anyhow;
use speedup_core::{experiment::Experiment, value::id::ExperimentId};
use speedup_proto::convert::{ExperimentStatus, StatusPhase};
use uuid::Uuid;

use super::{
    AGENT_END, AGENT_END_AT_ONCE, Session, left::LeftExperiment, left::cancel, left::named, left::pause,
};
use crate::{
    arguments::Output, connection::Connection, connection::SubmittedExperiment, connection::selector,
    connection::selector::change_request, connection::started, connection::started::KeptAt,
    console::render::counted, console::render::report::Extent, exit::Exit, exit::failure::Failure,
    exit::standing::ExperimentStanding, follow::FollowUpdate, follow::Follower,
    follow::interrupt::Interrupts, follow::progress::Progress, gate, gate::Gate, plan::files::LocalFiles,
    results::attempts::Attempts, results::failed_runs, results::report, results::report::AnsweredReport,
    results::report::ReportOptions,
};

/// A coordinator in this process that does not answer will not come back.
const NO_PATIENCE: Duration = Duration::ZERO;

/// What is told when all is done.
#[derive(Clone, Debug)]
pub(crate) struct ReportingOptions {
    /// How much of the report is printed.
    pub(crate) extent: Extent,
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
    AtOnce(Exit),
}

impl End {
    fn has_measured(&self) -> bool {
        match self {
            Self::Finished { has_measured, .. } | Self::Stuck { has_measured, .. } => *has_measured,
            Self::AtOnce(_) => false,
        }
    }
}

impl ReportingOptions {
    /// Whether something reads the report that wants one in any case.
    fn is_for_programs(&self) -> bool {
        self.output == Output::Json || self.gate.is_some()
    }
}

impl Session<'_> {
    /// Carries an experiment out, reports, and ends.
    pub(crate) async fn carry_out(
        mut self,
        experiment: Experiment,
        files: &LocalFiles,
        telling: ReportingOptions,
    ) -> Result<Exit, Failure> {
        let done = self.conduct(experiment, files, telling).await;
        self.end(done.map(|(_, exit)| exit)).await
    }

    /// Carries an experiment out, and reports.
    pub(crate) async fn conduct(
        &mut self,
        experiment: Experiment,
        files: &LocalFiles,
        telling: ReportingOptions,
    ) -> Result<(ExperimentId, Exit), Failure> {
        files.send(&self.connection, &experiment, self.console).await?;
        self.submit_and_report(experiment, telling).await
    }

    /// Carries an experiment out without a report, and ends; gives how it ended, and what is read of it.
    pub(crate) async fn try_out<T>(
        mut self,
        experiment: Experiment,
        files: &LocalFiles,
        read: impl AsyncFnOnce(&Connection, ExperimentId) -> Result<T, Failure>,
    ) -> Result<(Exit, T), Failure> {
        let done = self.tried(experiment, files, read).await;
        let is_over = done.as_ref().is_ok_and(|(exit, _)| !exit.is_by_signal());
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
        let SubmittedExperiment { experiment, .. } = self.connection.submit(experiment, false, None).await?;
        let exit = match self.follow(experiment, &mut interrupts).await? {
            End::Finished { exit, .. } => exit,
            // Why no run is left that this host can execute stands with what failed.
            End::Stuck { .. } => {
                cancel(&self.connection, experiment).await?;
                Exit::Failed
            }
            End::AtOnce(exit) => exit,
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
        let submitted = self.connection.submit(experiment, false, Some(known_by)).await?;
        let experiment = submitted.experiment;
        // One that was interrupted is paused; others have nothing to resume.
        let _ = self.connection.experiments().resume(change_request(experiment)).await;
        match self.follow(experiment, &mut interrupts).await? {
            End::Finished { exit, .. } => Ok((experiment, exit)),
            End::Stuck { reason, .. } => {
                let told = failed_runs::read(&self.connection, experiment).await?;
                Err(stuck(&reason, &told).hint("check that the plan's programs and files exist"))
            }
            End::AtOnce(exit) => Ok((experiment, exit)),
        }
    }

    async fn submit_and_report(
        &mut self,
        experiment: Experiment,
        telling: ReportingOptions,
    ) -> Result<(ExperimentId, Exit), Failure> {
        let (name, seed) = (experiment.name.clone(), experiment.seed);
        let most = experiment.bisection().map(|bisection| bisection.maximum);
        // From here on Ctrl-C ends the experiment and not this process.
        let interrupts = Interrupts::listen()?;
        let SubmittedExperiment { experiment, runs, .. } =
            self.connection.submit(experiment, false, None).await?;
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
    pub(crate) async fn go_on(
        &mut self,
        left: &LeftExperiment,
        telling: ReportingOptions,
    ) -> Result<Exit, Failure> {
        let LeftExperiment { experiment, ref name } = *left;
        let interrupts = Interrupts::listen()?;
        let answer = self.connection.experiments().resume(change_request(experiment)).await;
        answer.map_err(|status| Failure::status("cannot resume the experiment", &status))?;
        self.console.talk(format_args!("{name} ({}) continues on this machine", selector::short(experiment)));
        self.attend(experiment, interrupts, telling).await
    }

    /// Follows an experiment to its end, and reports.
    async fn attend(
        &mut self,
        experiment: ExperimentId,
        mut interrupts: Interrupts,
        telling: ReportingOptions,
    ) -> Result<Exit, Failure> {
        let end = match self.follow(experiment, &mut interrupts).await {
            Ok(End::AtOnce(exit)) => {
                self.tell_kept(experiment, telling.rest).await?;
                return Ok(exit);
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
                if exit.is_by_signal() {
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
            End::AtOnce(exit) => Ok(exit),
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
        let mut interrupted = None;
        let mut given_up = false;
        let end = loop {
            tokio::select! {
                told = follower.next() => match told? {
                    FollowUpdate::Away { failure } => break Err(failure),
                    FollowUpdate::Status(status) => {
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
                exit = interrupts.next() => {
                    if interrupted.replace(exit).is_some() {
                        break Ok(End::AtOnce(exit));
                    }
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

    async fn report(&self, experiment: ExperimentId, telling: ReportingOptions) -> Result<Exit, Failure> {
        let noise_threshold = telling.gate.and_then(Gate::noise_threshold);
        let wanted = ReportOptions { noise_threshold, ..ReportOptions::default() };
        let report = AnsweredReport::parse(report::request(&self.connection, experiment, wanted).await?);
        report.print(&telling.extent, telling.output, self.console)?;
        let gated = telling.gate.map_or(Ok(Exit::Done), |gate| gate.judge_report(&report, self.console))?;
        Ok(if gated == Exit::Done { gate::judge_ends(&report) } else { gated })
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

    fn tell_failed(&self, experiment: ExperimentId, told: &failed_runs::FailureSummary) {
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

fn end_of(status: &ExperimentStatus, interrupted: Option<Exit>) -> Option<End> {
    let (abandoned, has_measured) = (status.tally.abandoned, status.tally.measured > 0);
    let is_at_rest = status.tally.leased + status.tally.running == 0;
    let is_held = matches!(status.phase, StatusPhase::Paused { .. } | StatusPhase::Deciding);
    match ExperimentStanding::from(status) {
        ExperimentStanding::Open if is_at_rest && is_held => {
            interrupted.map(|exit| End::Finished { exit, abandoned, has_measured })
        }
        ExperimentStanding::Open => None,
        ExperimentStanding::Finished(exit) => Some(End::Finished { exit, abandoned, has_measured }),
        ExperimentStanding::Stuck { reason } => Some(End::Stuck { reason, has_measured }),
    }
}

fn stuck(reason: &str, told: &failed_runs::FailureSummary) -> Failure {
    let mut text = reason.to_owned();
    // The reason often tells the last of them.
    for lost in
        told.lost.iter().filter(|lost| lost.split_once(": ").is_none_or(|(_, words)| !reason.contains(words)))
    {
        text += &format!("\n  {lost}");
    }
    Failure::infrastructure(anyhow!(text).context("the experiment cannot be carried out here"))
}
