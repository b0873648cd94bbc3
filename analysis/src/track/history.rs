//! All of a track, and what it says.

use super::report::{
    NoiseFloorReport, RatioReport, TRACK_SCHEMA_VERSION, TrackBenchmark, TrackCommit, TrackLevelReport,
    TrackPointReport, TrackReport, TrackStepReport,
};
use super::{PointBlocks, TrackAcknowledgement, TrackEntry, TrackEntryState, TrackTerms, words};
use crate::study::{CommitSetReport, StepSizeReport};
use speedup_core::experiment::commit::Commit;
use speedup_statistics::inference::{ConfidenceLevel, LevelError, Threshold, ThresholdError};
use speedup_statistics::sample::{Sample, SampleQuantile};
use speedup_statistics::track::{
    AlarmRate, AlarmRateError, NoiseFloor, StretchLevel, Track, TrackError, TrackPoint, TrackRule, TrackStep,
};
use std::collections::BTreeMap;
use thiserror::Error;

/// The probability with which the smallest change of a noise floor is found.
const FLOOR_POWER: f64 = 0.8;

/// A track with all that is recorded of it.
#[derive(Clone, Debug)]
pub struct TrackHistory {
    pub terms: TrackTerms,
    /// Its experiments, in the order of their commits.
    pub entries: Vec<TrackEntry>,
    pub acknowledged: Vec<TrackAcknowledgement>,
}

