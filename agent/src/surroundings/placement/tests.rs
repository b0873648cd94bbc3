//! Placements on machines of several kinds.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::surroundings::tree::Tree;

fn set(list: &str) -> CpuSet {
    list.parse().unwrap()
}

/// CPUs of the program and of the agent, and the settings that are unmet.
fn placed(tree: &Tree, allowed: &str, choice: &str, housekeeping: u32) -> (String, String, Vec<Setting>) {
    let topology = Topology::read(tree.root());
    let placement = place(&topology, &set(allowed), &choice.parse().unwrap(), housekeeping);
    let text = |cpus: Option<CpuSet>| cpus.map_or("-".to_owned(), |cpus| cpus.to_string());
    let unmet = placement.unmet.iter().map(|unmet| unmet.setting).collect();
    (text(placement.run), text(placement.agent), unmet)
}

#[track_caller]
fn expect(tree: &Tree, allowed: &str, choice: &str, housekeeping: u32, run: &str, agent: &str) {
    let found = placed(tree, allowed, choice, housekeeping);
    assert_eq!(found, (run.to_owned(), agent.to_owned(), Vec::new()), "{choice} with {housekeeping}");
}

#[track_caller]
fn unmet(tree: &Tree, allowed: &str, choice: &str, housekeeping: u32, run: &str, settings: &[Setting]) {
    let (found, _, missing) = placed(tree, allowed, choice, housekeeping);
    assert_eq!((found.as_str(), missing.as_slice()), (run, settings), "{choice} with {housekeeping}");
}

#[test]
fn on_two_packages_cores_are_whole_and_of_one_node() {
    let tree = Tree::two_packages();
    expect(&tree, "0-15", "all", 0, "-", "-");
    expect(&tree, "0-15", "cores:1", 0, "7,15", "-");
    expect(&tree, "0-15", "cores:4", 0, "4-7,12-15", "-");
    expect(&tree, "0-15", "cores:5", 0, "3-7,11-15", "-");
    expect(&tree, "0-15", "numa:0", 0, "0-3,8-11", "-");
    expect(&tree, "0-15", "2-5,8", 0, "2-5,8", "-");
}

#[test]
fn housekeeping_takes_whole_cores_from_the_lowest_numbers() {
    let tree = Tree::two_packages();
    expect(&tree, "0-15", "all", 1, "1-7,9-15", "0,8");
    expect(&tree, "0-15", "all", 2, "2-7,10-15", "0-1,8-9");
    expect(&tree, "0-15", "numa:0", 1, "1-3,9-11", "0,8");
    expect(&tree, "0-15", "cores:7", 1, "1-7,9-15", "0,8");
    unmet(&tree, "0-15", "cores:8", 1, "1-7,9-15", &[Setting::Cpus]);
    unmet(&tree, "0-15", "0,3", 1, "0,3", &[Setting::Housekeeping]);
    unmet(&tree, "0,8", "all", 1, "-", &[Setting::Housekeeping]);
    unmet(&tree, "0-3,8-11", "numa:0", 4, "0-3,8-11", &[Setting::Housekeeping]);
}

#[test]
fn nothing_is_taken_beyond_what_the_agent_may_use() {
    let tree = Tree::two_packages();
    // Half of core 3 is another's, so it is no whole core.
    expect(&tree, "0-3,8-10", "cores:3", 0, "0-2,8-10", "-");
    unmet(&tree, "0-3,8-10", "cores:4", 0, "-", &[Setting::Cpus]);
    unmet(&tree, "0-3,8-10", "numa:1", 0, "-", &[Setting::Cpus]);
    unmet(&tree, "0-3,8-10", "numa:7", 0, "-", &[Setting::Cpus]);
    unmet(&tree, "0-3,8-10", "3-4", 1, "1-3,9-10", &[Setting::Cpus]);
    expect(&tree, "0-3,8-10", "numa:0", 0, "0-3,8-10", "-");
}

#[test]
fn the_strongest_kind_of_core_comes_first() {
    let tree = Tree::big_little();
    expect(&tree, "0-7", "cores:2", 1, "6-7", "0");
    expect(&tree, "0-7", "cores:4", 0, "4-7", "-");
    expect(&tree, "0-7", "cores:5", 0, "3-7", "-");
    let tree = Tree::hybrid();
    expect(&tree, "0-7", "cores:1", 0, "2-3", "-");
    expect(&tree, "0-7", "cores:1", 1, "2-3", "0-1");
    expect(&tree, "0-7", "cores:3", 0, "0-3,7", "-");
}

#[test]
fn a_host_that_tells_nothing_has_no_cores_to_choose() {
    let tree = Tree::new();
    unmet(&tree, "", "cores:1", 0, "-", &[Setting::Cpus]);
    unmet(&tree, "0-1", "cores:1", 0, "-", &[Setting::Cpus]);
    expect(&tree, "0-1", "1", 0, "1", "-");
}

proptest! {
    #[test]
    fn program_and_agent_never_share_a_core_nor_leave_their_allowance(
        allowed in proptest::collection::vec(0..16_u32, 1..16),
        choice in prop_oneof![
            Just(CpuChoice::All),
            (1..9_u32).prop_map(CpuChoice::Cores),
            (0..3_u32).prop_map(CpuChoice::NumaNode),
        ],
        housekeeping in 0..17_u32,
    ) {
        static TOPOLOGY: LazyLock<Topology> = LazyLock::new(|| Topology::read(Tree::two_packages().root()));
        let topology = &*TOPOLOGY;
        let allowed: CpuSet = allowed.into_iter().collect();
        let placement = place(topology, &allowed, &choice, housekeeping);
        let run = placement.run.unwrap_or_else(|| allowed.clone());
        prop_assert!(!run.is_empty() && run.is_within(&allowed));
        if let Some(agent) = placement.agent {
            prop_assert!(!agent.is_empty() && agent.is_within(&allowed));
            let cores: CpuSet = run.iter().flat_map(|cpu| topology.cpu(cpu).unwrap().core.iter()).collect();
            prop_assert!(agent.within(&cores).is_empty());
        }
        if let CpuChoice::Cores(cores) = choice && placement.unmet.is_empty() {
            prop_assert_eq!(run.len(), 2 * cores as usize);
        }
    }
}
