//! The rule of a bisection: which versions of the line are built and run next, and at which of them the step is.
//!
//! A version that cannot be built, or whose runs all fail, is passed over: it stays in the set with its neighbours. By Bayes' rule the answer means
//! the same whenever one looks, so there is one before the last run, and after a cancellation.

mod report;
mod words;

pub use self::report::{
    BisectionReport, BisectionVerdict, CommitSetReport, LineCommit, LineCommitState, NextProbes,
    PathWeightReport, SeveralStepsReport, StepSizeReport,
};
use super::{RuleKind, RuleReport, RuleState};
use crate::{study::Study, study::gather::cell::CellRecords};
use speedup_core::experiment::{Bisection, EndpointSubject, Version, metric::Metric, prior::PathWeight};
use speedup_core::{machine::StatusPhase, value::id::VersionIndex};
use speedup_statistics::bisection::{
    CommitLine, CommitSet, FEWEST_BLOCK_RUNS, StepAnswer, StepBisection, StepCaveat, StepRule, StepVerdict,
};
use speedup_statistics::{inference::ConfidenceLevel, inference::Threshold, sample::Sample};
use std::collections::BTreeSet;

/// The method, with its source.
const METHOD: &str = "Bayesian bisection in blocks, with Student's noise: a posterior over the commits (prior ½ that there is no step \
                      beyond the margin)";
/// The same, where commits are not equally likely.
const METHOD_WITH_PRIOR: &str = "Bayesian bisection in blocks, with Student's noise: a posterior over the commits (prior ½ that there is no step \
                                 beyond the margin; prior of the commits by the files that they change)";

/// What is known of the line of an experiment.
pub(super) struct Line<'s> {
    study: &'s Study,
    rule: Bisection,
    level: ConfidenceLevel,
    metric: EndpointSubject<'s>,
    margin: Option<f64>,
    search: StepBisection,
    answer: StepAnswer,
    /// Measured runs without a value that has a logarithm.
    without_value: u64,
}

/// What the rule says of `study`.
pub(super) fn report(study: &Study, level: ConfidenceLevel, rule: Bisection) -> RuleReport {
    let prior = &study.plan.experiment.analysis.prior;
    let state = |state, words: String, bisection| RuleReport {
        rule: RuleKind::Bisection.into(),
        method: if prior.is_some() { METHOD_WITH_PRIOR } else { METHOD }.to_owned(),
        state,
        from: study.plan.runs(),
        words,
        rows: Vec::new(),
        further: None,
        bisection,
    };
    let Some(mut line) = Line::new(study, level, rule) else {
        return state(RuleState::Enough, "There is no line of commits to search.".to_owned(), None);
    };
    let unsettled = super::unsettled(study);
    let is_over = matches!(study.standing.phase, StatusPhase::Finished { .. });
    let next = if unsettled.is_some() || is_over { None } else { line.next() };
    let bisection = line.report(next);
    let (of, words) = match (unsettled, &bisection.next) {
        (Some((unsettled, words)), _) => (unsettled, words),
        (None, Some(next)) => (RuleState::Further, words::next(&bisection, next)),
        (None, None) => (RuleState::Enough, bisection.sentence.clone()),
    };
    state(of, words, Some(bisection))
}

impl<'s> Line<'s> {
    /// None where the experiment has no two versions.
    fn new(study: &'s Study, level: ConfidenceLevel, rule: Bisection) -> Option<Self> {
        let experiment = &study.plan.experiment;
        let (metric, margin) = subject(study);
        let mut line = CommitLine::new(experiment.versions.len()).ok()?;
        if let Some(prior) = &experiment.analysis.prior {
            line = line.with_prior(&prior.weights).ok()?;
        }
        let broken = (1..line.last()).filter(|version| is_passed_over(study, *version));
        for version in broken.collect::<Vec<_>>() {
            line.mark_unbuildable(version).ok()?;
        }
        let threshold = Threshold::new(margin.unwrap_or(0.0)).unwrap_or(Threshold::NONE);
        let mut search = StepBisection::new(line, StepRule { confidence: level, margin: threshold });
        let mut without_value = 0;
        for (version, cell) in study.cells.iter().enumerate() {
            let values = values(study, cell, metric);
            without_value += (cell.runs() - values.len()) as u64;
            for (block, value) in values {
                without_value += u64::from(search.observe(block, version, value).is_err());
            }
        }
        let answer = search.answer();
        Some(Self { study, rule, level, metric, margin, search, answer, without_value })
    }

    fn last(&self) -> usize {
        self.search.line().last()
    }

    /// The runs that the plan has, builds not counted.
    fn planned(&self) -> u32 {
        self.study.plan.runs() - self.study.plan.builds()
    }

