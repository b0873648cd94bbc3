//! Thousands of hosts that serve runs of one host and of several at once, in simulated time: how long gangs wait. Every message
//! arrives, hosts crash and come back. What becomes of messages and of coordinators is the [`crate::world`]'s.

mod host;
mod waiting;

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc};

use rand_chacha::ChaCha8Rng;
use speedup_core::agent::message::AttemptReport;
use speedup_core::machine::event::{Change, Event};
use speedup_core::machine::{Command, Effect, HandleOutcome, Machine, Notice, Settings};
use speedup_core::plan::Plan;
use speedup_core::run::record::{Outcome, Record};
use speedup_core::value::id::{ExperimentId, HostId, LeaseEpoch, RunIndex};
use speedup_core::value::seed::below;
use speedup_core::value::time::{Span, Timestamp};
use uuid::Uuid;

use host::{CrowdHost, Doing, Happening};
use waiting::Waiting;

/// How long a message is under way.
const ON_THE_WAY: Span = Span::from_millis(5);
/// Within what time a crowd is to be done with everything.
const AT_MOST: Span = Span::from_secs(7 * 24 * 3_600);
/// After how many happenings all of the machine is checked anew: it looks at every host.
const CHECKED_EVERY: u64 = 20_000;

/// Hosts of one machine, and what users submit to it.
#[derive(Debug)]
pub struct Crowd {
    machine: Machine,
    random: ChaCha8Rng,
    now: Timestamp,
    hosts: Vec<CrowdHost>,
    numbers: BTreeMap<HostId, usize>,
    /// What is to happen, by time; the second number tells what happens at the same time apart.
    agenda: BTreeMap<(Timestamp, u64), (usize, u64, Happening)>,
    /// Plans that are submitted at their time.
    submissions: BTreeMap<(Timestamp, u64), (Arc<Plan>, Kind)>,
    kinds: BTreeMap<ExperimentId, Kind>,
    /// How long it is from one crash to the next, on the average.
    crashes: Option<Span>,
    happened: u64,
    /// How much was ever put on the agenda.
    planned: u64,
    waiting: Waiting,
}

/// Whether users submit another experiment when one has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is submitted again, as long as there are others that are submitted once.
    Ceaseless,
    /// It is submitted once.
    Once,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// Gangs that were granted.
    pub gangs: u32,
    /// Those of them for which hosts were held.
    pub held: u32,
    pub largest: u32,
    /// Attempts of gangs that were lost.
    pub lost: u32,
    /// Runs of one host that were granted to a pool of which hosts were held.
    pub backfilled: u32,
    /// The longest that hosts were held for one gang.
    pub longest_hold: Span,
    /// The longest that an experiment without any host waited for some.
    pub longest_wait: Span,
}

impl Crowd {
    /// So many hosts, all of which ask within a second. They crash now and then, if a mean time between crashes is given.
    pub fn new(hosts: u32, crashes: Option<Span>, random: ChaCha8Rng) -> Self {
        let mut crowd = Self {
            machine: Machine::new(Settings::default()),
            random,
            now: Timestamp(0) + Span::from_secs(1_000),
            hosts: (0..hosts).map(CrowdHost::new).collect(),
            numbers: BTreeMap::new(),
            agenda: BTreeMap::new(),
            submissions: BTreeMap::new(),
            kinds: BTreeMap::new(),
            crashes,
            happened: 0,
            planned: 0,
            waiting: Waiting::default(),
        };
        for number in 0..hosts as usize {
            crowd.numbers.insert(crowd.hosts[number].id(), number);
            let after = crowd.draw(Span::from_secs(1));
            crowd.plan(number, after, Happening::ComesBack);
        }
        crowd.plan_a_crash();
        crowd
    }

    /// A plan is submitted after this time.
    pub fn submit(&mut self, after: Span, plan: Plan, kind: Kind) {
        let number = self.submissions.len() as u64;
        self.submissions.insert((self.now + after, number), (Arc::new(plan), kind));
    }

    /// Goes on until every experiment has ended.
    ///
    /// # Panics
    /// When one does not end, or a gang waits for longer than it may.
    pub fn run(mut self) -> Story {
        let end = self.now + AT_MOST;
        while !self.submissions.is_empty() || self.machine.active().next().is_some() {
            self.step();
            assert!(self.now < end, "no end: {:?}", self.machine.active().collect::<Vec<_>>());
        }
        self.machine.check();
        self.waiting.story
    }

    fn step(&mut self) {
        let happening = self.agenda.first_key_value().map(|(key, _)| *key);
        let submission = self.submissions.first_key_value().map(|(key, _)| *key);
        let due = [self.machine.next_loss(), self.machine.next_rest()].into_iter().flatten().min();
        let next = [happening, submission].into_iter().flatten().map(|(at, _)| at).min();
        let next = next.expect("somebody does something");
        if let Some(due) = due.filter(|due| *due <= next) {
            self.now = self.now.max(due);
            self.tell(Notice::Tick);
        } else if submission.is_some_and(|(at, _)| at == next) {
            self.now = next;
            let (plan, kind) = self.submissions.pop_first().expect("one is due").1;
            self.submit_now(plan, kind);
        } else {
            self.now = next;
            let (number, start, happening) = self.agenda.pop_first().expect("something is due").1;
            if self.hosts[number].start == start && self.hosts[number].minds(happening) {
                self.happen(number, happening);
            }
        }
        self.happened += 1;
        if self.happened.is_multiple_of(CHECKED_EVERY) {
            self.machine.check();
        }
    }

