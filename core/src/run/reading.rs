//! One look at a host, before a run or after it: what it was doing. What cannot be read on a host is absent, never zero.

use serde::{Deserialize, Serialize};

/// One reading of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    pub load: Option<Load>,
    /// Tasks that could run at this moment, the agent among them.
    pub runnable: Option<u32>,
    /// Stalls for want of a CPU.
    pub pressure_cpu: Option<Pressure>,
    /// Stalls for want of memory.
    pub pressure_memory: Option<Pressure>,
    /// Stalls on input and output.
    pub pressure_io: Option<Pressure>,
    /// What the CPUs of the run did since the host booted.
    pub cpu_time: Option<CpuTime>,
    /// The frequencies of the CPUs of the run.
    pub frequency: Option<Frequency>,
    /// The highest temperature of the processor, in thousandths of a degree Celsius.
    pub temperature_mc: Option<i32>,
    /// How often the CPUs of the run were throttled since the host booted.
    pub throttled: Option<Throttled>,
    /// Memory that programs can have without swapping, bytes.
    pub available_bytes: Option<u64>,
    /// Memory that holds contents of files, bytes.
    pub cached_bytes: Option<u64>,
}

/// Load averages in percent: 100 is one task that runs or waits for a CPU or a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Over the last minute.
    pub one_percent: u32,
    pub five_percent: u32,
    pub fifteen_percent: u32,
}

/// Pressure stall information: the time in which some task stalled for want of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// Of the last ten seconds, in hundredths of a percent.
    pub recent: u32,
    /// Since the host booted, microseconds.
    pub total_us: u64,
}

/// What CPUs did since the host booted, summed over them. The kernel counts in ticks of 10 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// Executing anything, nanoseconds.
    pub busy_ns: u64,
    /// Waiting for a device with nothing else to do, nanoseconds.
    pub iowait_ns: u64,
    /// Taken by the hypervisor for others, nanoseconds.
    pub stolen_ns: u64,
}

/// Frequencies of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frequency {
    pub min_khz: u64,
    /// The mean, kHz, rounded down.
    pub mean_khz: u64,
    pub max_khz: u64,
}

/// How often CPUs were throttled for heat or power since the host booted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttled {
    pub core: u64,
    pub package: u64,
}
