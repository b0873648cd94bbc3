//! Where the program executes, and where the agent stands aside, by the plan and the host's topology.

use std::{cmp::Reverse, collections::BTreeSet};

use speedup_core::experiment::environment::{CpuChoice, Setting};
use speedup_core::run::conditions::Unmet;
use speedup_core::value::cpu_set::CpuSet;

use super::topology::{Core, Topology};

/// Where program and agent execute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Placement {
    /// The CPUs of the program; absent when it may use all that the agent may.
    pub(super) run: Option<CpuSet>,
    /// The CPUs of the agent while the program executes; absent when it stays where it is.
    pub(super) agent: Option<CpuSet>,
    /// What could not be done.
    pub(super) unmet: Vec<Unmet>,
}

/// Places program and agent within the CPUs that the agent may use. The same host, plan and allowance give the same
/// placement.
///
/// Housekeeping takes the lowest numbers, where kernels do their own work, in whole cores. Cores for the program are
/// taken from the strongest kind and from one memory node if that has enough, and with the highest numbers, far from
/// housekeeping.
pub(super) fn place(
    topology: &Topology,
    allowed: &CpuSet,
    choice: &CpuChoice,
    housekeeping: u32,
) -> Placement {
    let mut placement = Placement::default();
    let mut unmet = |setting, reason| placement.unmet.push(Unmet { setting, reason });
    let mut kept = keep_free(topology, allowed, housekeeping);
    if let CpuChoice::List(wanted) = choice
        && !wanted.within(&kept).is_empty()
    {
        let both = wanted.within(&kept);
        unmet(Setting::Housekeeping, format!("CPUs {both} are wanted for the program"));
        kept = kept.without(wanted);
    } else if kept.len() == allowed.len() && housekeeping > 0 {
        unmet(
            Setting::Housekeeping,
            format!("the agent may use CPUs {allowed} only, and the program needs one"),
        );
        kept = CpuSet::default();
    }
    let free = allowed.without(&kept);
    let chosen = match choice {
        CpuChoice::All => Ok(None),
        CpuChoice::Cores(cores) => whole_cores(topology, &free, *cores).map(Some),
        CpuChoice::NumaNode(node) => node_within(topology, allowed, &free, *node).map(Some),
        CpuChoice::List(wanted) if wanted.is_within(allowed) => Ok(Some(wanted.clone())),
        CpuChoice::List(wanted) => {
            let missing = wanted.without(allowed);
            Err(format!("the agent may not use CPUs {missing}, or they are not online"))
        }
    };
    let chosen = chosen.unwrap_or_else(|reason| {
        unmet(Setting::Cpus, reason);
        None
    });
    placement.run = chosen.or_else(|| (!kept.is_empty()).then_some(free));
    placement.agent = (!kept.is_empty()).then_some(kept);
    placement
}

/// The CPUs of housekeeping: at least so many if there are, completed to whole cores.
fn keep_free(topology: &Topology, allowed: &CpuSet, wanted: u32) -> CpuSet {
    let lowest = allowed.iter().take(wanted as usize);
    let cores = lowest.flat_map(|number| match topology.cpu(number) {
        Some(cpu) => cpu.core.iter().collect(),
        None => vec![number],
    });
    cores.collect::<CpuSet>().within(allowed)
}

fn whole_cores(topology: &Topology, free: &CpuSet, wanted: u32) -> Result<CpuSet, String> {
    let wanted = wanted as usize;
    let mut cores = topology.cores();
    // A core of which the agent may use a part only is none for the program.
    cores.retain(|core| core.threads.is_within(free));
    if cores.len() < wanted {
        return Err(format!("{wanted} whole cores are requested, but {} are free", cores.len()));
    }
    let strongest = cores.iter().map(|core| core.capacity).max();
    let strong: Vec<&Core> = cores.iter().filter(|core| Some(core.capacity) == strongest).collect();
    let nodes: BTreeSet<u32> = strong.iter().map(|core| core.node).collect();
    let of_node = |node: &u32| strong.iter().filter(|core| core.node == *node).copied().collect::<Vec<_>>();
    let sufficient = nodes.iter().rev().map(of_node).find(|cores| cores.len() >= wanted);
    let mut candidates = sufficient
        .unwrap_or_else(|| if strong.len() >= wanted { strong.clone() } else { cores.iter().collect() });
    candidates.sort_by_key(|core| (Reverse(core.capacity), Reverse(core.threads.iter().next())));
    Ok(candidates.iter().take(wanted).flat_map(|core| core.threads.iter()).collect())
}

fn node_within(topology: &Topology, allowed: &CpuSet, free: &CpuSet, node: u32) -> Result<CpuSet, String> {
    let whole = topology.node(node);
    match (whole.is_empty(), whole.within(allowed).is_empty(), whole.within(free)) {
        (true, _, _) => Err(format!("there is no NUMA node {node} with CPUs")),
        (false, true, _) => Err(format!("the agent may use no CPU of NUMA node {node}")),
        (false, false, cpus) if cpus.is_empty() => {
            Err(format!("housekeeping takes all CPUs of NUMA node {node} that the agent may use"))
        }
        (false, false, cpus) => Ok(cpus),
    }
}

#[cfg(test)]
mod tests;
