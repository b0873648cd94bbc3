//! A machine taken apart and put together again, so that recovery need not replay what is over.
//!
//! A checkpoint is never a second truth: it stands for the events of a journal up to a position, and the machine put
//! together from it equals the one that replayed them all. The pieces hold what cannot be derived; queues, tallies,
//! deadlines and numbers are derived here as [`super::check`] derives them. Whether a connected host has asked is not kept:
//! the journal does not keep it either.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Active, Class, Machine, Settings, active::ActiveRecord, queue::Queue};
use crate::fingerprint::{ClassId, Fingerprint};
use crate::host::{Host, Presence, WorkRequest};
use crate::machine::event::{Superseded, Tally};
use crate::run::{HostNumber, RunState, Settlement};
use crate::value::id::{Attempt, ExperimentId, LeaseEpoch, RunIndex};
use crate::value::time::Timestamp;

/// A piece of a machine. Only its serialization leaves this module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece(pub(super) PieceContent);

impl Piece {
    /// Whether it says how far time and leases are: the first of a machine's pieces, and the only such one.
    pub fn is_progress(&self) -> bool {
        matches!(self.0, PieceContent::Progress { .. })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum PieceContent {
    /// How far time and leases are.
    Progress {
        /// The latest time an event carried.
        latest: Timestamp,
        /// The next lease that will be given.
        next_lease: LeaseEpoch,
    },
    /// A class of hosts, before all hosts.
    Class {
        id: ClassId,
        /// What its hosts have in common, for the first classes.
        fingerprint: Option<Box<Fingerprint>>,
        /// When the last of them went that might be given runs.
        emptied: Timestamp,
    },
    /// A host; in the order in which hosts first joined.
    Host(Box<Host>),
    /// An attempt that was given up and may still be reported.
    Superseded(Superseded),
    /// An active experiment; after all hosts.
    Experiment(Box<ActivePiece>),
}

/// An active experiment, without what its plan and its runs' states say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ActivePiece {
    pub(super) experiment: ExperimentId,
    pub(super) kept: ActiveRecord,
    /// The states of its runs, in their order: each with how many runs in a row have it.
    pub(super) runs: Vec<(RunPiece, u32)>,
    /// Attempts lost, of whatever run.
    pub(super) lost_attempts: u32,
}

/// The state of a run, without what the lease at its host says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub(super) enum RunPiece {
    Waiting(Attempt),
    /// A host holds a lease on it.
    Held,
    /// It will not change any more.
    Settled(Settlement),
}

/// As a number: a checkpoint holds millions of them.
impl From<RunPiece> for u32 {
    fn from(piece: RunPiece) -> Self {
        match piece {
            RunPiece::Held => 0,
            RunPiece::Settled(Settlement::Measured) => 1,
            RunPiece::Settled(Settlement::Failed) => 2,
            RunPiece::Settled(Settlement::Abandoned) => 3,
            RunPiece::Settled(Settlement::Cancelled) => 4,
            RunPiece::Waiting(attempt) => attempt.0.saturating_add(4),
        }
    }
}

impl From<u32> for RunPiece {
    fn from(number: u32) -> Self {
        match number {
            0 => Self::Held,
            1 => Self::Settled(Settlement::Measured),
            2 => Self::Settled(Settlement::Failed),
            3 => Self::Settled(Settlement::Abandoned),
            4 => Self::Settled(Settlement::Cancelled),
            attempt => Self::Waiting(Attempt(attempt - 4)),
        }
    }
}

/// Why pieces are no machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Misfit {
    #[error("host {0} is there twice")]
    HostTwice(String),
    #[error("experiment {0} is there twice")]
    ExperimentTwice(ExperimentId),
    #[error("experiment {experiment} has {runs} runs and {states} states")]
    Runs { experiment: ExperimentId, runs: u32, states: u64 },
    #[error("lease {0} and its run do not agree")]
    Lease(LeaseEpoch),
    #[error("nobody holds a run of experiment {0} that is held")]
    HeldByNobody(ExperimentId),
    #[error("run {run} of experiment {experiment} is no build")]
    NoBuild { experiment: ExperimentId, run: RunIndex },
    #[error("experiment {0} was tried on a host that is not there")]
    UnknownHost(ExperimentId),
    #[error("host {0} is of a class that is not there")]
    UnknownClass(String),
    #[error("a host served experiment {0}, which is not active")]
    NotActive(ExperimentId),
}

