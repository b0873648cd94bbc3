//! The conditions of a run. Lists are short: each setting and each kind of disturbance is told once.

use speedup_core::experiment::environment::Setting;
use speedup_core::run::conditions::{Conditions, MAX_NOTES, Unmet};
use speedup_core::run::disturbance::{Disturbance, Resource};
use speedup_core::run::file_system::{FileSystem, Location, MAX_KIND_BYTES};
use speedup_core::run::reading::{CpuTime, Frequency, Load, Pressure, Reading, Throttled};

use super::field::{
    at_most, chosen, cpu_set, cut, each, enumerated, enumeration, optional, reason, required, small,
    structure,
};
use super::malformed::{Malformed, Within};
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

impl From<&Conditions> for v1::Conditions {
    fn from(conditions: &Conditions) -> Self {
        Self {
            before: Some((&conditions.before).into()),
            after: Some((&conditions.after).into()),
            cpus: conditions.cpus.as_ref().map(ToString::to_string),
            env_bytes: conditions.env_bytes,
            env_padding: conditions.env_padding,
            directory_bytes: conditions.directory_bytes,
            file_system: conditions.file_system.as_ref().map(Into::into),
            software: conditions.software.as_ref().map(Into::into),
            applied: conditions.applied.iter().map(|setting| v1::Setting::from(*setting).into()).collect(),
            unmet: conditions.unmet.iter().map(Into::into).collect(),
            disturbances: conditions.disturbances.iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<v1::Conditions> for Conditions {
    type Error = Malformed;

    fn try_from(wire: v1::Conditions) -> Result<Self, Malformed> {
        at_most(wire.applied.len(), MAX_NOTES, "applied")?;
        let applied = wire.applied.iter().enumerate().map(|(index, setting)| {
            enumerated::<v1::Setting, Setting>(*setting, "setting").within_nth("applied", index)
        });
        Ok(Self {
            before: required(wire.before, "before")?,
            after: required(wire.after, "after")?,
            cpus: wire.cpus.map(|list| cpu_set(&list, "cpus")).transpose()?,
            env_bytes: wire.env_bytes,
            env_padding: wire.env_padding,
            directory_bytes: wire.directory_bytes,
            file_system: optional(wire.file_system, "file_system")?,
            software: optional(wire.software, "software")?,
            applied: applied.collect::<Result<_, _>>()?,
            unmet: each(wire.unmet, MAX_NOTES, "unmet")?,
            disturbances: each(wire.disturbances, MAX_NOTES, "disturbances")?,
        })
    }
}

impl From<&FileSystem> for v1::FileSystem {
    fn from(file_system: &FileSystem) -> Self {
        let location = v1::Location::from(file_system.location).into();
        Self { kind: file_system.kind.clone(), location }
    }
}

impl TryFrom<v1::FileSystem> for FileSystem {
    type Error = Malformed;

    fn try_from(wire: v1::FileSystem) -> Result<Self, Malformed> {
        let location = enumerated::<v1::Location, _>(wire.location, "location")?;
        Ok(Self { kind: cut(wire.kind, MAX_KIND_BYTES), location })
    }
}

impl From<&Unmet> for v1::Unmet {
    fn from(unmet: &Unmet) -> Self {
        Self { setting: v1::Setting::from(unmet.setting).into(), reason: unmet.reason.clone() }
    }
}

impl TryFrom<v1::Unmet> for Unmet {
    type Error = Malformed;

    fn try_from(wire: v1::Unmet) -> Result<Self, Malformed> {
        let setting = enumerated::<v1::Setting, _>(wire.setting, "setting")?;
        Ok(Self { setting, reason: reason(wire.reason) })
    }
}

impl From<&Reading> for v1::Reading {
    fn from(reading: &Reading) -> Self {
        Self {
            load: reading.load.map(Into::into),
            runnable: reading.runnable,
            pressure_cpu: reading.pressure_cpu.map(Into::into),
            pressure_memory: reading.pressure_memory.map(Into::into),
            pressure_io: reading.pressure_io.map(Into::into),
            cpu_time: reading.cpu_time.map(Into::into),
            frequency: reading.frequency.map(Into::into),
            temperature_mc: reading.temperature_mc,
            throttled: reading.throttled.map(Into::into),
            available_bytes: reading.available_bytes,
            cached_bytes: reading.cached_bytes,
        }
    }
}

/// Nothing in a reading can be malformed: all of it is numbers, and each may be absent.
impl TryFrom<v1::Reading> for Reading {
    type Error = Malformed;

    fn try_from(wire: v1::Reading) -> Result<Self, Malformed> {
        Ok(Self {
            load: optional(wire.load, "load")?,
            runnable: wire.runnable,
            pressure_cpu: optional(wire.pressure_cpu, "pressure_cpu")?,
            pressure_memory: optional(wire.pressure_memory, "pressure_memory")?,
            pressure_io: optional(wire.pressure_io, "pressure_io")?,
            cpu_time: optional(wire.cpu_time, "cpu_time")?,
            frequency: optional(wire.frequency, "frequency")?,
            temperature_mc: wire.temperature_mc,
            throttled: optional(wire.throttled, "throttled")?,
            available_bytes: wire.available_bytes,
            cached_bytes: wire.cached_bytes,
        })
    }
}

impl From<&Disturbance> for v1::Disturbance {
    fn from(disturbance: &Disturbance) -> Self {
        let disturbance = match disturbance {
            Disturbance::Stolen { ns } => WireDisturbance::StolenNs(*ns),
            Disturbance::Throttled { count } => WireDisturbance::ThrottledCount(*count),
            Disturbance::Pressure { resource, ns } => {
                let resource = v1::Resource::from(*resource).into();
                WireDisturbance::Pressure(Stalled { resource, ns: *ns })
            }
            Disturbance::OtherLoad { ns } => WireDisturbance::OtherLoadNs(*ns),
            Disturbance::FrequencyChanged { before_khz, after_khz } => {
                let (before_khz, after_khz) = (*before_khz, *after_khz);
                WireDisturbance::FrequencyChanged(FrequencyChanged { before_khz, after_khz })
            }
            Disturbance::ProgramStopped { signal } => WireDisturbance::ProgramStopped((*signal).into()),
            Disturbance::AgentStopped => WireDisturbance::AgentStopped(AgentStopped {}),
            Disturbance::CleanupFailed { reason } => WireDisturbance::CleanupFailed(reason.clone()),
        };
        Self { disturbance: Some(disturbance) }
    }
}

impl TryFrom<v1::Disturbance> for Disturbance {
    type Error = Malformed;

    fn try_from(wire: v1::Disturbance) -> Result<Self, Malformed> {
        Ok(match chosen(wire.disturbance, "disturbance")? {
            WireDisturbance::StolenNs(ns) => Self::Stolen { ns },
            WireDisturbance::ThrottledCount(count) => Self::Throttled { count },
            WireDisturbance::Pressure(Stalled { resource, ns }) => {
                Self::Pressure { resource: enumerated::<v1::Resource, _>(resource, "pressure.resource")?, ns }
            }
            WireDisturbance::OtherLoadNs(ns) => Self::OtherLoad { ns },
            WireDisturbance::FrequencyChanged(FrequencyChanged { before_khz, after_khz }) => {
                Self::FrequencyChanged { before_khz, after_khz }
            }
            WireDisturbance::ProgramStopped(signal) => {
                Self::ProgramStopped { signal: small(signal, "program_stopped")? }
            }
            WireDisturbance::AgentStopped(AgentStopped {}) => Self::AgentStopped,
            WireDisturbance::CleanupFailed(text) => Self::CleanupFailed { reason: reason(text) },
        })
    }
}
