//! Versions that are built, from the plan file to the work orders of builds and of the runs that use them.

use super::*;
use crate::experiment::Version;
use crate::experiment::build::{Build, Product, UsedBuild};
use crate::experiment::files::{Content, ContentHash};
use crate::plan::{Plan, Task};
use crate::run::lease::{Evidence, Lease};
use crate::value::id::{AgentEpoch, Attempt, ExperimentId, LeaseEpoch};
use crate::value::time::Timestamp;

const PLAN: &str = r#"
[experiment]
name = "built"
[versions.old]
baseline = true
command = ["old", "{benchmark}"]
[versions.new]
vars = { level = "-O3" }
env = { LANG = "C", PRELOAD = "{build.lib}", NAME = "{benchmark}" }
build = ["make", "CFLAGS={level}"]
builds = 3
products = { prog = "out/prog", lib = "lib.so", unused = "log" }
build_timeout = "1h"
[benchmarks.x]
command = ["{build.prog}", "x"]
warmup = 2
[prepare]
command = ["true"]
[repetitions]
runs = 4
"#;

fn product(name: &str) -> Product {
    let content = Content { blake3: ContentHash([7; 32]), bytes: 9, executable: true };
    Product { name: name.to_owned(), content }
}

/// The order of a run of a plan whose builds made all three products.
fn order(plan: &Plan, run: RunIndex) -> WorkOrder {
    order_with(plan, run, &["lib", "prog", "unused"])
}

/// The order of a run of a plan whose builds made these products.
fn order_with(plan: &Plan, run: RunIndex, products: &[&str]) -> WorkOrder {
    let products: Vec<Product> = products.iter().copied().map(product).collect();
    let build = plan.build_of(run).map(|run| Box::new(UsedBuild { run, products }));
    let lease = Lease {
        epoch: LeaseEpoch(1),
        experiment: ExperimentId(uuid::Uuid::nil()),
        run,
        attempt: Attempt(1),
        host: "h".parse().unwrap(),
        agent_epoch: AgentEpoch(1),
        granted: Timestamp(0),
        deadline: Timestamp(1),
        started: None,
        evidence: Evidence { build, ..Evidence::first("b".parse().unwrap()) },
        seat: None,
    };
    WorkOrder::of(plan, &lease)
}

#[test]
fn a_build_is_read_with_its_defaults() {
    let experiment = read(PLAN);
    assert_eq!(experiment.versions[0].build, None);
    let build = experiment.versions[1].build.clone().unwrap();
    assert_eq!((build.builds, build.timeout), (3, Span::from_secs(3600)));
    assert_eq!(build.products["prog"], "out/prog");
    let shorter = PLAN.replace("builds = 3", "").replace("build_timeout = \"1h\"", "");
    let shorter = shorter.replace("build = [\"make\", \"CFLAGS={level}\"]", "build_shell = \"make -s\"");
    let build = read(&shorter).versions[1].build.clone().unwrap();
    assert_eq!((build.builds, build.timeout), (1, Span::from_secs(600)));
    assert_eq!(build.command, CommandLine::Shell("make -s".to_owned()));
}