impl Machine {
    /// All that cannot be derived.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        // Taken apart by name, so that a field that is added is not forgotten here.
        let Self {
            settings: _,
            latest,
            experiments,
            turns: _,
            touched: _,
            hosts,
            numbers: _,
            latest_host: _,
            marks: _,
            classes,
            losses: _,
            rests: _,
            asking: _,
            ineligible: _,
            hold: _,
            connected: _,
            available: _,
            holders: _,
            superseded,
            next_lease,
        } = self;
        let progress = PieceContent::Progress { latest: *latest, next_lease: LeaseEpoch(*next_lease) };
        let classes = classes.iter().map(|(id, class)| {
            let Class { fingerprint, available: _, emptied } = class;
            PieceContent::Class { id: *id, fingerprint: fingerprint.clone().map(Box::new), emptied: *emptied }
        });
        let hosts = hosts.iter().map(|host| PieceContent::Host(Box::new(without_asking(host))));
        let superseded = superseded.values().cloned().map(PieceContent::Superseded);
        let experiments =
            experiments.iter().map(|(id, active)| PieceContent::Experiment(Box::new(active.piece(*id))));
        std::iter::once(progress).chain(classes).chain(hosts).chain(superseded).chain(experiments).map(Piece)
    }

    /// Puts a machine together.
    pub fn assemble(settings: Settings, pieces: impl IntoIterator<Item = Piece>) -> Result<Self, Misfit> {
        let mut machine = Self::new(settings);
        for Piece(content) in pieces {
            machine.add(content)?;
        }
        machine.hand_out_leases()?;
        machine.reserve()?;
        machine.fill_queues();
        Ok(machine)
    }

    fn add(&mut self, content: PieceContent) -> Result<(), Misfit> {
        match content {
            PieceContent::Progress { latest, next_lease } => {
                (self.latest, self.next_lease) = (latest, next_lease.0);
            }
            PieceContent::Host(host) => {
                let number = HostNumber(self.hosts.len() as u32);
                if self.numbers.insert(host.facts.host.clone(), number).is_some() {
                    return Err(Misfit::HostTwice(host.facts.host.as_str().to_owned()));
                }
                self.connected += u32::from(host.is_here());
                self.available += u32::from(host.is_available());
                let unknown = || Misfit::UnknownClass(host.facts.host.as_str().to_owned());
                let class = self.classes.get_mut(&host.class).ok_or_else(unknown)?;
                class.available += u32::from(host.is_available());
                self.losses.extend(host.loss_deadline().map(|deadline| (deadline, number)));
                self.rests.extend(host.rested_at().map(|rested| (rested, number)));
                self.hosts.push(*host);
                self.mark(number);
            }
            PieceContent::Class { id, fingerprint, emptied } => {
                let fingerprint = fingerprint.map(|fingerprint| *fingerprint);
                self.classes.insert(id, Class { fingerprint, available: 0, emptied });
            }
            PieceContent::Superseded(superseded) => {
                self.superseded.insert(superseded.lease, superseded);
            }
            PieceContent::Experiment(piece) => {
                let experiment = piece.experiment;
                // Hosts come before experiments, so that every number is known here.
                let unknown = |host: &HostNumber| host.0 as usize >= self.hosts.len();
                let ActiveRecord { tried, troubles, visitors, sets, .. } = &piece.kept;
                let visitors = visitors.values().flat_map(BTreeMap::keys);
                let of_sets = sets.values().flatten().flatten();
                let mut named =
                    tried.values().flatten().chain(troubles.keys()).chain(visitors).chain(of_sets);
                if named.any(unknown) {
                    return Err(Misfit::UnknownHost(experiment));
                }
                let active = Active::from_piece(*piece)?;
                if self.experiments.insert(experiment, active).is_some() {
                    return Err(Misfit::ExperimentTwice(experiment));
                }
            }
        }
        Ok(())
    }

    /// Gives the runs that are held the leases of the hosts that hold them.
    fn hand_out_leases(&mut self) -> Result<(), Misfit> {
        for (number, host) in (0..).map(HostNumber).zip(&self.hosts) {
            let named = host.used.keys().chain(host.visits.keys()).chain(&host.reserves);
            if let Some(unknown) = named.into_iter().find(|id| !self.experiments.contains_key(id)) {
                return Err(Misfit::NotActive(*unknown));
            }
            let Some(lease) = &host.lease else { continue };
            let epoch = lease.epoch;
            self.holders.insert(epoch, number);
            let active = self.experiments.get_mut(&lease.experiment).ok_or(Misfit::Lease(epoch))?;
            // The run of a gang is held by its first host; the others are counted.
            if lease.is_of_member() {
                active.members += 1;
                continue;
            }
            let state = active.states.get_mut(lease.run.0 as usize).ok_or(Misfit::Lease(epoch))?;
            if *state != HELD || epoch.0 >= self.next_lease {
                return Err(Misfit::Lease(epoch));
            }
            (*state, active.tally) = match lease.started {
                None => {
                    let tally = Tally { leased: active.tally.leased + 1, ..active.tally };
                    (RunState::Leased { lease: epoch, host: number }, tally)
                }
                Some(_) => {
                    let tally = Tally { running: active.tally.running + 1, ..active.tally };
                    (RunState::Running { lease: epoch, host: number }, tally)
                }
            };
        }
        let incomplete = |active: &Active| active.tally.runs() as usize != active.states.len();
        match self.experiments.iter().find(|(_, active)| incomplete(active)) {
            Some((id, _)) => Err(Misfit::HeldByNobody(*id)),
            None => Ok(()),
        }
    }

    /// Counts the hosts that boot for an experiment.
    fn reserve(&mut self) -> Result<(), Misfit> {
        for experiment in self.hosts.iter().filter_map(|host| host.reserves) {
            let active = self.experiments.get_mut(&experiment).ok_or(Misfit::NotActive(experiment))?;
            active.reserved += 1;
        }
        Ok(())
    }

    /// What waits and is not the rest of a visit that a host has begun waits in the queue, and has its turn.
    fn fill_queues(&mut self) {
        let mut begun: BTreeMap<ExperimentId, BTreeSet<RunIndex>> = BTreeMap::new();
        for (experiment, visit) in self.hosts.iter().flat_map(|host| &host.visits) {
            begun.entry(*experiment).or_default().insert(visit.next);
        }
        for (id, active) in &mut self.experiments {
            active.fill_queue(begun.get(id).unwrap_or(&BTreeSet::new()));
            active.turn().map(|turn| self.turns.insert((turn, *id)));
        }
    }
}