    /// What is built or run next; nothing when the answer is as good as it gets, or the runs are spent.
    fn next(&mut self) -> Option<NextProbes> {
        let left = self.rule.maximum.saturating_sub(self.planned());
        let block = self.rule.block.min(left);
        if (block as usize) < FEWEST_BLOCK_RUNS || self.is_concluded() || self.failing_end().is_some() {
            return None;
        }
        let blocks = self.rule.blocks.clamp(1, left / block) as usize;
        let probes = self.probes(blocks * (block as usize - 2));
        let is_planned = |version: &&VersionIndex| !self.study.plan.builds_of(**version).is_empty();
        let unbuilt: BTreeSet<VersionIndex> =
            probes.iter().filter(|version| !is_planned(version)).copied().collect();
        if !unbuilt.is_empty() {
            return Some(NextProbes { builds: indices(unbuilt), blocks: Vec::new() });
        }
        let blocks = self.dealt(&probes, blocks, block as usize);
        Some(NextProbes { builds: Vec::new(), blocks: blocks.into_iter().map(indices).collect() })
    }

    /// The versions between the ends that the next blocks run, in the order of the line; one may be among them several times.
    fn probes(&mut self, probes: usize) -> Vec<VersionIndex> {
        let last = self.last();
        let block = self.search.next_block(probes + 2);
        let between = block.into_iter().filter(|commit| (1..last).contains(commit));
        between.map(|commit| VersionIndex(commit as u32)).collect()
    }

    /// Both ends in each block, the probes dealt in turn, and ends again where there are none left.
    fn dealt(&self, probes: &[VersionIndex], blocks: usize, runs: usize) -> Vec<Vec<VersionIndex>> {
        let ends = [VersionIndex(0), VersionIndex(self.last() as u32)];
        let of = |number: usize| {
            let own = probes.iter().skip(number).step_by(blocks).copied();
            let all = ends.into_iter().chain(own).chain(ends.into_iter().cycle());
            all.take(runs).collect()
        };
        (0..blocks).map(of).collect()
    }

    /// Whether further runs would say nothing that is asked: no step, several, or a step at commits that no run tells apart, where two steps
    /// are not likelier.
    fn is_concluded(&self) -> bool {
        match self.answer.verdict {
            StepVerdict::NoStep | StepVerdict::Several => true,
            StepVerdict::Undecided => false,
            StepVerdict::Step if self.answer.caveats.contains(&StepCaveat::PerhapsSeveral) => false,
            StepVerdict::Step => {
                // After each commit from the first of the set to the last but one is a boundary, which a run of it would find.
                let set = &self.answer.commits.commits;
                let [first, last] = [set.first(), set.last()].map(|end| end.copied().unwrap_or(0));
                !(first..last).any(|commit| self.search.line().is_buildable(commit))
            }
        }
    }

    /// An end of which every run failed: without it nothing can be said.
    fn failing_end(&self) -> Option<usize> {
        [0, self.last()].into_iter().find(|end| has_only_failed(&self.study.cells[*end]))
    }
}

