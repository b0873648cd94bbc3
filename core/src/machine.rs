//! The coordinator's machine: it decides who executes which run when, and keeps no clock, file or
//! socket. [`Machine::handle`] takes one command: it decides (`decide` may refuse, and changes
//! nothing), evolves (`evolve` may not refuse; recovery replays it), and follows up what became
//! possible (`follow_up`: an asking host meets a waiting run, an experiment is complete). The shell
//! makes the events durable before it performs the effects.
//!
//! In reading order: `command`, `refusal`, `active` (an experiment), `lane` and `queue` (visits that
//! wait), `eligibility` (what a visit asks of a host), `matching` (what is next for a host), `gang`,
//! `nesting` (which hosts visit a cell), `trouble` (which hosts an experiment gives up), `decide`,
//! `follow_up`, `evolve`, `check`, `checkpoint`, `explain`, `demand`.

mod active;
mod check;
mod checkpoint;
mod command;
mod decide;
mod demand;
mod eligibility;
pub mod event;
mod evolve;
mod explain;
pub mod feasibility;
mod follow_up;
mod gang;
mod hosts_needed;
mod lane;
mod matching;
mod nesting;
pub mod provision;
mod queue;
mod refusal;
mod sets;
#[cfg(test)]
mod tests;
mod time_limit;
#[cfg(test)]
mod trial;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicU32, Ordering};

pub use active::{Active, BuildResult, HostLosses, Phase, StatusPhase};
pub use checkpoint::{Misfit, Piece};
pub use command::{Command, Decision, Effect, HostRequest, Notice, Request, Speaker};
pub use eligibility::needed_allocation;
pub(crate) use eligibility::needs_reboots;
pub use explain::{
    Explanation, Hindrance, Hindrances, KeptHosts, LATEST_LOSSES, LostAttempt, MAX_EXPLAINED, NAMED_HOSTS,
    NamedHost, Outlook, WaitingFor, Waits,
};
pub use hosts_needed::hosts_needed;
pub(crate) use hosts_needed::{largest_gang, visits_of_fullest_lane};
pub use refusal::Refusal;

use crate::fingerprint::{ClassId, Difference, Fingerprint};
use crate::host::{Host, Mark};
use crate::machine::event::{AttemptEnd, Change, EndedAttempt, Event, Superseded};
use crate::machine::feasibility::{HostClass, Pool};
use crate::run::HostNumber;
use crate::value::id::{ExperimentId, HostId, LeaseEpoch};
use crate::value::time::{Span, Timestamp};
use active::OfferOrder;
use gang::Hold;

/// Most experiments that may be active at once, of which each user has a [share](crate::value::bounded::share): each is looked at when a
/// host asks.
pub(crate) const MAX_ACTIVE: usize = 1_000;
/// Most hosts a pool may have ever known.
pub const MAX_HOSTS: usize = 200_000;
/// Runs abandoned one after another, with none executed between, after which an experiment is paused: something is
/// wrong with all of it, and going on would only spend hosts.
pub const ABANDONED_IN_A_ROW: u32 = 5;
/// Attempts of one experiment lost on one host, with none executed between, after which the experiment gives the host up: a
/// host that can execute nothing asks for work all the time, and would spend the attempts of a whole plan. So many attempts
/// lost through the plan, with none executed on any host, pause the experiment once no host is left that could do better.
pub const LOST_IN_A_ROW: u32 = 3;
/// Attempts of one run that an engine ended, by preemption, a time limit or cancellation, that do not count: a run that is
/// preempted for ever is to end some time.
pub const MAX_EXCUSED: u32 = 20;
/// Most classes whose fingerprints are kept, to tell in which facts hosts differ; a pool has a few.
pub const MAX_CLASSES: usize = 1_000;
/// Most names of facts in which a host drifted that are told.
pub const MAX_DRIFTED: usize = 32;

/// How far the start of an agent may lie after the coordinator's time. Starts are numbered by the agent's clock, and one far
/// ahead would keep every later agent of the host away. Clocks that are set differ by less.
pub(crate) const MAX_EPOCH_LEAD: Span = Span::from_secs(365 * 24 * 3_600);

