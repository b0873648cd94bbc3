//! The simulated world: one coordinator, its agents, the network between them and the disks under them, in one thread
//! and without a clock. Whatever may happen next is a [`Choice`]; a seeded test draws choices, an exhaustive one tries
//! them all. After each step every invariant of the machine is checked.
//!
//! What stands for what: the coordinator's journal is `durable`, what it has written since the last sync `unsynced`; a
//! crash keeps any prefix of it, as a disk may. An agent's outbox and epoch are its disk. Messages lie in a bag, from
//! which they are delivered in any order, doubled or lost.

mod apply;
mod cut;
mod verdict;

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc};

use rand_chacha::ChaCha8Rng;
use speedup_core::{
    agent::Agent, agent::message::AgentMessage, agent::message::AttemptReport,
    agent::message::CoordinatorMessage, fingerprint::Fact, fingerprint::Fingerprint, fingerprint::HardwareId,
    host::HostFacts, host::Sharing, machine::Active, machine::Effect, machine::Machine, machine::Phase,
    machine::Settings, machine::event::Event, plan::Cell, plan::Plan, run::work::WorkOrder,
    value::id::AgentEpoch, value::id::AgentId, value::id::BootId, value::id::ExperimentId, value::id::HostId,
    value::id::LeaseEpoch, value::id::RunIndex, value::seed::below, value::time::Span,
    value::time::Timestamp,
};
use uuid::Uuid;

/// One thing that may happen.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// The message at this place in the bag arrives.
    Deliver(usize),
    /// It arrives, and will arrive again.
    Double(usize),
    /// It never arrives.
    Lose(usize),
    /// An agent reaches the coordinator.
    Connect(usize),
    /// A connection breaks; each side notices.
    Break(usize),
    /// An agent hears nothing for a while.
    Quiet(usize),
    /// An agent's process dies: now, or after this many of the actions it will do.
    CrashAgent(usize, usize),
    StartAgent(usize),
    /// What an agent executes ends, or its preparation does.
    Finish(usize, Ending),
    /// An agent is prepared for its part of a run that several serve together.
    Prepared(usize),
    /// The journal is synced; what waited for it is sent.
    Sync,
    /// The coordinator dies; this many unsynced events have reached the disk.
    CrashCoordinator(usize),
    StartCoordinator,
    /// The coordinator stands still: stopped, or its machine suspended. It handles nothing, and what it is sent waits.
    Stand,
    /// It goes on: it hears what has waited before it looks what the time has ended.
    Wake,
    Pass(Span),
    /// The coordinator's clock is set back by this much.
    StepBack(Span),
    /// It is set forward by this much while the coordinator does not run: a coordinator that runs does not see it.
    StepForward(Span),
    User(Wish),
    AddHost,
    /// A host's agent dies and starts as another one in some way.
    Reborn(usize, Rebirth),
    /// An agent that was told to boot its host does not.
    RefuseReboot(usize),
    /// The engine says that the job in which an agent lives has ended, though the agent may live on out of its sight.
    JobEnded(usize),
    /// An engine is asked for hosts, or no more, whether or not any come.
    /// A copy of a host's image appears: its id, on other hardware.
    Clone(usize),
    /// A second agent appears on a host, which finds another id there.
    Twin(usize),
}

/// What is different when a host's agent starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebirth {
    Boot,
    /// It was put back to a boot before its latest.
    OldBoot,
    Fact,
    Allocation,
}

/// How an execution ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    Measured,
    Failed,
    /// A build ends well, but without something that it was to make.
    Lacking,
    NotExecuted,
}

/// What a user asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// Submit the plan at this place in the list of plans.
    Submit(usize),
    Pause(ExperimentId),
    Resume(ExperimentId),
    Cancel(ExperimentId),
    /// One more run of each cell.
    Extend(ExperimentId),
    /// The rule of an experiment has enough.
    Enough(ExperimentId),
    /// It wants one more visit of each cell.
    Further(ExperimentId),
    /// Hosts of the class of this one may take part.
    Approve(ExperimentId, usize),
    Drain(usize),
    /// Give it back to its engine: its agent is to end.
    GiveBack(usize),
    Quarantine(usize),
    /// Give it runs again.
    ResumeHost(usize),
    /// Let whoever joins next by its id be it.
    ResetHost(usize),
}

/// Most agents of a world, beside those that come in the end.
const MAX_AGENTS: usize = 12;

/// An execution that an agent began.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    pub lease: LeaseEpoch,
    pub host: usize,
    pub experiment: ExperimentId,
    pub run: RunIndex,
    /// What it is to make, if it is a build.
    pub collect: Vec<String>,
}

