//! The conditions of a run. Lists are short: each setting and each kind of disturbance is told once.

use speedup_core::run::conditions::{Conditions, MAX_NOTES, Unmet};
use speedup_core::run::disturbance::{Disturbance, Resource};
use speedup_core::run::file_system::{FileSystem, Location, MAX_KIND_BYTES};
use speedup_core::run::reading::{CpuTime, Frequency, Load, Pressure, Reading, Throttled};

use super::wire::{Choices, Cut, Each, REASON, enumeration, oneof, structure};
use crate::v1;
use v1::disturbance::{AgentStopped, Disturbance as WireDisturbance, FrequencyChanged, Stalled};
use v1::reading;

enumeration!(Resource, v1::Resource, [Cpu, Memory, Io]);
enumeration!(Location, v1::Location, [Local, Network, Program]);
structure!(Load, reading::Load, [one_percent, five_percent, fifteen_percent]);
structure!(Pressure, reading::Pressure, [recent, total_us]);
structure!(CpuTime, reading::CpuTime, [busy_ns, iowait_ns, stolen_ns]);
structure!(Frequency, reading::Frequency, [min_khz, mean_khz, max_khz]);
structure!(Throttled, reading::Throttled, [core, package]);

structure!(FileSystem, v1::FileSystem, [location, kind => Cut(MAX_KIND_BYTES)]);
structure!(Unmet, v1::Unmet, [setting, reason => REASON]);
structure! {
    Reading,
    v1::Reading,
    [
        load, runnable, pressure_cpu, pressure_memory, pressure_io, cpu_time, frequency, temperature_mc,
        throttled, available_bytes, cached_bytes
    ]
}
structure!(
    Conditions,
    v1::Conditions,
    [
        before, after, cpus, env_bytes, env_padding, directory_bytes, file_system, software,
        applied => Choices("setting", MAX_NOTES),
        unmet => Each(MAX_NOTES),
        disturbances => Each(MAX_NOTES),
    ]
);

oneof!(Disturbance, v1::Disturbance { disturbance: WireDisturbance }, [
    Stolen { ns } = StolenNs(ns),
    Throttled { count } = ThrottledCount(count),
    Pressure { resource, ns } = Pressure(Stalled { resource, ns }) in "pressure",
    OtherLoad { ns } = OtherLoadNs(ns),
    FrequencyChanged { before_khz, after_khz } = FrequencyChanged(FrequencyChanged { before_khz, after_khz }),
    ProgramStopped { signal } = ProgramStopped(signal) in "program_stopped",
    AgentStopped = AgentStopped(AgentStopped {}),
    CleanupFailed { reason => REASON } = CleanupFailed(reason),
]);
