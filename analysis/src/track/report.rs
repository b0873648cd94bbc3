//! What a track says, with stable names.

use super::{TrackAcknowledgement, TrackEntryState, TrackTerms};
use crate::conclusion::{Verdict, Word};
use crate::gate::{Conclusion, Ruling};
use crate::study::{CommitSetReport, StepSizeReport};
use serde::{Deserialize, Serialize};
use speedup_core::{value::id::ExperimentId, value::time::Timestamp};
use speedup_statistics::{inference::Threshold, track::ChangeShape};

/// The version of the report.
pub const TRACK_SCHEMA_VERSION: u32 = 1;

/// What a track says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackReport {
    /// The version of this form.
    pub schema_version: u32,
    /// What was declared.
    pub terms: TrackTerms,
    /// What was found, the most important first.
    pub sentences: Vec<String>,
    /// The commits of the branch, from the start to the latest that was measured or tried.
    pub commits: Vec<TrackCommit>,
    pub benchmarks: Vec<TrackBenchmark>,
    /// Every change that raised an alarm, in the order of the branch.
    pub steps: Vec<TrackStepReport>,
    /// What must be known besides, in sentences.
    pub caveats: Vec<String>,
}

/// A commit of the branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackCommit {
    /// Its full id.
    pub id: String,
    /// The first line of its message; may be empty.
    pub subject: String,
    /// What became of it; none where nobody measured it.
    pub state: Option<Word<TrackEntryState>>,
    pub experiment: Option<ExperimentId>,
    /// When that ended.
    pub ended: Option<Timestamp>,
}

/// A ratio of the metric, the commit over the reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioReport {
    /// The estimate.
    pub ratio: f64,
    /// Both ends of its interval; none where it would take more values.
    pub interval: Option<[f64; 2]>,
}

/// A benchmark of a track.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackBenchmark {
    pub benchmark: String,
    /// Its points, in the order of the branch.
    pub points: Vec<TrackPointReport>,
    /// The levels before, between and after its steps.
    pub levels: Vec<TrackLevelReport>,
    /// The evidence for a change since the latest alarm.
    pub evidence: f64,
    /// The evidence that raises an alarm.
    pub threshold: f64,
    /// How many ratios it lacks at least before any change could raise an alarm.
    pub ratios_lacking: u64,
    /// What the reference shows against itself; none without controls.
    pub noise_floor: Option<NoiseFloorReport>,
}

/// A commit that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackPointReport {
    /// The full id of the commit.
    pub commit: String,
    /// Blocks with both the commit and the reference.
    pub blocks: u64,
    /// The median of their ratios.
    pub ratio: Option<RatioReport>,
    /// That of the control: the reference again over the reference.
    pub control: Option<f64>,
    /// Those of the other references.
    pub references: Vec<Option<f64>>,
}

/// A level that lasted from one commit to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackLevelReport {
    /// The full id of its first commit.
    pub from: String,
    /// Of its last one.
    pub to: String,
    /// The median of its points.
    pub ratio: RatioReport,
}

/// A change that raised an alarm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackStepReport {
    /// Its number in the track, from 1.
    pub number: u32,
    pub benchmark: String,
    /// The full id of the commit whose point raised the alarm.
    pub found_at: String,
    /// The commits of which one began it, by their full ids.
    pub set: CommitSetReport,
    /// The new level over the old one.
    pub size: StepSizeReport,
    /// Whether the new level is the worse one.
    pub is_worse: bool,
    /// Whether it came all at once.
    pub shape: ChangeShape,
    /// Who acknowledged it, if anybody.
    pub acknowledged: Option<TrackAcknowledgement>,
}

/// What is known of a benchmark of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrackStanding {
    /// It changed, and nobody acknowledged that.
    Changed,
    /// It has too few points for any change to be found.
    TooEarly,
    /// No change was found that is not acknowledged.
    Unchanged,
}

/// What the reference shows against itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloorReport {
    /// The points with a control.
    pub points: u64,
    /// Within which ratio the reference is of itself, at the confidence level.
    pub usual: RatioReport,
    /// The smallest change that a point shows in 80 % of cases.
    pub smallest_found: RatioReport,
}