    fn submit_now(&mut self, plan: Arc<Plan>, kind: Kind) {
        let experiment = ExperimentId(Uuid::from_u128(1 + self.kinds.len() as u128));
        self.kinds.insert(experiment, kind);
        let by = "user".to_owned();
        self.command(Command::Submit { experiment, plan, by, wait_for_hosts: true, request: None });
    }

    fn happen(&mut self, number: usize, happening: Happening) {
        match happening {
            Happening::ComesBack => {
                let host = &mut self.hosts[number];
                host.is_here = true;
                let join = host.join();
                self.command(join);
                self.plan(number, ON_THE_WAY, Happening::Asks);
            }
            Happening::Asks => self.command(Command::Ask(self.hosts[number].speaker())),
            Happening::IsReady(lease) => {
                self.command(Command::Ready { speaker: self.hosts[number].speaker(), lease });
            }
            Happening::Ends(lease) => {
                let host = &mut self.hosts[number];
                host.does = None;
                let record = Record::bare(Outcome::Measured);
                let report = Box::new(AttemptReport { lease, executed_by: host.epoch(), record });
                let speaker = host.speaker();
                self.command(Command::Report { speaker, report });
                self.plan(number, ON_THE_WAY, Happening::Asks);
            }
            Happening::Crashes => {
                let host = &mut self.hosts[number];
                let speaker = host.speaker();
                (host.is_here, host.does) = (false, None);
                // What it was to do it does no more.
                host.start += 1;
                self.tell(Notice::Leave(speaker));
                let away = Span::from_secs(1) + self.draw(Span::from_secs(300));
                self.plan(number, away, Happening::ComesBack);
                self.plan_a_crash();
            }
        }
    }

    fn plan_a_crash(&mut self) {
        let Some(mean) = self.crashes else { return };
        let hosts = self.hosts.len() as u64;
        let (number, after) = (below(hosts, &mut self.random) as usize, self.draw(mean.times(2)));
        // Another start of the agent would do nothing of it, and no other crash would follow.
        let number = (number..self.hosts.len()).find(|number| self.hosts[*number].is_here).unwrap_or(0);
        self.plan(number, after, Happening::Crashes);
    }

    /// Some time up to this.
    fn draw(&mut self, most: Span) -> Span {
        Span(1 + below(most.0, &mut self.random))
    }

    fn plan(&mut self, number: usize, after: Span, happening: Happening) {
        self.planned += 1;
        let start = self.hosts[number].start;
        self.agenda.insert((self.now + after, self.planned), (number, start, happening));
    }

    fn command(&mut self, command: Command) {
        let handled = self.machine.handle(self.now, command).expect("nothing is wrong with it");
        self.take(handled);
    }

    fn tell(&mut self, notice: Notice) {
        let handled = self.machine.notice(self.now, notice);
        self.take(handled);
    }

    fn take(&mut self, handled: HandleOutcome) {
        let HandleOutcome { events, effects, ended: _ } = handled;
        let granted: BTreeSet<LeaseEpoch> = effects.iter().filter_map(granted_by).collect();
        for Event { at, change } in &events {
            assert!(
                change.granted().iter().all(|lease| granted.contains(&lease.epoch)),
                "who is granted a lease is told, all of a gang at once"
            );
            self.waiting.hear(*at, change);
            if let Change::Finished { experiment, .. } = change {
                self.finished(*experiment);
            }
        }
        effects.into_iter().for_each(|effect| self.perform(effect));
    }

    /// There is always more of the small, as long as there is something else.
    fn finished(&mut self, experiment: ExperimentId) {
        let are_others = self.submissions.values().any(|(_, kind)| *kind == Kind::Once)
            || self.machine.active().any(|active| self.kinds[&active] == Kind::Once);
        if self.kinds[&experiment] == Kind::Ceaseless && are_others {
            let plan = self.waiting.plan(experiment);
            let number = self.submissions.len() as u64;
            self.submissions.insert((self.now + ON_THE_WAY, number), (plan, Kind::Ceaseless));
        }
    }

    fn perform(&mut self, effect: Effect) {
        let at = |host: &HostId| self.numbers[host];
        match effect {
            Effect::Grant { lease, plan } => {
                let (number, epoch) = (at(&lease.host), lease.epoch);
                if lease.is_of_gang() {
                    self.hosts[number].does = Some(Doing::Part(epoch));
                    let preparing = self.draw(Span::from_secs(10));
                    self.plan(number, preparing, Happening::IsReady(epoch));
                } else {
                    self.execute(number, epoch, timeout(&plan, lease.run));
                }
            }
            Effect::Begin { host, lease } => {
                self.execute(at(&host), lease, self.waiting.timeout(lease));
            }
            // One that executes the program goes on until that ends.
            Effect::End { host, lease } => {
                let number = at(&host);
                if self.hosts[number].does == Some(Doing::Part(lease)) {
                    self.plan(number, ON_THE_WAY, Happening::Ends(lease));
                }
            }
            Effect::Remind { .. } | Effect::Acknowledge { .. } => {}
            Effect::Reboot { .. } | Effect::Dismiss { .. } => panic!("nobody wanted that: {effect:?}"),
        }
    }

    fn execute(&mut self, number: usize, lease: LeaseEpoch, timeout: Span) {
        self.hosts[number].does = Some(Doing::Program(lease));
        let lasts = self.draw(timeout);
        self.plan(number, lasts, Happening::Ends(lease));
    }
}

/// How long a run may take.
fn timeout(plan: &Plan, run: RunIndex) -> Span {
    let benchmark = plan.cell(run).expect("nothing is built").benchmark;
    plan.experiment.benchmarks[benchmark.0 as usize].timeout
}

fn granted_by(effect: &Effect) -> Option<LeaseEpoch> {
    if let Effect::Grant { lease, .. } = effect { Some(lease.epoch) } else { None }
}
