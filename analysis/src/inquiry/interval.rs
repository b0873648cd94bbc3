//! Intervals with what must be known of them.

use super::Preference;
use crate::conclusion::{Reason, ReasonCode, Verdict, Warning};
use serde::{Deserialize, Serialize};
use speedup_core::value::hint::Hinted;
use speedup_statistics::inference::{Caveat, Interval, RatioInterval};

/// An interval with its caveats, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum IntervalAnswer {
    Bounded {
        /// The full name of the method.
        method: String,
        /// The lower end; absent for an interval that is open below.
        lower: Option<f64>,
        /// The upper end; absent for an interval that is open above.
        upper: Option<f64>,
        /// The confidence level achieved.
        confidence: f64,
        caveats: Vec<Warning>,
    },
    Missing {
        reason: Reason,
    },
}

/// Warns of an interval that covers 1 beside a verdict of one direction.
pub(super) fn covers_one(verdict: Verdict, ends: Option<(f64, f64)>) -> Option<Warning> {
    let (lower, upper) = ends?;
    let covers_one = lower <= 1.0 && 1.0 <= upper;
    if verdict.is_conclusive() && covers_one { Some(Warning::from(&Caveat::IntervalCoversOne)) } else { None }
}

/// The interval of a finding whose test was not made.
impl Default for IntervalAnswer {
    fn default() -> Self {
        Self::missing(ReasonCode::NotEnoughData, "there is no test")
    }
}

impl IntervalAnswer {
    pub(super) fn missing(code: ReasonCode, sentence: impl Into<String>) -> Self {
        Self::Missing { reason: Reason::new(code, sentence) }
    }

    pub(super) fn refused(code: ReasonCode, error: &impl Hinted) -> Self {
        Self::Missing { reason: Reason::of(code, error) }
    }

    pub(super) fn new(interval: &Interval, better: Preference) -> Self {
        let caveats = interval.caveats.iter().map(|caveat| match better {
            Preference::Lower => Warning::from(caveat),
            Preference::Higher => Warning::from(&caveat.exchanged()),
        });
        Self::Bounded {
            method: interval.method.to_owned(),
            lower: Some(interval.lower).filter(|end| end.is_finite()),
            upper: Some(interval.upper).filter(|end| end.is_finite()),
            confidence: interval.level.get(),
            caveats: caveats.collect(),
        }
    }

    pub(super) fn for_ratio(interval: &RatioInterval, better: Preference) -> Self {
        match interval {
            RatioInterval::Bounded(interval) => Self::new(interval, better),
            RatioInterval::Unbounded { reason, .. } => Self::Missing { reason: (*reason).into() },
        }
    }

    /// Adds the caveat that it covers 1 beside a verdict of one direction, where it does.
    pub(super) fn warn_beside(&mut self, verdict: Verdict) {
        let covers = covers_one(verdict, self.ends());
        if let Self::Bounded { caveats, .. } = self {
            caveats.extend(covers);
        }
    }

    /// What must be known of it.
    pub fn caveats(&self) -> &[Warning] {
        match self {
            Self::Bounded { caveats, .. } => caveats,
            Self::Missing { .. } => &[],
        }
    }

    /// Both ends, if there are two.
    pub fn ends(&self) -> Option<(f64, f64)> {
        match self {
            Self::Bounded { lower, upper, .. } => lower.zip(*upper),
            Self::Missing { .. } => None,
        }
    }

    /// Why there is none.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Bounded { .. } => None,
            Self::Missing { reason } => Some(reason),
        }
    }
}
