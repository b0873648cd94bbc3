//! Where in the network the hosts of runs were, as far as their engine tells: over how many leaf switches each run
//! was spread, and whether that mattered. Placement is given by the engine and not by the plan, so a version may have
//! had the better one.

use super::diagnostic::{DiagnosedCell, DiagnosticReport, Sign};
use crate::conclusion::Verdict;
use crate::count::{counted, p_value, percent, ratio};
use crate::study::{
    Study, design::class_weight, gather::numbers::Number, sampled::BenchmarkSamples,
    two_sample::interval::IntervalReport,
};
use serde::{Deserialize, Serialize};
use speedup_core::{experiment::Rule, value::id::RunIndex};
use speedup_statistics::inference::{Alternative, ConfidenceLevel};
use speedup_statistics::ratio::{BenchmarkWeights, SuiteMember, SuiteRatio};
use speedup_statistics::{diagnostics::StratifiedKendall, sample::Sample};
use std::{borrow::Cow, collections::BTreeMap};

/// Over how many leaf switches runs were spread, where that varies within a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacementReport {
    /// The full name of the method.
    pub method: String,
    /// The cells whose runs were spread over different numbers of switches.
    pub cells: u64,
    /// The runs of these cells of which the switches above all hosts are known.
    pub runs: u64,
    /// The measured runs of which they are not; nothing is said of these.
    pub unknown: u64,
    /// Whether runs over more switches take longer; the statistic is in standard deviations, positive where they do.
    /// Absent where too few runs vary.
    pub test: Option<DiagnosticReport>,
    /// By what factor a run takes longer for each further switch: the median over the pairs of runs of a cell.
    pub factor: Option<f64>,
    /// The mean number of switches of each version's runs, the baseline first.
    pub versions: Vec<VersionPlacement>,
    /// Each candidate beside the baseline among runs of equal placement, by benchmark: to see what depends on
    /// placement, not to be quoted in the place of the verdicts.
    pub within: Vec<WithinPlacement>,
}

/// How one version was placed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionPlacement {
    /// The version.
    pub version: String,
    /// The mean number of leaf switches of its runs, where they are known.
    pub mean_switches: Option<f64>,
    /// Whether its runs were spread over more switches than the baseline's of the same benchmarks; the statistic is
    /// in standard deviations. Absent of the baseline, and where too few runs vary.
    pub test: Option<DiagnosticReport>,
}

/// A candidate against the baseline on one benchmark, among runs over as many switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithinPlacement {
    /// The benchmark.
    pub benchmark: String,
    /// The candidate.
    pub candidate: String,
    /// What the interval says.
    pub verdict: Verdict,
    /// The ratio of the means, baseline over candidate, weighted over the numbers of switches on which both versions
    /// have two runs or more.
    pub speedup: f64,
    /// Its two-sided interval.
    pub interval: IntervalReport,
    /// The runs of both versions that are compared.
    pub runs: u64,
    /// The runs that are not, because the other version has none with them to compare.
    pub left_out: u64,
}