/// Who did what the machine did by itself.
const COORDINATOR: &str = "coordinator";

/// How the machine behaves where the plan is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a host may be away before the attempt it holds is given up.
    pub host_grace: Span,
    /// How long a host may take to boot anew before it is quarantined.
    pub reboot_limit: Span,
}

impl Default for Settings {
    fn default() -> Self {
        Self { host_grace: Span::from_secs(60), reboot_limit: Span::from_secs(15 * 60) }
    }
}

/// What came of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandleOutcome {
    /// What changed; the machine has evolved already.
    pub events: Vec<Event>,
    /// What to do once the kept events are durable.
    pub effects: Vec<Effect>,
    pub ended: Vec<EndedAttempt>,
}

/// The coordinator's machine.
///
/// The experiments, the hosts, the classes and the superseded leases are its state. All other collections are indexes over these:
/// `evolve` keeps them in step, and a checkpoint leaves them out. `check` derives them anew, except for two that no rule depends on:
/// `touched`, which lists work that is left to do, and `hold`, which a restart forgets.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Machine {
    settings: Settings,
    /// Time of the latest event. No command is dated before it, so a clock that steps back does not reorder events.
    latest: Timestamp,
    /// Experiments that are not finished. What is known of finished ones is in the store.
    experiments: BTreeMap<ExperimentId, Active>,
    /// Experiments with visits to give out, sorted by turn, so that a host is offered them in order and experiments that are paused
    /// or have nothing waiting cost nothing.
    turns: BTreeSet<(OfferOrder, ExperimentId)>,
    /// Experiments changed since the last `follow_up`, which derives the next step of these instead of all. Empty between commands.
    touched: BTreeSet<ExperimentId>,
    /// Hosts that ever joined, by number. Numbers are dense and stay, so that sets and the states of runs name a host in four bytes.
    hosts: Vec<Host>,
    /// Number of each host id, which is what messages carry. Sorted, so that lists of hosts continue after an id.
    numbers: BTreeMap<HostId, HostNumber>,
    /// Number of the host that was looked up last: most messages come in runs from one host, which then skip `numbers`.
    latest_host: LatestHost,
    /// Boot and hardware ids, each with the hosts that stated it. A join finds all hosts on the same machine by a range query.
    /// Hosts whose ids were reset have no entry: they may come back on any machine.
    marks: BTreeSet<(Mark, HostNumber)>,
    /// Classes that any host was ever of, each with the number of its available hosts, so that no question walks the pool.
    classes: BTreeMap<ClassId, Class>,
    /// Deadlines by which hosts lose an attempt, their visits or a place, earliest first: a timer needs the first entry, and a tick
    /// visits only what is due.
    losses: BTreeSet<(Timestamp, HostNumber)>,
    /// Times at which ineligible hosts are matched again, because they have rested by then; earliest first, as in `losses`.
    rests: BTreeSet<(Timestamp, HostNumber)>,
    /// Hosts that wait for work and have to be matched: `follow_up` takes the first until there is none.
    asking: BTreeSet<HostNumber>,
    /// Idle hosts for which no run is eligible. An event that cannot help them does not match them again; one that may
    /// (`look_again`) moves all of them to `asking`.
    ineligible: BTreeSet<HostNumber>,
    /// Hosts reserved for a gang that is not complete.
    hold: Option<Hold>,
    /// Number of connected hosts.
    connected: u32,
    /// Number of connected hosts that may be given runs.
    available: u32,
    /// Host of each live lease: a report names a lease, and the leases of a gang are neighbours here.
    holders: BTreeMap<LeaseEpoch, HostNumber>,
    /// Leases that were given up and whose reports may still arrive. Only with its entry is a late report recorded, and only once.
    superseded: BTreeMap<LeaseEpoch, Superseded>,
    /// Epoch of the next lease. It only grows, so no epoch is used twice.
    next_lease: u64,
}

/// A hint where to look first, not state: a wrong number only costs a search.
#[derive(Debug, Default)]
struct LatestHost(AtomicU32);