impl Line<'_> {
    fn report(&self, next: Option<NextProbes>) -> BisectionReport {
        let verdict = match (self.failing_end(), self.answer.verdict) {
            (Some(_), _) => BisectionVerdict::NoEnd,
            (None, StepVerdict::Step) => BisectionVerdict::Step,
            (None, StepVerdict::NoStep) => BisectionVerdict::NoStep,
            (None, StepVerdict::Several) => BisectionVerdict::Several,
            (None, StepVerdict::Undecided) => BisectionVerdict::Undecided,
        };
        let size = self
            .answer
            .size
            .map(|size| StepSizeReport { ratio: size.ratio, interval: [size.lower, size.upper] });
        let several = self.answer.several.as_ref().map(|several| SeveralStepsReport {
            probability: several.probability,
            first: self.set(&several.first),
            second: self.set(&several.second),
        });
        let experiment = &self.study.plan.experiment;
        let report = BisectionReport {
            verdict: verdict.into(),
            sentence: String::new(),
            benchmark: experiment.benchmarks.first().map_or_else(String::new, |one| one.name.clone()),
            metric: self.metric_name().to_owned(),
            margin: self.margin,
            prior: self.prior(),
            set: self.set(&self.answer.commits),
            size,
            no_step: self.answer.no_step,
            several,
            commits: self.commits(),
            runs: self.study.cells.iter().map(|cell| cell.runs() as u64).sum(),
            maximum: self.rule.maximum,
            next,
            caveats: Vec::new(),
        };
        let failing = self.failing_end().map(|end| experiment.versions[end].name.as_str());
        let sentence = words::sentence(&report, failing, self.level.get());
        let caveats = self.caveats(&report);
        BisectionReport { sentence, caveats, ..report }
    }

    fn prior(&self) -> Vec<PathWeightReport> {
        let prior = self.study.plan.experiment.analysis.prior.iter();
        let report = |of: &PathWeight| PathWeightReport { path: of.path.clone(), weight: of.weight };
        prior.flat_map(|prior| prior.paths.iter().map(report)).collect()
    }

    /// How likely a commit was held to be, where they are not equal.
    fn beforehand(&self, at: usize) -> Option<f64> {
        let prior = self.study.plan.experiment.analysis.prior.as_ref();
        prior.map(|_| self.search.line().prior()[at])
    }

    fn metric_name(&self) -> &str {
        match self.metric {
            EndpointSubject::Own(_, own) => &own.name,
            EndpointSubject::Metric(metric) => metric.name(),
            EndpointSubject::Quantile(_) => Metric::Wall.name(),
        }
    }

    fn set(&self, set: &CommitSet) -> CommitSetReport {
        let name = |commit: usize| self.study.plan.experiment.versions[commit].name.clone();
        let versions = set.commits.iter().copied().map(name).collect();
        CommitSetReport { versions, probability: set.probability, likeliest: name(set.likeliest) }
    }

    fn commits(&self) -> Vec<LineCommit> {
        let probabilities = self.search.probabilities();
        let versions = self.study.plan.experiment.versions.iter().enumerate();
        versions.map(|(at, version)| self.commit(at, version, probabilities[at])).collect()
    }

    fn commit(&self, at: usize, version: &Version, probability: f64) -> LineCommit {
        let cell = &self.study.cells[at];
        let state = if has_only_failed(cell) {
            LineCommitState::Failing
        } else if is_passed_over(self.study, at) {
            LineCommitState::NotBuilt
        } else if cell.runs() > 0 {
            LineCommitState::Measured
        } else {
            LineCommitState::NotProbed
        };
        let values = values(self.study, cell, self.metric).into_iter().map(|(_, value)| value).collect();
        let commit = version.commit.as_ref();
        LineCommit {
            version: version.name.clone(),
            id: commit.map(|commit| commit.id.clone()),
            subject: commit.map_or_else(String::new, |commit| commit.subject.clone()),
            state: state.into(),
            runs: cell.runs() as u64,
            median: Sample::new(values).ok().map(|sample| sample.median()),
            probability,
            beforehand: self.beforehand(at),
        }
    }

    fn caveats(&self, report: &BisectionReport) -> Vec<String> {
        let mut caveats: Vec<String> = words::prior(report).into_iter().collect();
        let has_step = report.verdict.known() != Some(BisectionVerdict::NoStep);
        for caveat in &self.answer.caveats {
            match caveat {
                StepCaveat::PerhapsSeveral => caveats.push(words::PERHAPS_SEVERAL.to_owned()),
                StepCaveat::Unbuildable { commits } if has_step => caveats.push(words::passed_over(*commits)),
                // Without a step there is none to be told from another.
                StepCaveat::Unbuildable { .. } => {}
            }
        }
        if self.without_value > 0 {
            caveats.push(words::without_value(self.without_value, &report.metric));
        }
        if was_cancelled(self.study) {
            caveats.push(words::CANCELLED.to_owned());
        }
        if report.verdict == BisectionVerdict::Step && self.margin.is_none() {
            caveats.push(words::NO_MARGIN.to_owned());
        }
        caveats
    }
}

/// What the step is looked for in, and the margin that goes with it: the one metric with a verdict, else the wall time.
fn subject(study: &Study) -> (EndpointSubject<'_>, Option<f64>) {
    let experiment = &study.plan.experiment;
    let of_metric = experiment
        .endpoints()
        .into_iter()
        .find(|endpoint| !matches!(endpoint.subject, EndpointSubject::Quantile(_)));
    of_metric.map_or((EndpointSubject::Metric(Metric::Wall), experiment.analysis.margin), |endpoint| {
        (endpoint.subject, endpoint.margin)
    })
}

/// The values of a cell, each with its block: the part of a visit that one host served.
fn values(study: &Study, cell: &CellRecords, subject: EndpointSubject<'_>) -> Vec<(u64, f64)> {
    let by_name = study.evidence.by_name();
    let block = |location| {
        let location = by_name.location(location);
        u64::from(study.plan.place(location.run).group.0) << u32::BITS | u64::from(location.host)
    };
    match subject {
        EndpointSubject::Own(place, _) => {
            let iterations = cell.iterations(place).into_iter();
            iterations.map(|(location, of_run)| (block(location), of_run.mean)).collect()
        }
        EndpointSubject::Metric(metric) => {
            let locations = cell.locations(metric).into_owned().into_iter();
            locations
                .zip(cell.values_by_run(metric))
                .map(|(location, (_, value))| (block(location), value))
                .collect()
        }
        EndpointSubject::Quantile(_) => Vec::new(),
    }
}

/// Whether a version between the ends is of no use: it could not be built, or all its runs failed.
fn is_passed_over(study: &Study, version: usize) -> bool {
    study.unbuilt.contains(&VersionIndex(version as u32)) || has_only_failed(&study.cells[version])
}

fn has_only_failed(cell: &CellRecords) -> bool {
    cell.runs() == 0 && cell.mishaps.failed_runs() + cell.mishaps.abandoned_runs > 0
}

fn indices(versions: impl IntoIterator<Item = VersionIndex>) -> Vec<u32> {
    versions.into_iter().map(|version| version.0).collect()
}

/// Whether nothing is given out any more, by a person's word or by a limit.
fn was_cancelled(study: &Study) -> bool {
    matches!(study.standing.phase, StatusPhase::Cancelling | StatusPhase::Finished { cancelled: true, .. })
}
