//! The deterministic simulation: machines of coordinator and agents under every fault, from one seed.
//!
//! `SPEEDUP_SIM_SEEDS=n` sets how many seeds are tried, `SPEEDUP_SIM_SEED=s` replays one and prints each step;
//! `SPEEDUP_SIM_LARGE=n` sets how many worlds of 2 000 hosts, where the normal run tries one of 200: of fifteen each policy has each order of runs.
#![expect(clippy::print_stderr, reason = "a failing seed is printed")]

use std::collections::BTreeSet;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use speedup_core::build::Build;
use speedup_core::environment::Environment;
use speedup_core::event::{Change, Event};
use speedup_core::experiment::{
    AcceptedExits, AnalysisChoice, Benchmark, CommandLine, Expectation, Experiment, Independence, KeepOutput,
    Levels, Limits, Metric, Order, OutputChoice, Policy, Rule, Sameness, Scope, Spending, Version,
    Weights as SuiteWeights,
};
use speedup_core::host::{Host, HostFacts};
use speedup_core::id::{AgentEpoch, AgentId, ExperimentId, HostId, LeaseEpoch, RunIndex};
use speedup_core::lease::Lease;
use speedup_core::machine::{Command, Machine, Settings, Speaker};
use speedup_core::plan::Plan;
use speedup_core::run::{AfterLoss, LossReason};
use speedup_core::seed::{Seed, below};
use speedup_core::time::{Span, Timestamp};
use speedup_tests::world::{Choice, Ending, Rebirth, Weights, Wish, World};

const SEEDS: u64 = 800;
const STEPS: usize = 600;
const POLICIES: [Policy; 5] =
    [Policy::Distinct, Policy::Any, Policy::Rebooted, Policy::Reallocated, Policy::Rested];
/// Rounds without faults after which everything must be settled: each may settle only one attempt of each run.
const CALM_ROUNDS: usize = 400;

#[test]
fn every_run_is_settled_exactly_once_whatever_happens() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    if let Some(seed) = number("SPEEDUP_SIM_SEED") {
        simulate(seed, true);
        return;
    }
    let seeds = number("SPEEDUP_SIM_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let happened: BTreeSet<&str> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| simulate_from(&next, seeds))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("its seeds pass")).collect()
    });
    // A simulation in which nothing goes wrong proves nothing.
    for what in World::EVERYTHING {
        assert!(happened.contains(what), "{what} never happened: {happened:?}");
    }
}

/// Simulates the next seed that no other thread has taken, until none is left or one fails.
fn simulate_from(next: &AtomicU64, seeds: u64) -> BTreeSet<&'static str> {
    let mut happened = BTreeSet::new();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= seeds {
            return happened;
        }
        match catch_unwind(AssertUnwindSafe(|| simulate(seed, false))) {
            Ok(world) => happened.extend(world.happened()),
            Err(panic) => {
                eprintln!("replay with SPEEDUP_SIM_SEED={seed}");
                next.store(seeds, Ordering::Relaxed);
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// Most hosts have a run at once, and what happens to one of them happens amid all the others.
#[test]
fn many_hosts_settle_every_run_once() {
    let asked: Option<u64> =
        std::env::var("SPEEDUP_SIM_LARGE").ok().map(|text| text.parse().expect("a number"));
    let (worlds, hosts) = asked.map_or((1, 200), |worlds| (worlds, 2_000));
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        let large = || {
            loop {
                match next.fetch_add(1, Ordering::Relaxed) {
                    number if number < worlds => simulate_large(number, hosts),
                    _ => return,
                }
            }
        };
        (0..threads).for_each(|_| drop(scope.spawn(large)));
    });
}

