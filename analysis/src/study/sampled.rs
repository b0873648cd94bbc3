//! The samples of the benchmarks that take part, as the methods take them.

use super::Study;
use super::cell::CellRecords;
use crate::Sample;
use speedup_core::metric::Metric;

/// A benchmark with the samples of its versions.
pub(super) struct Sampled<'a> {
    pub(super) name: &'a str,
    pub(super) weight: Option<f64>,
    pub(super) records: &'a [CellRecords],
    pub(super) samples: Vec<Option<Sample>>,
    /// The host of each run of each sample, by the order of the hosts' names.
    pub(super) hosts: Vec<Vec<u32>>,
}

impl<'a> Sampled<'a> {
    /// The benchmarks that take part, in plan order.
    pub(super) fn all(study: &'a Study, versions: usize) -> Vec<Self> {
        let by_name = numbers_by_name(study);
        let taking_part = study.plan.benchmarks.iter().zip(study.cells.chunks(versions));
        let named = taking_part
            .filter_map(|(index, records)| Some((study.plan.experiment.benchmark(*index)?, records)));
        named
            .map(|(benchmark, records)| Self {
                name: &benchmark.name,
                weight: benchmark.weight,
                records,
                samples: records.iter().map(|cell| cell.sample(Metric::Wall).ok()).collect(),
                hosts: records
                    .iter()
                    .map(|cell| {
                        cell.hosts_in_run_order(Metric::Wall)
                            .iter()
                            .map(|host| by_name[*host as usize])
                            .collect()
                    })
                    .collect(),
            })
            .collect()
    }
}

/// The place of each host among their sorted names, by its number in the study: that number is by the order in which
/// attempts came, which must not reach a report.
fn numbers_by_name(study: &Study) -> Vec<u32> {
    let mut by_name = vec![0; study.hosts.len()];
    for (place, number) in (0..).zip(study.hosts.values()) {
        by_name[*number as usize] = place;
    }
    by_name
}
