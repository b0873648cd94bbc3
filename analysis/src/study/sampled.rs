//! The samples of the benchmarks that take part, as the methods take them.

use super::design::{Design, IndependentUnits, Run, has_builds, in_order};
use super::{
    Study, gather::cell::CellRecords, gather::evidence::NamedLocation, gather::evidence::RunLocations,
};
use crate::conclusion::Reason;
use rayon::prelude::*;
use speedup_core::{experiment::Benchmark, experiment::metric::Metric, plan::Plan, value::id::RunIndex};
use speedup_statistics::sample::Sample;
use std::{collections::BTreeMap, sync::Arc};

/// A benchmark with the samples of its versions.
pub(crate) struct BenchmarkSamples<'a> {
    pub(crate) name: &'a str,
    pub(crate) weight: Option<f64>,
    pub(crate) records: &'a [CellRecords],
    pub(crate) samples: Vec<Option<Sample>>,
    /// Where each run of each sample was executed, hosts by the order of their names.
    pub(super) locations: Vec<RunLocations<'a>>,
    /// All hosts of each run, likewise; nothing of a version whose runs have one host each.
    pub(super) gangs: Vec<Vec<Vec<u32>>>,
    /// The build of each run, where its version is built several times; nothing of the others.
    pub(super) builds: Vec<Vec<RunIndex>>,
    /// Whether versions are compared within the fingerprint classes of hosts.
    pub(super) classes_are_blocks: bool,
    /// What order is looked for in, where that is not the runs.
    pub(super) ordered: Vec<Option<Sample>>,
    /// Of each candidate what the design makes of its runs and the baseline's, where those are not what is independent.
    pub(crate) arranged: Vec<Option<Result<IndependentUnits, Reason>>>,
}

impl<'a> BenchmarkSamples<'a> {
    /// The benchmarks that take part, in plan order.
    pub(crate) fn all(study: &'a Study) -> Vec<Self> {
        Self::of_cells(study, &study.cells)
    }

    /// The same from other records of the cells. A control is none of the versions.
    pub(crate) fn of_cells(study: &'a Study, cells: &'a [CellRecords]) -> Vec<Self> {
        let experiment = &study.plan.experiment;
        let (versions, compared) = (experiment.versions.len().max(1), experiment.compared().len());
        let (by_name, design) = (Arc::new(study.evidence.by_name()), Design::of(&study.plan));
        let gangs = study.evidence.gangs();
        let taking_part = study.plan.benchmarks.iter().zip(cells.chunks(versions));
        let named = taking_part
            .filter_map(|(index, records)| Some((experiment.benchmark(*index)?, &records[..compared])));
        let named: Vec<_> = named.collect();
        let sampled = |(benchmark, records): (&'a Benchmark, &'a [CellRecords])| {
            let samples: Vec<_> = records.iter().map(|cell| cell.sample(Metric::Wall).ok()).collect();
            let locations: Vec<RunLocations<'_>> = records
                .iter()
                .map(|cell| RunLocations::new(cell.locations(Metric::Wall), &by_name))
                .collect();
            let (mut ordered, mut arranged) = (vec![None; samples.len()], vec![None; samples.len() - 1]);
            if design != Design::Runs || has_builds(&study.plan) {
                let runs: Vec<Vec<Run>> = samples
                    .iter()
                    .zip(&locations)
                    .map(|(sample, locations)| runs(study, sample.as_ref(), locations))
                    .collect();
                ordered = runs.iter().map(|runs| in_order(runs)).collect();
                arranged = runs[1..].iter().map(|candidate| design.arrange(&runs[0], candidate)).collect();
            }
            Self {
                name: &benchmark.name,
                weight: benchmark.weight,
                records,
                samples,
                builds: locations.iter().map(|locations| builds(&study.plan, locations)).collect(),
                gangs: locations.iter().map(|locations| hosts(&gangs, locations)).collect(),
                locations,
                classes_are_blocks: design == Design::Classes,
                ordered,
                arranged,
            }
        };
        named.into_par_iter().map(sampled).collect()
    }

    /// Where each run of a version's sample was executed.
    pub(crate) fn locations(&self, version: usize) -> &RunLocations<'a> {
        &self.locations[version]
    }

    /// What is independent of the baseline and of a candidate, if both were measured.
    pub(crate) fn compared(&self, version: usize) -> Option<(&Sample, &Sample)> {
        match &self.arranged[version - 1] {
            None => self.samples[0].as_ref().zip(self.samples[version].as_ref()),
            Some(arranged) => {
                arranged.as_ref().ok().map(|arranged| (&arranged.baseline, &arranged.candidate))
            }
        }
    }

    /// The samples of each class, where the classes of hosts are blocks.
    pub(crate) fn blocks(&self, version: usize) -> &[(Sample, Sample)] {
        match &self.arranged[version - 1] {
            Some(Ok(arranged)) => &arranged.blocks,
            Some(Err(_)) | None => &[],
        }
    }

    /// The builds that the observations of the baseline and of a candidate are of, where they are of builds.
    pub(crate) fn builds(&self, version: usize) -> [Option<&[u32]>; 2] {
        match &self.arranged[version - 1] {
            Some(Ok(arranged)) => arranged.builds.each_ref().map(Option::as_deref),
            Some(Err(_)) | None => [None, None],
        }
    }
}

/// Of which build each run of a version is, where that says more than its cell.
fn builds(plan: &Plan, locations: &RunLocations<'_>) -> Vec<RunIndex> {
    let version = locations.iter().next().map(|location| plan.task(location.run).version());
    let has_several = version.is_some_and(|version| plan.builds_of(version).len() > 1);
    let of_runs = locations.iter().filter(|_| has_several);
    of_runs.filter_map(|location| plan.build_of(location.run)).collect()
}

/// All hosts of each run, where some run has several.
fn hosts(gangs: &BTreeMap<RunIndex, Vec<u32>>, locations: &RunLocations<'_>) -> Vec<Vec<u32>> {
    let of =
        |location: NamedLocation| gangs.get(&location.run).cloned().unwrap_or_else(|| vec![location.host]);
    let has_gangs = locations.iter().any(|location| gangs.contains_key(&location.run));
    if has_gangs { locations.iter().map(of).collect() } else { Vec::new() }
}

fn runs(study: &Study, sample: Option<&Sample>, locations: &RunLocations<'_>) -> Vec<Run> {
    let values = sample.map_or(&[][..], Sample::in_run_order);
    let run = |(value, location): (&f64, NamedLocation)| Run::new(&study.plan, location, *value);
    values.iter().zip(locations.iter()).map(run).collect()
}
