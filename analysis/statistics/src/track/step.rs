//! What is known of a change at its alarm.

use super::change_place::{ChangePlace, log_likelihood, median_of_points};
use super::stretch::{Stretch, StretchLevel};
use crate::{bisection::CommitSet, bisection::StepSize, bisection::commit_set, inference::ConfidenceLevel};
use serde::{Deserialize, Serialize};

/// A change that raised an alarm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrackStep {
    /// The commit of the point that raised it.
    pub found_at: usize,
    /// The commits that may have begun it, if the alarm is no false one. Those between two measured ones are not told apart.
    pub commits: CommitSet,
    /// The new ratio to the reference over the old one; of a drift, its mean since it began.
    pub size: StepSize,
    /// Whether it is a step.
    pub shape: ChangeShape,
    /// The likelihood of the best drift, as a share of it and the best step's.
    pub drift: f64,
    /// What stood against the threshold.
    pub evidence: f64,
}

/// How a change came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeShape {
    /// All at once.
    Step,
    /// Bit by bit.
    Drift,
    /// The points do not tell.
    Undecided,
}

impl TrackStep {
    /// The change of a stretch that ended with an alarm.
    pub(super) fn new(stretch: &Stretch, margin: f64, confidence: ConfidenceLevel, evidence: f64) -> Self {
        let place = ChangePlace::new(stretch, margin);
        let level = confidence.get();
        let tail = (1.0 - level) / 2.0;
        let size = |part: f64| libm::exp(place.size(part));
        let drift = drift_share(stretch, &place);
        let shape = match drift {
            drift if drift >= level => ChangeShape::Drift,
            drift if drift <= 1.0 - level => ChangeShape::Step,
            _ => ChangeShape::Undecided,
        };
        Self {
            found_at: stretch.points.last().map_or(0, |point| point.commit),
            commits: commits(stretch, &place, level),
            size: StepSize { ratio: size(0.5), lower: size(tail), upper: size(1.0 - tail) },
            shape,
            drift,
            evidence,
        }
    }
}

/// The probabilities of points, divided equally among the commits since the point before each.
fn commits(stretch: &Stretch, place: &ChangePlace, level: f64) -> CommitSet {
    let first = stretch.before.map_or(stretch.points[0].commit, |before| before + 1);
    // Position 0 stands for what came before; the set never names it.
    let mut of_commits = vec![0.0];
    for (point, probability) in stretch.points.iter().zip(&place.probabilities) {
        let commits = point.commit + 2 - first - of_commits.len();
        of_commits.extend(std::iter::repeat_n(probability / commits as f64, commits));
    }
    let set = commit_set(&of_commits, level);
    let named = |position: usize| first + position - 1;
    CommitSet {
        commits: set.commits.into_iter().map(named).collect(),
        probability: set.probability,
        likeliest: named(set.likeliest),
    }
}

/// A drift may have begun at so many places of a stretch.
const BEGINNINGS: usize = 16;
/// What a drift has come to, in shares of the step's size: the mean of a drift is half of its end.
const ENDS: [f64; 12] = [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 4.0];

/// The likelihood of the best drift, as a share of it and the best step's. Both have two unknowns, when it began and how large it is.
fn drift_share(stretch: &Stretch, place: &ChangePlace) -> f64 {
    let points = stretch.points.len();
    let size = place.size(0.5);
    let beginnings = (0..BEGINNINGS).map(|part| part * points / BEGINNINGS);
    let best = beginnings
        .flat_map(|first| ENDS.iter().map(move |end| (first, end * size)))
        .map(|(first, end)| log_drift_likelihood(stretch, first, end, place.scale))
        .fold(f64::NEG_INFINITY, f64::max);
    1.0 / (1.0 + libm::exp(place.greatest - best))
}

/// The logarithm of the likelihood of a drift that begins before the point `first` and comes to `end` at the latest one.
fn log_drift_likelihood(stretch: &Stretch, first: usize, end: f64, scale: f64) -> f64 {
    let before = match stretch.level {
        StretchLevel::Reference => 0.0,
        StretchLevel::Unknown => median_of_points(&stretch.points[..first.max(1)]).unwrap_or(0.0),
    };
    let steps = (stretch.points.len() - first) as f64;
    let level = |at: usize| before + end * (at + 1).saturating_sub(first) as f64 / steps;
    stretch.points.iter().enumerate().map(|(at, point)| log_likelihood(&point.ratios, level(at), scale)).sum()
}
