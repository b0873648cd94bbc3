//! What must be known beside a number, and intervals that carry it.

use super::Preference;
use crate::study::{Reason, Verdict};
use serde::{Deserialize, Serialize};
use speedup_core::value::hint::Hinted;
use speedup_statistics::inference::{Caveat, Interval, RatioInterval};
use speedup_statistics::mixture::MixtureCaveat;
use speedup_statistics::mixture::goodness_of_fit::GoodnessOfFitCaveat;

/// A caveat: a code that stays the same between releases, and a sentence with a next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// Its name.
    pub code: String,
    /// A sentence for a person.
    pub sentence: String,
}

/// An interval with its caveats, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum IntervalAnswer {
    /// There is one.
    Bounded {
        /// The full name of the method.
        method: String,
        /// The lower end; absent for an interval that is open below.
        lower: Option<f64>,
        /// The upper end; absent for an interval that is open above.
        upper: Option<f64>,
        /// The confidence level achieved.
        confidence: f64,
        /// What must be known.
        caveats: Vec<Remark>,
    },
    /// There is none.
    Missing {
        /// Why.
        reason: Reason,
    },
}

impl Remark {
    pub(super) fn new(code: &str, sentence: impl Into<String>) -> Self {
        Self { code: code.to_owned(), sentence: sentence.into() }
    }

    /// That an interval covers 1 beside a verdict of one direction, where it does.
    pub(super) fn of_verdict(verdict: Verdict, ends: Option<(f64, f64)>) -> Option<Self> {
        let covers_one = ends.is_some_and(|(lower, upper)| lower <= 1.0 && 1.0 <= upper);
        (verdict.is_conclusive() && covers_one).then(|| Self::from(&Caveat::IntervalCoversOne))
    }

    /// The caveats of a method whose samples were given as `better` has it.
    pub(super) fn all(caveats: &[Caveat], better: Preference) -> Vec<Self> {
        caveats
            .iter()
            .map(|caveat| match better {
                Preference::Lower => Self::from(caveat),
                Preference::Higher => Self::from(&caveat.exchanged()),
            })
            .collect()
    }
}

impl From<&Caveat> for Remark {
    fn from(caveat: &Caveat) -> Self {
        Self::new(caveat.code(), caveat.sentence())
    }
}

impl From<&MixtureCaveat> for Remark {
    fn from(caveat: &MixtureCaveat) -> Self {
        let code = match caveat {
            MixtureCaveat::FewObservations { .. } => "few_observations",
            MixtureCaveat::Ties { .. } => "ties",
            MixtureCaveat::CoarseAgainstSpread { .. } => "coarse_against_spread",
            MixtureCaveat::NarrowComponent { .. } => "narrow_component",
            MixtureCaveat::CloseChoice { .. } => "close_choice",
            MixtureCaveat::MostComponents => "most_components",
            MixtureCaveat::NotConverged => "not_converged",
        };
        Self::new(code, caveat.sentence())
    }
}

impl From<&GoodnessOfFitCaveat> for Remark {
    fn from(caveat: &GoodnessOfFitCaveat) -> Self {
        let code = match caveat {
            GoodnessOfFitCaveat::Ties { .. } => "ties",
            GoodnessOfFitCaveat::BelowResolution { .. } => "below_resolution",
            GoodnessOfFitCaveat::Subset { .. } => "subset",
            GoodnessOfFitCaveat::ResamplesLeftOut { .. } => "resamples_left_out",
        };
        Self::new(code, caveat.sentence())
    }
}

impl IntervalAnswer {
    pub(super) fn missing(code: &str, sentence: impl Into<String>) -> Self {
        Self::Missing { reason: Reason::new(code, sentence) }
    }

    pub(super) fn refused(code: &str, error: &impl Hinted) -> Self {
        Self::Missing { reason: Reason::of(code, error) }
    }

    pub(super) fn new(interval: &Interval, better: Preference) -> Self {
        let end = |end: f64| Some(end).filter(|end| end.is_finite());
        Self::Bounded {
            method: interval.method.to_owned(),
            lower: end(interval.lower),
            upper: end(interval.upper),
            confidence: interval.level.get(),
            caveats: Remark::all(&interval.caveats, better),
        }
    }

    pub(super) fn of_ratio(interval: &RatioInterval, better: Preference) -> Self {
        match interval {
            RatioInterval::Bounded(interval) => Self::new(interval, better),
            RatioInterval::Unbounded { reason, .. } => Self::missing(reason.code(), reason.sentence()),
        }
    }

    /// With what must be known of it beside `verdict`.
    pub(super) fn beside(mut self, verdict: Verdict) -> Self {
        let remark = Remark::of_verdict(verdict, self.ends());
        if let Self::Bounded { caveats, .. } = &mut self {
            caveats.extend(remark);
        }
        self
    }

    /// What must be known of it.
    pub fn caveats(&self) -> &[Remark] {
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
