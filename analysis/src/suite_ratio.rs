//! The overall speedup of the mean over a suite, with an interval and a test.
//!
//! 000 §3.2 gives the overall speedup without a test. For benchmarks and weights taken as they are, it is a
//! ratio of two weighted sums of means, Σw x̄/Σw ȳ, and the samples are independent; so Fieller's argument
//! (004 §7.3.2) holds with the variances Σw²s²/n, and the degrees of freedom are Satterthwaite's over all
//! samples at the estimated ratio. With one benchmark it is [`crate::MeanRatio`]. It says nothing of other
//! benchmarks: that is what the proportion is for.

use crate::compensated_sum::CompensatedSum;
use crate::distribution::student_t;
use crate::{
    Alternative, ConfidenceLevel, Interval, PValue, RatioError, RatioInterval, Sample, SuiteError,
    SuiteMember, Summary, Unbounded, Weights,
};
use thiserror::Error;

/// The ratio of the weighted sums of means, baseline over candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SuiteRatio {
    baseline: WeightedSum,
    candidate: WeightedSum,
    df: f64,
}

/// Σ w x̄ and its squared standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WeightedSum {
    mean: f64,
    error: f64,
    /// Σ v²/(n − 1), where v are the squared errors: what Satterthwaite's formula divides by.
    spread: f64,
}

/// Why a suite has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum SuiteRatioError {
    /// The suite has no overall speedup.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A sample has no error, or none has one.
    #[error(transparent)]
    Ratio(#[from] RatioError),
}

impl SuiteRatio {
    /// The method's full name.
    pub const NAME: &'static str =
        "Fieller interval of the ratio of weighted sums of means (Satterthwaite degrees of freedom)";

    /// The ratio over `members`, weighted by `weights`, which are taken as fixed.
    ///
    /// # Errors
    /// [`SuiteRatioError`] for weights that do not fit, times that are not positive, single runs, or no
    /// variation at all.
    pub fn new(members: &[SuiteMember<'_>], weights: &Weights) -> Result<Self, SuiteRatioError> {
        let weights = crate::Overall::new(members, Summary::Mean, weights)?.weights;
        for member in members {
            let (n, m) = (member.baseline.len(), member.candidate.len());
            if n < 2 || m < 2 {
                return Err(RatioError::TooFew { n, m }.into());
            }
        }
        let baseline = WeightedSum::of(&members.iter().map(|member| member.baseline), &weights);
        let candidate = WeightedSum::of(&members.iter().map(|member| member.candidate), &weights);
        if baseline.error == 0.0 && candidate.error == 0.0 {
            return Err(RatioError::Constant.into());
        }
        let square = (baseline.mean / candidate.mean).powi(2);
        let error = baseline.error + square * candidate.error;
        let df = error * error / (baseline.spread + square * square * candidate.spread);
        Ok(Self { baseline, candidate, df })
    }

    /// The observed overall speedup of the mean.
    pub fn estimate(&self) -> f64 {
        self.baseline.mean / self.candidate.mean
    }

    /// The p-value of the overall speedup being `ratio` against its being otherwise, greater or less.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        let error = (self.baseline.error + ratio * ratio * self.candidate.error).sqrt();
        let tails = student_t::tails((self.baseline.mean - ratio * self.candidate.mean) / error, self.df);
        alternative.p_value(tails.lower, tails.upper)
    }

    /// The two-sided interval of the overall speedup.
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let t = student_t::two_sided_critical(level.risk().get(), self.df);
        let relative = |sum: &WeightedSum| t * t * (sum.error / sum.mean / sum.mean);
        let (a, b) = (relative(&self.baseline), relative(&self.candidate));
        if b.is_nan() || b >= 1.0 || !t.is_finite() {
            let reason = Unbounded::DenominatorNearZero;
            return RatioInterval::Unbounded { method: Self::NAME, level, reason };
        }
        let root = (a + b - a * b).max(0.0).sqrt();
        let ends = [(1.0 - root) / (1.0 - b), (1.0 + root) / (1.0 - b)];
        let [lower, upper] = ends.map(|end| self.estimate() * end);
        RatioInterval::Bounded(Interval { method: Self::NAME, lower, upper, level, caveats: Vec::new() })
    }
}

