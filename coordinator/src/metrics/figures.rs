//! What is read when somebody asks: the machine as it is, how far the writers are, and the disk.

use std::{collections::BTreeSet, path::Path};

use prometheus::{IntGauge, IntGaugeVec};
use rustix::fs::statvfs;
use speedup_core::{host::Standing, machine::Machine, machine::Phase, machine::event::Tally};

use super::{Making, shown};
use crate::component::CoordinatorComponent;
use crate::handle::Progress;

const PHASES: [&str; 5] = ["running", "paused", "deciding", "decided", "cancelled"];
const STATES: [&str; 7] = ["waiting", "leased", "running", "measured", "failed", "abandoned", "cancelled"];
const PRESENCES: [&str; 2] = ["here", "away"];
const STANDINGS: [&str; 3] = ["serving", "draining", "quarantined"];

pub(super) struct Figures {
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

#[derive(Debug, Default)]
pub(super) struct Counted {
    /// As [`PHASES`].
    experiments: [u64; PHASES.len()],
    /// As [`STATES`]; of active experiments.
    runs: [u64; STATES.len()],
    /// As [`PRESENCES`] and [`STANDINGS`].
    hosts: [[u64; STANDINGS.len()]; PRESENCES.len()],
    leases: u64,
}

impl Counted {
    /// Counts the machine. It takes the owner some microseconds for each thousand hosts.
    pub(super) fn of(machine: &Machine) -> Self {
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
            counted.runs.iter_mut().zip(states).for_each(|(sum, of)| *sum += u64::from(of));
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

impl Figures {
    pub(super) fn new(make: &Making) -> Self {
        let build = make.numbers("speedup_build_info", "The release; the value is always 1.", &["version"]);
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        Self {
            experiments: make.numbers("speedup_experiments", "Active experiments, by phase.", &["phase"]),
            runs: make.numbers("speedup_runs", "Runs of active experiments, by state.", &["state"]),
            hosts: make.numbers(
                "speedup_hosts",
                "Hosts that were ever here, by presence and standing.",
                &["presence", "standing"],
            ),
            leases: make.number("speedup_leases", "Hosts that hold an attempt."),
            durable: make.number("speedup_journal_position", "The number of the next event of the journal."),
            lag: make.number("speedup_store_lag_events", "Durable events that the store does not hold yet."),
            free: make.number(
                "speedup_data_free_bytes",
                "Space that the coordinator may still use on the disk of its data directory.",
            ),
            size: make.number("speedup_data_size_bytes", "Size of the disk of the data directory."),
            files: make.number("speedup_files_bytes", "Contents of files of plans and builds that are kept."),
            failing: make.numbers(
                "speedup_component_failing",
                "Whether a component of the coordinator does not work while it goes on.",
                &["component"],
            ),
            connections: make.number("speedup_connections", "Connections that are served or shake hands."),
        }
    }

    pub(super) fn show_machine(&self, counted: &Counted) {
        let put =
            |of: &IntGaugeVec, label: &str, value: u64| of.with_label_values(&[label]).set(shown(value));
        PHASES
            .iter()
            .zip(counted.experiments)
            .for_each(|(phase, count)| put(&self.experiments, phase, count));
        STATES.iter().zip(counted.runs).for_each(|(state, count)| put(&self.runs, state, count));
        for (presence, of) in PRESENCES.iter().zip(counted.hosts) {
            for (standing, count) in STANDINGS.iter().zip(of) {
                self.hosts.with_label_values(&[presence, standing]).set(shown(count));
            }
        }
        self.leases.set(shown(counted.leases));
    }

    pub(super) fn show_health(&self, failing: &BTreeSet<CoordinatorComponent>) {
        for component in CoordinatorComponent::ALL {
            self.failing.with_label_values(&[component.code()]).set(i64::from(failing.contains(&component)));
        }
    }

    pub(super) fn show_progress(&self, progress: &Progress) {
        let (indexed, durable) = (*progress.indexed.borrow(), *progress.durable.borrow());
        self.durable.set(shown(durable.0));
        self.lag.set(shown(durable.0.saturating_sub(indexed.0)));
    }

    /// A disk that cannot be asked keeps the figures of before; what is wrong with it shows elsewhere.
    pub(super) fn show_disk(&self, data: &Path, files: u64, connections: usize) {
        if let Ok(disk) = statvfs(data) {
            self.free.set(shown(disk.f_bavail.saturating_mul(disk.f_frsize)));
            self.size.set(shown(disk.f_blocks.saturating_mul(disk.f_frsize)));
        }
        self.files.set(shown(files));
        self.connections.set(shown(connections as u64));
    }
}
