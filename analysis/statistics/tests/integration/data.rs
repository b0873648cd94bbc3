//! Samples and comparisons that the laws share.

use speedup_statistics::{inference::Alternative, inference::ConfidenceLevel, sample::Sample};

pub(crate) const ALTERNATIVES: [Alternative; 3] =
    [Alternative::TwoSided, Alternative::Greater, Alternative::Less];
/// The same questions with the two samples exchanged.
pub(crate) const SWAPPED: [Alternative; 3] = [Alternative::TwoSided, Alternative::Less, Alternative::Greater];

pub(crate) fn sample(values: &[f64]) -> Sample {
    Sample::new(values.to_vec()).expect("finite numbers")
}

pub(crate) fn level(level: f64) -> ConfidenceLevel {
    ConfidenceLevel::new(level).expect("a level")
}

pub(crate) fn close(a: f64, b: f64, relative: f64) -> bool {
    a == b || (a - b).abs() <= relative * a.abs().max(b.abs()) + 1e-300
}