#[derive(Clone, Debug)]
struct Packet {
    session: u64,
    message: Message,
}

#[derive(Clone, Debug)]
enum Message {
    Up(AgentMessage),
    Down(CoordinatorMessage),
    /// The coordinator notices that the session is over.
    Over,
}

impl Packet {
    fn is_for_the_coordinator(&self) -> bool {
        match self.message {
            Message::Up(_) | Message::Over => true,
            Message::Down(_) => false,
        }
    }
}

/// An agent and its disk.
#[derive(Clone, Debug)]
struct SimAgent {
    facts: HostFacts,
    id: AgentId,
    epoch_on_disk: u64,
    outbox_on_disk: BTreeMap<LeaseEpoch, AttemptReport>,
    process: Option<Agent>,
    session: Option<u64>,
    executing: Option<Execution>,
    /// What it prepares for, together with others.
    preparing: Option<Execution>,
    held: Option<Execution>,
    /// After how many more actions the process dies.
    doomed: Option<usize>,
    /// Whether it was told to boot its host.
    is_to_reboot: bool,
    /// Boots that its host has had before this one.
    old_boots: Vec<BootId>,
    /// On whose machine it is, if another agent was there first.
    twin_of: Option<usize>,
    /// It never starts again.
    is_gone: bool,
}

#[derive(Clone, Debug)]
struct Coordinator {
    machine: Machine,
    /// Whether the machine has changed since it was checked.
    is_unchecked: bool,
    unsynced: Vec<Event>,
    waiting_effects: Vec<Effect>,
    /// Who speaks in each session.
    speakers: BTreeMap<u64, (HostId, AgentEpoch)>,
    current: BTreeMap<HostId, u64>,
    /// Whether it stands still.
    stands: bool,
}

/// The simulated world.
#[derive(Clone, Debug)]
pub struct World {
    /// Plans that users may submit.
    plans: Vec<Arc<Plan>>,
    settings: Settings,
    now: Timestamp,
    /// How much time has passed in truth, whatever clocks were set to.
    passed: Span,
    /// When each lease was given and, if it has, ended, in truth.
    held: BTreeMap<LeaseEpoch, (Span, Option<Span>)>,
    /// The leases of the gang of each lease that has one.
    gangs: BTreeMap<LeaseEpoch, Vec<LeaseEpoch>>,
    /// Leases of which the agent executed nothing, as others did or the run was given up.
    parts: BTreeSet<LeaseEpoch>,
    /// In which states of a gang the network failed its hosts.
    cuts: BTreeSet<&'static str>,
    /// Whether a clock was set forward between two starts.
    stepped: bool,
    bag: Vec<Packet>,
    agents: Vec<SimAgent>,
    coordinator: Option<Coordinator>,
    durable: Vec<Event>,
    next_session: u64,
    submitted: BTreeMap<ExperimentId, usize>,
    executions: Vec<Execution>,
    /// Leases whose execution ended on an agent that lived long enough to keep the report.
    reported: BTreeSet<LeaseEpoch>,
    /// Leases whose report was acknowledged to an agent.
    acknowledged: BTreeSet<LeaseEpoch>,
    /// Why agents were turned away, in short.
    turned_away: BTreeSet<&'static str>,
    /// Whether a report waited while the coordinator stood still.
    heard_late: bool,
    /// Hosts whose ids were reset.
    reset: BTreeSet<HostId>,
    /// Boots, facts and allocations that there were, to name further ones.
    named: u32,
    /// The orders of cells whose runs all have the same.
    orders: BTreeMap<(ExperimentId, Cell), WorkOrder>,
}

impl World {
    /// A world with a coordinator that has just started and `hosts` agents that have not connected yet.
    pub fn new(plans: Vec<Plan>, hosts: usize) -> Self {
        let mut world = Self {
            plans: plans.into_iter().map(Arc::new).collect(),
            settings: Settings { host_grace: Span::from_secs(60), reboot_limit: Span::from_secs(300) },
            now: Timestamp(1),
            passed: Span(0),
            held: BTreeMap::new(),
            gangs: BTreeMap::new(),
            parts: BTreeSet::new(),
            cuts: BTreeSet::new(),
            stepped: false,
            bag: Vec::new(),
            agents: Vec::new(),
            coordinator: None,
            durable: Vec::new(),
            next_session: 0,
            submitted: BTreeMap::new(),
            executions: Vec::new(),
            reported: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            turned_away: BTreeSet::new(),
            heard_late: false,
            reset: BTreeSet::new(),
            named: 0,
            orders: BTreeMap::new(),
        };
        world.apply(Choice::StartCoordinator);
        (0..hosts).for_each(|_| world.apply(Choice::AddHost));
        world
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.agents.len()
    }