fn simulate_large(number: u64, hosts: u32) {
    const FAULTY_STEPS: usize = 2_000;
    let random = &mut Seed(number).child("many hosts");
    let policy = POLICIES[(number % 5) as usize];
    let mut large = experiment(random, policy, Scope::Benchmark, 3);
    // Of each of the six cells: nearly as many runs as hosts.
    large.runs = hosts / 7;
    large.limits = Limits::of_attempts(5);
    if policy != Policy::Reallocated {
        large.order = [Order::Randomized, Order::Interleaved, Order::Blocked][(number / 5 % 3) as usize];
    }
    let mut world = World::new(vec![Plan::draw(large)], hosts as usize);
    world.apply(Choice::User(Wish::Submit(0)));
    world.calm_round();
    let leased = world
        .machine()
        .map_or(0, |machine| machine.hosts().iter().filter(|host| host.lease.is_some()).count());
    assert!(leased > hosts as usize / 4, "{leased} hosts have a run at once in world {number}");
    let weights = Weights::draw(random);
    for _ in 0..FAULTY_STEPS {
        let choice = world.draw(random, &weights);
        world.apply(choice);
    }
    settle(&mut world);
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let journal = |seed| format!("{:?}", simulate(seed, false));
    assert_eq!(journal(7), journal(7));
    assert_ne!(journal(7), journal(8));
}

/// All that can happen to one experiment of two runs on two hosts within a few steps, then calm.
#[test]
fn every_short_history_ends_well() {
    let plan =
        Plan::draw(experiment(&mut Seed(1).child("exhaustive"), Policy::Distinct, Scope::Experiment, 1));
    let mut start = World::new(vec![plan], 2);
    start.apply(Choice::User(Wish::Submit(0)));
    for host in 0..2 {
        start.apply(Choice::Connect(host));
    }
    let depth = std::env::var("SPEEDUP_SIM_DEPTH").ok().map_or(2, |text| text.parse().expect("a number"));
    let mut ends = 0;
    // From every point of the undisturbed history, every disturbed continuation.
    for _ in 0..24 {
        explore(&start, depth, &mut ends);
        if start.choices().contains(&Choice::Deliver(0)) {
            start.apply(Choice::Deliver(0));
        } else {
            start.apply(Choice::Finish(0, Ending::Measured));
            start.apply(Choice::Finish(1, Ending::Failed));
        }
        start.apply(Choice::Sync);
    }
    assert!(ends > 1_000, "{ends} histories were tried");
}

fn explore(world: &World, depth: usize, ends: &mut u64) {
    if depth == 0 {
        let mut end = world.clone();
        settle(&mut end);
        *ends += 1;
        return;
    }
    for choice in world.choices() {
        let is_rare = matches!(
            choice,
            Choice::User(_)
                | Choice::StepBack(_)
                | Choice::Clone(_)
                | Choice::Twin(_)
                | Choice::Reborn(_, Rebirth::Fact | Rebirth::Allocation)
        );
        if is_rare {
            continue;
        }
        let mut next = world.clone();
        next.apply(choice);
        explore(&next, depth - 1, ends);
    }
}

fn simulate(seed: u64, verbose: bool) -> World {
    let random = &mut Seed(seed).child("simulation");
    let plans = (0..1 + below(3, random)).map(|_| Plan::draw(any_experiment(random))).collect();
    let mut world = World::new(plans, 1 + below(8, random) as usize);
    let weights = Weights::draw(random);
    for step in 0..STEPS {
        let choice = world.draw(random, &weights);
        if verbose {
            eprintln!("{step}: {choice:?}");
        }
        world.apply(choice);
    }
    settle(&mut world);
    world
}

/// Faults end, hosts come until all is done; then the journal is judged.
fn settle(world: &mut World) {
    for plan in 0..3 {
        if world.choices().contains(&Choice::User(Wish::Submit(plan))) {
            world.apply(Choice::User(Wish::Submit(plan)));
        }
    }
    for _ in 0..CALM_ROUNDS {
        world.calm_round();
        if world.is_quiet() {
            world.apply(Choice::Sync);
            world.verify();
            return;
        }
        world.apply(Choice::AddHost);
    }
    panic!("not settled after {CALM_ROUNDS} calm rounds: {world:#?}");
}