impl WeightedSum {
    fn of<'a>(samples: &(impl Iterator<Item = &'a Sample> + Clone), weights: &[f64]) -> Self {
        let weighted = || samples.clone().zip(weights);
        let error = |(sample, w): (&Sample, &f64)| {
            w * w * sample.variance().unwrap_or_default() / sample.len() as f64
        };
        let spread = |(sample, w): (&'a Sample, &f64)| error((sample, w)).powi(2) / (sample.len() - 1) as f64;
        Self {
            mean: CompensatedSum::of(weighted().map(|(sample, w)| w * sample.mean())),
            error: CompensatedSum::of(weighted().map(error)),
            spread: CompensatedSum::of(weighted().map(spread)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MeanRatio;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn of_one_benchmark_it_is_the_mean_ratio() {
        let (baseline, candidate) = (sample(&[10.0, 11.0, 12.5, 9.0]), sample(&[8.0, 8.5, 9.5]));
        let member = SuiteMember { baseline: &baseline, candidate: &candidate };
        let suite = SuiteRatio::new(&[member], &Weights::Fraction).unwrap();
        let mean = MeanRatio::new(&baseline, &candidate).unwrap();
        assert!((suite.estimate() - mean.estimate()).abs() < 1e-14);
        let [a, b] = [suite.interval(ConfidenceLevel::USUAL), mean.interval(ConfidenceLevel::USUAL)];
        let (a, b) = (a.bounded().unwrap(), b.bounded().unwrap());
        assert!((a.lower - b.lower).abs() < 1e-12 && (a.upper - b.upper).abs() < 1e-12, "{a:?} {b:?}");
    }

    #[test]
    fn a_constant_benchmark_adds_no_error_and_a_single_run_is_refused() {
        let (x, y) = (sample(&[10.0, 11.0, 12.0]), sample(&[8.0, 9.0, 10.0]));
        let (c, one) = (sample(&[5.0, 5.0]), sample(&[5.0]));
        let noisy = SuiteMember { baseline: &x, candidate: &y };
        let constant = SuiteMember { baseline: &c, candidate: &c };
        assert!(SuiteRatio::new(&[noisy, constant], &Weights::Equal).unwrap().df > 2.0);
        let refused = SuiteRatio::new(&[constant], &Weights::Equal);
        assert_eq!(refused, Err(SuiteRatioError::Ratio(RatioError::Constant)));
        let single = SuiteMember { baseline: &one, candidate: &y };
        let refused = SuiteRatio::new(&[noisy, single], &Weights::Equal);
        assert_eq!(refused, Err(SuiteRatioError::Ratio(RatioError::TooFew { n: 1, m: 3 })));
    }

    #[test]
    fn the_interval_ends_where_the_test_rejects() {
        let (x, y) = (sample(&[10.0, 11.0, 12.0]), sample(&[8.0, 9.0, 10.0]));
        let (u, v) = (sample(&[30.0, 33.0]), sample(&[31.0, 30.0, 30.5]));
        let members =
            [SuiteMember { baseline: &x, candidate: &y }, SuiteMember { baseline: &u, candidate: &v }];
        let suite = SuiteRatio::new(&members, &Weights::Custom(vec![1.0, 3.0])).unwrap();
        let level = ConfidenceLevel::USUAL;
        let interval = suite.interval(level);
        let interval = interval.bounded().unwrap();
        for end in [interval.lower, interval.upper] {
            let p = suite.p_value(end, Alternative::TwoSided).get();
            assert!((p - level.risk().get()).abs() < 1e-9, "{p}");
        }
    }
}
