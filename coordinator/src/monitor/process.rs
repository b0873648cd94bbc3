//! This process, under the names that Prometheus gives the figures of any process.

use std::fs;

use prometheus::{Counter, IntGauge};
use rustix::{process::Resource, process::getrlimit, time::ClockId, time::clock_gettime};

use super::gauge_value;
use crate::metrics::Registrar;

pub(super) struct ProcessMetrics {
    /// The kernel's count, put here whenever it is read.
    cpu: Counter,
    resident: IntGauge,
    threads: IntGauge,
    open: IntGauge,
    most_open: IntGauge,
}

impl ProcessMetrics {
    pub(super) fn new(make: &Registrar) -> Self {
        Self {
            cpu: make.register(Counter::new("process_cpu_seconds_total", "Processor time that was used.")),
            resident: make.register(IntGauge::new("process_resident_memory_bytes", "Memory in use.")),
            threads: make.register(IntGauge::new("process_threads", "Threads.")),
            open: make.register(IntGauge::new("process_open_fds", "Open files; each connection is one.")),
            most_open: make.register(IntGauge::new("process_max_fds", "Most open files there may be.")),
        }
    }

    /// Reads the figures; those that cannot be read stay as they were.
    pub(super) fn show(&self) {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        // The counter is set to the kernel's total: it can only add, so it starts again from zero.
        self.cpu.reset();
        self.cpu.inc_by(used.tv_sec as f64 + used.tv_nsec as f64 / 1e9);
        // Where /proc is hidden, the page keeps its last figures rather than showing zeros.
        if let Ok(status) = fs::read_to_string("/proc/self/status") {
            if let Some(kibibytes) = field(&status, "VmRSS") {
                self.resident.set(gauge_value(kibibytes.saturating_mul(1 << 10)));
            }
            if let Some(threads) = field(&status, "Threads") {
                self.threads.set(gauge_value(threads));
            }
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            self.open.set(gauge_value(files.count() as u64));
        }
        // No limit is shown as the largest number, as Prometheus has no word for it.
        let most = getrlimit(Resource::Nofile).current;
        self.most_open.set(most.map_or(i64::MAX, gauge_value));
    }
}

/// A number in `/proc/self/status`, in the unit that stands behind it.
fn field(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_without_their_units() {
        let status = "Name:\tThreads: 9\nVmRSS:\t    1234 kB\nThreads:\t5\n";
        assert_eq!((field(status, "VmRSS"), field(status, "Threads")), (Some(1_234), Some(5)));
        assert_eq!(field(status, "VmSwap"), None);
    }
}
