//! What a command leads to: events and effects, or a refusal. Nothing is changed here.

mod attempt;
mod pool;

use super::{
    Active, BuildResult, Command, Decision, Effect, MAX_ACTIVE, Machine, Notice, Phase, Refusal, Request,
};
use crate::experiment::{Bisection, MAX_RUNS, Rule};
use crate::fingerprint::ClassId;
use crate::machine::event::{Change, Event};
use crate::plan::{Extension, Plan};
use crate::run::LossReason;
use crate::value::id::{ExperimentId, RunIndex};
use crate::value::{bounded::share, time::Timestamp};

type Answer = Result<(Vec<Event>, Vec<Effect>), Refusal>;

impl Machine {
    /// Decides a command. `now` is not before [`Machine::latest`].
    pub(super) fn decide(&self, now: Timestamp, command: Command) -> Answer {
        let changes = match command {
            Command::Submit { experiment, plan, by, wait_for_hosts, request } => {
                self.require_room(experiment, &by)?;
                let submitted = Change::Submitted { experiment, plan: plan.clone(), by, request };
                self.submit(experiment, &plan, wait_for_hosts, submitted)?
            }
            Command::Pause(request) => self.pause(request)?,
            Command::Resume(request) => self.resume(request)?,
            Command::Cancel(request) => self.cancel(request)?,
            Command::Extend { request, more } => self.extend(request, more)?,
            Command::Decide { request, from, decision, words } => {
                self.decide_rule(request, from, decision, words)?
            }
            Command::Approve { request, host } => self.approve(request, host)?,
            Command::Drain(request) => return self.drain(now, request),
            Command::Quarantine { request, reason } => self.quarantine(request, reason)?,
            Command::ResumeHost(request) => self.resume_host(request)?,
            Command::ResetHost(request) => self.reset_host(request)?,
            Command::Join { facts, agent, epoch } => self.join(now, facts, agent, epoch)?,
            Command::Ask(speaker) => return self.ask(now, speaker),
            Command::Ready { speaker, lease } => return self.ready(now, &speaker, lease),
            Command::Started { speaker, lease } => self.started(speaker, lease)?,
            Command::Report { speaker, report } => return self.report(now, &speaker, *report),
        };
        Ok((dated(now, changes), Vec::new()))
    }

    /// What follows from what happened. `now` is not before [`Machine::latest`].
    pub(super) fn consequences(&self, now: Timestamp, notice: Notice) -> Vec<Event> {
        let changes = match notice {
            Notice::Start => vec![Change::CoordinatorStarted],
            Notice::Leave(speaker) => self.leave(now, speaker),
            Notice::JobEnded { host, job, words, is_excused } => {
                self.job_ended(now, &host, &job, LossReason::JobEnded { words, is_excused })
            }
            Notice::Engine(note) => vec![Change::EngineNoted(note)],
            Notice::Tick => self.expire(now).chain(self.rested(now)).collect(),
            Notice::Rest => self.rested(now).collect(),
        };
        dated(now, changes)
    }

    fn submit(
        &self,
        experiment: ExperimentId,
        plan: &Plan,
        wait_for_hosts: bool,
        submitted: Change,
    ) -> Result<Vec<Change>, Refusal> {
        let hosts = plan.experiment.independence.hosts;
        let pinned = self.largest_class().filter(|_| hosts.pins_classes());
        if !wait_for_hosts && let Some(shortage) = self.pool().shortage(plan) {
            return Err(Refusal::PoolTooSmall(shortage));
        }
        let pinned = pinned.map(|(_, class)| Change::ClassPinned { experiment, class });
        Ok(std::iter::once(submitted).chain(pinned).collect())
    }

    /// Refuses an experiment that is there, and a user who has his share of the active ones: others can submit even when one user's
    /// script submits without end.
    fn require_room(&self, experiment: ExperimentId, by: &str) -> Result<(), Refusal> {
        if self.experiments.contains_key(&experiment) {
            return Err(Refusal::Exists(experiment));
        }
        if self.experiments.len() >= MAX_ACTIVE {
            return Err(Refusal::TooManyActive);
        }
        let own = self.experiments.values().filter(|active| active.kept.by == by).count();
        let most = share(MAX_ACTIVE as u64, (self.experiments.len() - own) as u64);
        if own as u64 >= most {
            return Err(Refusal::TooManyOfUser { by: by.to_owned(), most });
        }
        Ok(())
    }

    /// The class of most hosts that may be given runs, if there are any, and how many they are.
    fn largest_class(&self) -> Option<(u32, ClassId)> {
        let counted = self.classes.iter().map(|(id, class)| (class.available, *id));
        counted.filter(|(available, _)| *available > 0).max()
    }

    fn pause(&self, Request { experiment, by }: Request) -> Result<Vec<Change>, Refusal> {
        match &self.changeable(experiment)?.kept.phase {
            Phase::Paused { .. } => Ok(Vec::new()),
            Phase::Running | Phase::Deciding | Phase::Decided | Phase::Cancelled => {
                let reason = format!("paused by {by}");
                Ok(vec![Change::Paused { experiment, by, reason }])
            }
        }
    }

