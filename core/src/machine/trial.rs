//! A machine with hosts that do what a test says. After each command every invariant is checked.

use std::{collections::BTreeMap, sync::Arc};

use uuid::Uuid;

use super::{
    Active, Command, Effect, HandleOutcome, HostRequest, Machine, Notice, Phase, Request, Settings, Speaker,
};
use crate::{
    experiment::MAX_RUNS, fixture, host::HostFacts, host::Standing, machine::event::Change, plan, plan::Plan,
    run::Obstacle, run::lease::Lease, run::record::Outcome as Ended, run::record::Record,
    value::id::AgentEpoch, value::id::ExperimentId, value::id::HostId, value::id::RunIndex,
    value::seed::Seed, value::time::Span, value::time::Timestamp,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Measured,
    /// It was not executed, because of this.
    Not(Obstacle),
    /// Its agent starts anew and asks.
    Restart,
}

/// A machine and the hosts that serve it.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) machine: Machine,
    pub(super) now: Timestamp,
    /// The start of each agent, and how often its host has booted.
    agents: Vec<(u64, u32)>,
    can_reboot: bool,
    /// The leases that were ever given, with how they ended.
    pub(super) ended: Vec<(Lease, End)>,
}

impl Trial {
    /// So many hosts, connected and without anything to do.
    pub(super) fn new(hosts: u32, can_reboot: bool) -> Self {
        let mut trial = Self {
            machine: Machine::new(Settings::default()),
            now: Timestamp(1),
            agents: Vec::new(),
            can_reboot,
            ended: Vec::new(),
        };
        for _ in 0..hosts {
            trial.join();
        }
        trial
    }

    /// One more host, which asks.
    pub(super) fn join(&mut self) -> usize {
        self.agents.push((0, 0));
        self.restart(self.agents.len() - 1, false);
        self.agents.len() - 1
    }

    /// A host's agent starts anew, in a new boot or in the same, and asks.
    fn restart(&mut self, host: usize, is_new_boot: bool) {
        self.agents[host].0 += 1;
        self.agents[host].1 += u32::from(is_new_boot);
        let boot = format!("boot-{host}-{}", self.agents[host].1).parse().expect("a boot id");
        let facts = HostFacts { can_reboot: self.can_reboot, ..HostFacts::bare(id(host), boot) };
        self.handle(fixture::join(facts, host as u128, self.agents[host].0));
        self.handle(Command::Ask(self.speaker(host)));
    }

    fn speaker(&self, host: usize) -> Speaker {
        Speaker { host: id(host), epoch: AgentEpoch(self.agents[host].0) }
    }

    /// Submits a plan for a user; what is not in `more` is a plan of two versions.
    pub(super) fn submit(&mut self, by: &str, more: &str) -> ExperimentId {
        let experiment = ExperimentId(Uuid::from_u128(self.now.0.into()));
        self.handle(fixture::submit(experiment, Arc::new(plan(more)), by));
        experiment
    }

    /// Lets a command happen, and all that hosts do at once: they boot anew when they are told to.
    pub(super) fn handle(&mut self, command: Command) -> HandleOutcome {
        self.now = self.now + Span::from_millis(1);
        let outcome = self.machine.handle(self.now, command).expect("nothing is wrong with it");
        self.machine.check();
        let reboots = outcome.effects.iter().filter_map(|effect| {
            if let Effect::Reboot { host, .. } = effect { Some(host.clone()) } else { None }
        });
        for host in reboots.collect::<Vec<_>>() {
            let number = (0..self.agents.len()).find(|number| id(*number) == host).expect("a host");
            self.restart(number, true);
        }
        outcome
    }

    /// What a host holds.
    pub(super) fn lease(&self, host: usize) -> Option<Lease> {
        self.machine.host(&id(host))?.lease.clone()
    }

