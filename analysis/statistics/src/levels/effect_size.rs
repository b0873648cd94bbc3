//! By how much a candidate's mean differs from the baseline's, with an interval, for experiments of any
//! number of levels.
//!
//! The effect size of Kalibera 2012 §7.3 is the ratio of the mean times, new over old: here candidate over baseline, so
//! that 0.95 is "5 % less time". The speedup, baseline over candidate, is the effect size with the versions
//! exchanged; Fieller's limits of one are the reciprocals of the other's.
//!
//! The paper gives both versions the same counts and takes nₙ₊₁ − 1 degrees of freedom. With different counts
//! it points to Satterthwaite's (Dilba et al. 2007), which are never fewer than the smaller of the two
//! versions'; that smaller number is taken, which agrees with the paper's where the counts are equal and keeps
//! the level where they are not.

use crate::distribution::student_t;
use crate::inference::{
    Alternative, Caveat, ConfidenceLevel, Critical, Interval, PValue, RatioInterval, Side, Unbounded,
};
use crate::{levels::MeanErrorUnknown, levels::RandomEffects, ratio::fieller, ratio::fieller::Estimate};
use serde::Serialize;
use thiserror::Error;

/// The ratio of two mean times, candidate over baseline.
///
/// ```
/// use speedup_statistics::inference::{ConfidenceLevel, Critical};
/// use speedup_statistics::levels::{EffectSize, LevelTree, RandomEffects};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Kalibera 2012, Table V and §6.2: the old and the new system.
/// let old = vec![9.0, 11.0, 5.0, 6.0, 16.0, 13.0, 12.0, 8.0, 15.0, 7.0, 10.0, 14.0];
/// let new = vec![10.0, 12.0, 6.0, 7.0, 9.0, 1.0, 11.0, 4.0, 8.0, 5.0, 3.0, 2.0];
/// let old = RandomEffects::new(&LevelTree::balanced(old, &[2, 2, 3])?);
/// let new = RandomEffects::new(&LevelTree::balanced(new, &[2, 2, 3])?);
/// let interval = EffectSize::new(old, new)?.interval(ConfidenceLevel::USUAL, Critical::Student);
/// let interval = interval.bounded().ok_or("the old mean is not near zero")?;
/// // The paper prints 0.1 and 1.7.
/// assert!((interval.lower - 0.10983).abs() < 1e-5 && (interval.upper - 1.72530).abs() < 1e-5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectSize {
    baseline: RandomEffects,
    candidate: RandomEffects,
    baseline_error: f64,
    candidate_error: f64,
}

/// Why two experiments have no effect size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EffectSizeError {
    /// The mean of a version has no error.
    #[error("the mean of the {} has no error", side.name())]
    NoError {
        side: Side,
        #[source]
        source: MeanErrorUnknown,
    },
    #[error("the units of the highest level all have one mean in each version, so the ratio has no error")]
    Constant,
    /// The units of the highest level do not vary beyond the rounding of their means.
    #[error(
        "the units of the highest level have one mean in each version but for rounding, so the ratio has no error"
    )]
    EssentiallyConstant,
    #[error("the baseline's mean is zero, so there is no ratio to it")]
    BaselineZero,
}

speedup_core::hints! { EffectSizeError:
    Self::NoError { source, .. } => source.hint(),
    Self::Constant | Self::EssentiallyConstant => "use a finer clock or a longer run",
}

impl EffectSize {
    /// Fieller's interval with Student's t.
    pub const NAME_FIELLER: &'static str = "Fieller interval of the ratio of means by levels";
    /// Fieller's interval with the normal law.
    const NAME_FIELLER_NORMAL: &'static str = "Fieller interval of the ratio of means by levels (normal law)";
    /// The interval by the delta method.
    const NAME_DELTA: &'static str = "delta-method interval of the ratio of means by levels";

    /// The effect of the change from `baseline` to `candidate`.
    ///
    /// # Errors
    /// [`EffectSizeError`] for one unit of the highest level, no variation beyond rounding, or a baseline of mean zero.
    pub fn new(baseline: RandomEffects, candidate: RandomEffects) -> Result<Self, EffectSizeError> {
        let baseline_error = squared_error(&baseline, Side::Baseline)?;
        let candidate_error = squared_error(&candidate, Side::Candidate)?;
        if baseline_error == 0.0 && candidate_error == 0.0 {
            return Err(EffectSizeError::Constant);
        }
        if baseline.mean() == 0.0 {
            return Err(EffectSizeError::BaselineZero);
        }
        let above = Estimate { mean: candidate.mean(), squared_error: candidate_error };
        let below = Estimate { mean: baseline.mean(), squared_error: baseline_error };
        if fieller::is_rounding(above, below) {
            return Err(EffectSizeError::EssentiallyConstant);
        }
        Ok(Self { baseline, candidate, baseline_error, candidate_error })
    }

