//! The environment and software that a plan requests, and what a host used. An environment without requests is not written.

use std::collections::BTreeMap;

use speedup_core::experiment::environment::{
    CpuChoice, Environment, HugePages, PageCache, ResourceLimits, Scheduler, Setting, SizeChoice,
};
use speedup_core::experiment::software::{
    Container, ContainerLauncher, MAX_NAME_BYTES, MAX_NAMES, MAX_WORDS, Software, USUAL_TIMEOUT,
};
use speedup_core::run::software::{
    ImageIdentity, MAX_DIGEST_BYTES, MAX_VARIABLES, MAX_VARIABLES_BYTES, MadeVariables, UsedContainer,
    UsedSoftware, UsedVariables,
};
use speedup_core::value::time::Span;

use crate::convert::wire::field::{at_most, no_longer};
use crate::convert::wire::malformed::Malformed;
use crate::convert::wire::{Cut, OrDefault, PlainList, REASON, Wire, enumeration, oneof, structure, wire};
use crate::v1;
use v1::container::{Apptainer, Launcher as WireLauncher, Words};
use v1::environment::{Cpus, DirectoryLength as WireDirectoryLength, EnvSize as WireEnvSize};
use v1::scheduler::{Class, Plain};
use v1::used_container::Identity;

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
oneof!(SizeChoice, WireEnvSize or AsIs, [Total(size) = Total(size), Random(most) = Random(most)]);
oneof!(SizeChoice, WireDirectoryLength or AsIs, [
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

structure!(
    Software,
    v1::Software,
    [
        modules => PlainList(MAX_NAMES),
        spack => PlainList(MAX_NAMES),
        blake3, prologue, spack_environment, container,
        timeout = timeout_ns => (Span::to_wire, timeout_in),
    ]
);

/// Reads the timeout of a preparation; plans from before there was a choice have the usual one.
fn timeout_in(wire: u64, _: &str) -> Result<Span, Malformed> {
    Ok(if wire == 0 { USUAL_TIMEOUT } else { Span(wire) })
}

structure!(
    Container,
    v1::Container,
    [launcher, digest => PlainList(MAX_WORDS), probe => PlainList(MAX_WORDS), image]
);
oneof!(ContainerLauncher, WireLauncher, [
    Apptainer = Apptainer(Apptainer {}),
    Words(words => PlainList(MAX_WORDS)) = Words(Words { words }) in "launcher",
]);

structure!(UsedSoftware, v1::UsedSoftware, [variables, container]);
structure!(UsedVariables, v1::UsedVariables, [blake3, made]);
structure!(
    MadeVariables,
    v1::MadeVariables,
    [variables => (BTreeMap::clone, variables_in), ended_unix_ns, took = took_ns]
);
structure!(
    UsedContainer,
    v1::UsedContainer,
    [identity, image => Cut(MAX_NAME_BYTES), start = start_ns]
);
oneof!(ImageIdentity, Identity, [
    Blake3(blake3) = Blake3(blake3),
    Told(digest => Cut(MAX_DIGEST_BYTES)) = Told(digest),
    Unknown { reason => REASON } = Unknown(reason),
]);

fn variables_in(wire: BTreeMap<String, String>, field: &str) -> Result<BTreeMap<String, String>, Malformed> {
    at_most(wire.len(), MAX_VARIABLES, field)?;
    let bytes = wire.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    no_longer(bytes, MAX_VARIABLES_BYTES, field)?;
    Ok(wire)
}
