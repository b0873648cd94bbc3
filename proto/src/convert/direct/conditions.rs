//! The conditions of a run.

use speedup_core::experiment::environment::Setting;
use speedup_core::run::conditions::{Conditions, MAX_NOTES};
use speedup_core::run::reading::{CpuTime, Frequency, Load, Pressure, Reading, Throttled};

use super::fields::{Fields, Unusual, Value, once};
use crate::convert::wire::field::{cpu_set, enumerated};
use crate::v1;

/// Reads an encoded `speedup.v1.Conditions`.
pub(super) fn conditions(bytes: &[u8]) -> Result<Conditions, Unusual> {
    let mut conditions = Conditions::default();
    let mut before = None;
    let mut after = None;
    let mut fields = Fields::of(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => once(&mut before, reading(value)?)?,
            2 => once(&mut after, reading(value)?)?,
            3 => conditions.cpus = Some(cpu_set(value.text()?, "cpus")?),
            4 => conditions.env_bytes = Some(value.number()?),
            5 => conditions.env_padding = Some(value.number()?),
            6 => settings(value, &mut conditions.applied)?,
            7 => conditions.unmet.push(value.message::<v1::Unmet>()?.try_into()?),
            8 => conditions.disturbances.push(value.message::<v1::Disturbance>()?.try_into()?),
            9 => conditions.directory_bytes = Some(value.number()?),
            10 => once(&mut conditions.file_system, value.message::<v1::FileSystem>()?.try_into()?)?,
            11 => once(&mut conditions.software, value.message::<v1::UsedSoftware>()?.try_into()?)?,
            _ => return Err(Unusual),
        }
    }
    let longest = conditions.applied.len().max(conditions.unmet.len()).max(conditions.disturbances.len());
    if longest > MAX_NOTES {
        return Err(Unusual);
    }
    Ok(Conditions { before: before.ok_or(Unusual)?, after: after.ok_or(Unusual)?, ..conditions })
}

/// A packed list of settings.
fn settings(value: Value<'_>, to: &mut Vec<Setting>) -> Result<(), Unusual> {
    for number in value.packed()? {
        let number = i32::try_from(number?).map_err(|_| Unusual)?;
        to.push(enumerated::<v1::Setting, _>(number, "setting")?);
    }
    Ok(())
}

/// Reads an encoded `speedup.v1.Reading`.
fn reading(value: Value<'_>) -> Result<Reading, Unusual> {
    let mut reading = Reading::default();
    let mut fields = Fields::of(value.bytes()?);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => {
                let [one_percent, five_percent, fifteen_percent] = numbers(value)?;
                once(&mut reading.load, Load { one_percent, five_percent, fifteen_percent })?;
            }
            2 => reading.runnable = Some(value.number()?),
            3 => once(&mut reading.pressure_cpu, pressure(value)?)?,
            4 => once(&mut reading.pressure_memory, pressure(value)?)?,
            5 => once(&mut reading.pressure_io, pressure(value)?)?,
            6 => {
                let [busy_ns, iowait_ns, stolen_ns] = numbers(value)?;
                once(&mut reading.cpu_time, CpuTime { busy_ns, iowait_ns, stolen_ns })?;
            }
            7 => {
                let [min_khz, mean_khz, max_khz] = numbers(value)?;
                once(&mut reading.frequency, Frequency { min_khz, mean_khz, max_khz })?;
            }
            8 => reading.temperature_mc = Some(value.signed()?),
            9 => {
                let [core, package] = numbers(value)?;
                once(&mut reading.throttled, Throttled { core, package })?;
            }
            10 => reading.available_bytes = Some(value.number()?),
            11 => reading.cached_bytes = Some(value.number()?),
            _ => return Err(Unusual),
        }
    }
    Ok(reading)
}

fn pressure(value: Value<'_>) -> Result<Pressure, Unusual> {
    let [recent, total_us] = numbers::<u64, 2>(value)?;
    Ok(Pressure { recent: u32::try_from(recent).map_err(|_| Unusual)?, total_us })
}

/// Reads a message whose fields are numbers, counted from 1.
fn numbers<N: TryFrom<u64> + Default + Copy, const FIELDS: usize>(
    value: Value<'_>,
) -> Result<[N; FIELDS], Unusual> {
    let mut numbers = [N::default(); FIELDS];
    let mut fields = Fields::of(value.bytes()?);
    while let Some((number, value)) = fields.next()? {
        let place = (number as usize).checked_sub(1).and_then(|place| numbers.get_mut(place));
        *place.ok_or(Unusual)? = value.number()?;
    }
    Ok(numbers)
}
