//! How hosts come and go, what they are given, and the indices over them.

use std::collections::{BTreeMap, BTreeSet};

use crate::fingerprint::{ClassId, Fingerprint};
use crate::host::{Host, HostFacts, MAX_BOOTS, Presence, Reboot, Standing, WorkRequest};
use crate::machine::eligibility::boots_in_visits;
use crate::machine::lane::lane_of;
use crate::machine::{Active, Class, MAX_CLASSES, Machine};
use crate::run::HostNumber;
use crate::value::id::{AgentEpoch, AgentId, ExperimentId, HostId};
use crate::value::time::Timestamp;

impl Machine {
    /// A fingerprint is kept once for all hosts that have it: a large pool's would fill the memory.
    pub(super) fn host_joined(
        &mut self,
        at: Timestamp,
        facts: &HostFacts,
        agent: AgentId,
        epoch: AgentEpoch,
    ) {
        let class = self.classify(&facts.fingerprint);
        let facts = HostFacts { fingerprint: Fingerprint::default(), ..facts.clone() };
        let here = Presence::Here { asking: WorkRequest::No };
        let number = if let Some(number) = self.number_of(&facts.host) {
            self.unmark(number);
            number
        } else {
            let number = HostNumber(self.hosts.len() as u32);
            self.numbers.insert(facts.host.clone(), number);
            self.hosts.push(Host::new(facts.clone(), class, agent, epoch, at));
            number
        };
        self.change(number, |host| {
            // Any other boot ends the reboot that it was asked for.
            if host.facts.boot != facts.boot {
                host.reboot = None;
            }
            host.told(facts);
            (host.class, host.agent, host.epoch, host.heard) = (class, agent, epoch, at);
            host.is_released = false;
        });
        self.mark(number);
        self.set_presence(number, here);
        self.settle_visits(number);
    }

    fn classify(&mut self, fingerprint: &Fingerprint) -> ClassId {
        let class = fingerprint.class();
        let emptied = self.latest;
        let is_kept = self.classes.len() < MAX_CLASSES;
        self.classes.entry(class).or_insert_with(|| Class {
            fingerprint: is_kept.then(|| fingerprint.clone()),
            available: 0,
            emptied,
        });
        class
    }

    /// Indexes by what the machine of a host is told from others.
    pub(in crate::machine) fn mark(&mut self, number: HostNumber) {
        let host = &self.hosts[number.0 as usize];
        if !host.is_released {
            self.marks.extend(host.facts.marks().map(|mark| (mark, number)));
        }
    }

    fn unmark(&mut self, number: HostNumber) {
        for mark in self.hosts[number.0 as usize].facts.marks() {
            self.marks.remove(&(mark, number));
        }
    }

    /// What the host served stays: the freshness of later runs rests on it.
    pub(super) fn host_reset(&mut self, at: Timestamp, host: &HostId) {
        let Some(number) = self.number_of(host) else { return };
        self.unmark(number);
        if self.host_at(number).is_here() {
            self.set_presence(number, Presence::Away { since: at, give_up: None });
        }
        self.change(number, |host| {
            host.is_released = true;
            host.reboot = None;
        });
        self.forget_losses(host);
        self.set_reserves(number, None);
    }

    pub(super) fn host_left(&mut self, at: Timestamp, host: &HostId, give_up: Timestamp) {
        let Some(number) = self.number_of(host) else { return };
        self.set_presence(number, Presence::Away { since: at, give_up: Some(give_up) });
        if self.host_at(number).reboot.is_none() {
            self.set_reserves(number, None);
        }
    }

    pub(super) fn host_drifted(&mut self, host: &HostId, facts: &[String]) {
        if let Some(number) = self.number_of(host) {
            self.hosts[number.0 as usize].drifted = facts.to_vec();
        }
    }

    pub(super) fn set_standing(&mut self, host: &HostId, standing: Standing) {
        let Some(number) = self.number_of(host) else { return };
        let is_serving = standing == Standing::Serving;
        let is_out = matches!(standing, Standing::Quarantined { .. });
        self.change(number, |host| {
            host.standing = standing;
            host.reboot = host.reboot.filter(|_| !is_out);
        });
        if is_serving {
            self.look_again();
        } else {
            self.set_reserves(number, None);
        }
        self.settle_visits(number);
    }