impl LatestHost {
    fn get(&self) -> HostNumber {
        HostNumber(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, number: HostNumber) {
        self.0.store(number.0, Ordering::Relaxed);
    }
}

impl Clone for LatestHost {
    fn clone(&self) -> Self {
        Self(AtomicU32::new(self.get().0))
    }
}

impl PartialEq for LatestHost {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The hosts with one fingerprint.
#[derive(Clone, Debug, PartialEq)]
struct Class {
    /// Facts that its hosts have in common, for the first [`MAX_CLASSES`].
    fingerprint: Option<Fingerprint>,
    /// Number of its hosts that may be given runs.
    available: u32,
    /// When `available` last became 0; meaningless while it is above.
    emptied: Timestamp,
}

impl Machine {
    /// A machine that knows nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Decides a command, evolves, and follows up. A refusal changes nothing.
    pub fn handle(&mut self, now: Timestamp, command: Command) -> Result<HandleOutcome, Refusal> {
        let now = now.max(self.latest);
        let (events, effects) = self.decide(now, command)?;
        Ok(self.carry_out(now, events, effects))
    }

    /// Evolves by what happened, and follows up.
    pub fn notice(&mut self, now: Timestamp, notice: Notice) -> HandleOutcome {
        let now = now.max(self.latest);
        let events = self.consequences(now, notice);
        self.carry_out(now, events, Vec::new())
    }

    fn carry_out(&mut self, now: Timestamp, events: Vec<Event>, effects: Vec<Effect>) -> HandleOutcome {
        let mut outcome =
            HandleOutcome { events: Vec::with_capacity(events.len() + 2), effects, ended: Vec::new() };
        for event in events {
            self.take(event, &mut outcome);
        }
        while let Some((event, effect)) = self.follow_up(now) {
            outcome.effects.extend(effect);
            self.take(event, &mut outcome);
        }
        self.touched.clear();
        outcome
    }

    /// Replays one event of the journal.
    pub fn replay(&mut self, event: &Event) {
        self.evolve(event);
        // What follows is in the journal too, or is looked for at the start.
        self.touched.clear();
    }

    fn take(&mut self, event: Event, outcome: &mut HandleOutcome) {
        outcome.ended.extend(self.ended_by(&event));
        outcome.effects.extend(self.ends_by(&event));
        self.evolve(&event);
        outcome.events.push(event);
    }

    /// When [`Notice::Tick`] next takes something from a host.
    pub fn next_loss(&self) -> Option<Timestamp> {
        self.losses.first().map(|(deadline, _)| *deadline)
    }

    /// When [`Notice::Rest`] is due: a host that asked in vain is to be looked at again.
    pub fn next_rest(&self) -> Option<Timestamp> {
        self.rests.first().map(|(rested, _)| *rested)
    }

    /// The latest time an event carries: time may not go on from before it.
    pub fn latest(&self) -> Timestamp {
        self.latest
    }

    /// The ids of the active experiments.
    pub fn active(&self) -> impl Iterator<Item = ExperimentId> + '_ {
        self.experiments.keys().copied()
    }

    /// An active experiment.
    pub fn experiment(&self, id: ExperimentId) -> Option<&Active> {
        self.experiments.get(&id)
    }

    /// The next lease that will be given.
    pub fn next_lease(&self) -> LeaseEpoch {
        LeaseEpoch(self.next_lease)
    }

    /// How many hosts are connected.
    pub fn hosts_here(&self) -> u32 {
        self.connected
    }

    /// All hosts ever joined.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// All hosts ever joined, by id, those after the given one.
    pub fn hosts_after(&self, after: Option<&HostId>) -> impl Iterator<Item = &Host> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.numbers.range((from, Bound::Unbounded)).map(|(_, number)| self.host_at(*number))
    }

    /// The hosts that people may call this, by id. Those whose ids were reset and that are away are no one's any more.
    pub fn hosts_called<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Host> {
        let known = self.hosts_after(None).filter(|host| host.is_here() || !host.is_released);
        known.filter(move |host| host.facts.is_called(name))
    }

    /// A host by its id.
    pub fn host(&self, id: &HostId) -> Option<&Host> {
        self.number_of(id).map(|number| self.host_at(number))
    }