impl TrackReport {
    /// A commit of the branch by its id.
    pub fn commit(&self, id: &str) -> Option<&TrackCommit> {
        self.commits.iter().find(|commit| commit.id == id)
    }

    /// How many commits were measured.
    pub fn points(&self) -> usize {
        let is_measured =
            |commit: &&TrackCommit| commit.state.as_ref().is_some_and(|of| *of == TrackEntryState::Measured);
        self.commits.iter().filter(is_measured).count()
    }

    /// What is known of a benchmark.
    pub(crate) fn standing(&self, benchmark: &TrackBenchmark) -> TrackStanding {
        let mut own = self.steps.iter().filter(|step| step.benchmark == benchmark.benchmark);
        if own.any(|step| step.acknowledged.is_none()) {
            TrackStanding::Changed
        } else if benchmark.ratios_lacking > 0 {
            TrackStanding::TooEarly
        } else {
            TrackStanding::Unchanged
        }
    }

    /// The benchmarks of which so much is known.
    pub(crate) fn standing_at(&self, standing: TrackStanding) -> impl Iterator<Item = &TrackBenchmark> {
        self.benchmarks.iter().filter(move |benchmark| self.standing(benchmark) == standing)
    }

    /// The steps to a worse level that nobody acknowledged.
    pub fn regressions(&self) -> impl Iterator<Item = &TrackStepReport> {
        self.steps.iter().filter(|step| step.is_worse && step.acknowledged.is_none())
    }
}

impl TrackCommit {
    /// Its id as people are shown it.
    pub fn short(&self) -> &str {
        short(&self.id)
    }

    /// The moment at which its experiment ended, by RFC 3339.
    pub fn moment(&self) -> Option<String> {
        Some(calendar(self.ended?).to_string())
    }

    /// The day of that, in UTC.
    pub fn day(&self) -> Option<String> {
        Some(calendar(self.ended?).strftime("%Y-%m-%d").to_string())
    }

    /// As in `1b4e9f2a77c0 (Sort in place)`.
    pub fn in_words(&self) -> String {
        if self.subject.is_empty() {
            self.short().to_owned()
        } else {
            format!("{} ({})", self.short(), self.subject)
        }
    }
}

fn calendar(moment: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_nanosecond(i128::from(moment.0)).unwrap_or(jiff::Timestamp::MAX)
}

/// An id as people are shown it.
pub(super) fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

impl Conclusion {
    /// Those of a track: each step to a worse level that nobody acknowledged; of a benchmark without one, that there is none, unless it has too few
    /// points for any. The track keeps the number of false alarms of all benchmarks, so nothing is adjusted, and a step counts where its
    /// interval lies beyond `noise`.
    pub fn of_track(report: &TrackReport, noise: Threshold) -> Vec<Self> {
        let mut all = Vec::new();
        for benchmark in &report.benchmarks {
            let before = all.len();
            let steps = report.regressions().filter(|step| step.benchmark == benchmark.benchmark);
            all.extend(steps.map(|step| of_step(report, step)));
            if all.len() == before {
                all.push(without_step(report, benchmark));
            }
        }
        for one in &mut all {
            one.ruling = Ruling::by_interval(one.verdict, one.interval, noise);
        }
        all
    }
}

fn of_step(report: &TrackReport, step: &TrackStepReport) -> Conclusion {
    // A speedup is the old level over the new one; where more is better, the other way round.
    let is_rate = step.size.ratio < 1.0;
    let speedup = |ratio: f64| if is_rate { ratio } else { ratio.recip() };
    let [one, other] = step.size.interval.map(speedup);
    let candidate = format!("{}, {}", report.terms.branch, report.set(step));
    let ends = Some((one.min(other), one.max(other)));
    Conclusion::new(&candidate, Some(&step.benchmark), Verdict::Slower, Some(speedup(step.size.ratio)), ends)
}

fn without_step(report: &TrackReport, benchmark: &TrackBenchmark) -> Conclusion {
    let verdict = if benchmark.ratios_lacking > 0 { Verdict::NotEnoughData } else { Verdict::Same };
    Conclusion::new(&report.terms.branch, Some(&benchmark.benchmark), verdict, None, None)
}
