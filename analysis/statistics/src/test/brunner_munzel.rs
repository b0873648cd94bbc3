//! The Brunner–Munzel test of whether one sample tends to smaller values than another (The Nonparametric Behrens–Fisher
//! Problem, Biometrical Journal 42, 2000, 17–25), and the interval of that tendency, `p = P[X < Y] + P[X = Y]/2`.
//!
//! Unlike the rank-sum test it supposes neither equal shapes nor equal variances: under p = 1/2 the laws may differ
//! otherwise. The placements of each observation among the other sample are independent within a sample, so p has a variance
//! that is estimated from them, and Student's t with Satterthwaite's degrees of freedom; near enough from some ten
//! observations a sample on (Brunner and Munzel, §4).

use crate::inference::{Alternative, ConfidenceLevel, Interval, PValue};
use crate::{distribution::student_t, sample::Sample, test::t_test::satterthwaite};
use thiserror::Error;

/// How far one sample tends to smaller values than another, with its error.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::BrunnerMunzel;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let x = Sample::new(vec![1.0, 2.0, 3.0, 4.0])?;
/// let y = Sample::new(vec![2.5, 3.5, 5.0, 6.0])?;
/// let test = BrunnerMunzel::new(&x, &y)?;
/// // Of the 16 pairs, x is the smaller in 13.
/// assert_eq!(test.probability(), 13.0 / 16.0);
/// assert!(test.p_value(Alternative::Less).get() > 0.05);
/// assert!(test.interval(ConfidenceLevel::USUAL).lower < 0.5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrunnerMunzel {
    probability: f64,
    standard_error: f64,
    df: f64,
}

/// Why samples were not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BrunnerMunzelError {
    /// A sample of one observation has no variance.
    #[error("the test needs two observations per sample, but these have {n} and {m}")]
    TooFew { n: usize, m: usize },
    /// All observations of one sample are smaller than all of the other, or all are equal: the error of p cannot be estimated.
    #[error("the samples do not overlap, so the error of the probability cannot be estimated")]
    NoOverlap,
}

speedup_core::hints! { BrunnerMunzelError:
    Self::TooFew { .. } => "plan more runs",
    Self::NoOverlap => "compare them by their ranks or means",
}

impl BrunnerMunzel {
    /// The method's full name.
    pub const NAME: &'static str = "Brunner-Munzel test (Student's t, Satterthwaite's degrees of freedom)";

    /// Compares `x` with `y` (scipy's `brunnermunzel(x, y, distribution="t")`).
    ///
    /// # Errors
    /// [`BrunnerMunzelError`] for samples of one observation, or that do not overlap.
    pub fn new(x: &Sample, y: &Sample) -> Result<Self, BrunnerMunzelError> {
        let n = x.len();
        let m = y.len();
        if n < 2 || m < 2 {
            return Err(BrunnerMunzelError::TooFew { n, m });
        }
        // The share of the other sample below each observation, equal ones counted half.
        let below_x = placements(x, y);
        let below_y = placements(y, x);
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let error = |of: &[f64]| {
            let center = mean(of);
            let squares: f64 = of.iter().map(|one| (one - center) * (one - center)).sum();
            squares / ((of.len() - 1) * of.len()) as f64
        };
        let of_x = error(&below_x);
        let of_y = error(&below_y);
        // Placements are multiples of a half over the other's size: what is below that is rounding.
        if of_x + of_y <= f64::EPSILON * f64::EPSILON {
            return Err(BrunnerMunzelError::NoOverlap);
        }
        let df = satterthwaite(of_x, n, of_y, m);
        Ok(Self { probability: mean(&below_y), standard_error: (of_x + of_y).sqrt(), df })
    }

    /// The estimate of `P[X < Y] + P[X = Y]/2`.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// The statistic: how many standard errors the estimate is above 1/2.
    pub fn statistic(&self) -> f64 {
        (self.probability - 0.5) / self.standard_error
    }

    /// The degrees of freedom of its law, not always whole.
    pub fn df(&self) -> f64 {
        self.df
    }

    /// The p-value against `alternative`, said of the first sample: `Less` that it tends to smaller values.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let tails = student_t::tails(self.statistic(), self.df);
        alternative.p_value(tails.upper, tails.lower)
    }

    /// The equal-tailed interval of the probability, whose ends are not held within 0 and 1.
    pub fn interval(&self, level: ConfidenceLevel) -> Interval {
        let margin = student_t::two_sided_critical(level.risk().get(), self.df) * self.standard_error;
        Interval {
            method: "Brunner-Munzel, Student's t",
            lower: self.probability - margin,
            upper: self.probability + margin,
            level,
            caveats: Vec::new(),
        }
    }
}

/// For each observation of `of`, ascending, the share of `among` below it, with half of those equal to it.
fn placements(of: &Sample, among: &Sample) -> Vec<f64> {
    let among = among.sorted();
    let place = |one: &f64| {
        let below = among.partition_point(|other| other < one);
        let not_above = among.partition_point(|other| other <= one);
        (below + not_above) as f64 / 2.0 / among.len() as f64
    };
    of.sorted().iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(values: Vec<f64>) -> Sample {
        Sample::new(values).unwrap()
    }

    #[test]
    fn what_does_not_overlap_or_is_too_small_is_refused() {
        let x = sample(vec![1.0, 2.0, 3.0]);
        let y = sample(vec![4.0, 5.0]);
        assert_eq!(BrunnerMunzel::new(&x, &y), Err(BrunnerMunzelError::NoOverlap));
        assert_eq!(BrunnerMunzel::new(&y, &y.clone()).map(|test| test.probability()), Ok(0.5));
        let equal = sample(vec![7.0; 5]);
        assert_eq!(BrunnerMunzel::new(&equal, &equal), Err(BrunnerMunzelError::NoOverlap));
        let one = sample(vec![2.0]);
        assert_eq!(BrunnerMunzel::new(&one, &x), Err(BrunnerMunzelError::TooFew { n: 1, m: 3 }));
    }

    proptest! {
        #[test]
        fn exchanging_the_samples_turns_all_around(
            x in prop::collection::vec(0_u8..20, 2..30), y in prop::collection::vec(0_u8..20, 2..30)
        ) {
            let of = |values: &[u8]| sample(values.iter().map(|value| f64::from(*value)).collect());
            let x = of(&x);
            let y = of(&y);
            let (Ok(one), Ok(other)) = (BrunnerMunzel::new(&x, &y), BrunnerMunzel::new(&y, &x)) else {
                prop_assert_eq!(BrunnerMunzel::new(&x, &y).is_err(), BrunnerMunzel::new(&y, &x).is_err());
                return Ok(());
            };
            prop_assert!((one.probability() + other.probability() - 1.0).abs() < 1e-12);
            let p_values = [one.p_value(Alternative::Less).get(), other.p_value(Alternative::Greater).get()];
            prop_assert!((p_values[0] - p_values[1]).abs() < 1e-9, "{:?}", p_values);
            // Only the order of the observations counts.
            let scaled = |sample: &Sample| Sample::new(sample.sorted().iter().map(|x| (x / 7.0).exp()).collect()).unwrap();
            let scaled = BrunnerMunzel::new(&scaled(&x), &scaled(&y)).unwrap();
            prop_assert_eq!(scaled, one);
        }
    }
}
