//! What counts as one observation under a rule: the mean of a cell's runs in one visit, or, where the design made
//! pairs, the difference of two such means.

use crate::study::Study;
use speedup_core::{experiment::Metric, experiment::Order, value::id::RunIndex};
use speedup_statistics::{ratio::TrimShare, sample::Sample};
use std::collections::BTreeMap;

/// A candidate and its baseline on one benchmark.
#[derive(Clone, Debug)]
pub(super) struct Comparison<'a> {
    pub(super) benchmark: &'a str,
    pub(super) candidate: &'a str,
    /// The place of the benchmark among those that take part.
    pub(super) place: usize,
    /// The numbers of the two cells, the baseline's first.
    pub(super) cells: [u32; 2],
}

/// The observations of a comparison, in run order.
#[derive(Clone, Debug)]
pub(super) enum Units {
    /// Of the baseline and of the candidate, independent of each other.
    Apart([Sample; 2]),
    /// The baseline's less the candidate's, by pairs; with the pairs.
    Paired { differences: Sample, pairs: [Sample; 2] },
}

/// Every comparison of the experiment, in plan order.
pub(super) fn comparisons(study: &Study) -> Vec<Comparison<'_>> {
    let experiment = &study.plan.experiment;
    let versions = experiment.versions.len() as u32;
    let mut comparisons = Vec::new();
    for (place, index) in study.plan.benchmarks.iter().enumerate() {
        let Some(benchmark) = experiment.benchmark(*index) else { continue };
        let first = place as u32 * versions;
        for (version, candidate) in (0..).zip(experiment.compared()).skip(1) {
            let cells = [first, first + version];
            comparisons.push(Comparison {
                benchmark: &benchmark.name,
                candidate: &candidate.name,
                place,
                cells,
            });
        }
    }
    comparisons
}

/// The first run after those that the plan had when it was submitted.
pub(super) fn end_of_pilot(study: &Study) -> u32 {
    let of_a_cell = study.plan.experiment.runs_of_a_cell();
    let of_all = of_a_cell * u64::from(study.plan.cells());
    u32::try_from(u64::from(study.plan.builds()) + of_all).unwrap_or(u32::MAX)
}

/// The runs of each cell that the plan has.
pub(super) fn planned(study: &Study) -> Vec<u32> {
    let mut planned = vec![0; study.plan.cells() as usize];
    let runs = study.plan.order().iter().skip(study.plan.builds() as usize);
    runs.for_each(|cell| planned[*cell as usize] += 1);
    planned
}

impl Comparison<'_> {
    /// Its observations from the runs before `end`; none where a version has none, or no pair is whole.
    pub(super) fn units(&self, study: &Study, end: u32) -> Option<Units> {
        let [baseline, candidate] = self.cells.map(|cell| visits(study, cell, end));
        if study.plan.experiment.order == Order::Blocked {
            let pairs: Vec<(f64, f64)> =
                baseline.iter().filter_map(|(group, mean)| Some((*mean, *candidate.get(group)?))).collect();
            let differences = Sample::new(pairs.iter().map(|(x, y)| x - y).collect()).ok()?;
            let (of_baseline, of_candidate) = pairs.into_iter().unzip();
            let pairs = [Sample::new(of_baseline).ok()?, Sample::new(of_candidate).ok()?];
            return Some(Units::Paired { differences, pairs });
        }
        let sample = |visits: BTreeMap<u32, f64>| Sample::new(visits.into_values().collect()).ok();
        Some(Units::Apart([sample(baseline)?, sample(candidate)?]))
    }

    /// Runs of the two cells that are settled without a value.
    pub(super) fn missing(&self, study: &Study, planned: &[u32]) -> u64 {
        let of = |cell: u32| {
            let measured = study.cells[cell as usize].count(Metric::Wall);
            u64::from(planned[cell as usize]).saturating_sub(measured)
        };
        self.cells.iter().map(|cell| of(*cell)).sum()
    }

    /// The runs of each of the two cells that the plan has; the rules keep them equal.
    pub(super) fn planned(&self, planned: &[u32]) -> u32 {
        self.cells.iter().map(|cell| planned[*cell as usize]).max().unwrap_or(0)
    }
}

impl Units {
    /// How many there are of each version.
    pub(super) fn counts(&self) -> [u64; 2] {
        match self {
            Self::Apart(samples) => samples.each_ref().map(|sample| sample.len() as u64),
            Self::Paired { differences, .. } => [differences.len() as u64; 2],
        }
    }

    /// What they are: `pair`, `visit` of several runs, or `run`.
    pub(super) fn unit(&self, study: &Study) -> &'static str {
        match self {
            Self::Paired { .. } => "pair",
            Self::Apart(_) if study.plan.stages().iter().any(|stage| stage.shape.size() > 1) => "visit",
            Self::Apart(_) => "run",
        }
    }

    /// The mean of the baseline, in nanoseconds.
    pub(super) fn baseline_mean(&self) -> f64 {
        match self {
            Self::Apart([baseline, _]) => baseline.mean(),
            Self::Paired { pairs, .. } => pairs[0].mean(),
        }
    }

    /// What has a mean: both samples, or the differences of the pairs.
    pub(super) fn samples(&self) -> Vec<&Sample> {
        match self {
            Self::Apart([baseline, candidate]) => vec![baseline, candidate],
            Self::Paired { differences, .. } => vec![differences],
        }
    }

    /// Their natural logarithms: differences of pairs become those of the logarithms. None where a time is not positive.
    pub(super) fn logarithms(&self) -> Option<Self> {
        match self {
            Self::Apart([x, y]) => Some(Self::Apart([logarithms(x)?, logarithms(y)?])),
            Self::Paired { pairs: [x, y], .. } => {
                let (x, y) = (logarithms(x)?, logarithms(y)?);
                let pairs = x.in_run_order().iter().zip(y.in_run_order());
                let differences = Sample::new(pairs.map(|(x, y)| x - y).collect()).ok()?;
                Some(Self::Paired { differences, pairs: [x, y] })
            }
        }
    }

    /// What the candidate saves by the means, or by the trimmed means where a share is left out, in nanoseconds.
    pub(super) fn saved_by(&self, trim: Option<TrimShare>) -> f64 {
        match (self, trim) {
            (_, None) => self.saved(),
            (Self::Apart([x, y]) | Self::Paired { pairs: [x, y], .. }, Some(trim)) => trim.saved(x, y),
        }
    }

    /// The baseline's mean less the candidate's, in nanoseconds.
    pub(super) fn saved(&self) -> f64 {
        match self {
            Self::Apart([baseline, candidate]) => baseline.mean_minus_mean_of(candidate),
            Self::Paired { differences, .. } => differences.mean(),
        }
    }
}

/// The natural logarithms of times; none where one is not positive.
fn logarithms(sample: &Sample) -> Option<Sample> {
    Sample::new(sample.in_run_order().iter().map(|time| time.ln()).collect()).ok()
}

/// The mean of a cell in each visit before run `end`, by the visit's first run.
fn visits(study: &Study, cell: u32, end: u32) -> BTreeMap<u32, f64> {
    let mut visits: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (run, value) in study.cells[cell as usize].values_by_run(Metric::Wall) {
        if run < RunIndex(end) {
            visits.entry(study.plan.place(run).group.0).or_default().push(value);
        }
    }
    let mean = |(group, values)| Some((group, Sample::new(values).ok()?.mean()));
    visits.into_iter().filter_map(mean).collect()
}
