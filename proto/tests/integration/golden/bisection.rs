//! Events of a bisection: a plan that begins with the builds of its ends, and decisions that append builds and blocks.

use std::sync::Arc;

use speedup_core::experiment::build::Build;
use speedup_core::experiment::prior::{LinePrior, PathWeight};
use speedup_core::experiment::{Bisection, CommandLine, Order, Rule, Version};
use speedup_core::machine::event::{Change, Event};
use speedup_core::plan::Plan;
use speedup_core::value::id::VersionIndex;
use speedup_core::value::time::{Span, Timestamp};

use super::{EXPERIMENT, plan};

/// A line of which one commit is held to be likelier than another.
pub(super) fn with_prior() -> Vec<Event> {
    let mut plan = bisecting();
    let path = PathWeight { path: "src/codec".to_owned(), weight: 5.0 };
    plan.experiment.analysis.prior = Some(LinePrior { paths: vec![path], weights: vec![1.0, 5.0] });
    let (experiment, by) = (EXPERIMENT, "ada@laptop".to_owned());
    let change = Change::Submitted { experiment, plan: Arc::new(plan), by, request: None };
    vec![Event { at: Timestamp(1_000), change }]
}

pub(super) fn events() -> Vec<Event> {
    let plan = bisecting();
    let builds = plan.builds_for(&[VersionIndex(1)]);
    let with_builds = plan.clone().extended(builds.clone()).unwrap();
    let blocks = with_builds.draw_blocks(&vec![[0, 1, 2].map(VersionIndex).to_vec(); 2]);
    let by = || "rule".to_owned();
    let decided = |enough, words: &str| Change::Decided {
        experiment: EXPERIMENT,
        by: by(),
        enough,
        words: words.to_owned(),
    };
    let changes = [
        Change::Submitted {
            experiment: EXPERIMENT,
            plan: Arc::new(plan.clone()),
            by: "ada@laptop".to_owned(),
            request: None,
        },
        Change::AwaitingDecision { experiment: EXPERIMENT },
        decided(false, "the build of c1"),
        Change::Extended { experiment: EXPERIMENT, from: plan.runs(), appended: builds, by: by() },
        decided(false, "2 blocks"),
        Change::Extended { experiment: EXPERIMENT, from: with_builds.runs(), appended: blocks, by: by() },
        decided(true, "the step is at c1"),
    ];
    (1_000..).zip(changes).map(|(at, change)| Event { at: Timestamp(at), change }).collect()
}

fn bisecting() -> Plan {
    let Plan { mut experiment, .. } = plan();
    let build = Build {
        command: CommandLine::Exact(vec!["make".to_owned()]),
        builds: 1,
        products: [("prog".to_owned(), "prog".to_owned())].into(),
        timeout: Span(9_000_000_000),
    };
    let version = Version { build: Some(build), ..experiment.versions[0].clone() };
    let of_line = |number: u32| Version { name: format!("c{number}"), ..version.clone() };
    experiment.versions = (0..3).map(of_line).collect();
    experiment.benchmarks.truncate(1);
    experiment.order = Order::Blocked;
    experiment.rule = Rule::Bisection(Bisection { maximum: 6, block: 3, blocks: 2 });
    Plan::draw(experiment)
}
