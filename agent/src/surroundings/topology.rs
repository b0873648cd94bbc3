//! The host's CPUs: which share a core, a package, a memory node, and how strong each is.

use std::{collections::BTreeMap, path::Path};

use speedup_core::value::cpu_set::CpuSet;

use super::file::{list, number};

/// What the kernel gives the strongest CPUs of a host (`SCHED_CAPACITY_SCALE`).
const FULL_CAPACITY: u64 = 1_024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Topology {
    cpus: BTreeMap<u32, Cpu>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cpu {
    /// The hardware threads of its core that are online, itself among them.
    pub(super) core: CpuSet,
    pub(super) package: u64,
    pub(super) node: u32,
    /// How strong it is, relative to the others.
    pub(super) capacity: u64,
}

/// The hardware threads of one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Core {
    pub(super) threads: CpuSet,
    pub(super) node: u32,
    pub(super) capacity: u64,
}

impl Topology {
    /// Reads it from the tree of files at `root`. What a kernel does not tell is taken as the simplest: a core for each
    /// CPU, one package, one node, all alike.
    pub(crate) fn read(root: &Path) -> Self {
        let system = root.join("sys/devices/system");
        let online = list(&system.join("cpu/online")).unwrap_or_default();
        let nodes = nodes(&system.join("node"));
        // Hybrid processors of Intel name their small cores here; those of Arm have capacities.
        let small = list(&root.join("sys/devices/cpu_atom/cpus")).unwrap_or_default();
        let cpu = |number_of: u32| {
            let at = system.join(format!("cpu/cpu{number_of}"));
            let siblings = ["topology/core_cpus_list", "topology/thread_siblings_list"];
            let siblings = siblings.into_iter().find_map(|file| list(&at.join(file)));
            let is_small = small.contains(number_of);
            let capacity = number(&at.join("cpu_capacity")).filter(|_| !is_small).unwrap_or(if is_small {
                FULL_CAPACITY / 2
            } else {
                FULL_CAPACITY
            });
            Cpu {
                core: siblings.map_or_else(|| CpuSet::from_iter([number_of]), |core| core.within(&online)),
                package: number(&at.join("topology/physical_package_id")).unwrap_or(0),
                node: nodes.get(&number_of).copied().unwrap_or(0),
                capacity,
            }
        };
        Self { cpus: online.iter().map(|number| (number, cpu(number))).collect() }
    }

    pub(super) fn online(&self) -> CpuSet {
        self.cpus.keys().copied().collect()
    }

    pub(super) fn cpu(&self, number: u32) -> Option<&Cpu> {
        self.cpus.get(&number)
    }

    /// The CPUs of a memory node; nothing when there is no such node.
    pub(super) fn node(&self, node: u32) -> CpuSet {
        self.cpus.iter().filter(|(_, cpu)| cpu.node == node).map(|(number, _)| *number).collect()
    }

    /// The cores, in the order of their first CPUs.
    pub(super) fn cores(&self) -> Vec<Core> {
        let first = |(number, cpu): &(&u32, &Cpu)| cpu.core.iter().next() == Some(**number);
        let cores = self.cpus.iter().filter(first);
        let core = |(_, cpu): (&u32, &Cpu)| Core {
            threads: cpu.core.clone(),
            node: cpu.node,
            capacity: cpu.capacity,
        };
        cores.map(core).collect()
    }
}

fn nodes(directory: &Path) -> BTreeMap<u32, u32> {
    let Ok(entries) = std::fs::read_dir(directory) else { return BTreeMap::new() };
    let numbered = entries.flatten().filter_map(|entry| {
        let node: u32 = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        Some((node, list(&entry.path().join("cpulist"))?))
    });
    let numbered: Vec<(u32, CpuSet)> = numbered.collect();
    numbered.iter().flat_map(|(node, cpus)| cpus.iter().map(|cpu| (cpu, *node))).collect()
}
