//! What the coordinator reports of itself when somebody asks: its health, and gauges beside the counters of `metrics`.
//!
//! In reading order: here the machine, the journal and the disk in numbers, `engines` (what gives out hosts), `process` (this
//! process), `health` (what does not work), `pages` (two pages over plain HTTP).

mod engines;
mod health;
mod pages;
mod process;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, path::Path};

use prometheus::{IntGauge, IntGaugeVec};
use rustix::fs::statvfs;
use speedup_core::{host::Standing, machine::Machine, machine::Phase, machine::event::Tally};

use self::{engines::EngineGauges, process::ProcessMetrics};
pub(crate) use self::{health::Health, pages::Pages};
use crate::{component::CoordinatorComponent, handle::Progress, metrics::Registrar};

const PHASES: [&str; 5] = ["running", "paused", "deciding", "decided", "cancelled"];
const STATES: [&str; 7] = ["waiting", "leased", "running", "measured", "failed", "abandoned", "cancelled"];
const PRESENCES: [&str; 2] = ["here", "away"];
const STANDINGS: [&str; 3] = ["serving", "draining", "quarantined"];

/// Metrics that are set to what is measured when somebody asks for the page.
struct Gauges {
    engines: EngineGauges,
    process: ProcessMetrics,
    experiments: IntGaugeVec,
    runs: IntGaugeVec,
    hosts: IntGaugeVec,
    leases: IntGauge,
    durable: IntGauge,
    lag: IntGauge,
    free: IntGauge,
    size: IntGauge,
    files: IntGauge,
    connections: IntGauge,
    failing: IntGaugeVec,
}

/// The machine in numbers.
#[derive(Debug, Default)]
struct MachineCounts {
    /// As [`PHASES`].
    experiments: [u64; PHASES.len()],
    /// As [`STATES`]; of active experiments.
    runs: [u64; STATES.len()],
    /// As [`PRESENCES`] and [`STANDINGS`].
    hosts: [[u64; STANDINGS.len()]; PRESENCES.len()],
    leases: u64,
}

impl MachineCounts {
    /// Counts the machine. It takes the owner some microseconds for each thousand hosts.
    fn count(machine: &Machine) -> Self {
        let mut counted = Self::default();
        for active in machine.active().filter_map(|id| machine.experiment(id)) {
            let phase = match active.phase() {
                Phase::Running => 0,
                Phase::Paused { .. } => 1,
                Phase::Deciding => 2,
                Phase::Decided => 3,
                Phase::Cancelled => 4,
            };
            counted.experiments[phase] += 1;
            let Tally { waiting, leased, running, measured, failed, abandoned, cancelled, lost_attempts: _ } =
                active.tally();
            let states = [waiting, leased, running, measured, failed, abandoned, cancelled];
            for (sum, count) in counted.runs.iter_mut().zip(states) {
                *sum += u64::from(count);
            }
        }
        for host in machine.hosts() {
            let standing = match host.standing {
                Standing::Serving => 0,
                Standing::Draining { .. } => 1,
                Standing::Quarantined { .. } => 2,
            };
            counted.hosts[usize::from(!host.is_here())][standing] += 1;
            counted.leases += u64::from(host.lease.is_some());
        }
        counted
    }
}

impl Gauges {
    fn new(make: &Registrar) -> Self {
        let build = make.gauges("speedup_build_info", "The release; the value is always 1.", &["version"]);
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        Self {
            engines: EngineGauges::new(make),
            process: ProcessMetrics::new(make),
            experiments: make.gauges("speedup_experiments", "Active experiments, by phase.", &["phase"]),
            runs: make.gauges("speedup_runs", "Runs of active experiments, by state.", &["state"]),
            hosts: make.gauges(
                "speedup_hosts",
                "Hosts that were ever here, by presence and standing.",
                &["presence", "standing"],
            ),
            leases: make.register(IntGauge::new("speedup_leases", "Hosts that hold an attempt.")),
            durable: make.register(IntGauge::new(
                "speedup_journal_position",
                "The number of the next event of the journal.",
            )),
            lag: make.register(IntGauge::new(
                "speedup_store_lag_events",
                "Durable events that the store does not hold yet.",
            )),
            free: make.register(IntGauge::new(
                "speedup_data_free_bytes",
                "Space that the coordinator may still use on the disk of its data directory.",
            )),
            size: make.register(IntGauge::new(
                "speedup_data_size_bytes",
                "Size of the disk of the data directory.",
            )),
            files: make.register(IntGauge::new(
                "speedup_files_bytes",
                "Contents of files of plans and builds that are kept.",
            )),
            failing: make.gauges(
                "speedup_component_failing",
                "Whether a component of the coordinator does not work while it goes on.",
                &["component"],
            ),
            connections: make.register(IntGauge::new(
                "speedup_connections",
                "Connections that are served or shake hands.",
            )),
        }
    }

    fn show_machine(&self, counted: &MachineCounts) {
        for (phase, count) in PHASES.iter().zip(counted.experiments) {
            self.experiments.with_label_values(&[phase]).set(gauge_value(count));
        }
        for (state, count) in STATES.iter().zip(counted.runs) {
            self.runs.with_label_values(&[state]).set(gauge_value(count));
        }
        for (presence, by_standing) in PRESENCES.iter().zip(counted.hosts) {
            for (standing, count) in STANDINGS.iter().zip(by_standing) {
                self.hosts.with_label_values(&[presence, standing]).set(gauge_value(count));
            }
        }
        self.leases.set(gauge_value(counted.leases));
    }

    fn show_health(&self, failing: &BTreeSet<CoordinatorComponent>) {
        for component in CoordinatorComponent::ALL {
            self.failing.with_label_values(&[component.code()]).set(i64::from(failing.contains(&component)));
        }
    }

    fn show_progress(&self, progress: &Progress) {
        // The index is read first: it only follows the journal, so the lag is never below zero.
        let indexed = *progress.indexed.borrow();
        let durable = *progress.durable.borrow();
        self.durable.set(gauge_value(durable.0));
        self.lag.set(gauge_value(durable.0.saturating_sub(indexed.0)));
    }

    /// A disk that cannot be asked keeps the figures of before; what is wrong with it shows elsewhere.
    fn show_disk(&self, data: &Path, files: u64, connections: usize) {
        if let Ok(disk) = statvfs(data) {
            self.free.set(gauge_value(disk.f_bavail.saturating_mul(disk.f_frsize)));
            self.size.set(gauge_value(disk.f_blocks.saturating_mul(disk.f_frsize)));
        }
        self.files.set(gauge_value(files));
        self.connections.set(gauge_value(connections as u64));
    }
}

/// Converts a count to a gauge's value. No count of what memory or disk holds reaches 2^63.
fn gauge_value(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
