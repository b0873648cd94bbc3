//! The agent's machine: what it says and does next, whatever the link does. The shell gives it the link, the outbox
//! and the execution.
//!
//! A report is kept in the outbox before it is sent, and sent again in every new session until the coordinator has
//! acknowledged it. A grant is executed once: its lease must be newer than every lease seen before.

pub mod message;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::agent::message::{AgentMessage, AttemptReport, CoordinatorMessage, Grant};
use crate::host::HostFacts;
use crate::run::record::Record;
use crate::value::id::{AgentEpoch, AgentId, LeaseEpoch};

/// What an agent reports of a run in which it is told to end, as releases before did; the coordinator tells by it that an engine may have
/// ended its job.
pub const STOPPED: &str = "the agent was stopped during the run";

/// What happened to the agent.
#[expect(clippy::large_enum_variant, reason = "one at a time, handed over at once")]
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    LinkUp,
    LinkDown,
    /// The host was looked at again: its settings may have changed since.
    Probed(HostFacts),
    /// The coordinator said something.
    Heard(CoordinatorMessage),
    /// The host is prepared for its part of the granted work.
    Prepared,
    /// The execution of the granted work is over.
    Executed(Record),
    /// The agent is to end: it asks for no more work.
    Retire,
    /// The host has not booted anew, though it was to. The agent takes this for a later start of its own, so that the
    /// coordinator sees a start in the same boot and does not wait for another.
    NotRebooted,
    /// Nothing was heard for a while although nothing is executed: what was said may have been lost.
    Quiet,
}

/// What the shell has to do, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Say something to the coordinator.
    Send(AgentMessage),
    /// Put a report into the outbox, durably.
    Keep(Box<AttemptReport>),
    /// Take an acknowledged report out of the outbox.
    Forget(LeaseEpoch),
    /// Remember the start, durably: it was raised above one that the coordinator knows.
    Remember(AgentEpoch),
    Execute(Box<Grant>),
    /// Prepare the host for its part of a run that several serve together.
    Prepare(Box<Grant>),
    /// Execute what was prepared.
    Begin,
    /// End what was prepared: the run was executed elsewhere, or is given up.
    End {
        /// Why it is not executed here.
        reason: &'static str,
    },
    /// Tell the owner that a report was refused.
    Complain {
        lease: LeaseEpoch,
        reason: String,
    },
    /// Boot the host anew. The coordinator may ask several times.
    Reboot {
        reason: String,
    },
    /// End: the host goes back to the engine that gave it out, and every report is acknowledged.
    Leave {
        reason: String,
    },
    /// Close the session: the host may not join now. The shell tries again later.
    Withdraw {
        reason: String,
    },
    /// End: the host may not join until a person has done something.
    GiveUp {
        reason: String,
    },
}

/// The agent's machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    facts: HostFacts,
    agent: AgentId,
    epoch: AgentEpoch,
    link: Link,
    executing: Option<LeaseEpoch>,
    /// Whether that waits, prepared, for the others of its gang.
    is_prepared: bool,
    outbox: BTreeMap<LeaseEpoch, AttemptReport>,
    newest_lease: Option<LeaseEpoch>,
    is_retiring: bool,
    /// Why it is to end, once every report is acknowledged.
    dismissed: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Down,
    Joining,
    Joined,
}

impl Agent {
    /// An agent that has just started: `epoch` is later than any start before, `outbox` what they left unacknowledged.
    pub fn new(facts: HostFacts, agent: AgentId, epoch: AgentEpoch, outbox: Vec<AttemptReport>) -> Self {
        let outbox = outbox.into_iter().map(|report| (report.lease, report)).collect();
        Self {
            facts,
            agent,
            epoch,
            link: Link::Down,
            executing: None,
            is_prepared: false,
            outbox,
            newest_lease: None,
            is_retiring: false,
            dismissed: None,
        }
    }

    /// Takes in what happened; says what to do.
    pub fn handle(&mut self, input: Input) -> Vec<Action> {
        match input {
            Input::LinkUp => {
                self.link = Link::Joining;
                vec![self.join()]
            }
            Input::LinkDown => {
                self.link = Link::Down;
                Vec::new()
            }
            Input::Probed(facts) => {
                self.facts = facts;
                Vec::new()
            }
            Input::Heard(message) => self.heard(message),
            Input::NotRebooted => {
                self.epoch = AgentEpoch(self.epoch.0.saturating_add(1));
                vec![Action::Remember(self.epoch)]
            }
            Input::Prepared => {
                self.is_prepared = self.executing.is_some();
                self.ready().into_iter().collect()
            }
            Input::Executed(record) => self.executed(record),
            Input::Retire => {
                self.is_retiring = true;
                self.end(STOPPED)
            }
            Input::Quiet => match self.link {
                Link::Down => Vec::new(),
                Link::Joining => vec![self.join()],
                // What was said may have been lost with the connection, so it is said again.
                Link::Joined if self.executing.is_some() => self.ready().into_iter().collect(),
                Link::Joined => self.say_again(),
            },
        }
    }

