//! A confidence interval that says what made it and how sure it is.

use crate::{distribution::normal, distribution::student_t, inference::Caveat, inference::ConfidenceLevel};
use serde::Serialize;

/// A confidence interval. A one-sided one has an infinite end, which JSON shows as null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The full name of the method.
    pub method: &'static str,
    /// The lower end, in the unit of what is estimated.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// The level achieved, which for exact methods on few runs is above the level asked for.
    pub level: ConfidenceLevel,
    /// What the reader must know.
    pub caveats: Vec<Caveat>,
}

/// The interval of a ratio, which the data may leave without an end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RatioInterval {
    /// Both ends are known.
    Bounded(Interval),
    /// No finite interval has the level asked for; there are no numbers to print.
    Unbounded {
        /// The full name of the method.
        method: &'static str,
        level: ConfidenceLevel,
        reason: Unbounded,
    },
}

/// Why the interval of a ratio has no ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unbounded {
    /// The denominator's mean is not distinguishable from zero at this level.
    DenominatorNearZero,
    /// Neither mean is distinguishable from zero at this level, so that no ratio at all is excluded.
    NoRatioExcluded,
    /// The runs are too few for any order statistic to reach the level.
    TooFewRuns,
}

impl Unbounded {
    /// A sentence for a person, with a next step.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::DenominatorNearZero => {
                "The mean below the line of the ratio cannot be told from zero at this level, so the ratio \
                 has no bounded interval: measure a longer run, or more of them."
            }
            Self::NoRatioExcluded => {
                "Neither mean can be told from zero at this level, so these data exclude no ratio at all: \
                 measure longer runs, or more of them."
            }
            Self::TooFewRuns => {
                "There are too few runs for an interval at this level: plan more runs, or ask for a lower \
                 level."
            }
        }
    }
}

impl RatioInterval {
    /// The same of a monotone function of the ratio, which gives the ends of its interval, or why there are none.
    #[must_use]
    pub(crate) fn with_ends(self, of: impl Fn([f64; 2]) -> Result<[f64; 2], Unbounded>) -> Self {
        let Self::Bounded(interval) = self else { return self };
        match of([interval.lower, interval.upper]) {
            Ok([lower, upper]) => Self::Bounded(Interval { lower, upper, ..interval }),
            Err(reason) => Self::Unbounded { method: interval.method, level: interval.level, reason },
        }
    }

    /// The same of a ratio that cannot be negative, as of times: what lies below zero is left out, which costs no level.
    #[must_use]
    pub(crate) fn cut_at_zero(self) -> Self {
        self.with_ends(|[lower, upper]| Ok([lower.max(0.0), upper]))
    }

    /// The interval, if it has ends.
    pub fn bounded(&self) -> Option<&Interval> {
        match self {
            Self::Bounded(interval) => Some(interval),
            Self::Unbounded { .. } => None,
        }
    }
}

/// The law of a mean in units of its estimated error, which gives the critical value of its interval.
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
