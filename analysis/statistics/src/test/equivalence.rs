//! Whether two versions are equally fast but for a margin: two one-sided tests (Schuirmann, A comparison of the two one-sided
//! tests procedure and the power approach, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
//!
//! That no difference was shown does not say that there is none. Here the hypothesis is that there is one, of the margin or
//! more, in one direction or the other; both must be rejected. On logarithms the margin is a factor, and the test is Welch's:
//! statsmodels' `ttost_ind(log x, log y, −log(1 + t), log(1 + t), usevar="unequal")`.

use crate::test::{TStatistic, TTestError, WelchTTest};
use crate::{distribution::student_t, inference::Alternative, inference::PValue, sample::Sample};
use thiserror::Error;

/// The difference of the means of logarithms of two samples, against a margin.
///
/// ```
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::Equivalence;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let x = Sample::new(vec![1.001, 0.999, 1.002, 0.998, 1.000, 1.001])?;
/// let y = Sample::new(vec![1.000, 1.002, 0.999, 1.001, 0.998, 1.000])?;
/// let test = Equivalence::new(&x, &y)?;
/// assert!(test.p_value(0.01)?.get() < 0.001);
/// assert!(test.p_value(0.001)?.get() > 0.05);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equivalence(TStatistic);

/// Why samples were not compared.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EquivalenceError {
    /// A time that is not positive has no logarithm.
    #[error("a margin is a factor of positive times, not of {0}")]
    NotPositive(f64),
    #[error("a margin must be positive, not {0}")]
    Margin(f64),
    /// The logarithms have no t test.
    #[error(transparent)]
    TTest(#[from] TTestError),
}

speedup_core::hints! { EquivalenceError:
    Self::Margin(_) => "1 % is written 0.01",
    Self::TTest(error) => error.hint(),
}

impl Equivalence {
    /// The method's full name.
    pub const NAME: &'static str = "two one-sided Welch t tests on logarithms";

    /// Compares the logarithms of `x` and of `y`.
    ///
    /// # Errors
    /// [`EquivalenceError`] for times that are not positive, and for samples without a t test.
    pub fn new(x: &Sample, y: &Sample) -> Result<Self, EquivalenceError> {
        let logarithms = |sample: &Sample| match sample.not_positive() {
            Some(value) => Err(EquivalenceError::NotPositive(value)),
            None => Sample::new(sample.in_run_order().iter().map(|time| time.ln()).collect())
                .map_err(|_| EquivalenceError::NotPositive(f64::NAN)),
        };
        let x = logarithms(x)?;
        let y = logarithms(y)?;
        Ok(Self(*WelchTTest::new(&x, &y)?.statistic()))
    }

    /// Satterthwaite's degrees of freedom.
    pub fn df(&self) -> f64 {
        self.0.df
    }

    /// The statistics of the two tests: of x being smaller than y by more than the margin, and larger.
    ///
    /// # Errors
    /// [`EquivalenceError::Margin`] unless the margin is positive and finite.
    pub fn statistics(&self, margin: f64) -> Result<[f64; 2], EquivalenceError> {
        if !(margin > 0.0 && margin.is_finite()) {
            return Err(EquivalenceError::Margin(margin));
        }
        let bound = margin.ln_1p();
        let TStatistic { estimate, standard_error, .. } = self.0;
        Ok([(estimate + bound) / standard_error, (estimate - bound) / standard_error])
    }

    /// Their p-values.
    ///
    /// # Errors
    /// As [`Self::statistics`].
    pub fn p_values(&self, margin: f64) -> Result<[PValue; 2], EquivalenceError> {
        let [smaller, larger] =
            self.statistics(margin)?.map(|statistic| student_t::tails(statistic, self.0.df));
        Ok([
            Alternative::Greater.p_value(smaller.lower, smaller.upper),
            Alternative::Less.p_value(larger.lower, larger.upper),
        ])
    }

    /// The p-value of the means of logarithms differing by the margin or more: the larger of the two.
    ///
    /// # Errors
    /// As [`Self::statistics`].
    pub fn p_value(&self, margin: f64) -> Result<PValue, EquivalenceError> {
        let [smaller, larger] = self.p_values(margin)?;
        Ok(if smaller.get() > larger.get() { smaller } else { larger })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_logarithm_or_no_margin_is_refused() {
        let sample = |values: &[f64]| Sample::new(values.to_vec()).unwrap();
        let x = sample(&[1.0, 2.0, 3.0]);
        let y = sample(&[0.0, 1.0, 2.0]);
        assert_eq!(Equivalence::new(&x, &y), Err(EquivalenceError::NotPositive(0.0)));
        let test = Equivalence::new(&x, &x).unwrap();
        assert_eq!(test.p_value(0.0), Err(EquivalenceError::Margin(0.0)));
        assert!(matches!(
            Equivalence::new(&sample(&[2.0; 3]), &sample(&[2.0; 3])),
            Err(EquivalenceError::TTest(_))
        ));
    }
}
