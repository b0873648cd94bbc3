//! The kernel, and what it does to programs: mitigations, randomisation, clock, control groups.

use super::{command_line, facts::Facts, system::Reading, system::System};

const MITIGATIONS: &str = "sys/devices/system/cpu/vulnerabilities";
/// Most vulnerabilities that are stated one by one: kernels of today name some twenty.
const MAX_MITIGATIONS: usize = 64;
/// Where control groups of version 1 are mounted, one of which every system has.
const GROUPS_V1: [&str; 2] = ["sys/fs/cgroup/memory", "sys/fs/cgroup/cpu"];

pub(super) fn state(system: &System, facts: &mut Facts) {
    let version = system.line("proc/sys/kernel/version");
    facts.state("kernel.release", system.line("proc/sys/kernel/osrelease"));
    facts.state("kernel.preemption", version.clone().map(|version| version.map(|text| preemption(&text))));
    facts.state("kernel.version", version);
    facts.state("kernel.architecture", system.line("proc/sys/kernel/arch"));
    let command_line = system.line("proc/cmdline");
    facts.state(
        "kernel.command_line",
        command_line.map(|line| line.and_then(|line| command_line::shared(&line))),
    );
    facts.state("kernel.aslr", system.line("proc/sys/kernel/randomize_va_space"));
    let clock = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    facts.state("kernel.clocksource", system.line(clock));
    facts.state("kernel.cgroups", cgroups(system));
    mitigations(system, facts);
}

/// As the kernel was built; what `preempt=` chose of `PREEMPT_DYNAMIC` stands in the command line.
fn preemption(version: &str) -> String {
    let words = version.split_whitespace().filter(|word| word.starts_with("PREEMPT") || *word == "RT");
    let words: Vec<&str> = words.collect();
    if words.is_empty() { "voluntary or none".to_owned() } else { words.join(" ") }
}

fn cgroups(system: &System) -> Reading {
    if system.has("sys/fs/cgroup/cgroup.controllers")? {
        return Ok(Some("version 2".to_owned()));
    }
    for group in GROUPS_V1 {
        if system.has(group)? {
            return Ok(Some("version 1".to_owned()));
        }
    }
    Ok(None)
}

/// What the kernel does about each vulnerability of the CPU: it costs time.
fn mitigations(system: &System, facts: &mut Facts) {
    let names = match system.names(MITIGATIONS) {
        Ok(Some(names)) if names.len() <= MAX_MITIGATIONS => names,
        Ok(Some(_)) => return facts.state("cpu.mitigations", Err(too_many())),
        Ok(None) => return facts.state("cpu.mitigations", Ok(None)),
        Err(why) => return facts.state("cpu.mitigations", Err(why)),
    };
    for name in names {
        facts.state(&format!("cpu.mitigation.{name}"), system.line(&format!("{MITIGATIONS}/{name}")));
    }
}

fn too_many() -> String {
    format!("/{MITIGATIONS}: has more than {MAX_MITIGATIONS} entries")
}
