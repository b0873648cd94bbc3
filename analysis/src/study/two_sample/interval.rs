//! The interval of a ratio or of a share, as reports have it.

use crate::conclusion::{Reason, ReasonCode, WarningCode, Word};
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{Caveat, ConfidenceLevel, Critical, Interval, RatioInterval};
use speedup_statistics::levels::{EffectSize, LevelTree, RandomEffects};
use speedup_statistics::ratio::RatioError;

/// An interval, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum IntervalReport {
    /// Both ends are known.
    Bounded {
        /// The full name of the method.
        method: String,
        /// The lower end.
        lower: f64,
        /// The upper end.
        upper: f64,
        /// The level achieved.
        confidence: f64,
        /// The code names of its caveats.
        caveats: Vec<Word<WarningCode>>,
    },
    /// There is none.
    Missing {
        /// Why.
        reason: Reason,
    },
}

impl IntervalReport {
    /// That of the number with the other sign.
    pub(crate) fn mirrored(self) -> Self {
        match self {
            // 0 less 0 has a sign of its own.
            Self::Bounded { method, lower, upper, confidence, caveats } => {
                Self::Bounded { method, lower: 0.0 - upper, upper: 0.0 - lower, confidence, caveats }
            }
            Self::Missing { reason } => Self::Missing { reason },
        }
    }

    /// The part of it between two numbers, as of a share.
    pub(crate) fn within(&self, least: f64, most: f64) -> Self {
        match self.clone() {
            Self::Bounded { method, lower, upper, confidence, caveats } => {
                let [lower, upper] = [lower, upper].map(|end| end.clamp(least, most));
                Self::Bounded { method, lower, upper, confidence, caveats }
            }
            missing @ Self::Missing { .. } => missing,
        }
    }

    /// The full name of the method, where there is an interval.
    pub fn method(&self) -> Option<&str> {
        match self {
            Self::Bounded { method, .. } => Some(method),
            Self::Missing { .. } => None,
        }
    }

    /// Why there is none.
    pub(crate) fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Bounded { .. } => None,
            Self::Missing { reason } => Some(reason),
        }
    }

    /// The ends, if they are known.
    pub fn ends(&self) -> Option<(f64, f64)> {
        match self {
            Self::Bounded { lower, upper, .. } => Some((*lower, *upper)),
            Self::Missing { .. } => None,
        }
    }
}

impl From<&RatioInterval> for IntervalReport {
    fn from(interval: &RatioInterval) -> Self {
        match interval {
            RatioInterval::Bounded(interval) => interval.into(),
            RatioInterval::Unbounded { reason, .. } => Self::Missing { reason: (*reason).into() },
        }
    }
}

impl From<&Interval> for IntervalReport {
    fn from(interval: &Interval) -> Self {
        Self::Bounded {
            method: interval.method.to_owned(),
            lower: interval.lower,
            upper: interval.upper,
            confidence: interval.level.get(),
            caveats: codes(&interval.caveats),
        }
    }
}

impl From<&Result<RatioInterval, RatioError>> for IntervalReport {
    fn from(interval: &Result<RatioInterval, RatioError>) -> Self {
        match interval {
            Ok(interval) => interval.into(),
            Err(error) => Self::Missing { reason: Reason::from(error) },
        }
    }
}

/// The interval of the speedup of the mean by levels (Kalibera 2012 §7.3): the effect size with the versions exchanged.
pub(crate) fn by_levels(
    [baseline, candidate]: &[LevelTree; 2],
    level: ConfidenceLevel,
) -> (IntervalReport, Vec<Caveat>) {
    let [baseline, candidate] = [baseline, candidate].map(RandomEffects::new);
    match EffectSize::new(candidate, baseline) {
        Ok(speedup) => {
            let interval = speedup.interval(level, Critical::Student);
            let caveats = interval.bounded().map_or_else(Vec::new, |interval| interval.caveats.clone());
            (IntervalReport::from(&interval), caveats)
        }
        Err(error) => {
            (IntervalReport::Missing { reason: Reason::of(ReasonCode::NoEffectSize, &error) }, Vec::new())
        }
    }
}

pub(crate) fn codes(caveats: &[Caveat]) -> Vec<Word<WarningCode>> {
    caveats.iter().map(|caveat| WarningCode::from(caveat).into()).collect()
}
