//! What disturbs a run, and when it is worth a mark.
//!
//! The thresholds are of two kinds: a share below which a disturbance drowns in the variation that any run has, and a
//! least amount below which the kernel's accounting cannot tell it from nothing.

use serde::{Deserialize, Serialize};

use crate::run::reading::{Pressure, Reading};

/// The tick in which the kernel counts the time of CPUs (`USER_HZ` is 100 on every architecture of today).
pub const TICK_NS: u64 = 10_000_000;
/// Ticks by which the count of one CPU's time can be wrong between two readings: its parts are rounded down one by one.
const TICKS_UNKNOWN: u64 = 2;
/// The share of the CPUs' time that others may use: an idle Linux host uses some tenths of a percent.
const OTHER_LOAD_SHARE: f64 = 0.01;
/// The share of the run's time that a hypervisor may take. It stops the program, so less matters than of other load.
const STOLEN_SHARE: f64 = 0.001;
/// The share of the run's time in which tasks may stall.
const PRESSURE_SHARE: f64 = 0.01;
/// The shortest stall that is told: below, it is a few switches between tasks.
const PRESSURE_LEAST_NS: u64 = 1_000_000;
/// The share by which the mean frequency may differ where it is meant to stand still: readings differ by the ratio of
/// two counters that are not read at once.
const FREQUENCY_SHARE: f64 = 0.02;

/// What disturbed a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Disturbance {
    /// The hypervisor took the CPUs of the run for others.
    Stolen {
        /// For so long, summed over the CPUs.
        ns: u64,
    },
    /// The processor throttled itself for heat or power.
    Throttled { count: u64 },
    /// Tasks stalled for want of a resource, and the run alone cannot have been the cause.
    Pressure { resource: Resource, ns: u64 },
    /// Others than the run used its CPUs.
    OtherLoad {
        /// For so long, summed over the CPUs.
        ns: u64,
    },
    /// The frequency was to be constant, and its means before and after the run differ.
    FrequencyChanged { before_khz: u64, after_khz: u64 },
    /// The program was stopped for a while, which its time includes. It may have done so itself.
    ProgramStopped { signal: u8 },
    /// The agent was stopped for a while, and went on before the program ended. Who stopped it may have stopped more.
    AgentStopped,
    /// The cleanup after the run failed: what it should have undone may still be there.
    CleanupFailed { reason: String },
}

/// What tasks can stall for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Resource {
    Cpu,
    Memory,
    Io,
}

/// What is known of the time between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub elapsed_ns: u64,
    pub cpus: u32,
    /// CPU time of the run.
    pub run_ns: u64,
    /// CPU time of the agent.
    pub agent_ns: u64,
    /// Whether the run read from devices or wrote to them.
    pub run_used_devices: bool,
    /// Whether the environment holds the frequency still.
    pub frequency_is_held: bool,
}

impl Disturbance {
    /// Its code name in exports and reports.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Stolen { .. } => "stolen",
            Self::Throttled { .. } => "throttled",
            Self::Pressure { resource: Resource::Cpu, .. } => "pressure_cpu",
            Self::Pressure { resource: Resource::Memory, .. } => "pressure_memory",
            Self::Pressure { resource: Resource::Io, .. } => "pressure_io",
            Self::OtherLoad { .. } => "other_load",
            Self::FrequencyChanged { .. } => "frequency_changed",
            Self::ProgramStopped { .. } => "program_stopped",
            Self::AgentStopped => "agent_stopped",
            Self::CleanupFailed { .. } => "cleanup_failed",
        }
    }

    /// It in words.
    pub fn words(&self) -> String {
        match self {
            Self::Stolen { ns } => format!("the hypervisor took {}", ms(*ns)),
            Self::Throttled { count } => format!("the processor was throttled {count} times"),
            Self::Pressure { resource, ns } => {
                let resource = match resource {
                    Resource::Cpu => "a CPU",
                    Resource::Memory => "memory",
                    Resource::Io => "a device",
                };
                format!("tasks stalled on {resource} for {}", ms(*ns))
            }
            Self::OtherLoad { ns } => format!("others used the run's CPUs for {}", ms(*ns)),
            Self::FrequencyChanged { before_khz, after_khz } => {
                format!("the frequency went from {before_khz} kHz to {after_khz} kHz")
            }
            Self::ProgramStopped { signal } => format!("signal {signal} stopped the program for a while"),
            Self::AgentStopped => "the agent was stopped for a while".to_owned(),
            Self::CleanupFailed { reason } => format!("the cleanup failed: {reason}"),
        }
    }
}

