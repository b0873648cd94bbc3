//! Control groups: what a run and all that it starts used together, whoever waits for whom, and an end for all of it.
//!
//! A group is made for a run that wants a metric of one, beneath the agent's own; the child joins it before the clock
//! starts. With version 2 one group tells all; with version 1 each controller has a hierarchy of its own, and a host may
//! have both versions, each with some of the controllers. A run that wants none joins none: to join costs the agent up to
//! milliseconds, and a program whose memory is accounted allocates a little slower.
//!
//! In reading order: `hierarchy` (where the groups of this host lie), `group` (one group of one run). Source: the
//! kernel's `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/memory.rst` and `cgroup-v1/cpuacct.rst`.

mod group;
mod hierarchy;

use std::{io, path::PathBuf, sync::atomic::AtomicU64, sync::atomic::Ordering};

use speedup_core::experiment::metric::{Absence, Metric};

use group::Group;
pub(in crate::launch) use hierarchy::own_unified_group;
use hierarchy::{Hierarchies, Hierarchy};

use super::absence_of;
use crate::launch::{execution::MetricReadings, report::Report};

/// Tells the groups of this process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(in crate::launch) struct Cgroups {
    hierarchies: Hierarchies,
}

/// The groups of one run.
#[derive(Debug, Default)]
pub(in crate::launch) struct Groups(Vec<(Group, Vec<Metric>)>);

/// The groups of this process beneath which those of runs would be made, each with what keeps it from that. Nothing is
/// changed.
pub fn control_groups() -> Vec<(PathBuf, io::Result<()>)> {
    let hierarchies = Hierarchies::of_this_process();
    let look = |hierarchy: &Hierarchy| {
        let may = rustix::fs::access(&hierarchy.directory, rustix::fs::Access::WRITE_OK);
        (hierarchy.directory.clone(), may.map_err(io::Error::from))
    };
    hierarchies.all().map(look).collect()
}

impl Cgroups {
    /// The host's hierarchies. Groups of agents that are gone are ended and removed.
    pub(in crate::launch) fn find() -> Self {
        let hierarchies = Hierarchies::of_this_process();
        for hierarchy in hierarchies.all() {
            group::remove_orphans(&hierarchy.directory);
        }
        Self { hierarchies }
    }

    /// New groups for those of the wanted metrics that are told by one; the reasons for those that cannot be are noted.
    pub(in crate::launch) fn groups(&mut self, wanted: &[Metric], readings: &mut MetricReadings) -> Groups {
        let memory: Vec<Metric> =
            wanted.iter().copied().filter(|metric| *metric == Metric::MemoryPeak).collect();
        let times = [Metric::TreeCpu, Metric::TreeUser, Metric::TreeSystem];
        let cpu: Vec<Metric> = wanted.iter().copied().filter(|metric| times.contains(metric)).collect();
        let mut groups = Groups::default();
        if memory.is_empty() && cpu.is_empty() {
            return groups;
        }
        let name = format!("{}{}", group::prefix_of_this_process(), NEXT.fetch_add(1, Ordering::Relaxed));
        if !memory.is_empty() {
            groups.join(self.hierarchies.memory(), &name, &memory, readings);
        }
        if !cpu.is_empty() {
            groups.join(self.hierarchies.cpu(), &name, &cpu, readings);
        }
        groups
    }
}

impl Groups {
    /// Adds the metrics to the group in this hierarchy, which is made if it is not there.
    fn join(
        &mut self,
        hierarchy: Result<&Hierarchy, Absence>,
        name: &str,
        metrics: &[Metric],
        readings: &mut MetricReadings,
    ) {
        let made = hierarchy.and_then(|hierarchy| {
            let directory = hierarchy.directory.join(name);
            match self.0.iter_mut().find(|(group, _)| group.directory() == directory) {
                Some((_, others)) => others.extend(metrics),
                None => self.0.push((Group::make(hierarchy.version, directory)?, metrics.to_vec())),
            }
            Ok(())
        });
        if let Err(absence) = made {
            readings.are_absent(metrics, &absence);
        }
    }

    pub(in crate::launch) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lets the calling process join. Safe to call between clone and `execve`; a group that cannot be joined is noted in
    /// the report.
    pub(in crate::launch) fn join_in_child(&self, report: &Report) {
        for (number, (group, _)) in self.0.iter().enumerate() {
            if let Err(errno) = group.join_in_child() {
                report.not_joined(number, errno);
            }
        }
    }

    /// Kills all that is in the groups.
    pub(in crate::launch) fn kill(&self) {
        for (group, _) in &self.0 {
            group.kill();
        }
    }

    /// Takes the readings, and removes the groups.
    pub(in crate::launch) fn finish(self, report: &Report, readings: &mut MetricReadings) {
        for (number, (group, metrics)) in self.0.into_iter().enumerate() {
            if let Some(errno) = report.errno_of_joining(number) {
                let error = std::io::Error::from_raw_os_error(errno);
                let absence = absence_of("join the control group", &error);
                readings.are_absent(&metrics, &absence);
                continue;
            }
            for metric in metrics {
                match group.value(metric) {
                    Ok(value) => _ = readings.values.insert(metric, value),
                    Err(absence) => readings.is_absent(metric, absence),
                }
            }
        }
    }
}
