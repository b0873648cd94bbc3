//! Whether a program became slower, commit after commit, against a reference that stays.
//!
//! * [`TrackPoint`]: a commit, with its ratios to the reference, one for each block of runs;
//! * [`Track`]: takes points in their order, and finds steps and slow drifts with a declared number of false alarms a year;
//! * [`AlarmRate`]: that number, for how many points and benchmarks;
//! * [`TrackStep`]: the set of commits at a confidence level, the size, and whether it is a step or a drift;
//! * [`NoiseFloor`]: what the reference shows against itself, and the smallest change that a point finds.
//!
//! Each block runs commit and reference in an order that is drawn. So without a change the logarithm of their ratio is as likely above zero
//! as below it, whatever the noise: the track bets on signs, and no law of the noise can make it win (G. Shafer, Testing by betting, 2021).
//! The sum of its gains over all points at which a change may have begun is an e-detector (J. Shin, A. Ramdas and A. Rinaldo, E-detectors, 2023).

mod alarm_rate;
mod bets;
mod change_place;
mod noise_floor;
mod step;
mod stretch;

use crate::inference::{ConfidenceLevel, Threshold};
use crate::{sample::Sample, sample::median_of_sorted, test::PseudoMedian};
pub use alarm_rate::{AlarmRate, AlarmRateError};
pub use noise_floor::{NoiseFloor, NoiseFloorError, NoiseFloorInterval};
use serde::Serialize;
use std::collections::VecDeque;
pub use step::{ChangeShape, TrackStep};
pub use stretch::StretchLevel;
use stretch::{SpreadPoint, Stretch};
use thiserror::Error;

/// The most points: a commit every half hour for twenty years.
const MOST_TRACK_POINTS: usize = 350_000;

/// What a track is to find.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrackRule {
    /// How many false alarms are allowed.
    pub alarms: AlarmRate,
    /// What the level is before any change.
    pub level: StretchLevel,
    /// Levels within this share of what they were before count as no change.
    pub margin: Threshold,
    /// Of the set of commits, and of the size.
    pub confidence: ConfidenceLevel,
}

/// A commit that was measured beside the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrackPoint {
    /// Its position on the branch, from 0.
    pub commit: usize,
    /// The logarithms of commit over reference, one for each block.
    pub ratios: Vec<f64>,
}

impl TrackPoint {
    /// A point whose ratios share a cause beyond the commit, such as the layout of its build, as one ratio: their pseudo-median (J. Hodges and E. Lehmann,
    /// Estimates of location based on rank tests, 1963). It is symmetric about the level if such causes are, and the noise.
    pub fn as_one(commit: usize, ratios: Vec<f64>) -> Self {
        // What is no sample, the track refuses.
        let one = Sample::new(ratios.clone()).map(|sample| vec![PseudoMedian::new(&sample).estimate()]);
        Self { commit, ratios: one.unwrap_or(ratios) }
    }
}

/// Why a point was refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum TrackError {
    /// A commit that does not come after the previous one.
    #[error("commit {commit} does not come after commit {previous}, the latest of the track")]
    Order { commit: usize, previous: usize },
    #[error("the point of commit {commit} has no ratio")]
    Empty { commit: usize },
    #[error("the point of commit {commit} has the logarithm {ratio}; a ratio must be positive and finite")]
    NotFinite { commit: usize, ratio: f64 },
    #[error("a track has at most {MOST_TRACK_POINTS} points")]
    Full,
}

speedup_core::hints! { TrackError:
    Self::Order { .. } => "give the points in the order of the branch",
    Self::Empty { .. } => "leave out the commits of which no block has both runs",
    Self::Full => "begin a new track",
    Self::NotFinite { .. } => "take a metric that is never zero, such as a time",
}

/// A standing experiment on one benchmark.
///
/// # What is promised
/// Let the ratios of the points be independent, each of a law that is symmetric about the level of its point, and let that level stay within the
/// margin. Then the expected number of false alarms in *N* points is at most *N* divided by [`AlarmRate::points_between`], for every *N*, every
/// law, and laws that change. What shares a cause beyond the commit, such as the layout of its build, is not independent: give
/// such a point [as one ratio](TrackPoint::as_one).
///
/// ```
/// use speedup_statistics::inference::{ConfidenceLevel, Threshold};
/// use speedup_statistics::track::{AlarmRate, StretchLevel, Track, TrackPoint, TrackRule};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rule = TrackRule {
///     alarms: AlarmRate::new(1.0, 365.0, 1)?,
///     level: StretchLevel::Reference,
///     margin: Threshold::NONE,
///     confidence: ConfidenceLevel::USUAL,
/// };
/// let mut track = Track::new(rule);
/// for commit in 0..40 {
///     // Six blocks. From commit 30 on the program takes 2 % longer.
///     let noise = |block: usize| 0.01 * ((commit * 7 + block * 5) % 11) as f64 - 0.05;
///     let level = if commit >= 30 { 0.02 } else { 0.0 };
///     track.observe(TrackPoint { commit, ratios: (0..6).map(|block| level + noise(block) / 10.0).collect() })?;
/// }
/// assert_eq!(track.steps().len(), 1);
/// assert!(track.steps()[0].commits.commits.contains(&30));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Track {
    rule: TrackRule,
    stretch: Stretch,
    spread: RatioSpread,
    steps: Vec<TrackStep>,
    points: usize,
    latest: Option<usize>,
}

