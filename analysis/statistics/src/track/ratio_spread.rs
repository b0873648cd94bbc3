//! How much ratios vary from block to block, as far as is known before a point.

use crate::sample::median_of_sorted;
use std::collections::VecDeque;

/// So many differences are remembered: an older noise may have been another.
const REMEMBERED: usize = 256;
/// With fewer, the spread is not known.
const FEWEST: usize = 8;
/// The median of the absolute difference of two standard normal numbers: √2 times the law's third quartile.
const NORMAL_MEDIAN: f64 = 0.953_872_552_410_443_8;

/// The absolute differences of ratios that followed each other. A step is one of them, a drift moves all by little, and stalls are too few to
/// move their median.
#[derive(Clone, Debug, Default)]
pub(super) struct RatioSpread {
    differences: VecDeque<f64>,
    previous: Option<f64>,
}

impl RatioSpread {
    /// The standard deviation of a ratio by what was taken; zero if that is not known, and where more than half of the ratios are equal.
    pub(super) fn of_past(&self) -> f64 {
        if self.differences.len() < FEWEST {
            return 0.0;
        }
        let mut sorted: Vec<f64> = self.differences.iter().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        median_of_sorted(&sorted) / NORMAL_MEDIAN
    }

    pub(super) fn take(&mut self, ratios: &[f64]) {
        for ratio in ratios {
            if let Some(previous) = self.previous.replace(*ratio) {
                self.differences.push_back((ratio - previous).abs());
            }
        }
        let surplus = self.differences.len().saturating_sub(REMEMBERED);
        self.differences.drain(..surplus);
    }
}