    /// Whether every submitted experiment is finished and every report acknowledged.
    pub fn is_quiet(&self) -> bool {
        let idle =
            |agent: &SimAgent| agent.is_gone || agent.executing.is_none() && agent.outbox_on_disk.is_empty();
        self.agents.iter().all(idle)
            && self
                .coordinator
                .as_ref()
                .is_some_and(|coordinator| coordinator.machine.active().next().is_none())
    }

    /// Everything that may happen now, faults included.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        let stands = self.stands();
        for at in (0..self.bag.len()).filter(|at| !(stands && self.bag[*at].is_for_the_coordinator())) {
            choices.extend([Choice::Deliver(at), Choice::Double(at), Choice::Lose(at)]);
        }
        for (at, agent) in self.agents.iter().enumerate().filter(|(_, agent)| !agent.is_gone) {
            choices.extend(
                [Rebirth::Boot, Rebirth::Fact, Rebirth::Allocation].map(|how| Choice::Reborn(at, how)),
            );
            choices.extend((!agent.old_boots.is_empty()).then_some(Choice::Reborn(at, Rebirth::OldBoot)));
            // An agent has one thread: it learns that its host does not boot before a run or after it.
            let may_refuse = agent.is_to_reboot && agent.executing.is_none() && agent.preparing.is_none();
            choices.extend(may_refuse.then_some(Choice::RefuseReboot(at)));
            let has_job = agent.facts.job.is_some() && self.coordinator.is_some() && !self.stands();
            choices.extend(has_job.then_some(Choice::JobEnded(at)));
            let may_grow = self.agents.len() < MAX_AGENTS;
            // A copy would take an id that was reset from the host that had it.
            let was_reset = self.reset.contains(&agent.facts.host);
            choices.extend((may_grow && !was_reset).then_some(Choice::Clone(at)));
            // By its boot a machine that went back to an old one is known under its latest name alone.
            let went_back = agent.old_boots.contains(&agent.facts.boot);
            choices.extend((may_grow && !went_back).then_some(Choice::Twin(at)));
            match &agent.process {
                None => choices.push(Choice::StartAgent(at)),
                Some(_) => {
                    choices.extend([0, 1, 2].map(|after| Choice::CrashAgent(at, after)));
                    match agent.session {
                        None if self.coordinator.is_some()
                            && agent.executing.is_none()
                            && agent.preparing.is_none() =>
                        {
                            choices.push(Choice::Connect(at));
                        }
                        None => {}
                        Some(_) => choices.extend([Choice::Break(at), Choice::Quiet(at)]),
                    }
                }
            }
            if agent.preparing.is_some() {
                choices.extend([Choice::Prepared(at), Choice::Finish(at, Ending::NotExecuted)]);
            }
            if agent.executing.is_some() {
                let endings = [Ending::Measured, Ending::Failed, Ending::NotExecuted];
                choices.extend(endings.map(|ending| Choice::Finish(at, ending)));
                let is_build = agent.executing.as_ref().is_some_and(|it| !it.collect.is_empty());
                choices.extend(is_build.then_some(Choice::Finish(at, Ending::Lacking)));
            }
        }
        match &self.coordinator {
            None => {
                choices.extend([Choice::StartCoordinator, Choice::StepForward(Span::from_secs(240))]);
            }
            Some(coordinator) if coordinator.stands => {
                choices.extend([Choice::Wake, Choice::CrashCoordinator(coordinator.unsynced.len())]);
            }
            Some(coordinator) => {
                choices.push(Choice::Stand);
                choices.push(Choice::Sync);
                choices.push(Choice::CrashCoordinator(coordinator.unsynced.len()));
                choices.push(Choice::CrashCoordinator(coordinator.unsynced.len() / 2));
                choices.push(Choice::CrashCoordinator(0));
                for plan in 0..self.plans.len() {
                    if !self.submitted.values().any(|submitted| *submitted == plan) {
                        choices.push(Choice::User(Wish::Submit(plan)));
                    }
                }
                for id in coordinator.machine.active() {
                    let wishes = [Wish::Pause(id), Wish::Resume(id), Wish::Cancel(id), Wish::Extend(id)];
                    choices.extend(wishes.map(Choice::User));
                    let hosts = 0..self.agents.len();
                    choices.extend(hosts.map(|at| Choice::User(Wish::Approve(id, at))));
                    if coordinator.machine.experiment(id).map(Active::phase) == Some(&Phase::Deciding) {
                        choices.extend([Wish::Enough(id), Wish::Further(id)].map(Choice::User));
                    }
                }
                for at in 0..self.agents.len() {
                    let wishes =
                        [Wish::Drain(at), Wish::GiveBack(at), Wish::Quarantine(at), Wish::ResumeHost(at)];
                    choices.extend(wishes.map(Choice::User));
                    let same =
                        self.agents.iter().filter(|other| other.facts.host == self.agents[at].facts.host);
                    choices.extend((same.count() == 1).then_some(Choice::User(Wish::ResetHost(at))));
                }
            }
        }
        choices.push(Choice::Pass(Span::from_secs(30)));
        choices.push(Choice::StepBack(Span::from_secs(100)));
        choices
    }

    /// Draws what happens next: mostly progress, some faults, few interventions.
    pub fn draw(&self, random: &mut ChaCha8Rng, weights: &Weights) -> Choice {
        let choices = self.choices();
        let weighed: Vec<u64> = choices.iter().map(|choice| weights.of(choice)).collect();
        let mut at = below(weighed.iter().sum::<u64>().max(1), random);
        for (choice, weight) in choices.into_iter().zip(weighed) {
            if at < weight {
                return choice;
            }
            at -= weight;
        }
        Choice::Pass(Span::from_secs(1))
    }

    /// One round without faults: everybody connects, everything arrives in order, executions succeed, time passes.
    pub fn calm_round(&mut self) {
        if self.coordinator.is_none() {
            self.apply(Choice::StartCoordinator);
        }
        self.apply(Choice::Wake);
        // Those that are gone, too: a name that is out of the pool keeps others of its machine out.
        for at in 0..self.agents.len() {
            self.apply(Choice::User(Wish::ResumeHost(at)));
        }
        for at in 0..self.agents.len() {
            let agent = &self.agents[at];
            // The boot of another may have ended it in this very round.
            if agent.is_gone {
                continue;
            }
            // Where a second agent joined first, only another boot tells the host from it.
            let has_twin = self.agents.iter().any(|other| other.twin_of == Some(at) && !other.is_gone);
            if agent.is_to_reboot || has_twin || agent.old_boots.contains(&agent.facts.boot) {
                self.apply(Choice::Reborn(at, Rebirth::Boot));
            }
            if self.agents[at].process.is_none() {
                self.apply(Choice::StartAgent(at));
            }
            self.apply(Choice::Prepared(at));
            if self.agents[at].executing.is_some() {
                self.apply(Choice::Finish(at, Ending::Measured));
            }
            match self.agents[at].session {
                None => self.apply(Choice::Connect(at)),
                Some(_) => self.apply(Choice::Quiet(at)),
            }
        }
        let paused: Vec<ExperimentId> = self.coordinator.iter().flat_map(|c| c.machine.active()).collect();
        for id in paused {
            self.apply(Choice::User(Wish::Resume(id)));
            self.apply(Choice::User(Wish::Enough(id)));
        }
        while !self.bag.is_empty() {
            self.apply(Choice::Deliver(0));
            self.apply(Choice::Sync);
        }
        self.apply(Choice::Pass(Span::from_secs(30)));
    }
}

