//! The probe: what this host is. Stable facts only, nothing that changes between two reads of the same machine; what the
//! host does not have is absent, and what cannot be read says why.
//!
//! All files are read below a root, which is `/` but for the trees of other machines, and within bounds.
//!
//! In reading order: `processor`, `topology`, `caches`, `frequency`, `memory`, `kernel` with `command_line`, `machine`,
//! `software` state facts; `hardware` says which machine it is, `allocation` by whom it was given out, `job` in which job of an engine; below them `facts` (as they are gathered) and `system`
//! (the files).

mod allocation;
mod caches;
mod command_line;
mod facts;
mod frequency;
mod hardware;
mod job;
mod kernel;
mod machine;
mod memory;
mod processor;
mod software;
mod system;
mod topology;

use std::path::{Path, PathBuf};

use speedup_core::fingerprint::Fingerprint;
use speedup_core::host::{HostFacts, Sharing};
use speedup_core::value::id::{AllocationId, BootId, HostId, HostName, IdError, JobId, NodeName};
use speedup_core::value::time::Timestamp;
use thiserror::Error;

pub use self::hardware::Hardware;
use self::{facts::Facts, system::System};

/// Why the host cannot be named.
#[derive(Debug, Error)]
pub enum ProbeError {
    #[error("cannot read {file}, which names {what}")]
    Unreadable { file: &'static str, what: &'static str, source: std::io::Error },
    #[error("{file} has no usable name of {what}")]
    Unusable { file: &'static str, what: &'static str, source: IdError },
    #[error("cannot read {}, which should have the files of the host", root.display())]
    Root { root: PathBuf, source: std::io::Error },
}

speedup_core::hints! { ProbeError:
    Self::Unreadable { .. } | Self::Unusable { .. } =>
        "name the host with --host-id and its boot with --boot-id",
    Self::Root { .. } => "name a directory with folders such as sys, proc and etc",
}

/// What a host is: the same for all hosts of its class, and its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// What makes it identical to another or not.
    pub fingerprint: Fingerprint,
    pub hardware: Hardware,
}

/// Reads what the host is whose files lie at a root.
///
/// # Errors
/// [`ProbeError::Root`] when there is no such directory. What cannot be read below it is a fact of the host.
pub fn probe(root: &Path) -> Result<Probed, ProbeError> {
    let system = open(root)?;
    let mut facts = Facts::default();
    software::state_program(&system, &mut facts);
    state(&system, &mut facts);
    Ok(Probed { fingerprint: facts.into_fingerprint(), hardware: Hardware::of(&system) })
}

/// Reads again what this host is, of which this process knew these facts. The program that the process is cannot have
/// changed, and to hash it would take longer than all the rest.
pub(crate) fn probe_again(root: &Path, facts: &HostFacts) -> Result<HostFacts, ProbeError> {
    let system = open(root)?;
    let mut found = Facts::default();
    found.keep(software::PROGRAM, facts.fingerprint.get(software::PROGRAM));
    state(&system, &mut found);
    let (fingerprint, Hardware { id: hardware, machine, .. }) =
        (found.into_fingerprint(), Hardware::of(&system));
    Ok(HostFacts { fingerprint, hardware, machine, ..facts.clone() })
}

fn open(root: &Path) -> Result<System, ProbeError> {
    System::at(root).map_err(|source| ProbeError::Root { root: root.to_owned(), source })
}

fn state(system: &System, facts: &mut Facts) {
    processor::state(system, facts);
    topology::state(system, facts);
    caches::state(system, facts);
    frequency::state(system, facts);
    memory::state(system, facts);
    kernel::state(system, facts);
    machine::state(system, facts);
    software::state(system, facts);
}

/// The names of a host that whoever started its agent gave instead of what the machine and its engine say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub host: Option<HostId>,
    pub boot: Option<BootId>,
    pub allocation: Option<AllocationId>,
    pub node: Option<NodeName>,
    /// The engine's job in which the agent lives.
    pub job: Option<JobId>,
    /// When the engine ends that job.
    pub ends: Option<Timestamp>,
    /// Whether other hosts may be on this machine.
    pub sharing: Sharing,
}

/// What the agent says of its host when it joins.
pub(crate) fn host_facts(root: &Path, names: Names, boot: BootId) -> Result<HostFacts, ProbeError> {
    let Names { host, boot: _, allocation, node, job, ends, sharing } = names;
    let named_by_owner = host.is_some();
    let variable = |name: &str| std::env::var(name).ok();
    let host = match host.or_else(|| job::host(variable)) {
        Some(host) => host,
        None => id("/etc/machine-id", "the machine")?,
    };
    let Probed { fingerprint, hardware } = probe(root)?;
    let allocation = match allocation {
        Some(allocation) => Some(allocation),
        None => allocation::allocation(&open(root)?, variable),
    };
    let engine = job::job(variable);
    let ends = ends.or(engine.ends);
    if let Some(ends) = ends {
        tracing::info!("the allocation of this host lasts for {}", job::left(ends));
    }
    let bare = HostFacts::bare(host, boot);
    Ok(HostFacts {
        allocation,
        fingerprint,
        hardware: hardware.id,
        machine: hardware.machine,
        named_by_owner,
        allocation_ends: ends,
        node: node.or(engine.node),
        job: job.or(engine.id),
        sharing,
        hostname: hostname(),
        switches: job::switches(variable),
        ..bare
    })
}

/// What the host calls itself; nothing where that is no name that can be shown.
fn hostname() -> Option<HostName> {
    rustix::system::uname().nodename().to_str().ok()?.parse().ok()
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
