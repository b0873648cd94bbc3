//! The meters of the host beside the clock and `wait4`, all that a run wants of them together. A meter that is not there,
//! or that the agent may not use, is no reason not to execute the run: the reading says why it has no value.

use std::{io, path::Path, path::PathBuf};

use speedup_core::experiment::metric::{Absence, MAX_ABSENCE_BYTES, Metric};

pub(super) mod cgroup;
mod counters;
mod energy;

use cgroup::{Cgroups, Groups};
use counters::Counters;
use energy::Energy;

use super::{execution::MetricReadings, report::Report};

/// What is kept of the meters between runs.
#[derive(Debug)]
pub(super) struct Meters {
    root: PathBuf,
    cgroups: Cgroups,
}

#[derive(Debug)]
pub(super) struct Running {
    readings: MetricReadings,
    groups: Groups,
    counters: Counters,
    energy: Energy,
}

impl Meters {
    /// The meters of the host whose files are under `root`. What an agent that crashed left in the control groups is
    /// ended and removed.
    pub(super) fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), cgroups: Cgroups::find() }
    }

    /// Prepares the meters of the wanted metrics. To be called when all else is prepared.
    pub(super) fn begin(&mut self, wanted: &[Metric]) -> Running {
        let mut readings = MetricReadings::default();
        Running {
            groups: self.cgroups.groups(wanted, &mut readings),
            counters: Counters::open(wanted, &mut readings),
            energy: Energy::begin(&self.root, wanted, &mut readings),
            readings,
        }
    }
}

impl Running {
    /// Whether they would count a process from which the program starts.
    pub(super) fn count_processes(&self) -> bool {
        !(self.groups.is_empty() && self.counters.is_empty())
    }

    /// What the child joins.
    pub(super) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Takes the readings of the run's time, and ends what is left in the control groups. To be called when the child is
    /// gone, after a run of so long.
    pub(super) fn stop(&mut self, wall_ns: u64) {
        std::mem::take(&mut self.energy).end(wall_ns, &mut self.readings);
        self.groups.kill();
    }

    /// Takes the other readings. To be called when nothing of the run is left.
    pub(super) fn finish(mut self, report: &Report) -> MetricReadings {
        self.counters.read(&mut self.readings);
        self.groups.finish(report, &mut self.readings);
        self.readings
    }
}

/// Why an attempt at a meter leaves a metric without a value.
pub(super) fn absence_of(tried: &str, error: &io::Error) -> Absence {
    match error.kind() {
        io::ErrorKind::NotFound => Absence::Unsupported,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Absence::NotPermitted,
        _ => unreadable(format!("cannot {tried}: {error}")),
    }
}

pub(super) fn unreadable(mut reason: String) -> Absence {
    reason.truncate(reason.floor_char_boundary(MAX_ABSENCE_BYTES));
    Absence::Unreadable { reason }
}

/// The number that a file of the kernel holds.
pub(super) fn read_number(file: &Path) -> Result<u64, Absence> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| absence_of(&format!("read {}", file.display()), &error))?;
    let text = text.trim();
    text.parse().map_err(|_| unreadable(format!("{} holds {text:?}, no number", file.display())))
}