/// How likely kinds of choices are, relative to each other.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Loss of a message, doubling of one, and breaking of a connection.
    pub network: u64,
    pub agents: u64,
    pub coordinator: u64,
    /// Users who pause, cancel, extend.
    pub users: u64,
    /// Hosts that cannot execute.
    pub hosts: u64,
    /// Hosts that boot, change, are copied, drained and quarantined.
    pub pool: u64,
}

impl Weights {
    /// Other weights for each seed, so that some worlds are rough in one way and some in another.
    pub fn draw(random: &mut ChaCha8Rng) -> Self {
        let mut pick = || [0, 1, 1, 4, 12][below(5, random) as usize];
        Self {
            network: pick(),
            agents: pick(),
            coordinator: pick(),
            users: pick(),
            hosts: pick(),
            pool: pick(),
        }
    }

    fn of(&self, choice: &Choice) -> u64 {
        match choice {
            Choice::Deliver(_) | Choice::Sync => 100,
            Choice::Connect(_) | Choice::StartAgent(_) | Choice::StartCoordinator | Choice::Prepared(_) => 60,
            Choice::Finish(_, Ending::Measured) => 40,
            Choice::Finish(_, Ending::Failed) => 4,
            Choice::Finish(_, Ending::Lacking) => 1,
            // The first host is a black hole, the more so the worse hosts are.
            Choice::Finish(0, Ending::NotExecuted) => 12 * self.hosts,
            Choice::Finish(_, Ending::NotExecuted) => 4 * self.hosts,
            Choice::User(Wish::Submit(_) | Wish::Resume(_)) => 20,
            Choice::User(Wish::Pause(_)) => self.users,
            Choice::User(Wish::Extend(_)) => self.users / 4,
            Choice::User(Wish::Cancel(_)) => u64::from(self.users > 4),
            Choice::Quiet(_) => 2,
            Choice::Double(_) | Choice::Lose(_) => 3 * self.network,
            Choice::Break(_) => self.network,
            Choice::CrashAgent(..) => self.agents,
            Choice::CrashCoordinator(_) | Choice::Stand => self.coordinator,
            Choice::Wake => 30,
            Choice::Pass(_) => 15,
            Choice::StepBack(_) => self.network,
            Choice::StepForward(_) => 10 * self.network,
            Choice::AddHost => 0,
            // A host that was told to boot does so sooner or later.
            Choice::Reborn(_, Rebirth::Boot) => 1 + self.pool,
            Choice::Reborn(..) | Choice::RefuseReboot(_) => self.pool,
            Choice::JobEnded(_) => self.pool / 4,
            Choice::Clone(_) | Choice::Twin(_) => u64::from(self.pool > 1),
            Choice::User(
                Wish::Drain(_)
                | Wish::GiveBack(_)
                | Wish::Quarantine(_)
                | Wish::ResetHost(_)
                | Wish::Approve(..),
            ) => self.pool / 4,
            Choice::User(Wish::ResumeHost(_)) => 1 + self.pool,
            Choice::User(Wish::Enough(_) | Wish::Further(_)) => 10,
        }
    }
}

