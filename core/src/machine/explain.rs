//! Why a run is not running: the state of the run, and for each connected host what keeps it from taking it.

use serde::Serialize;

use super::queue::lane_of;
use super::{Active, Machine, Phase};
use crate::experiment::Policy;
use crate::host::Presence;
use crate::id::{Attempt, ExperimentId, HostId, LeaseEpoch, RunIndex};
use crate::run::{HostNumber, RunState, Settlement};
use crate::time::Timestamp;

/// What a run is doing, or what it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Explanation {
    /// It waits.
    Waiting {
        /// Its next attempt.
        attempt: Attempt,
        /// Why nobody has taken it.
        waiting_for: WaitingFor,
    },
    /// A host has it.
    Held {
        /// Who.
        host: HostId,
        /// Under which lease.
        lease: LeaseEpoch,
        /// Whether the agent said that it began.
        begun: bool,
        /// Whether the host is connected.
        connected: bool,
        /// When it is given up.
        deadline: Timestamp,
    },
    /// It is done.
    Settled(Settlement),
}

/// Why nobody has taken a waiting run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum WaitingFor {
    /// The experiment is paused.
    Resume {
        /// Why it was.
        reason: String,
    },
    /// Hosts, counted by what keeps them from it.
    Hosts {
        /// Not connected.
        away: u32,
        /// At work on another run.
        busy: u32,
        /// Used before in the scope of the policy.
        not_fresh: u32,
        /// Tried with this very run before.
        tried: u32,
        /// Could take it, but earlier runs go first or they have not asked yet.
        able: u32,
    },
}

impl Machine {
    /// Why a run of an active experiment is not running; nothing when there is no such run.
    pub fn explain(&self, experiment: ExperimentId, run: RunIndex) -> Option<Explanation> {
        let active = self.experiments.get(&experiment)?;
        Some(match *active.states.get(run.0 as usize)? {
            RunState::Settled(settlement) => Explanation::Settled(settlement),
            RunState::Leased { host, .. } => self.held(host, false)?,
            RunState::Running { host, .. } => self.held(host, true)?,
            RunState::Waiting { attempt } => {
                Explanation::Waiting { attempt, waiting_for: self.waiting_for(experiment, active, run) }
            }
        })
    }

    fn held(&self, number: HostNumber, begun: bool) -> Option<Explanation> {
        let host = self.host_at(number);
        let lease = host.lease.as_ref()?;
        Some(Explanation::Held {
            host: lease.host.clone(),
            lease: lease.epoch,
            begun,
            connected: host.is_here(),
            deadline: host.deadline()?,
        })
    }

    fn waiting_for(&self, experiment: ExperimentId, active: &Active, run: RunIndex) -> WaitingFor {
        if let Phase::Paused { reason } = &active.phase {
            return WaitingFor::Resume { reason: reason.clone() };
        }
        let lane = lane_of(&active.plan, run);
        let distinct = active.plan.experiment.independence.policy == Policy::Distinct;
        let (mut away, mut busy, mut not_fresh, mut tried, mut able) = (0, 0, 0, 0, 0);
        for (number, host) in (0..).map(HostNumber).zip(&self.hosts) {
            *match host.presence {
                Presence::Away { .. } => &mut away,
                Presence::Here { .. } if distinct && host.uses(experiment, lane) > 0 => &mut not_fresh,
                Presence::Here { .. } if !self.may_retry(active, number, run.0) => &mut tried,
                Presence::Here { .. } if host.lease.is_some() => &mut busy,
                Presence::Here { .. } => &mut able,
            } += 1;
        }
        WaitingFor::Hosts { away, busy, not_fresh, tried, able }
    }
}
