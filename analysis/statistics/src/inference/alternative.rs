//! Which departure from the null hypothesis a test looks for.

use crate::inference::{ConfidenceLevel, PValue};
use serde::Serialize;

/// So near to 1 that the interval is the estimate but for rounding, and quantiles are numbers.
const MOST_RISK: f64 = 1.0 - 1e-9;

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
    /// The level of the two-sided interval whose ends hold one-sided at `level`: that with twice the risk. A level of one half or
    /// below has none, and the widest that there is, of one half, stands for it.
    pub(crate) fn two_sided_level(self, level: ConfidenceLevel) -> ConfidenceLevel {
        match self {
            Self::TwoSided => level,
            Self::Greater | Self::Less => {
                ConfidenceLevel::achieved((2.0 * level.risk().get()).min(MOST_RISK))
            }
        }
    }

    /// How far a true `difference` of the first less the second lies in the direction of this alternative.
    pub(crate) fn of_difference(self, difference: f64) -> f64 {
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
