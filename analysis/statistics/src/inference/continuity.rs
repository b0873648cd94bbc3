//! Whether a normal approximation of a count is corrected for the count being whole.

use crate::inference::Alternative;
use serde::Serialize;

/// The continuity correction of a normal approximation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Continuity {
    /// The count is moved by ½ toward its mean, never beyond: R's default.
    Corrected,
    /// The count is taken as it is.
    Uncorrected,
}

impl Continuity {
    /// What to take from the `distance` of a count from its mean before it is compared with the normal law;
    /// one-sided, the correction is against the alternative wherever the count lies, as in R.
    pub(crate) fn toward_mean(self, alternative: Alternative, distance: f64) -> f64 {
        match (self, alternative) {
            (Self::Uncorrected, _) => 0.0,
            (Self::Corrected, Alternative::Greater) => 0.5,
            (Self::Corrected, Alternative::Less) => -0.5,
            (Self::Corrected, Alternative::TwoSided) if distance == 0.0 => 0.0,
            (Self::Corrected, Alternative::TwoSided) => 0.5_f64.copysign(distance),
        }
    }
}
