//! The t tests of means: Student's, Welch's, of pairs, of one sample.
//!
//! All four are one statistic, t = (estimate − hypothesis) / standard error, with different errors and
//! degrees of freedom; they are separate types so that what was assumed stays visible. Data whose spread is
//! lost in the rounding of their mean are refused, by the bound of R's `t.test`: standard error < 10 ε
//! max|mean|.

use crate::inference::{Alternative, Caveat, ConfidenceLevel, Interval, PValue};
use crate::{distribution::Tails, distribution::student_t, sample::Sample};
use serde::Serialize;
use thiserror::Error;

/// A standard error below this share of the means is what rounding leaves (R's `t.test`).
pub(crate) const ROUNDING_OF_MEANS: f64 = 10.0 * f64::EPSILON;

/// From so many degrees of freedom on means are nearly normal whatever the observations are (Touati 2010 §4.1 takes samples of
/// more than 30 for large).
const LARGE_DF: f64 = 30.0;

/// Two independent samples of equal variance: the pooled error, n + m − 2 degrees of freedom.
///
/// ```
/// use speedup_statistics::inference::Alternative;
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::StudentTTest;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![2.799, 2.046, 1.259, 1.877, 2.244])?;
/// let candidate = Sample::new(vec![1.046, 0.259, 0.877, 1.244, 1.799])?;
/// let test = StudentTTest::new(&baseline, &candidate)?;
/// // Touati 2010 §4.1: the baseline takes longer.
/// assert!((test.statistic().t() - 2.8238).abs() < 5e-5);
/// assert!((test.p_value(Alternative::Greater).get() - 0.01118).abs() < 5e-6);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StudentTTest(TStatistic);

/// Two independent samples of any variances: Welch's error with Satterthwaite's degrees of freedom.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::WelchTTest;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![2.799, 2.046, 1.259, 1.877, 2.244])?;
/// let candidate = Sample::new(vec![1.046, 0.259, 0.877, 1.244, 1.799])?;
/// let interval = WelchTTest::new(&baseline, &candidate)?.interval(Alternative::Greater, ConfidenceLevel::USUAL);
/// // Touati 2009, example 2.1: the baseline takes at least 0.34 longer.
/// assert!((interval.lower - 0.3414632).abs() < 1e-7 && interval.upper == f64::INFINITY);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WelchTTest(TStatistic);

/// Pairs that the design made: one sample of differences.
///
/// ```
/// use speedup_statistics::inference::Alternative;
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::PairedTTest;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![10.0, 20.0, 30.0])?;
/// let candidate = Sample::new(vec![9.0, 18.0, 27.0])?;
/// // The differences 1, 2, 3 have the mean 2 and the standard deviation 1: t = 2√3.
/// let test = PairedTTest::new(&baseline, &candidate)?;
/// assert!((test.statistic().t() - 12_f64.sqrt()).abs() < 1e-12);
/// // With 2 degrees of freedom p = 1 − t/√(t² + 2).
/// assert!((test.p_value(Alternative::TwoSided).get() - (1.0 - (12_f64 / 14.0).sqrt())).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedTTest(TStatistic);

/// The mean of one sample against a given mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneSampleTTest(TStatistic);

/// What every t test comes down to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TStatistic {
    /// The difference of the means, or the mean, in the unit of the observations.
    pub estimate: f64,
    /// What the null hypothesis says the estimate is.
    pub hypothesis: f64,
    /// The standard error of the estimate.
    pub standard_error: f64,
    /// Degrees of freedom, not always whole.
    pub df: f64,
}

/// Why means were not compared.
#[derive(Clone, Copy, Debug, PartialEq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TTestError {
    /// Too few observations for an error of the mean.
    #[error("this t test needs more observations than {n} and {m}")]
    TooFew {
        /// Observations of the first sample.
        n: usize,
        /// Observations of the second sample, or 0.
        m: usize,
    },
    /// The observations do not vary beyond the rounding of their mean.
    #[error(
        "the data are essentially constant ({})",
        constant_message(*standard_error)
    )]
    EssentiallyConstant {
        /// The standard error, in the unit of the observations.
        standard_error: f64,
    },
    #[error("pairs need samples of one length, and these have {n} and {m} observations")]
    Unpaired { n: usize, m: usize },
}

speedup_core::hints! { TTestError:
    Self::TooFew { .. } => "plan more runs",
    Self::EssentiallyConstant { .. } => "use a finer clock or a longer run",
}

/// A standard error that is none to test with, in words.
fn constant_message(standard_error: f64) -> String {
    match standard_error {
        0.0 => "the standard error is 0".to_owned(),
        error if error.is_finite() => format!("standard error {error:.1e}"),
        _ => "the standard error is no number".to_owned(),
    }
}

impl StudentTTest {
    /// The method's full name.
    pub const NAME: &'static str = "Student's two-sample t test (equal variances)";

    /// Compares the means of `x` and `y`.
    ///
    /// # Errors
    /// [`TTestError`] below 3 observations in all, or for essentially constant data.
    pub fn new(x: &Sample, y: &Sample) -> Result<Self, TTestError> {
        let n = x.len() as f64;
        let m = y.len() as f64;
        let df = n + m - 2.0;
        if df < 1.0 {
            return Err(TTestError::TooFew { n: x.len(), m: y.len() });
        }
        let squares = |s: &Sample| s.variance().map_or(0.0, |v| v * (s.len() as f64 - 1.0));
        let pooled = (squares(x) + squares(y)) / df;
        let standard_error = (pooled * (1.0 / n + 1.0 / m)).sqrt();
        TStatistic::from_means(x, y, standard_error, df).map(Self)
    }
}