    /// Ends what a host holds, if anything, and has it ask again; says what happened beside.
    pub(super) fn end(&mut self, host: usize, end: End) -> Vec<Change> {
        let Some(lease) = self.lease(host) else { return Vec::new() };
        self.ended.push((lease.clone(), end));
        let outcome = match end {
            End::Restart => {
                self.restart(host, false);
                return Vec::new();
            }
            End::Measured => Ended::Measured,
            End::Not(obstacle) => Ended::NotExecuted { reason: "words".to_owned(), obstacle },
        };
        let HandleOutcome { events: changes, effects, .. } =
            self.handle(fixture::report(&lease, Record::bare(outcome)));
        self.handle(Command::Ask(self.speaker(host)));
        // The others of a gang whose attempt is lost.
        for other in 0..self.agents.len() {
            let is_over = |effect: &Effect| matches!(effect, Effect::End { host, .. } if *host == id(other));
            if effects.iter().any(is_over) {
                self.handle(Command::Ask(self.speaker(other)));
            }
        }
        changes.into_iter().map(|event| event.change).collect()
    }

    /// Every host does as it is told, until nobody holds anything.
    pub(super) fn go_on(&mut self, mut end: impl FnMut(usize, &Lease) -> End) {
        for _ in 0..MAX_RUNS.min(10_000) {
            let hosts = 0..self.agents.len();
            let holding: Vec<usize> = hosts.filter(|host| self.lease(*host).is_some()).collect();
            if holding.is_empty() {
                return;
            }
            for host in holding {
                if let Some(lease) = self.lease(host) {
                    let end = end(host, &lease);
                    self.end(host, end);
                }
            }
        }
        panic!("it does not come to an end");
    }

    /// Time passes, and hosts that rested or were left out are looked at again.
    pub(super) fn wait(&mut self, span: Span) {
        self.now = self.now + span;
        self.notice(Notice::Rest);
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.machine.notice(self.now, notice);
        self.machine.check();
    }

    pub(super) fn resume(&mut self, experiment: ExperimentId) {
        self.handle(Command::Resume(Request { experiment, by: "ada".to_owned() }));
    }

    pub(super) fn resume_host(&mut self, host: usize) -> HandleOutcome {
        self.handle(Command::ResumeHost(HostRequest { host: id(host), by: "admin".to_owned() }))
    }

    /// The experiment, while it is not finished.
    pub(super) fn active(&self, experiment: ExperimentId) -> Option<&Active> {
        self.machine.experiment(experiment)
    }

    /// Why it is paused, if it is.
    pub(super) fn paused(&self, experiment: ExperimentId) -> Option<String> {
        match self.active(experiment)?.phase() {
            Phase::Paused { reason } => Some(reason.clone()),
            Phase::Running | Phase::Deciding | Phase::Decided | Phase::Cancelled => None,
        }
    }

    /// How many hosts are given runs.
    pub(super) fn serving(&self) -> usize {
        self.machine.hosts().iter().filter(|host| host.standing == Standing::Serving).count()
    }

    /// The hosts on which runs of each visit were measured, by the visit's first run.
    pub(super) fn visits(&self, plan: &Plan) -> BTreeMap<RunIndex, Vec<HostId>> {
        let mut visits: BTreeMap<RunIndex, Vec<HostId>> = BTreeMap::new();
        for (lease, _) in &self.ended {
            let hosts = visits.entry(plan.place(lease.run).group).or_default();
            if !hosts.contains(&lease.host) {
                hosts.push(lease.host.clone());
            }
        }
        visits
    }
}

/// A plan of two versions with these lines beside.
pub(super) fn plan(more: &str) -> Plan {
    let text = format!(
        "[experiment]\nname = \"trial\"\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.b]\ncommand = [\"true\"]\n{more}"
    );
    Plan::draw(plan::file::parse(&text, Seed(1)).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

fn id(host: usize) -> HostId {
    format!("host-{host}").parse().expect("a host id")
}
