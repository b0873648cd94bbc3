//! The environment that a plan wants. One in which nothing is asked for is not written at all.

use speedup_core::experiment::environment::{
    CpuChoice, DirectoryLength, EnvSize, Environment, HugePages, PageCache, ResourceLimits, Scheduler,
    Setting,
};

use super::wire::{OrDefault, enumeration, oneof, structure, wire};
use crate::v1;
use v1::environment::{Cpus, DirectoryLength as WireDirectoryLength, EnvSize as WireEnvSize};
use v1::scheduler::{Class, Plain};

structure!(ResourceLimits, v1::ResourceLimits, [open_files, memory, stack, core, processes]);
enumeration!(HugePages, v1::HugePages, [Always, Madvise, Never]);
enumeration! {
    Setting,
    v1::Setting,
    [
        Cpus, Housekeeping, Nice, Scheduler, Aslr, EnvSize, PageCache, HugePages, Governor, Turbo, Limits,
        DirectoryLength, Software
    ]
}

structure!(
    Environment,
    v1::Environment,
    [
        cpus, housekeeping, nice, scheduler, aslr, env_size, directory_length,
        page_cache = drop_page_cache,
        huge_pages, governor, turbo,
        settle = settle_ns,
        limits => OrDefault,
        strict,
        software => OrDefault,
    ]
);
oneof!(CpuChoice, Cpus or All, [
    Cores(cores) = Cores(cores),
    NumaNode(node) = NumaNode(node),
    List(list) = List(list),
]);
oneof!(EnvSize, WireEnvSize or AsIs, [Total(size) = Total(size), Random(most) = Random(most)]);
oneof!(DirectoryLength, WireDirectoryLength or AsIs, [
    Total(length) = DirectoryTotal(length),
    Random(most) = DirectoryRandom(most),
]);
oneof! {
    Scheduler, v1::Scheduler { class: Class }, [
        Other = Other(Plain {}),
        Batch = Batch(Plain {}),
        Fifo(fifo) = Fifo(fifo),
        RoundRobin(round_robin) = RoundRobin(round_robin),
    ]
}

wire! {
    PageCache as bool:
        |cache| *cache == PageCache::Drop,
        |drops, _field| Ok(if drops { PageCache::Drop } else { PageCache::Keep });
}
