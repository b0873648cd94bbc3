//! Fisher's F test of equal variances.

use crate::inference::{Alternative, Caveat, ConfidenceLevel, Interval, PValue};
use crate::{distribution::Tails, distribution::fisher_f, sample::Sample};
use serde::Serialize;
use thiserror::Error;

/// The ratio of two sample variances, F = s²ₓ/s²ᵧ with n − 1 and m − 1 degrees of freedom; R's `var.test`.
///
/// Assumes normal samples, and is sensitive to that assumption.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::FTest;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![2.799, 2.046, 1.259, 1.877, 2.244])?;
/// let candidate = Sample::new(vec![1.046, 0.259, 0.877, 1.244, 1.799])?;
/// let test = FTest::new(&baseline, &candidate)?;
/// let interval = test.interval(Alternative::TwoSided, ConfidenceLevel::USUAL);
/// // Touati 2010 §4.1: one variance is within the interval.
/// assert!((interval.lower - 0.1041175).abs() < 1e-7 && (interval.upper - 9.6045299).abs() < 1e-7);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FTest {
    ratio: f64,
    df1: f64,
    df2: f64,
}

/// Why variances were not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FTestError {
    /// A sample has a single observation, which has no variance.
    #[error("the F test needs at least 2 observations in each sample, and one has 1")]
    TooFew,
    /// Both samples are constant: 0/0.
    #[error("both samples are constant, so their variances have no ratio")]
    BothConstant,
}

speedup_core::hints! { FTestError:
    Self::TooFew => "plan more runs",
    Self::BothConstant => "use a finer clock or a longer run",
}

impl FTest {
    /// The method's full name.
    pub const NAME: &'static str = "F test of equal variances";

    /// Compares the variances of `x` and `y`.
    ///
    /// # Errors
    /// [`FTestError`] when a sample has one observation, or both are constant.
    pub fn new(x: &Sample, y: &Sample) -> Result<Self, FTestError> {
        let (Some(vx), Some(vy)) = (x.variance(), y.variance()) else { return Err(FTestError::TooFew) };
        if vx == 0.0 && vy == 0.0 {
            return Err(FTestError::BothConstant);
        }
        Ok(Self { ratio: vx / vy, df1: (x.len() - 1) as f64, df2: (y.len() - 1) as f64 })
    }

    /// F; infinite when only the second sample is constant.
    pub fn statistic(&self) -> f64 {
        self.ratio
    }

    /// The degrees of freedom of numerator and denominator.
    pub fn degrees_of_freedom(&self) -> (f64, f64) {
        (self.df1, self.df2)
    }

    /// What must be known: that it is of normal samples.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::AssumesNormal]
    }

    /// The p-value of equal variances against `alternative`.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let tails = fisher_f::tails(self.ratio, self.df1, self.df2);
        alternative.p_value(tails.lower, tails.upper)
    }

    /// The interval of the ratio of the variances: F divided by the quantiles of its law.
    pub fn interval(&self, alternative: Alternative, level: ConfidenceLevel) -> Interval {
        let risk = level.risk().get();
        let below = |tails| self.ratio / fisher_f::quantile(tails, self.df1, self.df2);
        let (lower, upper) = match alternative {
            Alternative::TwoSided => {
                (below(Tails::from_upper(risk / 2.0)), below(Tails::from_lower(risk / 2.0)))
            }
            Alternative::Greater => (below(Tails::from_upper(risk)), f64::INFINITY),
            Alternative::Less => (0.0, below(Tails::from_lower(risk))),
        };
        Interval { method: Self::NAME, lower, upper, level, caveats: self.caveats() }
    }
}