    fn resume(&self, Request { experiment, by }: Request) -> Result<Vec<Change>, Refusal> {
        match &self.changeable(experiment)?.kept.phase {
            Phase::Paused { .. } => Ok(vec![Change::Resumed { experiment, by }]),
            Phase::Running | Phase::Deciding | Phase::Decided | Phase::Cancelled => Ok(Vec::new()),
        }
    }

    fn cancel(&self, Request { experiment, by }: Request) -> Result<Vec<Change>, Refusal> {
        self.changeable(experiment)?;
        Ok(vec![Change::Cancelled { experiment, by, reason: String::new() }])
    }

    fn extend(&self, Request { experiment, by }: Request, more: u32) -> Result<Vec<Change>, Refusal> {
        let plan = &self.changeable(experiment)?.kept.plan;
        if plan.experiment.bisection().is_some() {
            return Err(Refusal::Bisecting(experiment));
        }
        if plan.is_building() {
            return Err(Refusal::Building(experiment));
        }
        let more_runs = u64::from(plan.visit().size()) * u64::from(more);
        check_runs(u64::from(plan.runs()) + u64::from(plan.cells()) * more_runs)?;
        let from = plan.runs();
        let appended = plan.draw_extension(&plan.singly(more), plan.visit());
        Ok(vec![Change::Extended { experiment, from, appended, by }])
    }

    fn decide_rule(
        &self,
        Request { experiment, by }: Request,
        computed_from: u32,
        decision: Decision,
        words: String,
    ) -> Result<Vec<Change>, Refusal> {
        let active = self.changeable(experiment)?;
        if active.kept.phase != Phase::Deciding {
            return Err(Refusal::NotDeciding(experiment));
        }
        // Another look at the rule was faster, and its runs are settled by now.
        if active.kept.plan.runs() != computed_from {
            return Err(Refusal::StaleDecision { experiment, computed_from, runs: active.kept.plan.runs() });
        }
        match decision {
            Decision::Enough => Ok(vec![Change::Decided { experiment, by, enough: true, words }]),
            Decision::Extend(appended) => {
                check_extension(active, &appended)?;
                let from = active.kept.plan.runs();
                let decided_by = by.clone();
                Ok(vec![
                    Change::Decided { experiment, by: decided_by, enough: false, words },
                    Change::Extended { experiment, from, appended, by },
                ])
            }
        }
    }

    fn changeable(&self, experiment: ExperimentId) -> Result<&Active, Refusal> {
        let active = self.experiments.get(&experiment).ok_or(Refusal::NotActive(experiment))?;
        match active.kept.phase {
            Phase::Cancelled => Err(Refusal::Cancelled(experiment)),
            Phase::Running | Phase::Paused { .. } | Phase::Deciding | Phase::Decided => Ok(active),
        }
    }
}

fn check_runs(runs: u64) -> Result<(), Refusal> {
    if runs > MAX_RUNS {
        return Err(Refusal::TooManyRuns { runs, max: MAX_RUNS });
    }
    Ok(())
}

/// Whether a rule may append these runs.
fn check_extension(active: &Active, appended: &Extension) -> Result<(), Refusal> {
    let plan = &active.kept.plan;
    if appended.order.is_empty() {
        return Err(Refusal::NothingAppended);
    }
    check_runs(u64::from(plan.runs()) + appended.order.len() as u64)?;
    let extended = Plan::clone(plan).extended(appended.clone()).map_err(Refusal::Unfit)?;
    let max = match plan.experiment.rule {
        Rule::Fixed => return Ok(()),
        Rule::Pilot { maximum, .. } | Rule::Sequential { maximum, .. } | Rule::Budget { maximum, .. } => {
            maximum
        }
        Rule::Bisection(bisection) => return check_blocks(active, &extended, appended, bisection),
    };
    let mut counts = vec![0_u32; extended.cells() as usize];
    let measured = extended.order().iter().filter(|number| **number < extended.cells());
    measured.for_each(|cell| counts[*cell as usize] += 1);
    let runs = counts.into_iter().max().unwrap_or(0);
    if runs > max { Err(Refusal::BeyondRule { runs, max }) } else { Ok(()) }
}

/// Whether a bisection may go on with these blocks, or with these builds: what is run is built, in blocks that are no longer than its own.
fn check_blocks(
    active: &Active,
    extended: &Plan,
    appended: &Extension,
    bisection: Bisection,
) -> Result<(), Refusal> {
    let runs = extended.runs() - extended.builds();
    let max = bisection.maximum;
    if runs > max {
        return Err(Refusal::BeyondRule { runs, max });
    }
    let runs = appended.shape.size();
    let max = bisection.block;
    if runs > max {
        return Err(Refusal::BeyondRule { runs, max });
    }
    let appended = (active.kept.plan.runs()..extended.runs()).map(RunIndex);
    let mut used = appended.filter_map(|run| Some((run, extended.build_of(run)?)));
    let is_made = |build: &RunIndex| matches!(active.kept.built.get(build), Some(BuildResult::Made(_)));
    match used.find(|(_, build)| !is_made(build)) {
        Some((run, build)) => Err(Refusal::NotBuilt { run, build: extended.build_in_words(build) }),
        None => Ok(()),
    }
}

fn dated(at: Timestamp, changes: Vec<Change>) -> Vec<Event> {
    changes.into_iter().map(|change| Event { at, change }).collect()
}
