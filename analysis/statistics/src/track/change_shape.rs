//! Whether a change is a step or a slow drift.

use super::change_place::{ChangePlace, log_likelihood, median_of_points};
use super::stretch::{Stretch, StretchLevel};

/// A drift may have begun at so many places of a stretch.
const BEGINNINGS: usize = 16;
/// What a drift has come to, in shares of the step's size: the mean of a drift is half of its end.
const ENDS: [f64; 12] = [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 4.0];

/// The likelihood of the best drift, as a share of it and the best step's. Both have two unknowns, when it began and how large it is.
pub(super) fn drift_share(stretch: &Stretch, place: &ChangePlace) -> f64 {
    let (points, size) = (stretch.points.len(), place.size(0.5));
    let beginnings = (0..BEGINNINGS).map(|part| part * points / BEGINNINGS);
    let best = beginnings
        .flat_map(|first| ENDS.iter().map(move |end| (first, end * size)))
        .map(|(first, end)| of_drift(stretch, first, end, place.scale))
        .fold(f64::NEG_INFINITY, f64::max);
    1.0 / (1.0 + libm::exp(place.greatest - best))
}

/// The logarithm of the likelihood of a drift that begins before the point `first` and comes to `end` at the latest one.
fn of_drift(stretch: &Stretch, first: usize, end: f64, scale: f64) -> f64 {
    let before = match stretch.level {
        StretchLevel::Reference => 0.0,
        StretchLevel::Unknown => median_of_points(&stretch.points[..first.max(1)]).unwrap_or(0.0),
    };
    let steps = (stretch.points.len() - first) as f64;
    let level = |at: usize| before + end * (at + 1).saturating_sub(first) as f64 / steps;
    stretch.points.iter().enumerate().map(|(at, point)| log_likelihood(&point.ratios, level(at), scale)).sum()
}