    /// The facts in which a host differs from those that an experiment takes, if it does not take it; none are told of
    /// classes whose fingerprints are not kept.
    pub fn passed(&self, host: &HostId, experiment: ExperimentId) -> Option<Vec<Difference>> {
        let host = self.host(host)?;
        let active = self.experiments.get(&experiment)?;
        if active.admits(host.class) {
            return None;
        }
        let Some(own) = self.fingerprint(host.class) else { return Some(Vec::new()) };
        let admitted = active.kept.classes.iter().filter_map(|class| self.fingerprint(*class));
        let nearest = admitted.map(|fingerprint| own.differences(fingerprint)).min_by_key(Vec::len);
        Some(nearest.unwrap_or_default())
    }

    /// What the hosts of a class have in common, if it is kept.
    pub fn fingerprint(&self, class: ClassId) -> Option<&Fingerprint> {
        self.classes.get(&class)?.fingerprint.as_ref()
    }

    /// The number of a host. Most questions are about the host of the last one.
    fn number_of(&self, id: &HostId) -> Option<HostNumber> {
        let latest = self.latest_host.get();
        if self.hosts.get(latest.0 as usize).is_some_and(|host| host.facts.host == *id) {
            return Some(latest);
        }
        self.numbers.get(id).copied().inspect(|number| self.latest_host.set(*number))
    }

    fn host_at(&self, number: HostNumber) -> &Host {
        &self.hosts[number.0 as usize]
    }

    /// The attempt that an event ends, for the index; ask before the event is replayed.
    pub fn ended_by(&self, event: &Event) -> Option<EndedAttempt> {
        let (host, epoch, end) = match &event.change {
            Change::RunReported { host, lease, record } | Change::PartEnded { host, lease, record } => {
                (host, lease, AttemptEnd::Reported(record.clone()))
            }
            Change::AttemptLost { host, lease, reason, after } => {
                (host, lease, AttemptEnd::Lost { reason: reason.clone(), after: *after, late: None })
            }
            Change::CoordinatorStarted
            | Change::Submitted { .. }
            | Change::Paused { .. }
            | Change::Resumed { .. }
            | Change::Cancelled { .. }
            | Change::Extended { .. }
            | Change::Finished { .. }
            | Change::AwaitingDecision { .. }
            | Change::Decided { .. }
            | Change::ClassPinned { .. }
            | Change::ClassApproved { .. }
            | Change::HostDrifted { .. }
            | Change::HostDrained { .. }
            | Change::HostQuarantined { .. }
            | Change::HostResumed { .. }
            | Change::HostReset { .. }
            | Change::EngineNoted(_)
            | Change::RebootAsked { .. }
            | Change::VisitBroken { .. }
            | Change::HostJoined { .. }
            | Change::HostLeft { .. }
            | Change::HostAsked { .. }
            | Change::HostPassed { .. }
            | Change::HostHeld { .. }
            | Change::HostReady { .. }
            | Change::LeaseGranted(_)
            | Change::GangGranted(_)
            | Change::RunStarted { .. }
            | Change::LateReport { .. } => return None,
        };
        let lease = self.host(host)?.lease.clone().filter(|lease| lease.epoch == *epoch)?;
        let cell = self.experiments.get(&lease.experiment)?.kept.plan.cell_number(lease.run);
        Some(EndedAttempt { lease, cell, ended: event.at, end })
    }

    /// The connected hosts, by their classes.
    pub fn pool(&self) -> Pool {
        let mut classes: BTreeMap<ClassId, HostClass> = BTreeMap::new();
        for host in self.hosts.iter().filter(|host| host.is_here()) {
            let class = classes
                .entry(host.class)
                .or_insert_with_key(|id| HostClass { class: id.to_string(), ..HostClass::default() });
            count(class, host);
        }
        Pool { classes: classes.into_values().collect() }
    }
}

fn count(class: &mut HostClass, host: &Host) {
    if !host.is_available() {
        class.out_of_service += 1;
        return;
    }
    class.available += 1;
    class.can_reboot += u32::from(host.facts.can_reboot);
    class.allocated += u32::from(host.facts.allocation.is_some());
    class.busy += u32::from(host.lease.is_some());
    class.used += u32::from(host.served > 0);
}