    /// Gives a host a new chance: attempts that were lost on it no longer count against it.
    pub(super) fn forget_losses(&mut self, host: &HostId) {
        let Some(number) = self.number_of(host) else { return };
        self.hosts[number.0 as usize].blamed_by = None;
        self.experiments.values_mut().for_each(|active| _ = active.kept.troubles.remove(&number));
    }

    pub(super) fn reboot_asked(&mut self, host: &HostId, experiment: ExperimentId, give_up: Timestamp) {
        let Some(number) = self.number_of(host) else { return };
        self.set_asking(host, WorkRequest::No);
        self.change(number, |host| host.reboot = Some(Reboot { give_up, experiment }));
        if !self.host_at(number).visits.contains_key(&experiment) {
            self.set_reserves(number, Some(experiment));
        }
    }

    pub(super) fn host_passed(&mut self, host: &HostId, until: Option<Timestamp>) {
        self.set_asking(host, WorkRequest::InVain { until });
        if let Some(number) = self.number_of(host) {
            self.set_reserves(number, None);
            if self.let_go(number) {
                self.look_again();
            }
        }
    }

    /// Changes for which experiment a host boots. A reservation that is given up may be another's.
    pub(in crate::machine) fn set_reserves(&mut self, number: HostNumber, reserves: Option<ExperimentId>) {
        let host = &mut self.hosts[number.0 as usize];
        let before = std::mem::replace(&mut host.reserves, reserves);
        if before == reserves {
            return;
        }
        if let Some(active) = reserves.and_then(|id| self.experiments.get_mut(&id)) {
            active.reserved += 1;
        }
        if let Some(active) = before.and_then(|id| self.experiments.get_mut(&id)) {
            active.reserved -= 1;
            self.look_again();
        }
    }

    pub(super) fn visit_broken(&mut self, host: &HostId, experiment: ExperimentId) {
        let Some(number) = self.number_of(host) else { return };
        if self.host_at(number).lease.as_ref().is_none_or(|lease| lease.experiment != experiment) {
            self.break_visit(number, experiment);
        }
    }

    /// Gives up the visits that a host may not go on with, but for the one whose run it executes.
    pub(super) fn settle_visits(&mut self, number: HostNumber) {
        let host = self.host_at(number);
        let may_go_on = |active: &Active| {
            host.standing == Standing::Serving
                && active.admits(host.class)
                && (host.facts.can_reboot || !boots_in_visits(active))
        };
        let under_way = host.lease.as_ref().map(|lease| lease.experiment);
        let broken = host.visits.keys().copied().filter(|id| {
            under_way != Some(*id) && self.experiments.get(id).is_none_or(|active| !may_go_on(active))
        });
        for experiment in broken.collect::<Vec<_>>() {
            self.break_visit(number, experiment);
        }
    }

    fn break_visit(&mut self, number: HostNumber, experiment: ExperimentId) {
        let Some(visit) = self.change(number, |host| host.visits.remove(&experiment)) else { return };
        self.share(experiment, |active| {
            active.queue.put_back(lane_of(&active.kept.plan, visit.next), visit.next);
        });
        self.look_again();
    }

    /// Nothing of an experiment is kept for any host any more: those that had begun a visit may take something else.
    pub(super) fn forget_visits(&mut self, experiment: ExperimentId) {
        let visiting = self.visiting(experiment);
        for number in &visiting {
            self.change(*number, |host| host.visits.remove(&experiment));
        }
        if !visiting.is_empty() {
            self.look_again();
        }
    }

    /// The hosts that have begun a visit of an experiment.
    pub(super) fn visiting(&self, experiment: ExperimentId) -> Vec<HostNumber> {
        let hosts = (0..).map(HostNumber).zip(&self.hosts);
        let visiting = hosts.filter(|(_, host)| host.visits.contains_key(&experiment));
        visiting.map(|(number, _)| number).collect()
    }

    /// Changes a host's presence and keeps the sets of asking hosts in step.
    pub(in crate::machine) fn set_presence(&mut self, number: HostNumber, presence: Presence) {
        self.asking.remove(&number);
        self.ineligible.remove(&number);
        let is_away = matches!(presence, Presence::Away { .. });
        let let_go = is_away && self.let_go(number);
        self.change(number, |host| host.presence = presence);
        match presence {
            Presence::Here { asking: WorkRequest::Yes } => self.asking.insert(number),
            Presence::Here { asking: WorkRequest::InVain { .. } } => self.ineligible.insert(number),
            Presence::Here { asking: WorkRequest::No } | Presence::Away { .. } => false,
        };
        if let_go {
            self.look_again();
        }
    }

