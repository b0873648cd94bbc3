//! Any conditions of a run.

use proptest::{collection::vec, option, prelude::*, sample::select, sample::subsequence};
use speedup_core::{
    experiment::environment::Setting, experiment::files::ContentHash, run::conditions::*,
    run::disturbance::Disturbance, run::disturbance::Resource, run::file_system::FileSystem,
    run::file_system::Location, run::reading::*, run::software::*, value::time::Span,
};

use super::{environment::cpu_set, text, texts};

fn disturbance() -> impl Strategy<Value = Disturbance> {
    let resource = select(vec![Resource::Cpu, Resource::Memory, Resource::Io]);
    prop_oneof![
        any::<u64>().prop_map(|ns| Disturbance::Stolen { ns }),
        any::<u64>().prop_map(|count| Disturbance::Throttled { count }),
        (resource, any::<u64>()).prop_map(|(resource, ns)| Disturbance::Pressure { resource, ns }),
        any::<u64>().prop_map(|ns| Disturbance::OtherLoad { ns }),
        any::<(u64, u64)>()
            .prop_map(|(before_khz, after_khz)| Disturbance::FrequencyChanged { before_khz, after_khz }),
        any::<u8>().prop_map(|signal| Disturbance::ProgramStopped { signal }),
        Just(Disturbance::AgentStopped),
        text().prop_map(|reason| Disturbance::CleanupFailed { reason }),
    ]
}

fn file_system() -> impl Strategy<Value = FileSystem> {
    let location = select(vec![Location::Local, Location::Network, Location::Program]);
    ("[a-z0-9.]{0,64}", location).prop_map(|(kind, location)| FileSystem { kind, location })
}

fn used_software() -> impl Strategy<Value = UsedSoftware> {
    let hash = || any::<[u8; 32]>().prop_map(ContentHash);
    let made = (texts(), any::<(u64, u64)>()).prop_map(|(variables, (ended_unix_ns, took))| MadeVariables {
        variables,
        ended_unix_ns,
        took: Span(took),
    });
    let variables = (hash(), option::of(made)).prop_map(|(blake3, made)| UsedVariables { blake3, made });
    let identity = prop_oneof![
        hash().prop_map(ImageIdentity::Blake3),
        "[a-z0-9:]{0,80}".prop_map(ImageIdentity::Told),
        text().prop_map(|reason| ImageIdentity::Unknown { reason }),
    ];
    let container = (text(), identity, any::<Option<u64>>())
        .prop_map(|(image, identity, start)| UsedContainer { image, identity, start: start.map(Span) });
    (option::of(variables), option::of(container))
        .prop_map(|(variables, container)| UsedSoftware { variables, container })
}

fn pressure() -> impl Strategy<Value = Option<Pressure>> {
    option::of(any::<(u32, u64)>().prop_map(|(recent, total_us)| Pressure { recent, total_us }))
}

fn reading() -> BoxedStrategy<Reading> {
    let load = any::<(u32, u32, u32)>().prop_map(|(one_percent, five_percent, fifteen_percent)| Load {
        one_percent,
        five_percent,
        fifteen_percent,
    });
    let cpu_time = any::<(u64, u64, u64)>().prop_map(|(busy_ns, iowait_ns, stolen_ns)| CpuTime {
        busy_ns,
        iowait_ns,
        stolen_ns,
    });
    let frequency = any::<(u64, u64, u64)>().prop_map(|(min_khz, mean_khz, max_khz)| Frequency {
        min_khz,
        mean_khz,
        max_khz,
    });
    let throttled = any::<(u64, u64)>().prop_map(|(core, package)| Throttled { core, package });
    let counted = (option::of(load), option::of(cpu_time), option::of(frequency), option::of(throttled));
    let numbers = any::<(Option<u32>, Option<i32>, Option<u64>, Option<u64>)>();
    (counted, (pressure(), pressure(), pressure()), numbers)
        .prop_map(|((load, cpu_time, frequency, throttled), pressures, numbers)| {
            let (pressure_cpu, pressure_memory, pressure_io) = pressures;
            let (runnable, temperature_mc, available_bytes, cached_bytes) = numbers;
            Reading {
                load,
                runnable,
                pressure_cpu,
                pressure_memory,
                pressure_io,
                cpu_time,
                frequency,
                temperature_mc,
                throttled,
                available_bytes,
                cached_bytes,
            }
        })
        .boxed()
}

pub(crate) fn conditions() -> BoxedStrategy<Conditions> {
    let settings = || subsequence(Setting::ALL.to_vec(), 0..=Setting::ALL.len());
    let unmet =
        (select(Setting::ALL.as_slice()), text()).prop_map(|(setting, reason)| Unmet { setting, reason });
    let sizes = any::<(Option<u64>, Option<u32>, Option<u32>)>();
    let parts = (
        reading(),
        reading(),
        option::of(cpu_set()),
        sizes,
        (settings(), option::of(file_system()), option::of(used_software())),
        vec(unmet, 0..5),
        vec(disturbance(), 0..5),
    );
    parts
        .prop_map(|(before, after, cpus, sizes, (applied, file_system, software), unmet, disturbances)| {
            let (env_bytes, env_padding, directory_bytes) = sizes;
            Conditions {
                before,
                after,
                cpus,
                env_bytes,
                env_padding,
                directory_bytes,
                file_system,
                software,
                applied,
                unmet,
                disturbances,
            }
        })
        .boxed()
}
