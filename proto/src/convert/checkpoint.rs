//! The pieces of a machine, as a checkpoint keeps them.

mod host;

use std::{collections::BTreeMap, sync::Arc};

use speedup_core::experiment::MAX_RUNS;
use speedup_core::machine::event::Superseded;
use speedup_core::machine::{ActivePiece, Built, HostLosses, Kept, Phase, RunPiece};
use speedup_core::plan::{Plan, Stage};
use speedup_core::run::{HostNumber, Settlement};
use speedup_core::value::id::{Attempt, RunIndex};
use speedup_core::value::time::{Span, Timestamp};

use super::build::{products_in, products_out};
use super::field::{at_most, class, required};
use super::id::{experiment_id, id_bytes};
use super::malformed::{Malformed, Why};
use super::wire::{Wire, structure};
use crate::{journal::v1 as journal, v1};

/// Runs in one record: their cells take at most three bytes each, and so may their states.
const RUNS_A_RECORD: usize = 1 << 20;

structure!(Superseded, journal::CheckpointSuperseded, [lease, experiment, run, attempt, host, agent_epoch]);

impl From<&ActivePiece> for journal::CheckpointExperiment {
    /// Without its runs: they follow.
    fn from(active: &ActivePiece) -> Self {
        let ActivePiece { experiment, kept, runs: _, lost_attempts } = active;
        let (paused, cancelled) = match &kept.phase {
            Phase::Running | Phase::Deciding | Phase::Decided => (None, false),
            Phase::Paused { reason } => (Some(reason.clone()), false),
            Phase::Cancelled => (None, true),
        };
        let tried = |(run, hosts): (&u32, &Vec<HostNumber>)| journal::CheckpointTried {
            run: *run,
            hosts: hosts.iter().map(|host| host.0).collect(),
        };
        let plan = kept.plan.as_ref();
        Self {
            experiment: id_bytes(experiment.0),
            plan: Some(v1::Plan {
                experiment: Some((&plan.experiment).into()),
                benchmarks: plan.benchmarks.to_wire(),
                order: Vec::new(),
                stages: plan.stages().to_vec().to_wire(),
            }),
            submitted_ns: kept.submitted.0,
            by: kept.by.clone(),
            paused,
            cancelled,
            lost_attempts: *lost_attempts,
            tried: kept.tried.iter().map(tried).collect(),
            abandoned_in_a_row: kept.abandoned_in_a_row,
            turned_down_in_a_row: kept.turned_down_in_a_row,
            runs: plan.runs(),
            deciding: kept.phase == Phase::Deciding,
            decided: kept.phase == Phase::Decided,
            words: kept.words.clone(),
            attempts: kept.attempts,
            host_time_ns: kept.host_time.0,
            classes: kept.classes.iter().map(ToString::to_string).collect(),
            built: kept.built.iter().map(wire_build).collect(),
            troubles: kept.troubles.iter().map(wire_trouble).collect(),
            visitors: kept.visitors.iter().map(wire_visitors).collect(),
            excused: kept.excused.iter().map(wire_excused).collect(),
        }
    }
}

fn wire_build((run, built): (&RunIndex, &Built)) -> journal::CheckpointBuild {
    let (products, failed) = match built {
        Built::Made(products) => (products_out(products), None),
        Built::Not(reason) => (Vec::new(), Some(reason.clone())),
    };
    journal::CheckpointBuild { run: run.0, products, failed }
}

fn wire_trouble((host, trouble): (&HostNumber, &HostLosses)) -> journal::CheckpointTrouble {
    let HostLosses { lost, by_host, turned_down, latest, ref words } = *trouble;
    let (latest_ns, words) = (latest.0, words.clone());
    journal::CheckpointTrouble { host: host.0, lost, by_host, turned_down, latest_ns, words }
}

fn wire_excused((run, attempts): (&u32, &u32)) -> journal::CheckpointExcused {
    journal::CheckpointExcused { run: *run, attempts: *attempts }
}

fn wire_visitors((lane, of_lane): (&u32, &BTreeMap<HostNumber, RunIndex>)) -> journal::CheckpointVisitors {
    let hosts = of_lane.keys().map(|host| host.0).collect();
    journal::CheckpointVisitors {
        lane: *lane,
        hosts,
        groups: of_lane.values().map(|group| group.0).collect(),
    }
}