impl Track {
    /// The method's full name.
    pub const NAME: &'static str = "e-detector by bets on the signs of paired ratios (Shiryaev–Roberts)";

    /// A track without points.
    pub fn new(rule: TrackRule) -> Self {
        let stretch = Stretch::new(rule.level, None);
        Self { rule, stretch, spread: RatioSpread::default(), steps: Vec::new(), points: 0, latest: None }
    }

    /// The same, of commits after this one: those between it and the first point may have begun a change, too.
    #[must_use]
    pub fn after(mut self, commit: usize) -> Self {
        self.latest = Some(commit);
        self.begin_stretch(self.rule.level);
        self
    }

    /// Takes the next point, and says whether it raises an alarm. After an alarm a new stretch begins, whose level is not known.
    ///
    /// # Errors
    /// [`TrackError`] for a point out of order, without ratios, or with one that is not finite, and for too many points.
    pub fn observe(&mut self, point: TrackPoint) -> Result<Option<&TrackStep>, TrackError> {
        self.check(&point)?;
        let spread = self.spread.past_spread();
        self.spread.take(&point.ratios);
        self.points += 1;
        self.latest = Some(point.commit);
        let commit = point.commit;
        let evidence = self.stretch.take(SpreadPoint { commit, ratios: point.ratios, spread }, self.margin());
        if evidence < self.rule.alarms.points_between() {
            return Ok(None);
        }
        let next = Stretch::new(StretchLevel::Unknown, Some(commit));
        let ended = std::mem::replace(&mut self.stretch, next);
        self.steps.push(TrackStep::new(&ended, self.margin(), self.rule.confidence, evidence));
        Ok(self.steps.last())
    }

    /// Begins a new stretch at `level`: with [`StretchLevel::Reference`] once the latest commit has become the reference.
    pub fn begin_stretch(&mut self, level: StretchLevel) {
        self.stretch = Stretch::new(level, self.latest);
    }

    /// Every alarm, in order.
    pub fn steps(&self) -> &[TrackStep] {
        &self.steps
    }

    /// The evidence for a change since the stretch began. An alarm is raised when it reaches [`AlarmRate::points_between`]. Against the reference's
    /// level its expectation without a change is at most the number of points of the stretch; against an unknown level it is the least, over all levels, of the
    /// most that there ever was.
    pub fn evidence(&self) -> f64 {
        self.stretch.evidence()
    }

    fn check(&self, point: &TrackPoint) -> Result<(), TrackError> {
        let commit = point.commit;
        if let Some(previous) = self.latest.filter(|previous| *previous >= commit) {
            return Err(TrackError::Order { commit, previous });
        }
        if self.points >= MOST_TRACK_POINTS {
            return Err(TrackError::Full);
        }
        if point.ratios.is_empty() {
            return Err(TrackError::Empty { commit });
        }
        match point.ratios.iter().find(|ratio| !ratio.is_finite()) {
            Some(&ratio) => Err(TrackError::NotFinite { commit, ratio }),
            None => Ok(()),
        }
    }

    /// As a logarithm.
    fn margin(&self) -> f64 {
        libm::log1p(self.rule.margin.get())
    }
}

/// So many differences are remembered: an older noise may have been another.
const REMEMBERED: usize = 256;
/// With fewer, the spread is not known.
const FEWEST_DIFFERENCES: usize = 8;
/// The median of the absolute difference of two standard normal numbers: √2 times the law's third quartile.
const NORMAL_MEDIAN: f64 = 0.953_872_552_410_443_8;

/// The absolute differences of ratios that followed each other. A step is one of them, a drift moves all by little, and stalls are too few to
/// move their median.
#[derive(Clone, Debug, Default)]
struct RatioSpread {
    differences: VecDeque<f64>,
    previous: Option<f64>,
}

impl RatioSpread {
    /// The standard deviation of a ratio by what was taken; zero if that is not known, and where more than half of the ratios are equal.
    fn past_spread(&self) -> f64 {
        if self.differences.len() < FEWEST_DIFFERENCES {
            return 0.0;
        }
        let mut sorted: Vec<f64> = self.differences.iter().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        median_of_sorted(&sorted) / NORMAL_MEDIAN
    }

    fn take(&mut self, ratios: &[f64]) {
        for ratio in ratios {
            if let Some(previous) = self.previous.replace(*ratio) {
                self.differences.push_back((ratio - previous).abs());
            }
        }
        let surplus = self.differences.len().saturating_sub(REMEMBERED);
        self.differences.drain(..surplus);
    }
}