/// Stands for a held run until its lease is found; no lease has this number while one is put together.
const HELD: RunState = RunState::Leased { lease: LeaseEpoch(u64::MAX), host: HostNumber(u32::MAX) };

fn without_asking(host: &Host) -> Host {
    let presence = match host.presence {
        Presence::Here { asking: _ } => Presence::Here { asking: WorkRequest::No },
        away @ Presence::Away { .. } => away,
    };
    Host { presence, is_ready: false, ..host.clone() }
}

impl Active {
    fn piece(&self, experiment: ExperimentId) -> ActivePiece {
        let Self { kept, states, queue: _, tally, reserved: _, members: _ } = self;
        let mut runs: Vec<(RunPiece, u32)> = Vec::new();
        for state in states {
            let piece = match *state {
                RunState::Waiting { attempt } => RunPiece::Waiting(attempt),
                RunState::Leased { .. } | RunState::Running { .. } => RunPiece::Held,
                RunState::Settled(settlement) => RunPiece::Settled(settlement),
            };
            match runs.last_mut() {
                Some((last, count)) if *last == piece => *count += 1,
                Some(_) | None => runs.push((piece, 1)),
            }
        }
        ActivePiece { experiment, kept: kept.clone(), runs, lost_attempts: tally.lost_attempts }
    }

    /// The experiment, its held runs still without their leases and not in the tally.
    fn from_piece(piece: ActivePiece) -> Result<Self, Misfit> {
        let ActivePiece { experiment, kept, runs, lost_attempts } = piece;
        let plan = &kept.plan;
        let number = runs.iter().map(|(_, count)| u64::from(*count)).sum();
        if number != u64::from(plan.runs()) {
            return Err(Misfit::Runs { experiment, runs: plan.runs(), states: number });
        }
        if let Some(run) = kept.built.keys().copied().find(|run| !plan.is_build(*run)) {
            return Err(Misfit::NoBuild { experiment, run });
        }
        let mut states = Vec::with_capacity(plan.runs() as usize);
        let mut tally = Tally { lost_attempts, ..Tally::default() };
        for (piece, count) in runs {
            let state = match piece {
                RunPiece::Waiting(attempt) => {
                    tally.waiting += count;
                    RunState::Waiting { attempt }
                }
                RunPiece::Held => HELD,
                RunPiece::Settled(settlement) => {
                    *tally.counter(settlement) += count;
                    RunState::Settled(settlement)
                }
            };
            states.extend(std::iter::repeat_n(state, count as usize));
        }
        // Its hosts say later which waiting runs they keep.
        let queue = Queue::from_waiting(plan, std::iter::empty());
        Ok(Self { kept, states, queue, tally, reserved: 0, members: 0 })
    }

    fn fill_queue(&mut self, begun: &BTreeSet<RunIndex>) {
        let plan = &self.kept.plan;
        let waits = |run: u32| match self.states[run as usize] {
            RunState::Waiting { attempt } => Some(attempt),
            RunState::Leased { .. } | RunState::Running { .. } | RunState::Settled(_) => None,
        };
        let visits = (0..plan.runs()).filter_map(|run| {
            let attempt = waits(run)?;
            let group = plan.place(RunIndex(run)).group;
            let is_first = run == group.0 || waits(run - 1).is_none();
            let is_new = run == group.0 && attempt.0 <= 1;
            (is_first && !begun.contains(&RunIndex(run))).then_some((RunIndex(run), !is_new))
        });
        self.queue = Queue::from_waiting(plan, visits);
    }
}
