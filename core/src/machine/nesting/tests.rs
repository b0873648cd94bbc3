//! That visits of a cell are on different hosts, under every policy and whatever is lost.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::machine::feasibility::{HostClass, Want, shortage};
use crate::machine::trial::{End, Trial, plan};
use crate::machine::{Explanation, WaitingFor};
use crate::plan::Plan;
use crate::run::Obstacle;
use crate::value::id::HostId;

fn nested(policy: &str, scope: &str, order: &str, hosts: u32, runs: u32) -> String {
    format!(
        "[repetitions]\nhosts = {hosts}\nruns = {runs}\n[design]\norder = \"{order}\"\n\
         [independence]\npolicy = \"{policy}\"\nscope = \"{scope}\"\nrest = {{ idle = \"0s\" }}\n\
         [benchmarks.c]\ncommand = [\"true\"]\n[limits]\nattempts = 100\n"
    )
}

/// Asserts that the visits of each cell, or of each benchmark in the blocked order, have no host in common.
fn assert_apart(trial: &Trial, plan: &Plan) {
    let mut visitors: BTreeMap<(u32, HostId), RunIndex> = BTreeMap::new();
    for (group, hosts) in trial.visits(plan) {
        let cell = plan.cell_number(group);
        let versions = plan.experiment.versions.len() as u32;
        let is_blocked = plan.experiment.order == crate::experiment::Order::Blocked;
        let unit = if is_blocked { cell / versions } else { cell };
        for host in hosts {
            let before = visitors.insert((unit, host.clone()), group);
            assert!(before.is_none(), "{host} has visited {unit} in {before:?} and in {group}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn visits_of_a_cell_are_apart_and_come_to_an_end(
        policy in prop::sample::select(vec!["any", "rebooted", "rested"]),
        scope in prop::sample::select(vec!["benchmark", "experiment", "cell"]),
        order in prop::sample::select(vec!["randomized", "interleaved", "blocked"]),
        hosts in 1_u32..4,
        runs in 1_u32..3,
        spare in 0_u32..2,
        losses in prop::collection::vec(any::<bool>(), 60),
    ) {
        let text = nested(policy, scope, order, hosts, runs);
        let plan = plan(&text);
        let mut trial = Trial::new(hosts + spare, true);
        let experiment = trial.submit("ada", &text);
        // Now and then an attempt is lost, but never so many on one host that it is given up.
        let (mut losses, mut measured) = (losses.into_iter(), vec![true; (hosts + spare) as usize]);
        trial.go_on(|host, _| {
            measured[host] = !measured[host] || !losses.next().unwrap_or(false);
            if measured[host] { End::Measured } else { End::Not(Obstacle::Host) }
        });
        prop_assert_eq!(trial.active(experiment), None, "as many hosts as visits are enough");
        assert_apart(&trial, &plan);
    }
}

#[test]
fn a_pool_with_fewer_hosts_is_refused_and_a_run_that_waits_says_what_is_missing() {
    for policy in ["any", "rested", "rebooted"] {
        let text = nested(policy, "benchmark", "randomized", 3, 1);
        let pool = |hosts| Trial::new(hosts, true).machine.pool().classes[0].clone();
        let lacks = shortage(&plan(&text), &pool(2)).expect("two hosts are not three");
        assert_eq!((lacks.needed, lacks.here, lacks.want), (3, 2, Want::Different), "{policy}");
        assert_eq!(shortage(&plan(&text), &pool(3)), None, "{policy}");
        let mut trial = Trial::new(2, true);
        let experiment = trial.submit("ada", &text);
        trial.go_on(|_, _| End::Measured);
        let active = trial.active(experiment).expect("a third of its visits waits");
        assert_eq!(active.tally().waiting, 4, "one visit of each of four cells");
        let waits = (0..active.plan().runs()).map(RunIndex).find_map(|run| {
            match trial.machine.explain(experiment, run) {
                Some(Explanation::Waiting { waiting_for: WaitingFor::Hosts(counts), .. }) => Some(counts),
                _ => None,
            }
        });
        assert_eq!(waits.map(|counts| counts.visited), Some(2), "{policy}");
        trial.join();
        trial.go_on(|_, _| End::Measured);
        assert_eq!(trial.active(experiment), None, "{policy}");
    }
}

#[test]
fn hosts_that_cannot_boot_anew_serve_one_cell_of_those_that_count_as_one_use() {
    let text = nested("rebooted", "benchmark", "randomized", 2, 1);
    let plan = plan(&text);
    let pool = |hosts, can_reboot| HostClass { available: hosts, can_reboot, ..Default::default() };
    let lacks = shortage(&plan, &pool(3, 1)).expect("two others may take both visits of one version");
    assert_eq!((lacks.needed, lacks.here, lacks.want), (2, 1, Want::DifferentRebooting));
    for (hosts, can_reboot) in [(3, 2), (4, 0), (4, 1), (2, 2)] {
        assert_eq!(shortage(&plan, &pool(hosts, can_reboot)), None, "{hosts} {can_reboot}");
    }
}