fn any_experiment(random: &mut rand_chacha::ChaCha8Rng) -> Experiment {
    let policy = POLICIES[below(5, random) as usize];
    let scope = [Scope::Benchmark, Scope::Experiment, Scope::Cell][below(3, random) as usize];
    let benchmarks = 1 + below(3, random) as u32;
    let mut drawn = experiment(random, policy, scope, benchmarks);
    let mut pick = |most: u64| below(most, random);
    drawn.priority = pick(3) as i32 - 1;
    drawn.independence.hosts =
        [Sameness::Identical, Sameness::Classes, Sameness::Unchecked][pick(3) as usize];
    drawn.independence.rest.idle = Span::from_secs(40);
    // Several runs cannot share an allocation that each of them needs anew.
    if policy != Policy::Reallocated {
        drawn.order = [Order::Randomized, Order::Interleaved, Order::Blocked][pick(3) as usize];
        if pick(3) == 0 {
            drawn.levels.hosts = Some(1 + pick(2) as u32);
            drawn.levels.boots = [None, Some(1), Some(2)][pick(3) as usize];
            drawn.runs = 1 + pick(2) as u32;
        }
    }
    if pick(4) == 0 {
        for version in 0..=pick(2) as usize {
            let products = ["prog", "lib"].into_iter().take(1 + pick(2) as usize);
            drawn.versions[version].build = Some(Build {
                command: CommandLine::Shell("make".to_owned()),
                builds: 1 + pick(3) as u32,
                products: products.map(|name| (name.to_owned(), format!("out/{name}"))).collect(),
                timeout: Span::from_secs(20),
            });
        }
    }
    let maximum = 4 + pick(8) as u32;
    drawn.rule = match pick(5) {
        0 => Rule::Pilot { precision: 0.1, maximum },
        1 => Rule::Sequential { looks: 3, maximum, spending: Spending::Pocock },
        2 => Rule::Budget { time: Span::from_secs(1_000), maximum },
        _ => Rule::Fixed,
    };
    drawn.limits.all_attempts = (pick(6) == 0).then(|| 1 + pick(12));
    drawn.limits.host_time = (pick(6) == 0).then(|| Span::from_secs(30 * (1 + pick(10))));
    drawn
}

fn experiment(
    random: &mut rand_chacha::ChaCha8Rng,
    policy: Policy,
    scope: Scope,
    benchmarks: u32,
) -> Experiment {
    let version = |name: &str| Version {
        name: name.to_owned(),
        env: [].into(),
        vars: [].into(),
        command: None,
        build: None,
    };
    let benchmark = |number: u32| Benchmark {
        name: format!("b{number}"),
        command: CommandLine::Exact(vec!["true".to_owned()]),
        env: [].into(),
        expect: Expectation { exit: 0, accept: AcceptedExits::None, stdout_blake3: None },
        timeout: Span::from_secs(20),
        warmup: 0,
        directory: None,
        weight: None,
    };
    Experiment {
        name: "simulated".to_owned(),
        description: String::new(),
        priority: 0,
        seed: Seed(below(1 << 40, random)),
        versions: vec![version("old"), version("new")],
        benchmarks: (0..benchmarks).map(benchmark).collect(),
        drawn: None,
        levels: Levels::default(),
        order: Order::Randomized,
        rule: Rule::Fixed,
        runs: 1 + below(3, random) as u32,
        metrics: vec![Metric::Wall],
        own_metrics: Vec::new(),
        files: Vec::new(),
        independence: Independence::unchecked(policy, scope),
        analysis: AnalysisChoice { confidence: 0.95, weights: SuiteWeights::Equal, precision: 0.05 },
        setup: None,
        prepare: None,
        cleanup: None,
        canary: None,
        environment: Environment::default(),
        limits: Limits::of_attempts(1 + below(3, random) as u32),
        output: OutputChoice { limit: 1 << 20, keep: 1 << 10, keep_of: KeepOutput::Failed },
    }
}

