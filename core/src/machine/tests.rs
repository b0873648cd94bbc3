//! What the machine decides and tells in small scenes, each number by hand. Long histories are the simulation's.

mod attempts;
mod bisection;
mod commands;
mod demand;
mod explain;
mod gangs;
mod hosts;
mod limits;
mod pieces;
mod visits;

use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::fixture::{self, fingerprint, granted, host};
use crate::{
    agent::message::AttemptReport, host::HostFacts, machine::event::Tally, plan, plan::Plan, run::Obstacle,
    run::RunState, run::lease::Lease, run::record::Outcome as RunOutcome, run::record::Record,
    value::id::AgentEpoch, value::id::AgentId, value::id::RunIndex, value::seed::Seed,
};

const FIRST: ExperimentId = ExperimentId(Uuid::from_u128(1));
const SECOND: ExperimentId = ExperimentId(Uuid::from_u128(2));
const THIRD: ExperimentId = ExperimentId(Uuid::from_u128(3));

/// One benchmark in two versions, each executed twice.
const PLAIN: &str = "[experiment]\nname = \"scene\"\n[repetitions]\nruns = 2\n[versions.old]\nbaseline = true\n\
                     [versions.new]\n[benchmarks.b]\ncommand = [\"true\"]\ntimeout = \"20s\"\n";

/// A machine, hosts by number, and what time it is.
struct Scene {
    machine: Machine,
    now: Timestamp,
    epochs: u64,
}

fn facts(number: u32) -> HostFacts {
    HostFacts { fingerprint: fingerprint("small"), ..fixture::facts(number) }
}

impl Machine {
    /// The state of a run of an active experiment.
    fn run(&self, id: ExperimentId, run: RunIndex) -> Option<RunState> {
        self.experiments.get(&id)?.states.get(run.0 as usize).copied()
    }
}

impl Scene {
    /// Hosts that have joined and not asked.
    fn of(hosts: u32) -> Self {
        let now = Timestamp(0) + Span::from_secs(1_000);
        let mut scene = Self { machine: Machine::new(Settings::default()), now, epochs: 0 };
        (0..hosts).for_each(|number| scene.join(facts(number)));
        scene
    }

    /// Hosts that have joined, and the first experiment.
    fn with(hosts: u32, plan: &str) -> Self {
        let mut scene = Self::of(hosts);
        scene.submit(FIRST, plan);
        scene
    }

    /// The same, with a run that host 0 was given.
    fn leased(hosts: u32, plan: &str) -> (Self, Lease) {
        let mut scene = Self::with(hosts, plan);
        let lease = scene.ask(0).expect("a run");
        (scene, lease)
    }

    fn handle(&mut self, command: Command) -> HandleOutcome {
        let outcome = self.machine.handle(self.now, command).expect("nothing is wrong with it");
        self.machine.check();
        outcome
    }

    fn notice(&mut self, notice: Notice) -> HandleOutcome {
        let handled = self.machine.notice(self.now, notice);
        self.machine.check();
        handled
    }

    fn refused(&mut self, command: Command) -> Refusal {
        let before = self.machine.clone();
        let refusal = self.machine.handle(self.now, command).expect_err("it is refused");
        assert_eq!(self.machine, before, "a refusal changes nothing");
        refusal
    }

    fn join(&mut self, facts: HostFacts) {
        let command = self.joining(facts);
        self.handle(command);
    }

    /// Without the checks after each command, of which there are too many.
    fn leave_and_join_unchecked(&mut self, facts: HostFacts) {
        let host = facts.host.clone();
        let epoch = self.machine.host(&host).expect("it has joined").epoch;
        self.machine.notice(self.now, Notice::Leave(Speaker { host, epoch }));
        let command = self.joining(facts);
        self.machine.handle(self.now, command).expect("nothing is wrong with it");
    }

    fn joining(&mut self, facts: HostFacts) -> Command {
        self.epochs += 1;
        fixture::join(facts, 7, self.epochs)
    }

    fn speaker(&self, number: u32) -> Speaker {
        let epoch = self.machine.host(&host(number)).expect("it has joined").epoch;
        Speaker { host: host(number), epoch }
    }

    fn leave(&mut self, number: u32) {
        self.notice(Notice::Leave(self.speaker(number)));
    }

    fn submit(&mut self, experiment: ExperimentId, plan: &str) {
        self.handle(fixture::submit(experiment, fixture::plan(plan), "user"));
    }

    /// A host asks; the lease that it is granted, if it is.
    fn ask(&mut self, number: u32) -> Option<Lease> {
        granted(self.handle(Command::Ask(self.speaker(number)))).into_iter().next()
    }

    /// A host executes what it asks for.
    fn serve(&mut self, number: u32) -> Lease {
        let lease = self.ask(number).expect("something is left for it");
        self.report(&lease, RunOutcome::Measured);
        lease
    }

    fn report(&mut self, lease: &Lease, outcome: RunOutcome) -> HandleOutcome {
        self.handle(fixture::report(lease, Record::bare(outcome)))
    }

    fn tally(&self, experiment: ExperimentId) -> Tally {
        self.machine.experiment(experiment).expect("active").tally()
    }

    /// The host could not execute it.
    fn lose(&mut self, lease: &Lease) {
        let reason = "no such program".to_owned();
        self.report(lease, RunOutcome::NotExecuted { reason, obstacle: Obstacle::Host });
    }

    fn request(&self, number: u32) -> HostRequest {
        HostRequest { host: host(number), by: "user".to_owned() }
    }

    fn tick_after(&mut self, span: Span) {
        self.now = self.now + span;
        self.notice(Notice::Tick);
    }
}

fn asked(experiment: ExperimentId) -> Request {
    Request { experiment, by: "user".to_owned() }
}
