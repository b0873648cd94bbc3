//! The environment that a plan wants. One in which nothing is asked for is not written at all.

use speedup_core::experiment::environment::{
    CpuChoice, DirectoryLength, EnvSize, Environment, HugePages, PageCache, ResourceLimits, Scheduler,
    Setting,
};
use speedup_core::experiment::software::Software;
use speedup_core::value::time::Span;

use super::field::{chosen, cpu_set, enumerated, enumeration, optional, small, small_signed, structure};
use super::malformed::Malformed;
use crate::v1;
use v1::environment::{Cpus, DirectoryLength as WireDirectoryLength, EnvSize as WireEnvSize};
use v1::scheduler::{Class, Plain};

structure!(ResourceLimits, v1::ResourceLimits, [open_files, memory, stack, core, processes]);
enumeration!(HugePages, v1::HugePages, [Always, Madvise, Never]);
enumeration!(
    Setting,
    v1::Setting,
    [
        Cpus,
        Housekeeping,
        Nice,
        Scheduler,
        Aslr,
        EnvSize,
        PageCache,
        HugePages,
        Governor,
        Turbo,
        Limits,
        DirectoryLength,
        Software
    ]
);

/// The environment on the wire, if it asks for anything.
pub(super) fn wire_environment(environment: &Environment) -> Option<v1::Environment> {
    (*environment != Environment::default()).then(|| environment.into())
}

impl From<&Environment> for v1::Environment {
    fn from(environment: &Environment) -> Self {
        let cpus = match &environment.cpus {
            CpuChoice::All => None,
            CpuChoice::Cores(cores) => Some(Cpus::Cores(*cores)),
            CpuChoice::NumaNode(node) => Some(Cpus::NumaNode(*node)),
            CpuChoice::List(cpus) => Some(Cpus::List(cpus.to_string())),
        };
        let env_size = match environment.env_size {
            EnvSize::AsIs => None,
            EnvSize::Total(size) => Some(WireEnvSize::Total(size)),
            EnvSize::Random(most) => Some(WireEnvSize::Random(most)),
        };
        let directory_length = match environment.directory_length {
            DirectoryLength::AsIs => None,
            DirectoryLength::Total(length) => Some(WireDirectoryLength::DirectoryTotal(length)),
            DirectoryLength::Random(most) => Some(WireDirectoryLength::DirectoryRandom(most)),
        };
        let limits = environment.limits;
        Self {
            cpus,
            housekeeping: environment.housekeeping,
            nice: environment.nice.map(i32::from),
            scheduler: environment.scheduler.map(Into::into),
            aslr: environment.aslr,
            env_size,
            directory_length,
            drop_page_cache: environment.page_cache == PageCache::Drop,
            huge_pages: environment.huge_pages.map(|pages| v1::HugePages::from(pages).into()),
            governor: environment.governor.clone(),
            turbo: environment.turbo,
            settle_ns: environment.settle.0,
            limits: (!limits.is_empty()).then(|| limits.into()),
            strict: environment.strict,
            software: (environment.software != Software::default()).then(|| (&environment.software).into()),
        }
    }
}

impl TryFrom<v1::Environment> for Environment {
    type Error = Malformed;

    fn try_from(wire: v1::Environment) -> Result<Self, Malformed> {
        let cpus = match wire.cpus {
            None => CpuChoice::All,
            Some(Cpus::Cores(cores)) => CpuChoice::Cores(cores),
            Some(Cpus::NumaNode(node)) => CpuChoice::NumaNode(node),
            Some(Cpus::List(list)) => CpuChoice::List(cpu_set(&list, "list")?),
        };
        let env_size = match wire.env_size {
            None => EnvSize::AsIs,
            Some(WireEnvSize::Total(size)) => EnvSize::Total(size),
            Some(WireEnvSize::Random(most)) => EnvSize::Random(most),
        };
        let directory_length = match wire.directory_length {
            None => DirectoryLength::AsIs,
            Some(WireDirectoryLength::DirectoryTotal(length)) => DirectoryLength::Total(length),
            Some(WireDirectoryLength::DirectoryRandom(most)) => DirectoryLength::Random(most),
        };
        let pages = |pages| enumerated::<v1::HugePages, _>(pages, "huge_pages");
        Ok(Self {
            cpus,
            housekeeping: wire.housekeeping,
            nice: wire.nice.map(|nice| small_signed(nice, "nice")).transpose()?,
            scheduler: optional(wire.scheduler, "scheduler")?,
            aslr: wire.aslr,
            env_size,
            directory_length,
            page_cache: if wire.drop_page_cache { PageCache::Drop } else { PageCache::Keep },
            huge_pages: wire.huge_pages.map(pages).transpose()?,
            governor: wire.governor,
            turbo: wire.turbo,
            settle: Span(wire.settle_ns),
            limits: optional(wire.limits, "limits")?.unwrap_or_default(),
            strict: wire.strict,
            software: optional(wire.software, "software")?.unwrap_or_default(),
        })
    }
}

impl From<Scheduler> for v1::Scheduler {
    fn from(scheduler: Scheduler) -> Self {
        let class = match scheduler {
            Scheduler::Other => Class::Other(Plain {}),
            Scheduler::Batch => Class::Batch(Plain {}),
            Scheduler::Fifo(priority) => Class::Fifo(u32::from(priority)),
            Scheduler::RoundRobin(priority) => Class::RoundRobin(u32::from(priority)),
        };
        Self { class: Some(class) }
    }
}

impl TryFrom<v1::Scheduler> for Scheduler {
    type Error = Malformed;

    fn try_from(wire: v1::Scheduler) -> Result<Self, Malformed> {
        Ok(match chosen(wire.class, "class")? {
            Class::Other(Plain {}) => Self::Other,
            Class::Batch(Plain {}) => Self::Batch,
            Class::Fifo(priority) => Self::Fifo(small(priority, "fifo")?),
            Class::RoundRobin(priority) => Self::RoundRobin(small(priority, "round_robin")?),
        })
    }
}