/// A host that can execute nothing asks all the time. It is taken out of the pool before it has cost a run its attempts.
#[test]
fn a_host_that_can_execute_nothing_is_quarantined() {
    let world = served_by(2, 1);
    assert!(world.is_quiet(), "the other host has measured all");
    let machine = world.machine().expect("it runs");
    let standings: Vec<bool> = machine.hosts().iter().map(Host::is_available).collect();
    assert_eq!(standings, [false, true], "{:?}", machine.hosts()[0].standing);
    world.verify();
}

/// An experiment that no host can execute is paused, instead of being spent on the pool.
#[test]
fn an_experiment_that_nobody_can_execute_is_paused() {
    for hosts in [1, 8] {
        let world = served_by(hosts, hosts);
        assert!(!world.is_quiet(), "the experiment waits for somebody to look");
        let open = world.open_runs();
        assert!((40..60).contains(&open), "{open} of 60 runs are left for when it is mended");
    }
}

/// Sixty runs on hosts of which the first can execute nothing.
fn served_by(hosts: usize, broken: usize) -> World {
    let mut plan = experiment(&mut Seed(3).child("black hole"), Policy::Any, Scope::Benchmark, 3);
    plan.runs = 10;
    plan.limits = Limits::of_attempts(2);
    let mut world = World::new(vec![Plan::draw(plan)], hosts);
    world.apply(Choice::User(Wish::Submit(0)));
    (0..hosts).for_each(|host| world.apply(Choice::Connect(host)));
    for _ in 0..200 {
        while world.choices().contains(&Choice::Deliver(0)) {
            world.apply(Choice::Deliver(0));
            world.apply(Choice::Sync);
        }
        (0..broken).for_each(|host| world.apply(Choice::Finish(host, Ending::NotExecuted)));
        (broken..hosts).for_each(|host| world.apply(Choice::Finish(host, Ending::Measured)));
    }
    world
}

/// No journal makes recovery panic or breaks an invariant: what does not fit the state changes nothing.
#[test]
fn events_that_do_not_fit_change_nothing() {
    let mut machine = Machine::new(Settings::default());
    let (host, epoch): (HostId, _) = ("host".parse().expect("an id"), AgentEpoch(1));
    let boot = "boot".parse().expect("an id");
    let facts = HostFacts::bare(host.clone(), boot);
    let plan =
        Arc::new(Plan::draw(experiment(&mut Seed(1).child("unfit"), Policy::Any, Scope::Benchmark, 1)));
    let (id, by) = (ExperimentId(uuid::Uuid::from_u128(1)), "user".to_owned());
    let speaker = Speaker { host: host.clone(), epoch };
    let commands = [
        Command::Join { facts, agent: AgentId(uuid::Uuid::from_u128(2)), epoch },
        Command::Submit { experiment: id, plan: plan.clone(), by: by.clone(), wait_for_hosts: false },
        Command::Ask(speaker),
    ];
    for command in commands {
        machine.handle(Timestamp(1), command).expect("nothing is wrong with it");
    }
    let lease = machine.host(&host).and_then(|host| host.lease.clone()).expect("a lease");
    let tally = machine.experiment(id).expect("active").tally();
    let unfit = [
        Change::LeaseGranted(Lease { epoch: LeaseEpoch(9), run: RunIndex(99), ..lease.clone() }),
        Change::LeaseGranted(Lease { epoch: LeaseEpoch(9), run: RunIndex(1), ..lease.clone() }),
        Change::LeaseGranted(lease.clone()),
        Change::Submitted { experiment: id, plan, by },
        Change::Finished { experiment: id, tally, cancelled: false },
        Change::RunStarted { host: host.clone(), lease: LeaseEpoch(77) },
        Change::AttemptLost {
            host,
            lease: LeaseEpoch(77),
            reason: LossReason::Expired,
            after: AfterLoss::Abandoned,
        },
    ];
    for change in unfit {
        let event = Event { at: Timestamp(2), change };
        assert_eq!(machine.ended_by(&event), None, "{event:?}");
        machine.replay(&event);
        machine.check();
        assert_eq!(machine.experiment(id).expect("still active").tally(), tally, "{event:?}");
    }
    machine.handle(Timestamp(u64::MAX), Command::Tick).expect("time passes");
    machine.check();
}
