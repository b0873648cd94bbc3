//! The probe: what this host is. Stable facts only — nothing that changes between two reads of the same machine — and a
//! fact that cannot be read is absent, not empty.

use std::collections::BTreeMap;
use std::path::Path;

use speedup_core::host::{HostFacts, MAX_FACT_BYTES};
use speedup_core::id::{AllocationId, BootId, HostId, IdError};
use thiserror::Error;

/// Why the host cannot be named.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The file that names it cannot be read.
    #[error("cannot read {file}, which names {what}")]
    Unreadable {
        /// Which file.
        file: &'static str,
        /// What it names.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// What it holds is no name.
    #[error("{file} does not hold a usable name of {what}")]
    Unusable {
        /// Which file.
        file: &'static str,
        /// What it should name.
        what: &'static str,
        /// Why it is none.
        source: IdError,
    },
}

impl ProbeError {
    /// What the owner of the host can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { .. } | Self::Unusable { .. } => {
                Some("name the host with --host-id and its boot with --boot-id")
            }
        }
    }
}

/// Facts that are one line of a file.
const ONE_LINERS: [(&str, &str); 12] = [
    ("kernel.release", "/proc/sys/kernel/osrelease"),
    ("kernel.version", "/proc/sys/kernel/version"),
    ("kernel.command_line", "/proc/cmdline"),
    ("kernel.aslr", "/proc/sys/kernel/randomize_va_space"),
    ("memory.transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("cpu.smt", "/sys/devices/system/cpu/smt/control"),
    ("cpu.online", "/sys/devices/system/cpu/online"),
    ("cpu.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("cpu.turbo_off", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("cpu.boost", "/sys/devices/system/cpu/cpufreq/boost"),
    ("machine.product", "/sys/devices/virtual/dmi/id/product_name"),
    ("machine.hypervisor", "/sys/hypervisor/type"),
];

/// What the host is, with the ids that its owner gave instead of the machine's own.
pub(crate) fn probe(
    host: Option<HostId>,
    boot: Option<BootId>,
    allocation: Option<AllocationId>,
) -> Result<HostFacts, ProbeError> {
    let host = match host {
        Some(host) => host,
        None => id("/etc/machine-id", "the machine")?,
    };
    let boot = boot_id(boot)?;
    Ok(HostFacts { host, boot, allocation, fingerprint: fingerprint(), timer: None })
}

/// Which boot of the host this is: the one that its owner says, or the kernel's own.
///
/// # Errors
/// [`ProbeError`] when the kernel does not say.
pub fn boot_id(owners: Option<BootId>) -> Result<BootId, ProbeError> {
    owners.map_or_else(|| id("/proc/sys/kernel/random/boot_id", "the boot"), Ok)
}

fn id<T: std::str::FromStr<Err = IdError>>(file: &'static str, what: &'static str) -> Result<T, ProbeError> {
    let text =
        std::fs::read_to_string(file).map_err(|source| ProbeError::Unreadable { file, what, source })?;
    text.trim().parse().map_err(|source| ProbeError::Unusable { file, what, source })
}

fn fingerprint() -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = BTreeMap::new();
    for (name, file) in ONE_LINERS {
        facts.extend(read(Path::new(file)).map(|value| (name.to_owned(), value)));
    }
    if let Some(text) = read(Path::new("/proc/cpuinfo")) {
        for (name, key) in
            [("cpu.model", "model name"), ("cpu.microcode", "microcode"), ("cpu.flags", "flags")]
        {
            facts.extend(field(&text, key).map(|value| (name.to_owned(), value)));
        }
    }
    if let Some(total) = read(Path::new("/proc/meminfo")).and_then(|text| field(&text, "MemTotal")) {
        facts.insert("memory.total".to_owned(), total);
    }
    facts.extend(caches());
    facts.extend(mitigations());
    facts.values_mut().for_each(shorten);
    facts
}

/// The caches of the first CPU, by level and kind.
fn caches() -> impl Iterator<Item = (String, String)> {
    let root = Path::new("/sys/devices/system/cpu/cpu0/cache");
    (0..8).filter_map(move |index| {
        let at = root.join(format!("index{index}"));
        let (level, kind) = (read(&at.join("level"))?, read(&at.join("type"))?);
        Some((format!("cpu.cache.l{level}.{}", kind.to_lowercase()), read(&at.join("size"))?))
    })
}

/// What the kernel does about each vulnerability of the CPU: it costs time.
fn mitigations() -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else { return Vec::new() };
    let named = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some((format!("cpu.mitigation.{name}"), read(&entry.path())?))
    });
    named.collect()
}

fn read(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The value of the first line `key : value`.
fn field(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    });
    value.filter(|value| !value.is_empty())
}

fn shorten(value: &mut String) {
    let end = (0..=MAX_FACT_BYTES.min(value.len())).rev().find(|at| value.is_char_boundary(*at));
    value.truncate(end.unwrap_or(0));
}
