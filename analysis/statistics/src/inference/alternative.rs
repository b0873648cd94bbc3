//! Which departure from the null hypothesis a test looks for.

use crate::inference::PValue;
use serde::Serialize;

/// The alternative hypothesis of a two-sample test, always said of the first sample against the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Alternative {
    /// The two differ, in either direction.
    TwoSided,
    /// The first sample is the greater: as times, the second version is faster.
    Greater,
    /// The first sample is the smaller.
    Less,
}

impl Alternative {
    /// How far a true `difference` of the first less the second lies in the direction of this alternative.
    pub(crate) fn directed(self, difference: f64) -> f64 {
        match self {
            Self::TwoSided => difference.abs(),
            Self::Greater => difference,
            Self::Less => -difference,
        }
    }

    /// The p-value from the probabilities of a statistic at most, and at least, as large as the observed one.
    ///
    /// Two-sided is twice the smaller tail, at most 1: exact for a symmetric law, R's convention for the
    /// others.
    pub(crate) fn p_value(self, lower_tail: f64, upper_tail: f64) -> PValue {
        PValue::clamped(match self {
            Self::TwoSided => 2.0 * lower_tail.min(upper_tail),
            Self::Greater => upper_tail,
            Self::Less => lower_tail,
        })
    }
}

/// The continuity correction of a normal approximation of a count.
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