fn visitors(wire: journal::CheckpointVisitors) -> Result<(u32, BTreeMap<HostNumber, RunIndex>), Malformed> {
    let journal::CheckpointVisitors { lane, hosts, groups } = wire;
    same_length(&hosts, &groups, "visitors")?;
    let hosts = hosts.into_iter().map(HostNumber);
    Ok((lane, hosts.zip(groups.into_iter().map(RunIndex)).collect()))
}

fn trouble(wire: journal::CheckpointTrouble) -> (HostNumber, HostLosses) {
    let journal::CheckpointTrouble { host, lost, by_host, turned_down, latest_ns, words } = wire;
    (HostNumber(host), HostLosses { lost, by_host, turned_down, latest: Timestamp(latest_ns), words })
}

fn build(wire: journal::CheckpointBuild) -> Result<(RunIndex, Built), Malformed> {
    let journal::CheckpointBuild { run, products, failed } = wire;
    let built = match failed {
        Some(reason) => Built::Not(reason),
        None => Built::Made(products_in(products, "products")?),
    };
    Ok((RunIndex(run), built))
}

/// An experiment of which not all runs are there yet.
#[derive(Debug)]
pub(crate) struct ActiveInParts {
    active: ActivePiece,
    order: Vec<u32>,
    stages: Vec<Stage>,
    runs: usize,
}

impl TryFrom<journal::CheckpointExperiment> for ActiveInParts {
    type Error = Malformed;

    fn try_from(wire: journal::CheckpointExperiment) -> Result<Self, Malformed> {
        let runs = wire.runs as usize;
        at_most(runs, usize::try_from(MAX_RUNS).unwrap_or(usize::MAX), "runs")?;
        let phase = match (wire.paused, wire.cancelled, wire.deciding, wire.decided) {
            (None, false, false, false) => Phase::Running,
            (Some(reason), false, false, false) => Phase::Paused { reason },
            (None, true, false, false) => Phase::Cancelled,
            (None, false, true, false) => Phase::Deciding,
            (None, false, false, true) => Phase::Decided,
            (_, _, _, _) => return Err(Malformed::new("cancelled", Why::Twice)),
        };
        let classes = wire.classes.iter().map(|text| class(text, "classes")).collect::<Result<_, _>>()?;
        let tried =
            |tried: journal::CheckpointTried| (tried.run, tried.hosts.into_iter().map(HostNumber).collect());
        // They suppose the order, which follows.
        let mut plan = wire.plan;
        let stages = plan.as_mut().map(|plan| std::mem::take(&mut plan.stages)).unwrap_or_default();
        let stages = Wire::from_wire(stages, "stages")?;
        let plan: Plan = required(plan, "plan")?;
        let experiment = experiment_id(&wire.experiment, "experiment")?;
        let kept = Kept {
            plan: Arc::new(plan),
            submitted: Timestamp(wire.submitted_ns),
            by: wire.by,
            phase,
            words: wire.words,
            tried: wire.tried.into_iter().map(tried).collect(),
            visitors: wire.visitors.into_iter().map(visitors).collect::<Result<_, _>>()?,
            excused: wire.excused.into_iter().map(|excused| (excused.run, excused.attempts)).collect(),
            sets: BTreeMap::new(),
            built: wire.built.into_iter().map(build).collect::<Result<_, _>>()?,
            abandoned_in_a_row: wire.abandoned_in_a_row,
            turned_down_in_a_row: wire.turned_down_in_a_row,
            troubles: wire.troubles.into_iter().map(trouble).collect(),
            attempts: wire.attempts,
            host_time: Span(wire.host_time_ns),
            classes,
        };
        let active = ActivePiece { experiment, kept, runs: Vec::new(), lost_attempts: wire.lost_attempts };
        Ok(Self { active, order: Vec::new(), stages, runs })
    }
}

