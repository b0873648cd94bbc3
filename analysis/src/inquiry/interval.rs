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

/// That an interval covers 1 beside a verdict of one direction, where it does.
pub(super) fn covers_one(verdict: Verdict, ends: Option<(f64, f64)>) -> Option<Warning> {
    let covers_one = ends.is_some_and(|(lower, upper)| lower <= 1.0 && 1.0 <= upper);
    (verdict.is_conclusive() && covers_one).then(|| Warning::from(&Caveat::IntervalCoversOne))
}

impl IntervalAnswer {
    pub(super) fn missing(code: ReasonCode, sentence: impl Into<String>) -> Self {
        Self::Missing { reason: Reason::new(code, sentence) }
    }

    pub(super) fn refused(code: ReasonCode, error: &impl Hinted) -> Self {
        Self::Missing { reason: Reason::of(code, error) }
    }

    pub(super) fn new(interval: &Interval, better: Preference) -> Self {
        let end = |end: f64| Some(end).filter(|end| end.is_finite());
        let seen = |caveat: &Caveat| match better {
            Preference::Lower => *caveat,
            Preference::Higher => caveat.exchanged(),
        };
        Self::Bounded {
            method: interval.method.to_owned(),
            lower: end(interval.lower),
            upper: end(interval.upper),
            confidence: interval.level.get(),
            caveats: interval.caveats.iter().map(seen).map(|caveat| Warning::from(&caveat)).collect(),
        }
    }

    pub(super) fn of_ratio(interval: &RatioInterval, better: Preference) -> Self {
        match interval {
            RatioInterval::Bounded(interval) => Self::new(interval, better),
            RatioInterval::Unbounded { reason, .. } => Self::Missing { reason: (*reason).into() },
        }
    }

    pub(super) fn beside(mut self, verdict: Verdict) -> Self {
        let covers = covers_one(verdict, self.ends());
        if let Self::Bounded { caveats, .. } = &mut self {
            caveats.extend(covers);
        }
        self
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
