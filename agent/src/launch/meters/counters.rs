//! Counters of the hardware and of the scheduler, by `perf_event_open`.
//!
//! They are opened on the agent's own thread, switched off, to be inherited and to be switched on by `execve`: so the
//! agent and the child that is still part of it are never counted, the program is from its first instruction, and so is
//! all that it starts. What a process counted is added to the agent's counter when it ends. A counter costs nothing
//! when none is wanted.
//!
//! Where the host keeps unprivileged users from counting in the kernel (`perf_event_paranoid` of 2, the default of most
//! distributions), only user mode is counted, and the reading says so. See `perf_event_open(2)`.
#![expect(unsafe_code, reason = "perf_event_open has no safe interface")]

use std::{os::fd::FromRawFd, os::fd::OwnedFd, ptr};

use rustix::io::Errno;
use speedup_core::experiment::metric::{Absence, Metric};

use super::absence_of;
use crate::launch::{errno, execution::MetricReadings};

/// The kernel's `struct perf_event_attr` as it was first published, which every later kernel takes.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_kind: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_kind: u32,
    breakpoint_address: u64,
}

/// Its size, by which the kernel tells the versions apart: `PERF_ATTR_SIZE_VER0`.
const ATTRIBUTES_BYTES: u32 = 64;
const _: () = assert!(size_of::<Attributes>() == ATTRIBUTES_BYTES as usize);

const KIND_HARDWARE: u32 = 0;
const KIND_SOFTWARE: u32 = 1;
/// With the count, how long the counter was switched on and how long it counted.
const READ_TIMES: u64 = 0b11;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// The flags are a bit field of C, whose first bit is the lowest of a little-endian machine and the highest of another.
const fn flag(number: u32) -> u64 {
    if cfg!(target_endian = "little") { 1 << number } else { 1 << (63 - number) }
}
const DISABLED: u64 = flag(0);
const INHERIT: u64 = flag(1);
const EXCLUDE_KERNEL: u64 = flag(5);
const EXCLUDE_HYPERVISOR: u64 = flag(6);
const ENABLE_ON_EXEC: u64 = flag(12);

#[derive(Debug)]
pub(in crate::launch) struct Counters(Vec<Counter>);

#[derive(Debug)]
struct Counter {
    metric: Metric,
    fd: OwnedFd,
    user_only: bool,
}

impl Counters {
    pub(in crate::launch) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counters for those of the wanted metrics that are counted so; the reasons for those that cannot be are noted.
    pub(in crate::launch) fn open(wanted: &[Metric], readings: &mut MetricReadings) -> Self {
        let mut counters = Vec::new();
        for (metric, event) in wanted.iter().filter_map(|metric| Some((*metric, event(*metric)?))) {
            match open(metric, event) {
                Ok(counter) => counters.push(counter),
                Err(absence) => readings.is_absent(metric, absence),
            }
        }
        Self(counters)
    }

    /// Reads them, when all that was counted has ended.
    pub(in crate::launch) fn read(self, readings: &mut MetricReadings) {
        for counter in self.0 {
            match counter.read() {
                Ok(value) => {
                    readings.values.insert(counter.metric, value);
                    if counter.user_only {
                        readings.user_only.insert(counter.metric);
                    }
                }
                Err(absence) => readings.is_absent(counter.metric, absence),
            }
        }
    }
}

impl Counter {
    fn read(&self) -> Result<u64, Absence> {
        let mut words = [[0_u8; 8]; 3];
        let got = rustix::io::read(&self.fd, words.as_flattened_mut())
            .map_err(|errno| absence_of("read the counter", &errno.into()))?;
        if got < words.as_flattened().len() {
            return Err(Absence::NotCounted);
        }
        let [count, switched_on_ns, counted_ns] = words.map(u64::from_ne_bytes);
        match counted_ns {
            0 => Err(Absence::NotCounted),
            counted_ns if counted_ns < switched_on_ns => Err(Absence::Multiplexed),
            _ => Ok(count),
        }
    }
}

/// Metrics that are events of the kernel, each with the kind of its event and its number (`linux/perf_event.h`).
const EVENTS: [(Metric, (u32, u64)); 8] = [
    (Metric::Cycles, (KIND_HARDWARE, 0)),
    (Metric::Instructions, (KIND_HARDWARE, 1)),
    (Metric::CacheReferences, (KIND_HARDWARE, 2)),
    (Metric::CacheMisses, (KIND_HARDWARE, 3)),
    (Metric::Branches, (KIND_HARDWARE, 4)),
    (Metric::BranchMisses, (KIND_HARDWARE, 5)),
    (Metric::TaskClock, (KIND_SOFTWARE, 1)),
    (Metric::CpuMigrations, (KIND_SOFTWARE, 4)),
];

/// The event of a metric, if it is one.
fn event(metric: Metric) -> Option<(u32, u64)> {
    EVENTS.iter().find(|(counted, _)| *counted == metric).map(|(_, event)| *event)
}

/// What is left of a metric when the kernel's part is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WithoutKernel {
    /// All of it: the event is no event of a mode.
    Whole,
    /// The part in user mode.
    UserPart,
    /// Nothing: it happens in the kernel, and would be read as zero.
    Nothing,
}

fn without_kernel(metric: Metric, (kind, _): (u32, u64)) -> WithoutKernel {
    if metric == Metric::TaskClock {
        WithoutKernel::Whole
    } else if kind == KIND_HARDWARE {
        WithoutKernel::UserPart
    } else {
        WithoutKernel::Nothing
    }
}

fn open(metric: Metric, event: (u32, u64)) -> Result<Counter, Absence> {
    let refused = |errno: Errno| match errno {
        Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP | Errno::NOSYS => Absence::Unsupported,
        errno => absence_of("open the counter", &errno.into()),
    };
    match perf_event_open(event, 0) {
        Ok(fd) => Ok(Counter { metric, fd, user_only: false }),
        Err(Errno::ACCESS | Errno::PERM) => {
            let left = without_kernel(metric, event);
            if left == WithoutKernel::Nothing {
                return Err(Absence::NotPermitted);
            }
            let fd = perf_event_open(event, EXCLUDE_KERNEL).map_err(refused)?;
            Ok(Counter { metric, fd, user_only: left == WithoutKernel::UserPart })
        }
        Err(errno) => Err(refused(errno)),
    }
}

/// A counter on this thread, on whatever CPU it runs.
fn perf_event_open((kind, config): (u32, u64), flags: u64) -> Result<OwnedFd, Errno> {
    let attributes = Attributes {
        kind,
        size: ATTRIBUTES_BYTES,
        config,
        read_format: READ_TIMES,
        flags: flags | DISABLED | INHERIT | ENABLE_ON_EXEC | EXCLUDE_HYPERVISOR,
        ..Attributes::default()
    };
    // SAFETY: the kernel reads a structure of our own, of the size that stands in it, and makes a descriptor.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, ptr::from_ref(&attributes), 0, -1, -1, CLOSE_ON_EXEC)
    };
    match i32::try_from(fd) {
        // SAFETY: the kernel has just made this descriptor for us.
        Ok(fd @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(errno::last()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_was_never_switched_on_has_no_value() {
        let mut readings = MetricReadings::default();
        Counters::open(&[Metric::TaskClock, Metric::Wall], &mut readings).read(&mut readings);
        assert!(readings.values.is_empty());
        assert_eq!(readings.absent.keys().copied().collect::<Vec<_>>(), [Metric::TaskClock]);
    }
}
