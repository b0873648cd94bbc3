//! What plans take of pools, by hand and by law.

use proptest::prelude::*;

use super::*;
use crate::{
    experiment::CommandLine, experiment::build::Build, fingerprint::Fact, fingerprint::Fingerprint,
    host::HostFacts, independence::Policy, independence::Scope, machine::Command, machine::Machine,
    machine::Refusal, machine::Settings, plan, value::id::AgentEpoch, value::id::AgentId,
    value::id::ExperimentId, value::seed::Seed, value::time::Timestamp,
};

fn plan(benchmarks: u32, runs: &str, more: &str) -> Plan {
    plan_of(benchmarks, runs, more, "")
}

/// The same, with `of_each` said of each benchmark.
fn plan_of(benchmarks: u32, runs: &str, more: &str, of_each: &str) -> Plan {
    let mut text = format!("[experiment]\nname = \"x\"\nseed = 1\n[repetitions]\n{runs}\n{more}\n");
    text += "[versions.a]\nbaseline = true\n[versions.b]\nenv = { B = \"1\" }\n";
    for benchmark in 0..benchmarks {
        text +=
            &format!("[benchmarks.b{benchmark}]\ncommand = [\"b{benchmark}\"]\ntimeout = \"60s\"\n{of_each}");
    }
    Plan::draw(plan::file::parse(&text, Seed(1)).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

fn assessed(plan: &Plan, pool: &Pool) -> (Feasibility, PoolFeasibility) {
    let feasibility = assess(plan, Some(pool), &Estimate::given(plan, Span::from_secs(10)));
    let of_pool = feasibility.pool.clone().unwrap();
    (feasibility, of_pool)
}

#[test]
fn distinct_hosts_are_counted_and_taken_in_waves() {
    let of_benchmarks = plan(3, "runs = 5", "[independence]\npolicy = \"distinct\"\nscope = \"benchmark\"\n");
    let (feasibility, pool) = assessed(&of_benchmarks, &Pool::alike(12));
    assert_eq!((feasibility.visits, feasibility.hosts_needed), (30, 10));
    assert_eq!((pool.fits, pool.waves, pool.wall_time_ns), (true, Some(3), Some(Span::from_secs(30))));
    assert_eq!(feasibility.host_time_ns, Span::from_secs(300));
    let of_all = plan(3, "runs = 5", "[independence]\npolicy = \"distinct\"\nscope = \"experiment\"\n");
    let (feasibility, pool) = assessed(&of_all, &Pool::alike(12));
    assert_eq!((feasibility.hosts_needed, pool.fits, pool.waves), (30, false, None));
    assert_eq!(
        pool.remedies,
        [
            Remedy::ScopeBenchmark { hosts_needed: 10 },
            Remedy::FewerRuns { runs: 2 },
            Remedy::WaitForHosts { more: 18 }
        ]
    );
}

#[test]
fn sets_of_hosts_are_more_than_hosts() {
    let sets = "[independence]\npolicy = \"distinct_sets\"\n";
    // Ten runs of each benchmark: five hosts have ten pairs.
    let pairs = plan_of(2, "runs = 5", sets, "hosts = 2\n");
    let (feasibility, pool) = assessed(&pairs, &Pool::alike(5));
    assert_eq!((feasibility.visits, feasibility.hosts_needed), (40, 5));
    assert_eq!((pool.fits, pool.waves, pool.wall_time_ns), (true, Some(8), Some(Span::from_secs(80))));
    let (_, pool) = assessed(&pairs, &Pool::alike(4));
    assert_eq!(pool.shortage.map(|shortage| (shortage.needed, shortage.want)), Some((5, Want::Sets)));
    // Four hosts have six pairs.
    assert_eq!(pool.remedies, [Remedy::FewerRuns { runs: 3 }, Remedy::WaitForHosts { more: 1 }]);
    let grows = "pilot = 3\nprecision = \"1%\"\nmaximum = 14";
    let (feasibility, _) = assessed(&plan_of(1, grows, sets, "hosts = 2\n"), &Pool::alike(5));
    assert_eq!((feasibility.hosts_needed, feasibility.hosts_needed_at_most), (4, 8), "28 pairs");
}

#[test]
fn the_hosts_of_a_run_are_of_one_class() {
    let plan = plan_of(1, "runs = 5", "[independence]\npolicy = \"any\"\nhosts = \"any\"\n", "hosts = 3\n");
    let of = |sizes: &[u32]| {
        let class = |hosts: &u32| HostClass { available: *hosts, ..HostClass::default() };
        assessed(&plan, &Pool { classes: sizes.iter().map(class).collect() }).1
    };
    let apart = of(&[2, 2]);
    let lacks = apart.shortage.expect("three of one class there are not");
    assert_eq!((lacks.needed, lacks.here, lacks.want), (3, 2, Want::Together));
    assert_eq!(apart.remedies, [Remedy::WaitForHosts { more: 1 }]);
    assert!(of(&[2, 3]).fits && of(&[3]).fits);
}

#[test]
fn hosts_that_boot_anew_come_again() {
    let rebooted = plan(1, "runs = 5", "[independence]\npolicy = \"rebooted\"\n");
    let mut pool = Pool::alike(2);
    assert!(!assessed(&rebooted, &pool).1.fits);
    pool.classes[0].can_reboot = 2;
    let (_, fitting) = assessed(&rebooted, &pool);
    assert_eq!((fitting.fits, fitting.waves), (true, Some(5)));
    // Five visits of 10 s, four boots between.
    assert_eq!(fitting.wall_time_ns, Some(Span::from_secs(50) + USUAL_BOOT.times(4)));
    let distinct = plan(1, "runs = 5", "[independence]\npolicy = \"distinct\"\n");
    assert!(assessed(&distinct, &pool).1.remedies.contains(&Remedy::Rebooted { hosts: 2 }));
}

#[test]
fn visits_over_several_boots_need_hosts_that_boot_anew() {
    let nested = plan(1, "hosts = 3\nboots = 2\nruns = 2", "[independence]\npolicy = \"distinct\"\n");
    let mut pool = Pool::alike(12);
    let (_, lacking) = assessed(&nested, &pool);
    assert_eq!((lacking.fits, lacking.remedies), (false, vec![Remedy::RebootingHosts { more: 6 }]));
    let lacks = shortage(&nested, &pool.classes[0]).unwrap();
    assert_eq!((lacks.needed, lacks.here, lacks.want), (6, 0, Want::Rebooting));
    pool.classes[0].can_reboot = 6;
    assert!(assessed(&nested, &pool).1.fits);
}

#[test]
fn a_pool_without_hosts_that_come_again_is_told_what_it_lacks() {
    for (policy, want) in [("rebooted", Want::FreshOrRebooting), ("reallocated", Want::FreshOrAllocated)] {
        let plan = plan(1, "runs = 5", &format!("[independence]\npolicy = \"{policy}\"\n"));
        let lacks = shortage(&plan, &Pool::alike(3).classes[0]).unwrap();
        assert_eq!((lacks.needed, lacks.here, lacks.want), (10, 3, want), "{lacks}");
        assert_eq!(shortage(&plan, &Pool::alike(10).classes[0]), None, "each is fresh once");
    }
}

#[test]
fn classes_of_hosts_count_apart_where_they_have_to_be_identical() {
    let class =
        |class: &str, available| HostClass { class: class.to_owned(), available, ..HostClass::default() };
    let pool = Pool { classes: vec![class("old", 4), class("new", 6)] };
    let identical = plan(1, "runs = 5", "[independence]\npolicy = \"distinct\"\nhosts = \"identical\"\n");
    let (feasibility, of_pool) = assessed(&identical, &pool);
    assert_eq!((feasibility.hosts_needed, of_pool.hosts, of_pool.hosts_of_all_classes), (10, 6, 10));
    assert!(of_pool.remedies.contains(&Remedy::Classes { hosts: 10 }), "{:?}", of_pool.remedies);
    assert_eq!(Pool::default().of_one_experiment(Sameness::Identical).available, 0);
}

#[test]
fn a_rule_may_come_to_need_more() {
    let pilot =
        plan(1, "pilot = 5\nprecision = \"1%\"\nmaximum = 40", "[independence]\npolicy = \"distinct\"\n");
    let (feasibility, of_pool) = assessed(&pilot, &Pool::alike(10));
    assert_eq!((feasibility.hosts_needed, feasibility.hosts_needed_at_most, of_pool.fits), (10, 80, true));
}

#[test]
fn the_timeouts_are_the_worst_case_and_said_to_be() {
    let plan = plan(1, "runs = 5", "[independence]\npolicy = \"any\"\n");
    let feasibility = assess(&plan, None, &Estimate::by_timeouts(&plan));
    assert_eq!(feasibility.host_time_ns, Span::from_secs(600));
    assert_eq!(feasibility.estimate, EstimateSource::Timeouts);
    assert_eq!((feasibility.hosts_needed, feasibility.pool), (1, None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_promised_that_does_not_fit(
        benchmarks in 1_u32..4,
        runs in 1_u32..12,
        policy in prop::sample::select(vec!["distinct", "distinct_sets", "rebooted", "reallocated", "rested", "any"]),
        scope in prop::sample::select(vec!["benchmark", "experiment", "cell"]),
        sameness in prop::sample::select(vec!["identical", "classes", "any"]),
        blocked: bool,
        nested: bool,
        sizes in prop::collection::vec((0_u32..30, 0_u32..3, 0_u32..3), 0..4),
    ) {
        // An engine does not give the same host out anew in the course of a visit.
        let (of_sets, whole) = (policy == "distinct_sets", scope == "experiment");
        let stays = policy != "reallocated" && !of_sets;
        let scope = if of_sets && whole { "cell" } else { scope };
        let (blocked, nested) = (blocked && stays, nested && stays);
        let levels = if nested { format!("hosts = {runs}\nboots = 2\nruns = 2") } else { format!("runs = {runs}") };
        let order = if blocked { "blocked" } else { "randomized" };
        let more = format!(
            "[independence]\npolicy = \"{policy}\"\nscope = \"{scope}\"\nhosts = \"{sameness}\"\n[design]\norder = \"{order}\"\n"
        );
        let plan = plan_of(benchmarks, &levels, &more, if of_sets { "hosts = 2\n" } else { "" });
        let class = |(number, (available, reboot, allocated)): (usize, &(u32, u32, u32))| HostClass {
            class: number.to_string(),
            available: *available,
            can_reboot: (*available).min(*reboot),
            allocated: (*available).min(*allocated),
            ..HostClass::default()
        };
        let pool = Pool { classes: sizes.iter().enumerate().map(class).collect() };
        let (feasibility, of_pool) = assessed(&plan, &pool);
        let hosts = of_pool.hosts;
        prop_assert_eq!(feasibility.hosts_needed, crate::machine::hosts_needed(&plan));
        prop_assert!(hosts <= of_pool.hosts_of_all_classes);
        if of_pool.fits {
            prop_assert!(hosts >= feasibility.hosts_needed);
            let (waves, wall) = (of_pool.waves.unwrap(), of_pool.wall_time_ns.unwrap());
            prop_assert!(u64::from(waves) * u64::from(hosts) >= u64::from(feasibility.visits));
            prop_assert!(wall.times(u64::from(hosts)).0 >= feasibility.host_time_ns.0);
            prop_assert!(of_pool.remedies.is_empty());
        } else {
            prop_assert!(of_pool.waves.is_none() && of_pool.wall_time_ns.is_none());
            let waits = matches!(
                of_pool.remedies.last(),
                Some(Remedy::WaitForHosts { more } | Remedy::RebootingHosts { more }) if *more > 0
            );
            prop_assert!(waits);
            for remedy in &of_pool.remedies {
                let other = tried(&plan, remedy);
                let pool = match remedy {
                    Remedy::WaitForHosts { more } => grown(&pool, sameness_of(&plan), *more, 0),
                    Remedy::RebootingHosts { more } => grown(&pool, sameness_of(&plan), *more, *more),
                    Remedy::FewerRuns { .. }
                    | Remedy::FewerVisits { .. }
                    | Remedy::Rebooted { .. }
                    | Remedy::ScopeBenchmark { .. }
                    | Remedy::Classes { .. } => pool.clone(),
                };
                prop_assert!(assessed(&other, &pool).1.fits, "{remedy:?}");
            }
        }
        // More hosts never do harm.
        let larger = grown(&pool, sameness_of(&plan), 1, 0);
        prop_assert!(!of_pool.fits || assessed(&plan, &larger).1.fits);
        // What is told before is what the machine says at the submission.
        prop_assert_eq!(submitted(&plan, &sizes).is_ok(), of_pool.fits);
    }
}

fn sameness_of(plan: &Plan) -> Sameness {
    plan.experiment.independence.hosts
}

/// Whether a machine with such classes of hosts takes a plan. The fingerprints are those for which the machine's names of
/// the classes sort as the numbers do.
fn submitted(plan: &Plan, sizes: &[(u32, u32, u32)]) -> Result<(), Refusal> {
    let mut machine = Machine::new(Settings::default());
    let fingerprint = |number: u32| -> Fingerprint {
        Fingerprint::new([("cpu.model".to_owned(), Fact::Value(number.to_string()))].into()).unwrap()
    };
    let mut fingerprints: Vec<Fingerprint> = (0..sizes.len() as u32).map(fingerprint).collect();
    fingerprints.sort_by_key(Fingerprint::class);
    let mut joined = 0_u32;
    for ((available, reboot, allocated), fingerprint) in sizes.iter().zip(fingerprints) {
        for host in 0..*available {
            joined += 1;
            let facts = HostFacts {
                fingerprint: fingerprint.clone(),
                can_reboot: host < *reboot,
                allocation: (host < *allocated).then(|| "job-1".parse().unwrap()),
                ..HostFacts::bare(
                    format!("h{joined}").parse().unwrap(),
                    format!("b{joined}").parse().unwrap(),
                )
            };
            let agent = AgentId(uuid::Uuid::from_u128(joined.into()));
            machine.handle(Timestamp(1), Command::Join { facts, agent, epoch: AgentEpoch(1) }).unwrap();
        }
    }
    let experiment = ExperimentId(uuid::Uuid::from_u128(1));
    let (plan, by) = (std::sync::Arc::new(plan.clone()), "test".to_owned());
    let submit = Command::Submit { experiment, plan, by, wait_for_hosts: false, request: None };
    machine.handle(Timestamp(2), submit).map(drop)
}

/// The plan with a remedy applied.
fn tried(plan: &Plan, remedy: &Remedy) -> Plan {
    redrawn(plan, |experiment| match remedy {
        Remedy::FewerRuns { runs } => experiment.runs = *runs,
        Remedy::FewerVisits { hosts } => experiment.levels.hosts = Some(*hosts),
        Remedy::Rebooted { .. } => experiment.independence.policy = Policy::Rebooted,
        Remedy::ScopeBenchmark { .. } => experiment.independence.scope = Scope::Benchmark,
        Remedy::Classes { .. } => experiment.independence.hosts = Sameness::Classes,
        Remedy::WaitForHosts { .. } | Remedy::RebootingHosts { .. } => {}
    })
}

/// The pool with so many more hosts of the class that the experiment takes.
fn grown(pool: &Pool, sameness: Sameness, more: u32, rebooting: u32) -> Pool {
    let mut pool = pool.clone();
    let chosen = pool.of_one_experiment(sameness).class;
    match pool.classes.iter_mut().find(|class| class.class == chosen) {
        Some(class) => {
            (class.available, class.can_reboot) = (class.available + more, class.can_reboot + rebooting);
        }
        None => {
            let class = HostClass { available: more, can_reboot: rebooting, ..HostClass::default() };
            pool.classes.push(class);
        }
    }
    pool
}

#[test]
fn builds_come_first_on_any_host_and_need_no_fresh_one() {
    let plain = plan(1, "runs = 3", "");
    let mut experiment = plain.experiment.clone();
    experiment.versions[1].build = Some(Build {
        command: CommandLine::Shell("make".to_owned()),
        builds: 5,
        products: [("prog".to_owned(), "prog".to_owned())].into(),
        timeout: Span::from_secs(100),
    });
    let built = Plan::draw(experiment);
    let of = |plan: &Plan| assess(plan, Some(&Pool::alike(10)), &Estimate::given(plan, Span::from_secs(1)));
    let (with, without) = (of(&built), of(&plain));
    assert_eq!((with.builds, without.builds), (5, 0));
    assert_eq!((with.visits, with.hosts_needed), (without.visits, without.hosts_needed));
    assert_eq!(with.host_time_ns, without.host_time_ns + Span::from_secs(500));
    assert_eq!((with.build_host_time_ns, with.builds_are_given), (Span::from_secs(500), false));
    let wall = |of: Feasibility| of.pool.unwrap().wall_time_ns.unwrap();
    assert_eq!(wall(with), wall(without) + Span::from_secs(100), "five builds on ten hosts at once");
    let estimate = Estimate::given(&built, Span::from_secs(1)).with_builds(&built, Span::from_secs(10));
    let two = assess(&built, Some(&Pool::alike(2)), &estimate);
    assert_eq!((two.build_host_time_ns, two.builds_are_given), (Span::from_secs(50), true));
    assert_eq!(two.pool.unwrap().build_wall_time_ns, Some(Span::from_secs(30)), "three, one after another");
}
