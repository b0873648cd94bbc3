//! Any environment, sensible or not.

use proptest::{collection::vec, option, prelude::*, sample::select};
use speedup_core::experiment::environment::*;
use speedup_core::experiment::files::ContentHash;
use speedup_core::experiment::software::{Container, ContainerLauncher, Software};
use speedup_core::value::cpu_set::{CpuSet, MAX_CPUS};
use speedup_core::value::time::Span;

use super::text;

pub(crate) fn cpu_set() -> impl Strategy<Value = CpuSet> {
    vec(0..MAX_CPUS, 0..20).prop_map(|cpus| cpus.into_iter().collect())
}

fn cpus() -> impl Strategy<Value = CpuChoice> {
    prop_oneof![
        Just(CpuChoice::All),
        any::<u32>().prop_map(CpuChoice::Cores),
        any::<u32>().prop_map(CpuChoice::NumaNode),
        cpu_set().prop_map(CpuChoice::List),
    ]
}

fn scheduler() -> impl Strategy<Value = Scheduler> {
    prop_oneof![
        Just(Scheduler::Other),
        Just(Scheduler::Batch),
        any::<u8>().prop_map(Scheduler::Fifo),
        any::<u8>().prop_map(Scheduler::RoundRobin),
    ]
}

fn env_size() -> impl Strategy<Value = EnvSize> {
    prop_oneof![
        Just(EnvSize::AsIs),
        any::<u32>().prop_map(EnvSize::Total),
        any::<u32>().prop_map(EnvSize::Random),
    ]
}

fn directory_length() -> impl Strategy<Value = DirectoryLength> {
    prop_oneof![
        Just(DirectoryLength::AsIs),
        any::<u32>().prop_map(DirectoryLength::Total),
        any::<u32>().prop_map(DirectoryLength::Random),
    ]
}

fn limits() -> impl Strategy<Value = ResourceLimits> {
    any::<[Option<u64>; 5]>().prop_map(|[open_files, memory, stack, core, processes]| ResourceLimits {
        open_files,
        memory,
        stack,
        core,
        processes,
    })
}

fn container() -> impl Strategy<Value = Container> {
    let words = || vec(text(), 0..4);
    let launcher =
        prop_oneof![Just(ContainerLauncher::Apptainer), words().prop_map(ContainerLauncher::Words)];
    (text(), launcher, words(), words()).prop_map(|(image, launcher, digest, probe)| Container {
        image,
        launcher,
        digest,
        probe,
    })
}

pub(crate) fn software() -> impl Strategy<Value = Software> {
    let names = || vec(text(), 0..4);
    let texts = (option::of(text()), names(), option::of(text()), names());
    let timeout = (1..=u64::MAX).prop_map(Span);
    (texts, option::of(container()), timeout, any::<Option<[u8; 32]>>()).prop_map(
        |((prologue, modules, spack_environment, spack), container, timeout, blake3)| Software {
            prologue,
            modules,
            spack_environment,
            spack,
            container,
            timeout,
            blake3: blake3.map(ContentHash),
        },
    )
}

pub(crate) fn environment() -> BoxedStrategy<Environment> {
    let pages = select(vec![HugePages::Always, HugePages::Madvise, HugePages::Never]);
    let sizes = (env_size(), directory_length());
    let process = (option::of(scheduler()), any::<(Option<i8>, Option<bool>)>(), sizes, limits());
    let host = (select(vec![PageCache::Keep, PageCache::Drop]), option::of(pages), option::of(text()));
    let host = (host, prop_oneof![Just(Software::default()), software()]);
    let parts = (cpus(), process, host, any::<(u32, u64, Option<bool>, bool)>());
    parts
        .prop_map(|(cpus, process, host, (housekeeping, settle, turbo, strict))| {
            let (scheduler, (nice, aslr), (env_size, directory_length), limits) = process;
            let ((page_cache, huge_pages, governor), software) = host;
            Environment {
                cpus,
                housekeeping,
                nice,
                scheduler,
                aslr,
                env_size,
                directory_length,
                page_cache,
                huge_pages,
                governor,
                turbo,
                settle: Span(settle),
                limits,
                strict,
                software,
            }
        })
        .boxed()
}
