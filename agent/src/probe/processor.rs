//! The processor by its own account, from `/proc/cpuinfo`: what it is and what it can, never how fast it is just now.

use super::{facts::Facts, facts::tally, system::System};

/// Facts and their keys, by kind of processor: x86, Arm (which has no names of models there), RISC-V and Power.
const FIELDS: [(&str, &str); 16] = [
    ("cpu.vendor", "vendor_id"),
    ("cpu.model", "model name"),
    ("cpu.family", "cpu family"),
    ("cpu.model_number", "model"),
    ("cpu.stepping", "stepping"),
    ("cpu.microcode", "microcode"),
    ("cpu.flags", "flags"),
    ("cpu.implementer", "CPU implementer"),
    ("cpu.architecture", "CPU architecture"),
    ("cpu.variant", "CPU variant"),
    ("cpu.part", "CPU part"),
    ("cpu.revision", "CPU revision"),
    ("cpu.features", "Features"),
    ("cpu.isa", "isa"),
    ("cpu.microarchitecture", "uarch"),
    ("cpu.name", "cpu"),
];

/// Where the kernel tells it.
pub(super) const CPUINFO: &str = "proc/cpuinfo";

pub(super) fn state(system: &System, facts: &mut Facts) {
    let text = match system.lines(CPUINFO) {
        Ok(Some(text)) => text,
        none => return facts.state("cpu.model", none),
    };
    for (fact, key) in FIELDS {
        facts.state_if_there(fact, Ok(tally(values(&text, key))));
    }
}

/// The values of the lines `key : value`, one a CPU.
pub(super) fn values(text: &str, key: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        (name.trim() == key && !value.is_empty()).then(|| value.replace(|c: char| c.is_control(), "\u{fffd}"))
    })
}

/// Whether the processor says that a hypervisor is below it.
pub(super) fn has_hypervisor_flag(text: &str) -> bool {
    values(text, "flags").any(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}