    pub(in crate::machine) fn set_asking(&mut self, host: &HostId, asking: WorkRequest) {
        if let Some(number) = self.number_of(host)
            && self.host_at(number).is_here()
        {
            self.set_presence(number, Presence::Here { asking });
        }
    }

    /// Changes a host and keeps deadlines and counts in step.
    pub(super) fn change<T>(&mut self, number: HostNumber, change: impl FnOnce(&mut Host) -> T) -> T {
        let host = &mut self.hosts[number.0 as usize];
        let before = (host.loss_deadline(), host.rested_at());
        let was_here = host.is_here();
        let class_before = host.available_class();
        let result = change(host);
        let after = (host.loss_deadline(), host.rested_at());
        let is_here = host.is_here();
        let class_after = host.available_class();
        reschedule(&mut self.losses, number, before.0, after.0);
        reschedule(&mut self.rests, number, before.1, after.1);
        self.connected = self.connected + u32::from(is_here) - u32::from(was_here);
        if class_before != class_after {
            self.count(class_before, class_after);
        }
        result
    }

    /// With one host fewer, a run may have been tried on all that are left, and then go to one of them again, and an experiment
    /// may have given up all that are left; with none left of a class, an experiment may come to take another.
    fn count(&mut self, before: Option<ClassId>, after: Option<ClassId>) {
        self.available = self.available + u32::from(after.is_some()) - u32::from(before.is_some());
        if let Some(class) = after.and_then(|class| self.classes.get_mut(&class)) {
            class.available += 1;
        }
        let Some(class) = before.and_then(|class| self.classes.get_mut(&class)) else { return };
        class.available -= 1;
        let is_empty = class.available == 0;
        if is_empty {
            class.emptied = self.latest;
        }
        let retries = |active: &Active| active.may_come_again() && active.queue.has_retries();
        let pins = |active: &Active| is_empty && active.may_pin_anew();
        let gave_up = |active: &Active| !active.kept.troubles.is_empty();
        let is_wanted = |active: &Active| retries(active) || pins(active) || gave_up(active);
        if self.is_holding() || self.experiments.values().any(is_wanted) {
            self.look_again();
        }
    }

    /// New work may suit hosts that nothing suited before.
    pub(in crate::machine) fn look_again(&mut self) {
        self.doubt_hold();
        for number in std::mem::take(&mut self.ineligible) {
            self.set_presence(number, Presence::Here { asking: WorkRequest::Yes });
        }
    }
}

/// A host is in a schedule by its new time instead of its old one.
fn reschedule(
    schedule: &mut BTreeSet<(Timestamp, HostNumber)>,
    number: HostNumber,
    old: Option<Timestamp>,
    new: Option<Timestamp>,
) {
    if old == new {
        return;
    }
    if let Some(old) = old {
        schedule.remove(&(old, number));
    }
    if let Some(new) = new {
        schedule.insert((new, number));
    }
}

impl Host {
    fn new(facts: HostFacts, class: ClassId, agent: AgentId, epoch: AgentEpoch, at: Timestamp) -> Self {
        Self {
            facts,
            class,
            drifted: Vec::new(),
            agent,
            epoch,
            presence: Presence::Away { since: at, give_up: None },
            heard: at,
            standing: Standing::Serving,
            is_released: false,
            reboot: None,
            reserves: None,
            lease: None,
            is_ready: false,
            served: 0,
            previous: None,
            idle_since: None,
            blamed_by: None,
            boots: Vec::new(),
            allocations: Vec::new(),
            used: BTreeMap::new(),
            visits: BTreeMap::new(),
        }
    }

    /// Takes over what it says of itself now.
    fn told(&mut self, facts: HostFacts) {
        if !self.boots.contains(&facts.boot) && self.boots.len() < MAX_BOOTS {
            self.boots.push(facts.boot.clone());
        }
        if let Some(allocation) = &facts.allocation
            && !self.allocations.contains(allocation)
            && self.allocations.len() < MAX_BOOTS
        {
            self.allocations.push(allocation.clone());
        }
        self.facts = facts;
    }

    /// Its class, while it may be given runs.
    fn available_class(&self) -> Option<ClassId> {
        self.is_available().then_some(self.class)
    }
}
