//! Which law gives the critical value of an interval of means.

use crate::distribution::{normal, student_t};
use crate::inference::ConfidenceLevel;
use serde::Serialize;

/// The law of a mean in units of its estimated error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Critical {
    /// Student's t, which the paper recommends even where the observations are not normal (Kalibera 2012 §7.2.2).
    Student,
    /// The normal law: the asymptotic interval (Kalibera 2012 eq. 11), too narrow with fewer than about 30 units.
    Normal,
}

impl Critical {
    /// The value that the law exceeds in absolute value with the risk of `level`.
    pub(crate) fn two_sided(self, level: ConfidenceLevel, df: f64) -> f64 {
        match self {
            Self::Student => student_t::two_sided_critical(level.risk().get(), df),
            Self::Normal => normal::two_sided_critical(level.risk().get()),
        }
    }
}
