//! The difference of two means: Welch's.

use super::CenterDifference;
use crate::inference::{Alternative, Caveat, ConfidenceLevel, Interval, PValue, RatioInterval};
use crate::{distribution::student_t, sample::Sample, test::TTestError, test::t_test::ROUNDING_OF_MEANS};

/// The difference of the means of two independent samples, baseline less candidate; of strata their weighted mean. The degrees of
/// freedom are Satterthwaite's, over the errors of all means (Welch 1938; Satterthwaite, Biometrics Bulletin 2, 1946).
///
/// ```
/// use speedup_statistics::ratio::difference::{CenterDifference, MeanDifference};
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::WelchTTest;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (baseline, candidate) = (Sample::new(vec![3.0, 4.0, 0.0, 5.0])?, Sample::new(vec![0.0, 1.0, 0.0])?);
/// let difference = MeanDifference::new(&baseline, &candidate)?;
/// let welch = WelchTTest::new(&baseline, &candidate)?;
/// let two_sided = Alternative::TwoSided;
/// assert!((difference.p_value(1.0, two_sided).get() - welch.p_value(two_sided).get()).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MeanDifference {
    strata: Vec<Means>,
    /// Whether a stratum has the degrees of freedom of its smaller sample, and not Satterthwaite's.
    is_by_smaller_side: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Means {
    weight: f64,
    baseline: Mean,
    candidate: Mean,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Mean {
    mean: f64,
    squared_error: f64,
    df: f64,
}

impl MeanDifference {
    /// The method's full name.
    pub const NAME: &'static str =
        "Welch interval of the difference of means (Satterthwaite degrees of freedom)";
    /// The method's full name with the degrees of freedom of the smaller sample.
    pub const NAME_BY_SMALLER_SIDE: &'static str =
        "Welch interval of the difference of means (degrees of freedom of the version with fewer runs)";

    /// The difference of the means of `baseline` and `candidate`.
    ///
    /// # Errors
    /// [`TTestError`] for single observations, and where nothing varies beyond rounding.
    pub fn new(baseline: &Sample, candidate: &Sample) -> Result<Self, TTestError> {
        Self::within([(baseline, candidate, 1.0)])
    }

    /// The weighted mean of the differences of each stratum: the baseline's sample, the candidate's, and a weight.
    ///
    /// # Errors
    /// [`TTestError`] for single observations, without strata, and where nothing varies beyond rounding.
    pub fn within<'a>(
        strata: impl IntoIterator<Item = (&'a Sample, &'a Sample, f64)>,
    ) -> Result<Self, TTestError> {
        let stratum = |(baseline, candidate, weight): (&Sample, &Sample, f64)| {
            let of = |sample: &Sample| {
                let variance = sample.variance()?;
                let n = sample.len() as f64;
                Some(Mean { mean: sample.mean(), squared_error: variance / n, df: n - 1.0 })
            };
            let too_few = TTestError::TooFew { n: baseline.len(), m: candidate.len() };
            let (baseline, candidate) = of(baseline).zip(of(candidate)).ok_or(too_few)?;
            Ok(Means { weight, baseline, candidate })
        };
        let mut strata = strata.into_iter().map(stratum).collect::<Result<Vec<_>, _>>()?;
        let all: f64 = strata.iter().map(|one| one.weight).sum();
        strata.iter_mut().for_each(|one| one.weight /= all);
        let largest = strata.iter().flat_map(|one| [one.baseline.mean.abs(), one.candidate.mean.abs()]);
        let largest = largest.fold(0.0, f64::max);
        let difference = Self { strata, is_by_smaller_side: false };
        match difference.at(1.0) {
            _ if difference.strata.is_empty() => Err(TTestError::TooFew { n: 0, m: 0 }),
            Standardized { error, .. } if error > ROUNDING_OF_MEANS * largest => Ok(difference),
            Standardized { error: standard_error, .. } => {
                Err(TTestError::EssentiallyConstant { standard_error })
            }
        }
    }

    /// The same with the degrees of freedom of the smaller sample in each stratum.
    #[must_use]
    pub fn by_smaller_side(self) -> Self {
        Self { is_by_smaller_side: true, ..self }
    }

    /// The baseline's mean less so many times the candidate's.
    fn at(&self, factor: f64) -> Standardized {
        let mut estimate = 0.0;
        let mut variance = 0.0;
        let mut by_freedom = 0.0;
        for Means { weight, baseline, candidate } in &self.strata {
            estimate += weight * (baseline.mean - factor * candidate.mean);
            let over = weight * weight * baseline.squared_error;
            let under = (weight * factor) * (weight * factor) * candidate.squared_error;
            variance += over;
            variance += under;
            if self.is_by_smaller_side {
                by_freedom += (over + under) * (over + under) / baseline.df.min(candidate.df);
            } else {
                by_freedom += over * over / baseline.df;
                by_freedom += under * under / candidate.df;
            }
        }
        Standardized { estimate, error: variance.sqrt(), df: variance * variance / by_freedom }
    }
}