/// A rule takes the visits for independent; those that share a build are not.
#[test]
fn a_rule_that_decides_by_visits_takes_a_build_for_each() {
    for (key, rule) in
        [("looks", "looks = 2\nmaximum = 20\n"), ("pilot", "pilot = 4\nprecision = \"1%\"\nmaximum = 20\n")]
    {
        let refused = parse(&PLAN.replace("runs = 4\n", rule), Seed(1)).expect_err(key).to_string();
        assert!(refused.contains("built 3 times") && refused.contains(key), "{refused}");
        assert!(refused.contains("builds = 20"), "{refused}");
        let built = |builds| PLAN.replace("runs = 4\n", rule).replace("builds = 3", builds);
        assert!(parse(&built("builds = 19"), Seed(1)).is_err(), "two visits would share one");
        for builds in ["builds = 1", "builds = 20", "builds = 21"] {
            parse(&built(builds), Seed(1)).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    let nested = "hosts = 2\nboots = 2\npilot = 2\nprecision = \"1%\"\nmaximum = 20\n";
    let nested = PLAN
        .replace("runs = 4\n", nested)
        .replace("[prepare]", "[independence]\npolicy = \"rebooted\"\n[prepare]");
    parse(&nested.replace("builds = 3", "builds = 4"), Seed(1)).expect_err("visits of four runs are five");
    parse(&nested.replace("builds = 3", "builds = 5"), Seed(1)).unwrap_or_else(|error| panic!("{error}"));
    let bought = PLAN.replace("runs = 4\n", "pilot = 4\nbudget = \"1h\"\nmaximum = 20\n");
    parse(&bought, Seed(1)).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_build_is_ordered_as_a_plain_execution() {
    let plan = Plan::draw(read(PLAN));
    assert_eq!(plan.task(RunIndex(0)), Task::Build(VersionIndex(1)));
    let order = order(&plan, RunIndex(0));
    let resolved = order.resolve("/in").unwrap();
    assert_eq!(resolved.argv, ["make", "CFLAGS=-O3"]);
    assert_eq!(resolved.env, [("LANG".to_owned(), "C".to_owned())].into(), "what names runs is for runs");
    assert_eq!(order.collect.len(), 3);
    assert_eq!(order.collect["lib"], "lib.so");
    assert_eq!((order.warmup, order.prepare, order.timeout), (0, None, Span::from_secs(3600)));
    assert_eq!(order.built, []);
}

#[test]
fn a_run_is_given_the_products_that_it_names() {
    let plan = Plan::draw(read(PLAN)).with_first_runs().into_owned();
    let of_version = |version| {
        let mut runs = (3..plan.runs()).map(RunIndex);
        runs.find(|run| plan.task(*run).version() == VersionIndex(version)).unwrap()
    };
    let mut new = order(&plan, of_version(1));
    assert_eq!(new.built, [product("lib"), product("prog")]);
    assert!(new.resolve("/in").is_err(), "nobody knows where they lie before they do");
    for product in new.built.clone() {
        new.place_product(&product, format!("/files/{}", product.name));
    }
    let resolved = new.resolve("/in").unwrap();
    assert_eq!(resolved.argv, ["/files/prog", "x"]);
    assert_eq!(resolved.env["PRELOAD"], "/files/lib");
    assert!(new.collect.is_empty());
    let old = order(&plan, of_version(0));
    assert_eq!(old.built.len(), 0);
    assert_eq!(old.resolve("/in").unwrap().argv, vec!["old".to_owned(), "x".to_owned()]);
}

#[test]
fn the_builds_example_runs_the_binary_of_its_build() {
    let source = include_bytes!("../../../../../examples/builds/kernel.c");
    let experiment = files::seen(BUILDS, &[("builds/kernel.c", source)]).unwrap();
    assert_eq!(names_of_versions(&experiment), ["debug", "optimised"]);
    assert!(experiment.benchmarks.iter().all(|b| b.expect.stdout_blake3.is_some()));
    let builds: u32 = experiment.versions.iter().map(|version| version.build.as_ref().unwrap().builds).sum();
    assert!(builds >= 12, "a median takes six builds of each version");
    let plan = Plan::draw(experiment).with_first_runs().into_owned();
    for run in (builds..plan.runs()).map(RunIndex) {
        let mut order = order_with(&plan, run, &["kernel"]);
        assert_eq!(order.built, [product("kernel")]);
        order.place_product(&product("kernel"), "/files/kernel".to_owned());
        assert_eq!(order.resolve("/in").unwrap().argv[0], "/files/kernel");
    }
}

#[test]
fn as_many_builds_as_a_checkpoint_names() {
    let mut experiment = read(PLAN);
    let build = experiment.versions[1].build.clone();
    let more = (0..4).map(|number| format!("more{number}"));
    let more: Vec<_> = more.map(|name| Version { name, ..experiment.versions[1].clone() }).collect();
    experiment.versions.extend(more);
    for version in &mut experiment.versions[1..] {
        version.build = build.clone().map(|build| Build { builds: 800, ..build });
    }
    assert!(experiment.check().is_ok(), "5 times 800");
    experiment.versions[1].build = build.map(|build| Build { builds: 801, ..build });
    let refused = experiment.check().unwrap_err().to_string();
    assert!(refused.contains("4001 builds"), "{refused}");
}