    /// The versions exchanged: the effect size that is the speedup.
    ///
    /// # Errors
    /// [`EffectSizeError::BaselineZero`] if the candidate's mean is zero.
    pub fn exchanged(&self) -> Result<Self, EffectSizeError> {
        Self::new(self.candidate.clone(), self.baseline.clone())
    }

    /// The ratio of the means, candidate over baseline (Kalibera 2012 §7.3).
    pub fn estimate(&self) -> f64 {
        self.candidate.mean() / self.baseline.mean()
    }

    /// The p-value of the ratio being `ratio`, by Student's t: Fieller's interval leaves out what it rejects.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        let [candidate, baseline] = self.estimates();
        let tails = student_t::tails(fieller::statistic(candidate, baseline, ratio), self.df());
        alternative.p_value(tails.lower, tails.upper)
    }

    /// Fieller's interval of the ratio (Kalibera 2012 eq. 12).
    pub fn interval(&self, level: ConfidenceLevel, critical: Critical) -> RatioInterval {
        let method = match critical {
            Critical::Student => Self::NAME_FIELLER,
            Critical::Normal => Self::NAME_FIELLER_NORMAL,
        };
        let [candidate, baseline] = self.estimates();
        match fieller::limits(candidate, baseline, self.critical(level, critical)) {
            Ok([lower, upper]) => {
                RatioInterval::Bounded(Interval { method, lower, upper, level, caveats: self.caveats() })
            }
            Err(reason) => RatioInterval::Unbounded { method, level, reason },
        }
    }

    /// The symmetric interval r ± t √(v_C + r²v_B)/|Ȳ_B| by the delta method, which Kalibera 2012 §7.3.2 names as the
    /// usual alternative. It is bounded even where the baseline's mean is hardly above zero, and wrong there:
    /// for comparison with others' results.
    pub fn delta_interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let ratio = self.estimate();
        let t = self.critical(level, Critical::Student);
        let error = self.candidate_error.sqrt().hypot(ratio * self.baseline_error.sqrt());
        let half = t * error / self.baseline.mean().abs();
        let method = Self::NAME_DELTA;
        if !half.is_finite() || !ratio.is_finite() {
            let reason = Unbounded::DenominatorNearZero;
            return RatioInterval::Unbounded { method, level, reason };
        }
        let lower = ratio - half;
        let upper = ratio + half;
        RatioInterval::Bounded(Interval { method, lower, upper, level, caveats: self.caveats() })
    }

    fn critical(&self, level: ConfidenceLevel, critical: Critical) -> f64 {
        critical.two_sided(level, self.df())
    }

    fn df(&self) -> f64 {
        (self.baseline.highest_units().min(self.candidate.highest_units()) - 1) as f64
    }

    /// Of the candidate, and of the baseline.
    fn estimates(&self) -> [Estimate; 2] {
        [
            Estimate { mean: self.candidate.mean(), squared_error: self.candidate_error },
            Estimate { mean: self.baseline.mean(), squared_error: self.baseline_error },
        ]
    }

    /// What must be known of interval and p-value.
    pub fn caveats(&self) -> Vec<Caveat> {
        let mut caveats = self.baseline.caveats();
        caveats.extend(self.candidate.caveats());
        let n = self.baseline.highest_units();
        let m = self.candidate.highest_units();
        if n != m {
            caveats.push(Caveat::UnequalUnits { n, m });
        }
        for (side, effects) in [(Side::Baseline, &self.baseline), (Side::Candidate, &self.candidate)] {
            if effects.mean() <= 0.0 {
                caveats.push(Caveat::MeanNotPositive { side });
            }
        }
        caveats.dedup();
        caveats
    }
}

/// The squared error of one version's mean; zero if only it is constant.
fn squared_error(effects: &RandomEffects, side: Side) -> Result<f64, EffectSizeError> {
    match effects.squared_error() {
        Ok(squared) => Ok(squared),
        Err(MeanErrorUnknown::Constant) => Ok(0.0),
        Err(source @ MeanErrorUnknown::OneUnit) => Err(EffectSizeError::NoError { side, source }),
    }
}