/// An estimate with its error and degrees of freedom.
struct Standardized {
    estimate: f64,
    error: f64,
    df: f64,
}

impl CenterDifference for MeanDifference {
    fn estimate(&self) -> f64 {
        self.at(1.0).estimate
    }

    fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let Standardized { estimate, error, df } = self.at(1.0);
        let reach = student_t::two_sided_critical(level.risk().get(), df) * error;
        let lower = estimate - reach;
        let upper = estimate + reach;
        let caveats: Vec<Caveat> = Vec::new();
        let method = if self.is_by_smaller_side { Self::NAME_BY_SMALLER_SIDE } else { Self::NAME };
        RatioInterval::Bounded(Interval { method, lower, upper, level, caveats })
    }

    fn p_value(&self, factor: f64, alternative: Alternative) -> PValue {
        let Standardized { estimate, error, df } = self.at(factor);
        let tails = student_t::tails(estimate / error, df);
        alternative.p_value(tails.lower, tails.upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ratio::MeanRatio, test::WelchTTest};
    use proptest::prelude::*;

    proptest! {
        /// Welch's test and interval; at any factor Fieller's statistic, whose degrees of freedom are those at the estimated ratio.
        #[test]
        fn of_one_stratum_it_is_welchs(
            x in prop::collection::vec(1.0..9.0_f64, 3..20), y in prop::collection::vec(1.0..9.0_f64, 3..20), risk in 0.01..0.3_f64,
        ) {
            let [x, y] = [x, y].map(|values| Sample::new(values).unwrap());
            let ours = MeanDifference::new(&x, &y).unwrap();
            let welch = WelchTTest::new(&x, &y).unwrap();
            let level = ConfidenceLevel::new(1.0 - risk).unwrap();
            let interval = ours.interval(level);
            let expected = welch.interval(Alternative::TwoSided, level);
            let interval = interval.bounded().unwrap();
            prop_assert!((interval.lower - expected.lower).abs() < 1e-9 && (interval.upper - expected.upper).abs() < 1e-9);
            for alternative in [Alternative::TwoSided, Alternative::Greater, Alternative::Less] {
                let ours = ours.p_value(1.0, alternative).get();
                let welch = welch.p_value(alternative).get();
                prop_assert!((ours - welch).abs() < 1e-9);
            }
            let ratio = MeanRatio::new(&x, &y).unwrap();
            let at = ratio.estimate();
            prop_assert!((ours.p_value(at, Alternative::Less).get() - 0.5).abs() < 1e-9);
            let twice = MeanDifference::within([(&x, &y, 1.0), (&x, &y, 1.0)]).unwrap();
            prop_assert!((twice.at(1.0).error * 2.0_f64.sqrt() / ours.at(1.0).error - 1.0).abs() < 1e-9);
            prop_assert!((twice.at(1.0).df / ours.at(1.0).df - 2.0).abs() < 1e-9);
            let smaller = ours.clone().by_smaller_side();
            prop_assert!((smaller.at(1.0).df - (x.len().min(y.len()) - 1) as f64).abs() < 1e-6);
            prop_assert!(smaller.p_value(1.0, Alternative::TwoSided).get() >= ours.p_value(1.0, Alternative::TwoSided).get() - 1e-12);
            let by_smaller_side = ratio.by_smaller_side();
            prop_assert!((smaller.p_value(at, Alternative::Less).get() - 0.5).abs() < 1e-9);
            let p_values = [smaller.p_value(1.0, Alternative::TwoSided), by_smaller_side.p_value(1.0, Alternative::TwoSided)];
            prop_assert!((p_values[0].get() - p_values[1].get()).abs() < 1e-9);
        }
    }

    #[test]
    fn what_does_not_vary_has_no_error() {
        let [zeros, ones] = [[0.0; 5], [1.0; 5]].map(|values| Sample::new(values.to_vec()).unwrap());
        let constant = TTestError::EssentiallyConstant { standard_error: 0.0 };
        assert_eq!(MeanDifference::new(&zeros, &ones), Err(constant));
        assert_eq!(MeanDifference::new(&zeros, &zeros), Err(constant));
        let one = Sample::new(vec![3.0]).unwrap();
        assert!(MeanDifference::new(&one, &zeros).is_err());
        assert!(MeanDifference::within([]).is_err());
    }
}