impl ActiveInParts {
    /// The runs of an experiment, so many at once as a record holds.
    pub(crate) fn runs_of(active: &ActivePiece) -> impl Iterator<Item = journal::CheckpointRuns> + '_ {
        let mut stretches = active.runs.iter().copied();
        let mut stretch = stretches.next();
        active.kept.plan.order().chunks(RUNS_A_RECORD).map(move |cells| {
            let (mut states, mut counts) = (Vec::new(), Vec::new());
            let mut left = cells.len() as u32;
            while left > 0
                && let Some((state, count)) = stretch
            {
                let taken = count.min(left);
                states.push(state_number(state));
                counts.push(taken);
                left -= taken;
                stretch = if taken < count { Some((state, count - taken)) } else { stretches.next() };
            }
            journal::CheckpointRuns { cells: cells.to_vec(), states, counts }
        })
    }

    /// The sets of hosts that have served, so many at once as a record holds.
    pub(crate) fn sets_of(active: &ActivePiece) -> impl Iterator<Item = journal::CheckpointSets> + '_ {
        active.kept.sets.iter().flat_map(|(key, sets)| {
            let size = sets.first().map_or(1, Vec::len);
            let sets: Vec<&Vec<HostNumber>> = sets.iter().collect();
            let records = sets.chunks((RUNS_A_RECORD / size).max(1)).map(|sets| journal::CheckpointSets {
                key: *key,
                size: size as u32,
                hosts: sets.iter().flat_map(|set| set.iter().map(|host| host.0)).collect(),
            });
            records.collect::<Vec<_>>()
        })
    }

    pub(crate) fn add_sets(&mut self, wire: journal::CheckpointSets) -> Result<(), Malformed> {
        let journal::CheckpointSets { key, size, hosts } = wire;
        let hosts: Vec<HostNumber> = hosts.into_iter().map(HostNumber).collect();
        let sets = hosts.chunks_exact(size.max(1) as usize);
        let left = sets.remainder().len();
        if left > 0 {
            return Err(Malformed::new("hosts", Why::Length { bytes: left, expected: size as usize }));
        }
        self.active.kept.sets.entry(key).or_default().extend(sets.map(<[HostNumber]>::to_vec));
        Ok(())
    }

    pub(crate) fn add(&mut self, wire: journal::CheckpointRuns) -> Result<(), Malformed> {
        let journal::CheckpointRuns { cells, states, counts } = wire;
        same_length(&states, &counts, "states")?;
        at_most(self.order.len() + cells.len(), self.runs, "cells")?;
        self.order.extend(cells);
        for (state, count) in states.into_iter().zip(counts) {
            let state = run_state(state);
            match self.active.runs.last_mut() {
                Some((last, so_far)) if *last == state => *so_far = so_far.saturating_add(count),
                Some(_) | None => self.active.runs.push((state, count)),
            }
        }
        Ok(())
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.order.len() == self.runs
    }

    pub(crate) fn finish(self) -> Result<ActivePiece, Malformed> {
        let Self { mut active, order, stages, runs: _ } = self;
        let Plan { experiment, benchmarks, .. } = Plan::clone(&active.kept.plan);
        let plan = Plan::restore(experiment, benchmarks, order, &stages);
        active.kept.plan = Arc::new(plan.map_err(|error| Malformed::new("cells", error))?);
        Ok(active)
    }
}

const fn state_number(state: RunPiece) -> u32 {
    match state {
        RunPiece::Held => 0,
        RunPiece::Settled(Settlement::Measured) => 1,
        RunPiece::Settled(Settlement::Failed) => 2,
        RunPiece::Settled(Settlement::Abandoned) => 3,
        RunPiece::Settled(Settlement::Cancelled) => 4,
        RunPiece::Waiting(attempt) => attempt.0.saturating_add(4),
    }
}

const fn run_state(number: u32) -> RunPiece {
    match number {
        0 => RunPiece::Held,
        1 => RunPiece::Settled(Settlement::Measured),
        2 => RunPiece::Settled(Settlement::Failed),
        3 => RunPiece::Settled(Settlement::Abandoned),
        4 => RunPiece::Settled(Settlement::Cancelled),
        attempt => RunPiece::Waiting(Attempt(attempt - 4)),
    }
}

fn same_length(one: &[u32], other: &[u32], field: &str) -> Result<(), Malformed> {
    if one.len() == other.len() {
        return Ok(());
    }
    Err(Malformed::new(field, Why::Length { bytes: one.len(), expected: other.len() }))
}
