//! The points since the track began, or since its latest step.

use super::bets::LevelBet;
use serde::Serialize;

/// Ends between which an unknown level may lie, as it may beyond the outer ones: so many, as far as so many standard deviations from the median. The
/// first are of the mean of all ratios, since the level is probably near. The second are of a ratio: the closer the ends, the smaller the changes between
/// levels that are found.
const ENDS: [(usize, f64); 2] = [(17, 4.0), (49, 6.0)];
/// With a margin, further ends a quarter of it apart, as far as four of it: where it is large beside the noise, an interval that the margin widens would else hold
/// the levels before and after a change.
const MARGIN_QUARTERS: i32 = 16;

/// What is known of the level of a stretch, the logarithm of commit over reference without a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StretchLevel {
    /// Zero: the commits are as fast as the reference, until they change.
    Reference,
    /// Some level that stays, until it changes. If more than half of the ratios are equal, as those of a counter, a change may be found late or never: make
    /// the latest commit the reference instead.
    Unknown,
}

/// A point with the spread that was known before it.
#[derive(Clone, Debug)]
pub(super) struct SpreadPoint {
    pub(super) commit: usize,
    pub(super) ratios: Vec<f64>,
    pub(super) spread: f64,
}

/// Points of which the level is zero, or one and the same, if nothing changes.
///
/// Where it is not known, every level is a hypothesis. They are covered by intervals. Of each the most evidence counts that there ever was: a level to which
/// the ratios came by a change is refuted by those before. The evidence is that against the interval of which there is least. Whatever the true level is,
/// the most evidence against it is as large or larger, so there is no alarm before one against the true level, and the intervals may be chosen anew by all
/// that is known.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    pub(super) level: StretchLevel,
    /// The latest commit before it, if there is one.
    pub(super) before: Option<usize>,
    pub(super) points: Vec<SpreadPoint>,
    bets: Vec<LevelBet>,
}

impl Stretch {
    pub(super) fn new(level: StretchLevel, before: Option<usize>) -> Self {
        Self { level, before, points: Vec::new(), bets: Vec::new() }
    }

    /// Takes a point, and returns the evidence for a change beyond `margin`.
    pub(super) fn take(&mut self, point: SpreadPoint, margin: f64) -> f64 {
        self.points.push(point);
        let is_unknown = self.level == StretchLevel::Unknown;
        // Twice the points halve the work that is left to do again each time.
        if self.points.len() == 1 || (is_unknown && self.points.len().is_power_of_two()) {
            self.bets =
                if is_unknown { self.intervals(margin) } else { vec![LevelBet::new(-margin, margin)] };
            for point in &self.points {
                self.bets.iter_mut().for_each(|bet| bet.take(&point.ratios, point.spread));
            }
        } else if let Some(point) = self.points.last() {
            self.bets.iter_mut().for_each(|bet| bet.take(&point.ratios, point.spread));
        }
        self.evidence()
    }

    /// The least over the hypotheses.
    pub(super) fn evidence(&self) -> f64 {
        let of = match self.level {
            StretchLevel::Reference => LevelBet::evidence,
            StretchLevel::Unknown => LevelBet::peak,
        };
        let least = self.bets.iter().map(of).fold(f64::INFINITY, f64::min);
        if self.bets.is_empty() { 0.0 } else { least }
    }

    /// All ratios in ascending order.
    pub(super) fn sorted_ratios(&self) -> Vec<f64> {
        let mut sorted: Vec<f64> =
            self.points.iter().flat_map(|point| point.ratios.iter().copied()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    }

    /// Intervals that cover every level, fine where it probably is.
    fn intervals(&self, margin: f64) -> Vec<LevelBet> {
        let sorted = self.sorted_ratios();
        let centre = crate::sample::median_of_sorted(&sorted);
        let spread = self.points.last().map_or(0.0, |point| point.spread);
        let widths = [spread / (sorted.len() as f64).sqrt(), spread];
        let around = |((ends, outer), width): ((usize, f64), f64)| {
            (0..ends).map(move |at| centre + width * outer * (2.0 * at as f64 / (ends - 1) as f64 - 1.0))
        };
        let mut ends: Vec<f64> = ENDS.into_iter().zip(widths).flat_map(around).collect();
        if margin > 0.0 {
            let quarters = -MARGIN_QUARTERS..=MARGIN_QUARTERS;
            ends.extend(quarters.map(|quarters| centre + margin * f64::from(quarters) / 4.0));
        }
        ends.sort_unstable_by(f64::total_cmp);
        let lowers = std::iter::once(f64::NEG_INFINITY).chain(ends.iter().copied());
        let uppers = ends.iter().copied().chain(std::iter::once(f64::INFINITY));
        lowers.zip(uppers).map(|(lower, upper)| LevelBet::new(lower - margin, upper + margin)).collect()
    }
}
