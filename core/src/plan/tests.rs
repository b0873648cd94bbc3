//! Plans with builds: what comes first, which build a run uses, and what is no plan.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::experiment::build::{Build, USUAL_TIMEOUT};
use crate::experiment::{CommandLine, Levels, Order};
use crate::plan;
use crate::value::seed::Seed;

/// Three versions, as often built as said, on two benchmarks.
fn experiment(builds: [u32; 3], runs: u32) -> Experiment {
    let text = "[experiment]\nname = \"e\"\n[versions.a]\nbaseline = true\n[versions.b]\n[versions.c]\n\
                [benchmarks.x]\ncommand = [\"true\"]\n[benchmarks.y]\ncommand = [\"true\"]\n";
    let mut experiment = plan::file::parse(text, Seed(7)).unwrap();
    experiment.runs = runs;
    for (version, builds) in experiment.versions.iter_mut().zip(builds) {
        version.build = (builds > 0).then(|| Build {
            command: CommandLine::Shell("make".to_owned()),
            builds,
            products: [("prog".to_owned(), "prog".to_owned())].into(),
            timeout: USUAL_TIMEOUT,
        });
    }
    experiment
}

fn with_runs(experiment: Experiment) -> Plan {
    Plan::draw(experiment).with_first_runs().into_owned()
}

fn runs(plan: &Plan) -> impl Iterator<Item = RunIndex> + use<> {
    (0..plan.runs()).map(RunIndex)
}

#[test]
fn builds_go_first_and_runs_follow() {
    let plan = Plan::draw(experiment([2, 0, 3], 4));
    assert!(plan.is_building() && plan.has_all_builds());
    assert_eq!((plan.runs(), plan.builds(), plan.cells()), (5, 5, 6));
    let built: BTreeMap<u32, u32> = runs(&plan).fold(BTreeMap::new(), |mut counted, run| {
        assert_eq!(plan.place(run), super::Place { group: run, size: 1, boot: 0 });
        *counted.entry(plan.task(run).version().0).or_default() += 1;
        counted
    });
    assert_eq!(built, [(0, 2), (2, 3)].into());
    let whole = plan.with_first_runs();
    assert!(!whole.is_building());
    assert_eq!((whole.runs(), whole.builds()), (5 + 6 * 4, 5));
    assert!(runs(&whole).skip(5).all(|run| whole.cell(run).is_some()));
}

#[test]
fn without_builds_nothing_changes() {
    let plan = Plan::draw(experiment([0; 3], 4));
    assert_eq!((plan.runs(), plan.builds(), plan.is_building()), (24, 0, false));
    assert!(runs(&plan).all(|run| plan.build_of(run).is_none()));
    let mut same = with_runs(experiment([2, 2, 2], 4));
    assert_eq!(same.order.split_off(6), plan.order, "builds shift no other draw");
}

#[test]
fn builds_stand_before_all_runs_each_by_itself() {
    let plan = || Plan::draw(experiment([1, 0, 1], 1));
    let (more, single) = (plan().draw_runs(), Shape::SINGLE);
    let after = |order: Vec<u32>, shape| plan().extended(Extension { order, shape }).unwrap_err();
    assert_eq!(after(vec![6], single), PlanError::Builds { version: 0, planned: 2, builds: 1 });
    assert_eq!(
        after(vec![7], single),
        PlanError::UnknownCell { run: 2, cell: 7, cells: 6 },
        "b is not built"
    );
    assert_eq!(after(vec![9], single), PlanError::UnknownCell { run: 2, cell: 9, cells: 6 });
    let whole = plan().extended(more).unwrap();
    let late = whole.clone().extended(Extension { order: vec![6], shape: single });
    assert_eq!(late.unwrap_err(), PlanError::LateBuild(8));
    let restore = |order: &[u32], shape| {
        let Plan { experiment, benchmarks, .. } = plan();
        Plan::restore(experiment, benchmarks, order.to_vec(), &[Stage { from: 0, shape }])
    };
    let lacking = PlanError::Builds { version: 2, planned: 0, builds: 1 };
    assert_eq!(restore(&[6, 0], single).unwrap_err(), lacking, "a run before all builds");
    let pair = Shape { boots: 1, runs: 2 };
    assert_eq!(restore(&[6, 8], pair).unwrap_err(), PlanError::LateBuild(0), "a build with another");
    assert!(!restore(&[6], single).unwrap().has_all_builds());
}

fn any_experiment() -> impl Strategy<Value = Experiment> {
    let order = prop_oneof![Just(Order::Randomized), Just(Order::Interleaved), Just(Order::Blocked)];
    let levels = (proptest::option::of(1..4_u32), proptest::option::of(1..3_u32));
    let parts = ([0..4_u32, 0..4_u32, 0..6_u32], 1..5_u32, order, levels, any::<u64>());
    parts.prop_map(|(builds, runs, order, (hosts, boots), seed)| {
        let mut experiment = experiment(builds, runs);
        (experiment.order, experiment.levels) = (order, Levels { hosts, boots });
        experiment.seed = Seed(seed);
        experiment
    })
}

proptest! {
    /// The rule, said once more: the i-th group of a cell uses build i mod n of the cell's version.
    #[test]
    fn groups_of_a_cell_use_its_builds_in_turn(experiment in any_experiment(), more in 1..3_u32) {
        let plan = with_runs(experiment);
        let extension = plan.draw_extension(&plan.singly(more), plan.visit());
        let plan = plan.extended(extension).unwrap();
        let mut groups: BTreeMap<u32, Vec<RunIndex>> = BTreeMap::new();
        for run in runs(&plan) {
            let Task::Run(cell) = plan.task(run) else {
                prop_assert_eq!(plan.build_of(run), None);
                continue;
            };
            let of_cell = groups.entry(plan.cell_number(run)).or_default();
            let group = plan.place(run).group;
            if of_cell.last() != Some(&group) {
                of_cell.push(group);
            }
            let built = plan.builds_of(cell.version);
            let used = plan.build_of(run).map(|used| used.0);
            prop_assert_eq!(used, (!built.is_empty()).then(|| built[(of_cell.len() - 1) % built.len()]));
        }
    }

    #[test]
    fn a_recorded_plan_is_the_same_plan(experiment in any_experiment(), more in 0..3_u32) {
        let mut plan = Plan::draw(experiment);
        let again = |plan: &Plan| {
            let Plan { experiment, benchmarks, order, stages, .. } = plan.clone();
            Plan::restore(experiment, benchmarks, order, &stages)
        };
        prop_assert_eq!(again(&plan).unwrap(), plan.clone());
        if plan.is_building() {
            let first = plan.draw_runs();
            let whole = plan.with_first_runs().into_owned();
            plan = plan.extended(first).unwrap();
            prop_assert_eq!(&plan, &whole);
        }
        let extension = plan.draw_extension(&plan.singly(more), plan.visit());
        let plan = plan.extended(extension).unwrap();
        prop_assert_eq!(again(&plan).unwrap(), plan);
    }
}