impl WelchTTest {
    /// The method's full name.
    pub const NAME: &'static str = "Welch's two-sample t test (unequal variances)";

    /// Compares the means of `x` and `y`.
    ///
    /// # Errors
    /// [`TTestError`] when a sample has one observation, or for essentially constant data.
    pub fn new(x: &Sample, y: &Sample) -> Result<Self, TTestError> {
        let (Some(vx), Some(vy)) = (x.variance(), y.variance()) else {
            return Err(TTestError::TooFew { n: x.len(), m: y.len() });
        };
        let ex = vx / x.len() as f64;
        let ey = vy / y.len() as f64;
        let df = satterthwaite(ex, x.len(), ey, y.len());
        TStatistic::from_means(x, y, (ex + ey).sqrt(), df).map(Self)
    }
}

/// Satterthwaite's degrees of freedom of e₁ + e₂, the squared errors of two means (Welch 1947).
///
/// With shares, not squares, so that errors beyond 1e±154 neither overflow nor vanish.
pub(crate) fn satterthwaite(e1: f64, n1: usize, e2: f64, n2: usize) -> f64 {
    let share = e1 / (e1 + e2);
    1.0 / (share * share / (n1 - 1) as f64 + (1.0 - share) * (1.0 - share) / (n2 - 1) as f64)
}

impl PairedTTest {
    /// The method's full name.
    pub const NAME: &'static str = "paired t test";

    /// Compares the means of `x` and `y`, whose observations are pairs in run order.
    ///
    /// # Errors
    /// [`TTestError`] for samples of different lengths, single pairs, or essentially constant differences.
    pub fn new(x: &Sample, y: &Sample) -> Result<Self, TTestError> {
        let n = x.len();
        let m = y.len();
        if n != m {
            return Err(TTestError::Unpaired { n, m });
        }
        let pairs = x.in_run_order().iter().zip(y.in_run_order());
        let differences = Sample::new(pairs.map(|(x, y)| x - y).collect())
            .map_err(|_| TTestError::EssentiallyConstant { standard_error: f64::INFINITY })?;
        OneSampleTTest::new(&differences, 0.0).map(|test| Self(test.0))
    }
}

impl OneSampleTTest {
    /// The method's full name.
    pub const NAME: &'static str = "one-sample t test";

    /// Compares the mean of `x` with `hypothesis`, in the unit of the observations.
    ///
    /// # Errors
    /// [`TTestError`] for one observation, or essentially constant data.
    pub fn new(x: &Sample, hypothesis: f64) -> Result<Self, TTestError> {
        let Some(variance) = x.variance() else { return Err(TTestError::TooFew { n: x.len(), m: 0 }) };
        let n = x.len() as f64;
        TStatistic::checked(x.mean(), hypothesis, (variance / n).sqrt(), n - 1.0, x.mean().abs()).map(Self)
    }
}

impl TStatistic {
    fn from_means(x: &Sample, y: &Sample, standard_error: f64, df: f64) -> Result<Self, TTestError> {
        let magnitude = x.mean().abs().max(y.mean().abs());
        Self::checked(x.mean_minus_mean_of(y), 0.0, standard_error, df, magnitude)
    }

    fn checked(
        estimate: f64,
        hypothesis: f64,
        standard_error: f64,
        df: f64,
        magnitude: f64,
    ) -> Result<Self, TTestError> {
        let constant = standard_error == 0.0 || standard_error < ROUNDING_OF_MEANS * magnitude;
        if constant || !standard_error.is_finite() {
            return Err(TTestError::EssentiallyConstant { standard_error });
        }
        Ok(Self { estimate, hypothesis, standard_error, df })
    }

    /// t.
    pub fn t(&self) -> f64 {
        (self.estimate - self.hypothesis) / self.standard_error
    }

    /// The p-value of the hypothesis against `alternative`.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let tails = student_t::tails(self.t(), self.df);
        alternative.p_value(tails.lower, tails.upper)
    }

    fn interval(&self, method: &'static str, alternative: Alternative, level: ConfidenceLevel) -> Interval {
        let risk = level.risk().get();
        let half_width = |risk| student_t::quantile(Tails::from_upper(risk), self.df) * self.standard_error;
        let (lower, upper) = match alternative {
            Alternative::TwoSided => {
                (self.estimate - half_width(risk / 2.0), self.estimate + half_width(risk / 2.0))
            }
            Alternative::Greater => (self.estimate - half_width(risk), f64::INFINITY),
            Alternative::Less => (f64::NEG_INFINITY, self.estimate + half_width(risk)),
        };
        Interval { method, lower, upper, level, caveats: Vec::new() }
    }
}

macro_rules! asks_its_statistic {
    ($($test:ident),*) => {$(
        impl $test {
            /// The estimate, its standard error and degrees of freedom.
            pub fn statistic(&self) -> &TStatistic {
                &self.0
            }

            /// The p-value against `alternative`.
            pub fn p_value(&self, alternative: Alternative) -> PValue {
                self.0.p_value(alternative)
            }

            /// The full name of the method.
            pub fn name(&self) -> &'static str {
                Self::NAME
            }

            /// What must be known: with fewer than 30 degrees of freedom the observations have to be normal.
            pub fn caveats(&self) -> Vec<Caveat> {
                if self.0.df < LARGE_DF { vec![Caveat::AssumesNormal] } else { Vec::new() }
            }

            /// The interval of the estimate, in the unit of the observations.
            pub fn interval(&self, alternative: Alternative, level: ConfidenceLevel) -> Interval {
                self.0.interval(Self::NAME, alternative, level)
            }
        }
    )*};
}
asks_its_statistic!(StudentTTest, WelchTTest, PairedTTest, OneSampleTTest);