/// Why a track says nothing.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum TrackReportError {
    #[error("the declared rate of false alarms of the track is none")]
    Rate(#[from] AlarmRateError),
    #[error("the confidence level of the track is none")]
    Level(#[from] LevelError),
    #[error("the margin of the track is none")]
    Margin(#[from] ThresholdError),
    #[error("the points of the track cannot be followed")]
    Points(#[from] TrackError),
}

/// An entry that says something of its commit, with its position on the branch: the start is at 0.
struct MeasuredPoint<'h> {
    position: usize,
    entry: &'h TrackEntry,
}

impl TrackHistory {
    /// The rule by which benchmarks are followed.
    ///
    /// # Errors
    /// [`TrackReportError`] for terms out of range.
    pub fn rule(&self) -> Result<TrackRule, TrackReportError> {
        let terms = &self.terms;
        let benchmarks = u32::try_from(terms.benchmarks.len()).unwrap_or(u32::MAX);
        let at_reference = terms.begins_at_reference();
        Ok(TrackRule {
            alarms: AlarmRate::new(terms.false_alarms_a_year, terms.points_a_year, benchmarks)?,
            level: if at_reference { StretchLevel::Reference } else { StretchLevel::Unknown },
            margin: Threshold::new(terms.margin.unwrap_or(0.0))?,
            confidence: ConfidenceLevel::new(terms.confidence)?,
        })
    }

    /// What the track says.
    ///
    /// # Errors
    /// [`TrackReportError`] for terms out of range.
    pub fn report(&self) -> Result<TrackReport, TrackReportError> {
        let rule = self.rule()?;
        let placed = self.placed();
        let commits = self.commits();
        let mut benchmarks = Vec::new();
        let mut steps = Vec::new();
        for benchmark in &self.terms.benchmarks {
            let (of, found) = self.benchmark(benchmark, &placed, &commits, rule)?;
            benchmarks.push(of);
            steps.extend(found);
        }
        // The order of the branch, and of the plan where several are found at one point.
        let position = |id: &String| commits.iter().position(|commit| commit.id == *id);
        steps.sort_by_key(|step: &TrackStepReport| position(&step.found_at));
        (1..).zip(&mut steps).for_each(|(number, step)| step.number = number);
        let mut report = TrackReport {
            schema_version: TRACK_SCHEMA_VERSION,
            terms: self.terms.clone(),
            sentences: Vec::new(),
            commits: self.told(commits),
            benchmarks,
            steps,
            caveats: Vec::new(),
        };
        report.sentences = words::sentences(&report);
        report.caveats = words::caveats(&report);
        Ok(report)
    }

    /// The entries that say something of their commits.
    fn placed(&self) -> Vec<MeasuredPoint<'_>> {
        let says = |entry: &&TrackEntry| entry.state != TrackEntryState::Unfinished;
        let mut position = 0;
        let mut placed = Vec::new();
        for entry in self.entries.iter().filter(says) {
            position += entry.passed.len() + 1;
            placed.push(MeasuredPoint { position, entry });
        }
        placed
    }

    /// The commits of the branch from the start to the latest that was measured or tried.
    fn commits(&self) -> Vec<&Commit> {
        let of_entries = self
            .placed()
            .into_iter()
            .flat_map(|placed| placed.entry.passed.iter().chain([&placed.entry.commit]));
        std::iter::once(&self.terms.start).chain(of_entries).collect()
    }

    /// Each commit, with what became of it at last.
    fn told(&self, commits: Vec<&Commit>) -> Vec<TrackCommit> {
        let entries: BTreeMap<&str, &TrackEntry> =
            self.entries.iter().map(|entry| (entry.commit.id.as_str(), entry)).collect();
        let of = |commit: &Commit| {
            let entry = entries.get(commit.id.as_str());
            TrackCommit {
                id: commit.id.clone(),
                subject: commit.subject.clone(),
                state: entry.map(|entry| entry.state.clone()),
                experiment: entry.map(|entry| entry.experiment),
                ended: entry.map(|entry| entry.ended),
            }
        };
        commits.into_iter().map(of).collect()
    }

    fn benchmark(
        &self,
        benchmark: &str,
        placed: &[MeasuredPoint<'_>],
        commits: &[&Commit],
        rule: TrackRule,
    ) -> Result<(TrackBenchmark, Vec<TrackStepReport>), TrackReportError> {
        let commit_version = self.terms.references.len();
        let mut track = Track::new(rule).after(0);
        let (mut points, mut controls, mut followed) = (Vec::new(), Vec::new(), 0);
        for MeasuredPoint { position, entry } in placed {
            let Some(of) = entry.benchmarks.iter().find(|of| of.benchmark == benchmark) else { continue };
            let ratios = of.ratios(commit_version);
            let Some(centre) = median(&ratios) else { continue };
            let (commit, blocks) = (*position, ratios.clone());
            let given = match self.terms.builds_alike {
                true => TrackPoint { commit, ratios: blocks },
                false => TrackPoint::as_one(commit, blocks),
            };
            followed += given.ratios.len();
            if track.observe(given)?.is_some() {
                followed = 0;
            }
            controls.extend(median(&of.ratios(commit_version + 1)));
            points.push((*position, centre, self.point(of, &ratios, commits[*position], rule.confidence)));
        }
        let named = |position: usize| commits[position].id.clone();
        let steps: Vec<TrackStepReport> =
            track.steps().iter().map(|step| self.step(benchmark, step, &named)).collect();
        let begins: Vec<usize> = track.steps().iter().map(|step| step.commits.likeliest).collect();
        let levels = levels(&points, &begins, commits, rule.confidence);
        let needed = rule.alarms.points_between().log2().ceil() as usize;
        let of = TrackBenchmark {
            benchmark: benchmark.to_owned(),
            points: points.into_iter().map(|(_, _, point)| point).collect(),
            levels,
            evidence: track.evidence(),
            threshold: rule.alarms.points_between(),
            ratios_lacking: needed.saturating_sub(followed) as u64,
            noise_floor: floor(&controls, rule.confidence),
        };
        Ok((of, steps))
    }

    fn point(
        &self,
        of: &PointBlocks,
        ratios: &[f64],
        commit: &Commit,
        level: ConfidenceLevel,
    ) -> TrackPointReport {
        let others = 1..self.terms.references.len();
        TrackPointReport {
            commit: commit.id.clone(),
            blocks: ratios.len() as u64,
            ratio: typical(ratios, level),
            control: median(&of.ratios(self.terms.references.len() + 1)).map(f64::exp),
            references: others.map(|version| median(&of.ratios(version)).map(f64::exp)).collect(),
        }
    }

    fn step(&self, benchmark: &str, step: &TrackStep, named: &dyn Fn(usize) -> String) -> TrackStepReport {
        let found_at = named(step.found_at);
        let is_this = |one: &&TrackAcknowledgement| one.benchmark == benchmark && one.found_at == found_at;
        TrackStepReport {
            number: 0,
            benchmark: benchmark.to_owned(),
            acknowledged: self.acknowledged.iter().find(is_this).cloned(),
            found_at,
            set: CommitSetReport {
                versions: step.commits.commits.iter().copied().map(named).collect(),
                probability: step.commits.probability,
                likeliest: named(step.commits.likeliest),
            },
            size: StepSizeReport { ratio: step.size.ratio, interval: [step.size.lower, step.size.upper] },
            is_worse: self.terms.is_worse(step.size.ratio),
            shape: step.shape,
        }
    }
}

/// The level from each likeliest commit of a step to the next, from the medians of the points.
fn levels(
    points: &[(usize, f64, TrackPointReport)],
    begins: &[usize],
    commits: &[&Commit],
    level: ConfidenceLevel,
) -> Vec<TrackLevelReport> {
    let ends = begins.iter().copied().chain([usize::MAX]);
    let firsts = std::iter::once(0).chain(begins.iter().copied());
    let of = |(first, end): (usize, usize)| {
        let own: Vec<&(usize, f64, TrackPointReport)> =
            points.iter().filter(|(position, ..)| (first..end).contains(position)).collect();
        let centres: Vec<f64> = own.iter().map(|(_, centre, _)| *centre).collect();
        let ratio = typical(&centres, level)?;
        let [from, to] = [own.first()?, own.last()?].map(|(position, ..)| commits[*position].id.clone());
        Some(TrackLevelReport { from, to, ratio })
    };
    firsts.zip(ends).filter_map(of).collect()
}

fn floor(controls: &[f64], level: ConfidenceLevel) -> Option<NoiseFloorReport> {
    let floor = NoiseFloor::new(controls).ok()?;
    let [usual, smallest_found] =
        [floor.usual(level), floor.smallest_found(level, FLOOR_POWER).ok()?].map(|of| {
            let interval = of.upper.is_finite().then_some([of.lower, of.upper]);
            RatioReport { ratio: of.ratio, interval }
        });
    Some(NoiseFloorReport { points: controls.len() as u64, usual, smallest_found })
}

fn median(logarithms: &[f64]) -> Option<f64> {
    Some(Sample::new(logarithms.to_vec()).ok()?.median())
}

/// The median of ratios from their logarithms, with its interval between order statistics where there are enough.
fn typical(logarithms: &[f64], level: ConfidenceLevel) -> Option<RatioReport> {
    let sample = Sample::new(logarithms.to_vec()).ok()?;
    let median = SampleQuantile::median(&sample);
    let interval = median.interval(level);
    let has_ends = interval.lower.is_finite() && interval.upper.is_finite();
    Some(RatioReport {
        ratio: median.estimate().exp(),
        interval: has_ends.then(|| [interval.lower.exp(), interval.upper.exp()]),
    })
}
