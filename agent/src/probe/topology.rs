//! Sockets, cores and threads, kinds of cores, memory nodes, and CPUs that are kept free.

use std::collections::BTreeSet;

use speedup_core::value::cpu_set::CpuSet;

use super::{facts::Facts, facts::tally, system::Reading, system::System};

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";
/// What hybrid processors of Intel call their kinds of cores.
const KINDS: [(&str, &str); 3] = [
    ("core", "sys/devices/cpu_core/cpus"),
    ("atom", "sys/devices/cpu_atom/cpus"),
    ("low power", "sys/devices/cpu_lowpower/cpus"),
];

pub(super) fn state(system: &System, facts: &mut Facts) {
    let online = online(system);
    facts.state("cpu.online", online.clone().map(|cpus| cpus.map(|cpus| cpus.to_string())));
    facts.state("cpu.threads", online.clone().map(|cpus| cpus.map(|cpus| cpus.len().to_string())));
    facts.state("cpu.cores", distinct(system, &["topology/core_cpus_list", "topology/thread_siblings_list"]));
    facts.state("cpu.sockets", distinct(system, &["topology/physical_package_id"]));
    facts.state("cpu.smt", system.line(&format!("{CPUS}/smt/control")));
    facts.state("cpu.capacity", of_each_cpu(system, "cpu_capacity"));
    facts.state("cpu.kinds", kinds(system));
    facts.state("cpu.isolated", list(system, &format!("{CPUS}/isolated")));
    facts.state("cpu.nohz_full", list(system, &format!("{CPUS}/nohz_full")));
    facts.state("memory.nodes", nodes(system));
}

pub(super) fn online(system: &System) -> Reading<CpuSet> {
    cpu_set(system, &format!("{CPUS}/online"))
}

/// What a file of each CPU that is online says, counted; `none` of those that lack it where others have it.
pub(super) fn of_each_cpu(system: &System, file: &str) -> Reading {
    let read = each_cpu(system, &[file])?;
    if read.iter().all(Option::is_none) {
        return Ok(None);
    }
    Ok(tally(read.into_iter().map(|value| value.unwrap_or_else(|| "none".to_owned()))))
}

fn each_cpu(system: &System, files: &[&str]) -> Result<Vec<Option<String>>, String> {
    let online = online(system)?.unwrap_or_default();
    let read = online.iter().map(|cpu| {
        let mut lines = files.iter().map(|file| system.line(&format!("{CPUS}/cpu{cpu}/{file}")));
        lines.find(|line| !matches!(line, Ok(None))).unwrap_or(Ok(None))
    });
    read.collect()
}

/// How many values the CPUs have in a file.
fn distinct(system: &System, files: &[&str]) -> Reading {
    let values: BTreeSet<String> = each_cpu(system, files)?.into_iter().flatten().collect();
    Ok((!values.is_empty()).then(|| values.len().to_string()))
}

fn kinds(system: &System) -> Reading {
    let mut found = Vec::new();
    for (kind, file) in KINDS {
        found.extend(system.line(file)?.map(|cpus| format!("{kind} {cpus}")));
    }
    Ok((!found.is_empty()).then(|| found.join(", ")))
}

/// Older kernels write `(null)` for a list that nobody asked for.
fn list(system: &System, file: &str) -> Reading {
    Ok(system.line(file)?.filter(|list| list != "(null)"))
}

fn nodes(system: &System) -> Reading {
    let nodes = cpu_set(system, &format!("{NODES}/online"))?.unwrap_or_default();
    let mut found = Vec::new();
    for node in nodes.iter() {
        // A node may have memory only.
        let cpus =
            system.line(&format!("{NODES}/node{node}/cpulist"))?.unwrap_or_else(|| "no CPUs".to_owned());
        found.push(format!("{node}: {cpus}"));
    }
    Ok((!found.is_empty()).then(|| found.join("; ")))
}

fn cpu_set(system: &System, file: &str) -> Reading<CpuSet> {
    let Some(line) = system.line(file)? else { return Ok(None) };
    line.parse().map(Some).map_err(|error| format!("/{file}: {error}"))
}