/// What disturbed the run between two readings, each kind at most once. What either reading lacks is not judged.
pub fn judge(before: &Reading, after: &Reading, window: &Window) -> Vec<Disturbance> {
    let mut found = Vec::new();
    let mut other_load = None;
    let cpu_time = before.cpu_time.zip(after.cpu_time);
    if let Some((before, after)) = cpu_time {
        let ns = after.stolen_ns.saturating_sub(before.stolen_ns);
        if window.tells_stolen(ns) {
            found.push(Disturbance::Stolen { ns });
        }
        let busy = after.busy_ns.saturating_sub(before.busy_ns);
        let ns = busy.saturating_sub(window.run_ns).saturating_sub(window.agent_ns);
        other_load = Some(ns).filter(|ns| window.tells_load(*ns));
    }
    if let Some((before, after)) = before.throttled.zip(after.throttled) {
        let core = after.core.saturating_sub(before.core);
        let count = core.saturating_add(after.package.saturating_sub(before.package));
        if count > 0 {
            found.push(Disturbance::Throttled { count });
        }
    }
    // A program with more threads than CPUs, or that reads files, stalls for itself: that is its nature and no
    // disturbance. Want of memory is the host's.
    let others_stall = other_load.is_some() || cpu_time.is_none() && window.run_ns <= window.elapsed_ns;
    for (resource, before, after, is_the_hosts) in [
        (Resource::Cpu, before.pressure_cpu, after.pressure_cpu, others_stall),
        (Resource::Memory, before.pressure_memory, after.pressure_memory, true),
        (Resource::Io, before.pressure_io, after.pressure_io, !window.run_used_devices),
    ] {
        if is_the_hosts && let Some(ns) = stalled(before, after, window) {
            found.push(Disturbance::Pressure { resource, ns });
        }
    }
    found.extend(other_load.map(|ns| Disturbance::OtherLoad { ns }));
    found.extend(frequency_changed(before, after, window));
    found
}

/// How long tasks stalled between two readings of the pressure on a resource, if it is worth telling.
fn stalled(before: Option<Pressure>, after: Option<Pressure>, window: &Window) -> Option<u64> {
    let ns = after?.total_us.saturating_sub(before?.total_us).saturating_mul(1_000);
    (ns >= PRESSURE_LEAST_NS && exceeds(ns, PRESSURE_SHARE, window.elapsed_ns)).then_some(ns)
}

impl Window {
    fn tells_load(&self, ns: u64) -> bool {
        let cpus = u64::from(self.cpus);
        ns > cpus * TICKS_UNKNOWN * TICK_NS
            && exceeds(ns, OTHER_LOAD_SHARE, self.elapsed_ns.saturating_mul(cpus))
    }

    /// The kernel counts stolen time as the hypervisor tells it, so a tick of it is one.
    fn tells_stolen(&self, ns: u64) -> bool {
        ns >= TICK_NS && exceeds(ns, STOLEN_SHARE, self.elapsed_ns)
    }
}

fn frequency_changed(before: &Reading, after: &Reading, window: &Window) -> Option<Disturbance> {
    let (before, after) = before.frequency.zip(after.frequency)?;
    let before_khz = before.mean_khz;
    let after_khz = after.mean_khz;
    let changed = exceeds(before_khz.abs_diff(after_khz), FREQUENCY_SHARE, before_khz);
    (window.frequency_is_held && changed).then_some(Disturbance::FrequencyChanged { before_khz, after_khz })
}

fn ms(ns: u64) -> String {
    format!("{:.1} ms", ns as f64 / 1e6)
}

fn exceeds(part: u64, share: f64, whole: u64) -> bool {
    part as f64 > share * whole as f64
}

#[cfg(test)]
mod tests;