impl PlacementReport {
    /// Of all cells; none where no cell has runs over different numbers of switches.
    pub(crate) fn new(
        study: &Study,
        sampled: &[BenchmarkSamples<'_>],
        cells: &[DiagnosedCell<'_>],
        level: ConfidenceLevel,
    ) -> Option<Self> {
        let spans = study.evidence.spans();
        let known = |run: RunIndex| spans.get(&run).copied().flatten();
        let strata: Vec<(Sample, Vec<u32>)> = cells.iter().flat_map(|cell| varying(cell, &known)).collect();
        if strata.is_empty() {
            return None;
        }
        let pairs: Vec<(&Sample, &[u32])> =
            strata.iter().map(|(sample, spans)| (sample, &spans[..])).collect();
        let found = StratifiedKendall::new(&pairs).ok();
        let test = |found: &StratifiedKendall| {
            DiagnosticReport::new(found.z(), found.p_value(Alternative::TwoSided))
        };
        let compared = study.plan.experiment.compared();
        let versions = compared.iter().enumerate().map(|(at, version)| VersionPlacement {
            version: version.name.clone(),
            mean_switches: mean(sampled, at, &known),
            test: (at > 0).then(|| against_baseline(sampled, at, &known)).flatten().as_ref().map(test),
        });
        // Looks at the times leave no other interval its level.
        let has_intervals = !matches!(study.plan.experiment.rule, Rule::Sequential { .. });
        let within = sampled.iter().filter(|_| has_intervals).flat_map(|sampled| {
            (1..compared.len()).filter_map(|at| within(sampled, (at, &compared[at].name), &known, level))
        });
        Some(Self {
            method: StratifiedKendall::NAME.to_owned(),
            cells: strata.len() as u64,
            runs: strata.iter().map(|(sample, _)| sample.len() as u64).sum(),
            unknown: spans.values().filter(|spans| spans.is_none()).count() as u64,
            test: found.as_ref().map(test),
            factor: found.and_then(|found| found.factor()),
            versions: versions.collect(),
            within: within.collect(),
        })
    }

    /// The tests with what they are signs of, and what they concern.
    pub(crate) fn tests(&mut self) -> impl Iterator<Item = (Sign, String, &mut DiagnosticReport)> {
        let effect = self.test.as_mut().map(|test| (Sign::PlacementEffect, String::new(), test));
        let versions = self.versions.iter_mut().filter_map(|version| {
            Some((Sign::PlacementsDiffer, version.version.clone(), version.test.as_mut()?))
        });
        effect.into_iter().chain(versions)
    }

    /// By how much a further switch changes the time: "each further switch changes the time by 5 % in the median".
    pub(crate) fn size(&self) -> Option<String> {
        let change = percent(((self.factor? - 1.0) * 1e3).round() / 1e3).replace('-', "−");
        Some(format!("each further switch changes the time by {change} in the median"))
    }

    /// What is known, in sentences.
    pub fn sentence(&self) -> String {
        let of = format!("{} in {}", counted(self.runs, "run"), counted(self.cells, "cell"));
        let size = self.size().map_or_else(String::new, |size| format!("; {size}"));
        let effect = match &self.test {
            Some(test) => format!("adjusted p-value {} ({of}; {})", p_value(test.adjusted), self.method),
            None => format!("too few runs differ in them for a test ({of})"),
        };
        let means = self
            .versions
            .iter()
            .filter_map(|version| Some(format!("{} {:.2}", version.version, version.mean_switches?)));
        let unknown = match self.unknown {
            0 => String::new(),
            runs => format!(" Of {} the switches are not known.", counted(runs, "run")),
        };
        format!(
            "Placement: times against the number of leaf switches of a run: {effect}{size}. Switches of a run, on average: {}.{unknown}",
            means.collect::<Vec<_>>().join(", ")
        )
    }
}

impl WithinPlacement {
    /// What is found among runs of equal placement, in a sentence.
    pub fn sentence(&self) -> String {
        let left_out = match self.left_out {
            0 => String::new(),
            runs => format!("; {} without a counterpart", counted(runs, "run")),
        };
        format!(
            "{} on {}: {} ({}; {}{left_out})",
            self.candidate,
            self.benchmark,
            self.verdict.words(),
            ratio(self.speedup, self.interval.ends()),
            counted(self.runs, "run")
        )
    }
}

/// The runs of a cell with their numbers of switches, where those vary; apart for each build and class.
fn varying(cell: &DiagnosedCell<'_>, known: &impl Fn(RunIndex) -> Option<u32>) -> Vec<(Sample, Vec<u32>)> {
    let of_known = |(sample, runs): (Cow<'_, Sample>, Vec<RunIndex>)| {
        let values = sample.in_run_order().iter().zip(runs);
        let (values, spans): (Vec<f64>, Vec<u32>) =
            values.filter_map(|(value, run)| Some((*value, known(run)?))).unzip();
        let varies = spans.iter().any(|span| *span != spans[0]);
        varies.then(|| Some((Sample::new(values).ok()?, spans))).flatten()
    };
    cell.runs_by_build_and_class().into_iter().filter_map(of_known).collect()
}

/// The mean number of switches of a version's runs.
fn mean(
    sampled: &[BenchmarkSamples<'_>],
    version: usize,
    known: &impl Fn(RunIndex) -> Option<u32>,
) -> Option<f64> {
    let locations = sampled.iter().flat_map(|sampled| sampled.locations(version).iter());
    let spans: Vec<f64> = locations.filter_map(|location| known(location.run)).map(f64::from).collect();
    Some(Sample::new(spans).ok()?.mean())
}

/// The numbers of switches of a candidate's runs beside those of the baseline's, benchmark by benchmark.
fn against_baseline(
    sampled: &[BenchmarkSamples<'_>],
    version: usize,
    known: &impl Fn(RunIndex) -> Option<u32>,
) -> Option<StratifiedKendall> {
    let of_benchmark = |sampled: &BenchmarkSamples<'_>| {
        let of = |of: usize, is_candidate: u32| {
            let locations = sampled.locations(of).iter();
            locations
                .filter_map(|location| known(location.run))
                .map(move |span| (f64::from(span), is_candidate))
                .collect()
        };
        let both: [Vec<(f64, u32)>; 2] = [of(0, 0), of(version, 1)];
        let (spans, versions): (Vec<f64>, Vec<u32>) = both.into_iter().flatten().unzip();
        Some((Sample::new(spans).ok()?, versions))
    };
    let strata: Vec<(Sample, Vec<u32>)> = sampled.iter().filter_map(of_benchmark).collect();
    let strata: Vec<(&Sample, &[u32])> = strata.iter().map(|(spans, of)| (spans, &of[..])).collect();
    StratifiedKendall::new(&strata).ok()
}

/// A candidate beside the baseline among runs over as many switches, of hosts of one class where classes are blocks;
/// none where no two runs of both are.
fn within(
    sampled: &BenchmarkSamples<'_>,
    (version, name): (usize, &str),
    known: &impl Fn(RunIndex) -> Option<u32>,
    level: ConfidenceLevel,
) -> Option<WithinPlacement> {
    let mut strata: BTreeMap<(Option<Number>, u32), [Vec<f64>; 2]> = BTreeMap::new();
    let mut all = 0;
    for (side, of) in [(0, 0), (1, version)] {
        let cell = DiagnosedCell::new(sampled, of)?;
        for (value, location) in cell.sample.in_run_order().iter().zip(cell.locations.iter()) {
            all += 1;
            let Some(span) = known(location.run) else { continue };
            let class = location.class.filter(|_| cell.classes_are_blocks);
            strata.entry((class, span)).or_default()[side].push(*value);
        }
    }
    let several = strata.into_values().filter(|[x, y]| x.len() > 1 && y.len() > 1);
    let samples = several.filter_map(|[x, y]| Some((Sample::new(x).ok()?, Sample::new(y).ok()?)));
    let samples: Vec<(Sample, Sample)> = samples.collect();
    let members: Vec<SuiteMember<'_>> =
        samples.iter().map(|(x, y)| SuiteMember { baseline: x, candidate: y }).collect();
    let weights = BenchmarkWeights::Custom(samples.iter().map(|(x, y)| class_weight(x, y)).collect());
    let found = SuiteRatio::new(&members, &weights).ok()?;
    let interval = IntervalReport::from(&found.interval(level));
    let verdict = match interval.ends() {
        None => Verdict::NotEnoughData,
        Some((lower, _)) if lower > 1.0 => Verdict::Faster,
        Some((_, upper)) if upper < 1.0 => Verdict::Slower,
        Some(_) => Verdict::Undecided,
    };
    let runs: usize = samples.iter().map(|(x, y)| x.len() + y.len()).sum();
    Some(WithinPlacement {
        benchmark: sampled.name.to_owned(),
        candidate: name.to_owned(),
        verdict,
        speedup: found.estimate(),
        interval,
        runs: runs as u64,
        left_out: (all - runs) as u64,
    })
}