/// A host of the simulation: most are of one class, all are nodes of jobs, some cannot boot by themselves, some have allocations,
/// marks of their makers or an owner who lets others share the machine.
fn sim_host(number: usize) -> HostFacts {
    let id = |text: String| text.parse().expect("ids of the simulation are ids");
    let (hardware, is_large) = (sim_hardware(number), number % 4 == 3);
    // Of the nodes of a job all are alike, and enough for any gang.
    let job = format!("{}.{}", number / 16 * 2 + usize::from(is_large), number % 16);
    HostFacts {
        allocation: number
            .is_multiple_of(2)
            .then(|| format!("job-{number}").parse().expect("an allocation id")),
        fingerprint: sim_fingerprint(if is_large { "large" } else { "small" }),
        job: Some(job.parse().expect("a job id")),
        hardware,
        machine: hardware.filter(|_| number % 3 != 2),
        sharing: if number % 7 == 6 { Sharing::Shared } else { Sharing::Alone },
        can_reboot: number % 5 != 4,
        ..HostFacts::bare(id(format!("host-{number}")), format!("boot-{number}").parse().expect("a boot id"))
    }
}

fn sim_hardware(number: usize) -> Option<HardwareId> {
    HardwareId::from_marks([("serial", number.to_string().as_str())])
}

fn sim_fingerprint(model: &str) -> Fingerprint {
    let facts = [("cpu.model".to_owned(), Fact::Value(model.to_owned()))].into();
    Fingerprint::new(facts).expect("one short fact")
}

fn sim_agent(number: usize) -> AgentId {
    AgentId(Uuid::from_u128(0xA6E7_0000 + number as u128))
}

impl World {
    /// Whether there is a coordinator, and it stands still.
    fn stands(&self) -> bool {
        self.coordinator.as_ref().is_some_and(|coordinator| coordinator.stands)
    }

    /// The coordinator's machine, while there is one.
    pub fn machine(&self) -> Option<&Machine> {
        self.coordinator.as_ref().map(|coordinator| &coordinator.machine)
    }

    /// What the coordinator keeps through every crash.
    pub fn journal(&self) -> &[Event] {
        &self.durable
    }

    /// How its machine behaves.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Runs of active experiments that are not settled.
    pub fn open_runs(&self) -> u32 {
        let machine = self.coordinator.as_ref().map(|coordinator| &coordinator.machine);
        let tallies = machine
            .into_iter()
            .flat_map(|m| m.active().filter_map(|id| Some(m.experiment(id)?.tally().open())));
        tallies.sum()
    }
}
