//! Experiments as worlds draw them.

use rand_chacha::ChaCha8Rng;
use speedup_core::experiment::build::Build;
use speedup_core::experiment::environment::Environment;
use speedup_core::experiment::gang::{Gang, GangLauncher};
use speedup_core::experiment::{
    AcceptedExits, AnalysisChoice, Benchmark, Bisection, CommandLine, Expectation, Experiment, Independence,
    KeepOutput, Levels, Limits, Metric, Order, OutputChoice, Policy, Rule, Sameness, Scope, Spending,
    Version, Weights,
};
use speedup_core::value::seed::{Seed, below};
use speedup_core::value::time::Span;

/// All policies but that of sets, which only gangs can have.
pub const POLICIES: [Policy; 5] =
    [Policy::Distinct, Policy::Any, Policy::Rebooted, Policy::Reallocated, Policy::Rested];

/// Any experiment: of each policy, scope, order, rule and limit.
pub fn any(random: &mut ChaCha8Rng) -> Experiment {
    let policy = POLICIES[below(5, random) as usize];
    let scope = [Scope::Benchmark, Scope::Experiment, Scope::Cell][below(3, random) as usize];
    let benchmarks = 1 + below(3, random) as u32;
    let mut drawn = plain(random, policy, scope, benchmarks);
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
    // By what was drawn already, so that all other worlds stay as they are.
    if policy != Policy::Reallocated && drawn.seed.0.is_multiple_of(4) {
        bisect(&mut drawn);
    }
    if matches!(drawn.seed.0 % 4, 1 | 2) {
        gather(&mut drawn);
    }
    drawn.limits.all_attempts = (pick(6) == 0).then(|| 1 + pick(12));
    drawn.limits.host_time = (pick(6) == 0).then(|| Span::from_secs(30 * (1 + pick(10))));
    drawn
}

/// Makes each run of some benchmarks one of several hosts, where that can be.
fn gather(drawn: &mut Experiment) {
    let may_be = drawn.order != Order::Blocked
        && !drawn.levels.are_nested()
        && drawn.independence.policy != Policy::Rebooted;
    for (number, benchmark) in (0..).zip(&mut drawn.benchmarks).filter(|_| may_be) {
        let hosts = 1 + ((drawn.seed.0 >> 4) as u32 + number) % 3;
        let is_of_job = (drawn.seed.0 >> 6).is_multiple_of(3);
        benchmark.gang = Some(Gang {
            hosts,
            ranks_per_host: 1,
            launcher: if is_of_job { GangLauncher::Srun } else { GangLauncher::None },
            times_ranks: false,
            series: None,
        });
    }
    let may_be_of_sets =
        may_be && drawn.independence.policy == Policy::Any && drawn.independence.scope != Scope::Experiment;
    if may_be_of_sets && (drawn.seed.0 >> 8).is_multiple_of(2) {
        drawn.independence.policy = Policy::DistinctSets;
    }
}

/// Makes it look for a step among five versions.
fn bisect(drawn: &mut Experiment) {
    let build = Build {
        command: CommandLine::Shell("make".to_owned()),
        builds: 1,
        products: [("prog".to_owned(), "out/prog".to_owned())].into(),
        timeout: Span::from_secs(20),
    };
    let version = Version { build: Some(build), ..drawn.versions[0].clone() };
    let of_line = |number: u32| Version { name: format!("c{number}"), ..version.clone() };
    drawn.versions = (0..5).map(of_line).collect();
    drawn.benchmarks.truncate(1);
    (drawn.order, drawn.levels) = (Order::Blocked, Levels::default());
    drawn.rule = Rule::Bisection(Bisection { maximum: 20, block: 4, blocks: 1 });
}

/// An experiment of two versions with nothing special about it, of one to three runs a cell.
pub fn plain(random: &mut ChaCha8Rng, policy: Policy, scope: Scope, benchmarks: u32) -> Experiment {
    let version = |name: &str| Version {
        name: name.to_owned(),
        env: [].into(),
        vars: [].into(),
        command: None,
        build: None,
        software: None,
        commit: None,
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
        gang: None,
    };
    Experiment {
        name: "simulated".to_owned(),
        description: String::new(),
        tags: Vec::new(),
        selection: String::new(),
        priority: 0,
        seed: Seed(below(1 << 40, random)),
        versions: vec![version("old"), version("new")],
        benchmarks: (0..benchmarks).map(benchmark).collect(),
        baseline_again: false,
        drawn: None,
        levels: Levels::default(),
        order: Order::Randomized,
        rule: Rule::Fixed,
        runs: 1 + below(3, random) as u32,
        metrics: vec![Metric::Wall],
        own_metrics: Vec::new(),
        files: Vec::new(),
        independence: Independence::unchecked(policy, scope),
        analysis: AnalysisChoice {
            confidence: 0.95,
            center: None,
            trim: None,
            margin: None,
            quantiles: Vec::new(),
            verdicts: Vec::new(),
            weights: Weights::Equal,
            precision: 0.05,
            prior: None,
        },
        setup: None,
        prepare: None,
        cleanup: None,
        canary: None,
        environment: Environment::default(),
        limits: Limits::of_attempts(1 + below(3, random) as u32),
        output: OutputChoice { limit: 1 << 20, keep: 1 << 10, keep_of: KeepOutput::Failed },
    }
}