    fn heard(&mut self, message: CoordinatorMessage) -> Vec<Action> {
        match message {
            CoordinatorMessage::Welcome { next_lease } => self.welcome(next_lease),
            CoordinatorMessage::TurnedAway { reason, known_epoch: _, is_lasting: true } => {
                vec![Action::GiveUp { reason }]
            }
            CoordinatorMessage::TurnedAway { reason, known_epoch, is_lasting: false } => {
                self.turned_away(reason, known_epoch)
            }
            CoordinatorMessage::Grant(grant) => self.granted(grant),
            CoordinatorMessage::Begin { lease } if self.holds(lease) => {
                self.is_prepared = false;
                vec![Action::Begin]
            }
            CoordinatorMessage::End { lease } if self.holds(lease) => self.end("the run was given up"),
            // It was said before, and done.
            CoordinatorMessage::Begin { .. } | CoordinatorMessage::End { .. } => Vec::new(),
            CoordinatorMessage::Reboot { reason } => {
                let may = self.link == Link::Joined && self.executing.is_none() && self.facts.can_reboot;
                may.then_some(Action::Reboot { reason }).into_iter().collect()
            }
            CoordinatorMessage::Dismissed { reason } if self.executing.is_none() => {
                self.is_retiring = true;
                self.dismissed = Some(reason);
                self.leave().into_iter().collect()
            }
            // It was said before the grant that is executed.
            CoordinatorMessage::Dismissed { .. } => Vec::new(),
            CoordinatorMessage::Acknowledged { lease } => {
                let forgotten = self.forget(lease);
                forgotten.into_iter().chain(self.leave()).collect()
            }
            CoordinatorMessage::Refused { lease, reason } => {
                let mut actions = Vec::new();
                if let Some(forget) = self.forget(lease) {
                    actions.extend([forget, Action::Complain { lease, reason }]);
                }
                actions.extend(self.leave());
                actions
            }
        }
    }

    /// A coordinator whose journal is new, or was restored from a backup, gives lease numbers that were seen before.
    fn welcome(&mut self, next_lease: LeaseEpoch) -> Vec<Action> {
        // Only the first Welcome of a session is from before all its grants.
        let is_first = std::mem::replace(&mut self.link, Link::Joined) == Link::Joining;
        if is_first && self.newest_lease.is_some_and(|newest| newest >= next_lease) {
            self.newest_lease = next_lease.0.checked_sub(1).map(LeaseEpoch);
        }
        self.say_again()
    }

    fn say_again(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for report in self.outbox.values() {
            actions.push(Action::Send(AgentMessage::Report(Box::new(report.clone()))));
        }
        actions.extend(self.ready());
        actions.extend(self.ask());
        actions
    }

    /// A start that is not the latest known is raised above it, unless work done under it is under way.
    fn turned_away(&mut self, reason: String, known_epoch: Option<AgentEpoch>) -> Vec<Action> {
        match known_epoch {
            Some(known) if known >= self.epoch && self.executing.is_none() => {
                self.epoch = AgentEpoch(known.0.saturating_add(1));
                vec![Action::Remember(self.epoch), Action::Withdraw { reason }]
            }
            Some(_) | None => vec![Action::Withdraw { reason }],
        }
    }

    fn granted(&mut self, grant: Box<Grant>) -> Vec<Action> {
        let is_new = self.newest_lease.is_none_or(|newest| grant.lease > newest);
        let is_mine = grant.agent_epoch == self.epoch;
        if !is_new || !is_mine || self.is_retiring || self.executing.is_some() || self.link != Link::Joined {
            return Vec::new();
        }
        self.newest_lease = Some(grant.lease);
        self.executing = Some(grant.lease);
        if grant.order.is_together() {
            return vec![Action::Prepare(grant)];
        }
        vec![Action::Send(AgentMessage::Started { lease: grant.lease }), Action::Execute(grant)]
    }

    fn executed(&mut self, record: Record) -> Vec<Action> {
        let Some(lease) = self.executing.take() else { return Vec::new() };
        self.is_prepared = false;
        let report = AttemptReport { lease, executed_by: self.epoch, record };
        self.outbox.insert(lease, report.clone());
        let mut actions = vec![Action::Keep(Box::new(report.clone()))];
        if self.link == Link::Joined {
            actions.push(Action::Send(AgentMessage::Report(Box::new(report))));
        }
        actions.extend(self.ask());
        actions
    }

    /// Whether the work under a lease waits for the others of its gang.
    fn holds(&self, lease: LeaseEpoch) -> bool {
        self.is_prepared && self.executing == Some(lease)
    }

    fn ready(&self) -> Option<Action> {
        if !self.is_prepared || self.link != Link::Joined {
            return None;
        }
        Some(Action::Send(AgentMessage::Ready { lease: self.executing? }))
    }

    /// Ends what waits for the others.
    fn end(&mut self, reason: &'static str) -> Vec<Action> {
        let is_prepared = std::mem::take(&mut self.is_prepared);
        is_prepared.then_some(Action::End { reason }).into_iter().collect()
    }

    fn forget(&mut self, lease: LeaseEpoch) -> Option<Action> {
        self.outbox.remove(&lease).map(|_| Action::Forget(lease))
    }

    /// What is not acknowledged is said again in a later session: before that it does not end.
    fn leave(&self) -> Option<Action> {
        if !self.outbox.is_empty() {
            return None;
        }
        Some(Action::Leave { reason: self.dismissed.clone()? })
    }

    fn ask(&self) -> Option<Action> {
        let is_free = self.link == Link::Joined && self.executing.is_none() && !self.is_retiring;
        is_free.then_some(Action::Send(AgentMessage::Ask))
    }

    fn join(&self) -> Action {
        let facts = Box::new(self.facts.clone());
        Action::Send(AgentMessage::Join { facts, agent: self.agent, epoch: self.epoch })
    }
}
