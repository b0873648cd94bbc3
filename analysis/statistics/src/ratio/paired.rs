//! The speedup of the mean from pairs that the design made, with Fieller's interval; of one benchmark, or of weighted sums
//! over several.
//!
//! θ belongs to the interval exactly when the t test of the differences Σw(x − θy) does not reject zero: Fieller's argument
//! (Kalibera 2012 lemma 7.7) with the covariance of the pairs, which the design made to be had. Of one benchmark with n pairs the
//! degrees of freedom are n − 1; of several they are Satterthwaite's over the benchmarks at the estimated ratio.
//!
//! With u = x/X and v = y/Y relative to the (weighted sums of the) means, b the squared critical value times the variance of
//! v's mean, E that of u − v and g their covariance, the ends are r(1 + (−g ∓ √(E(1 − b) + g²))/(1 − b)). All of it is made
//! of the differences, so nothing is lost where the pairs are nearly alike.

use crate::inference::{Alternative, ConfidenceLevel, Interval, PValue, RatioInterval, Unbounded};
use crate::ratio::suite::sums_of_clusters;
use crate::ratio::{
    BenchmarkWeights, Clusters, LogEffect, Overall, RatioError, SuiteMember, SuiteRatioError, Summary,
};
use crate::{distribution::student_t, number::rounding::CompensatedSum, sample::Sample};

/// The ratio of (weighted sums of) means of pairs, baseline over candidate.
///
/// ```
/// use speedup_statistics::inference::Alternative;
/// use speedup_statistics::ratio::PairedRatio;
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::PairedTTest;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let baseline = Sample::new(vec![10.0, 12.0, 15.0, 9.0, 30.0, 22.0])?;
/// let candidate = Sample::new(vec![9.1, 11.2, 13.0, 8.9, 27.5, 20.0])?;
/// let speedup = PairedRatio::new(&baseline, &candidate)?;
/// assert!((speedup.estimate() - 98.0 / 89.7).abs() < 1e-12);
/// // That there is no speedup is the hypothesis of the paired t test.
/// let p_value = PairedTTest::new(&baseline, &candidate)?.p_value(Alternative::TwoSided);
/// assert!((speedup.p_value(1.0, Alternative::TwoSided).get() - p_value.get()).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PairedRatio {
    /// Σw x̄ and Σw ȳ.
    sums: [f64; 2],
    /// Var(Σw ȳ)/(Σw ȳ)².
    of_candidate: f64,
    /// Var(Σw x̄/X − Σw ȳ/Y).
    of_difference: f64,
    /// Cov(Σw ȳ/Y, Σw x̄/X − Σw ȳ/Y).
    between: f64,
    df: f64,
}

impl PairedRatio {
    /// The method's full name.
    pub const NAME: &'static str =
        "Fieller interval of the ratio of means of pairs (covariance of the pairs)";

    /// Of one benchmark, whose samples are pairs in their order.
    ///
    /// # Errors
    /// [`SuiteRatioError`] for times that are not positive, samples that are no pairs, a single pair, or pairs that all
    /// have one ratio.
    pub fn new(baseline: &Sample, candidate: &Sample) -> Result<Self, SuiteRatioError> {
        Self::from_suite(&[SuiteMember { baseline, candidate }], &BenchmarkWeights::Equal)
    }

    /// Of several benchmarks, weighted by `weights`, which are taken as fixed; each one's samples are pairs.
    ///
    /// # Errors
    /// As [`PairedRatio::new`], and for weights that do not fit.
    pub fn from_suite(
        members: &[SuiteMember<'_>],
        weights: &BenchmarkWeights,
    ) -> Result<Self, SuiteRatioError> {
        let weights = Overall::new(members, Summary::Mean, weights)?.weights;
        Self::from_weighted(members, &weights)
    }

    /// The same where the pairs are of `clusters` that the members share: see [`crate::ratio::SuiteRatio::from_clusters`].
    ///
    /// # Errors
    /// As [`PairedRatio::from_suite`]; fewer than two common clusters are too few.
    pub fn from_clusters(
        members: &[SuiteMember<'_>],
        clusters: &[Clusters<'_>],
        weights: &BenchmarkWeights,
    ) -> Result<Self, SuiteRatioError> {
        let weights = Overall::new(members, Summary::Mean, weights)?.weights;
        let [Some(baseline), Some(candidate)] = sums_of_clusters(members, clusters, &weights) else {
            return Self::from_weighted(members, &weights);
        };
        let n = baseline.len();
        let m = candidate.len();
        match (Sample::new(baseline), Sample::new(candidate)) {
            (Ok(baseline), Ok(candidate)) => Self::new(&baseline, &candidate),
            (Err(_), _) | (_, Err(_)) => Err(RatioError::TooFew { n, m }.into()),
        }
    }

    fn from_weighted(members: &[SuiteMember<'_>], weights: &[f64]) -> Result<Self, SuiteRatioError> {
        for member in members {
            let n = member.baseline.len();
            let m = member.candidate.len();
            if n < 2 || n != m {
                return Err(RatioError::TooFew { n, m }.into());
            }
        }
        let sum = |mean: fn(&SuiteMember<'_>) -> f64| {
            CompensatedSum::sum(members.iter().zip(weights).map(|(member, w)| w * mean(member)))
        };
        let sums = [sum(|member| member.baseline.mean()), sum(|member| member.candidate.mean())];
        let mut of_candidate = 0.0;
        let mut of_difference = 0.0;
        let mut between = 0.0;
        let mut spread = 0.0;
        for (member, w) in members.iter().zip(weights) {
            let parts = Parts::new(member, *w, sums);
            of_candidate += parts.of_candidate;
            of_difference += parts.of_difference;
            between += parts.between;
            spread += parts.of_difference * parts.of_difference / (member.baseline.len() - 1) as f64;
        }
        // What the rounding of like numbers leaves is no variation.
        if of_difference <= (10.0 * f64::EPSILON).powi(2) {
            return Err(RatioError::Constant.into());
        }
        let df = of_difference * of_difference / spread;
        Ok(Self { sums, of_candidate, of_difference, between, df })
    }

    /// The observed speedup of the mean.
    pub fn estimate(&self) -> f64 {
        self.sums[0] / self.sums[1]
    }

    /// The logarithm of the ratio, with its error by the delta method.
    pub fn log_effect(&self) -> LogEffect {
        LogEffect { estimate: self.estimate().ln(), variance: self.of_difference, df: self.df }
    }

    /// The p-value of the speedup being `ratio` against its being otherwise, greater or less.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        // X − θY in units of X, whose variance is that of u − kv = (u − v) + (1 − k)v with k = θY/X.
        let k = ratio / self.estimate();
        let rest = 1.0 - k;
        let variance = self.of_difference + 2.0 * rest * self.between + rest * rest * self.of_candidate;
        let tails = student_t::tails(rest / variance.sqrt(), self.df);
        alternative.p_value(tails.lower, tails.upper)
    }

    /// The two-sided interval of the speedup.
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let t = student_t::two_sided_critical(level.risk().get(), self.df);
        let square = t * t;
        let b = square * self.of_candidate;
        let e = square * self.of_difference;
        let g = square * self.between;
        let method = Self::NAME;
        let reason = Unbounded::DenominatorNearZero;
        if b.is_nan() || b >= 1.0 || !t.is_finite() {
            return RatioInterval::Unbounded { method, level, reason };
        }
        let root = (e * (1.0 - b) + g * g).sqrt();
        let [lower, upper] = [-root, root].map(|root| self.estimate() * (1.0 + (root - g) / (1.0 - b)));
        RatioInterval::Bounded(Interval { method, lower, upper, level, caveats: Vec::new() }).cut_at_zero()
    }
}

/// What one benchmark adds to the variances.
struct Parts {
    of_candidate: f64,
    of_difference: f64,
    between: f64,
}

impl Parts {
    fn new(member: &SuiteMember<'_>, weight: f64, [x, y]: [f64; 2]) -> Self {
        let baseline = member.baseline;
        let candidate = member.candidate;
        let n = baseline.len() as f64;
        let deviations = || {
            let pairs = baseline.in_run_order().iter().zip(candidate.in_run_order());
            pairs.map(|(of_x, of_y)| {
                let v = weight * (of_y - candidate.mean()) / y;
                (v, weight * (of_x - baseline.mean()) / x - v)
            })
        };
        let of_mean =
            |products: &mut dyn Iterator<Item = f64>| CompensatedSum::sum(products) / ((n - 1.0) * n);
        Self {
            of_candidate: of_mean(&mut deviations().map(|(v, _)| v * v)),
            of_difference: of_mean(&mut deviations().map(|(_, e)| e * e)),
            between: of_mean(&mut deviations().map(|(v, e)| v * e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::{OneSampleTTest, PairedTTest};
    use rand::RngExt as _;
    use speedup_core::value::seed::Seed;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    fn pairs() -> (Sample, Sample) {
        (sample(&[10.0, 12.0, 15.0, 9.0, 30.0, 22.0]), sample(&[9.1, 11.2, 13.0, 8.9, 27.5, 20.0]))
    }

    #[test]
    fn at_one_it_is_the_paired_t_test() {
        let (x, y) = pairs();
        let ratio = PairedRatio::new(&x, &y).unwrap();
        assert_eq!(ratio.df.round(), 5.0);
        for alternative in [Alternative::Greater, Alternative::Less, Alternative::TwoSided] {
            let [a, b] = [
                ratio.p_value(1.0, alternative).get(),
                PairedTTest::new(&x, &y).unwrap().p_value(alternative).get(),
            ];
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }

    #[test]
    fn the_interval_ends_where_the_t_test_of_the_differences_rejects() {
        let (x, y) = pairs();
        let ratio = PairedRatio::new(&x, &y).unwrap();
        let interval = ratio.interval(ConfidenceLevel::USUAL);
        let interval = interval.bounded().unwrap();
        assert!(interval.lower < ratio.estimate() && ratio.estimate() < interval.upper);
        for end in [interval.lower, interval.upper] {
            let differences = x.in_run_order().iter().zip(y.in_run_order()).map(|(x, y)| x - end * y);
            let test = OneSampleTTest::new(&Sample::new(differences.collect()).unwrap(), 0.0).unwrap();
            let p = test.p_value(Alternative::TwoSided).get();
            assert!((p - 0.05).abs() < 1e-9, "{p}");
            assert!((ratio.p_value(end, Alternative::TwoSided).get() - 0.05).abs() < 1e-9);
        }
    }

    /// Two benchmarks of equal pairs are the sum of their pairs' differences, with variances that add.
    #[test]
    fn over_a_suite_the_interval_ends_where_its_test_rejects() {
        let (x, y) = pairs();
        let u = sample(&[100.0, 130.0, 90.0]);
        let v = sample(&[101.0, 128.0, 91.5]);
        let members =
            [SuiteMember { baseline: &x, candidate: &y }, SuiteMember { baseline: &u, candidate: &v }];
        let ratio = PairedRatio::from_suite(&members, &BenchmarkWeights::Custom(vec![2.0, 1.0])).unwrap();
        let expected = (2.0 * x.mean() + u.mean()) / (2.0 * y.mean() + v.mean());
        assert!((ratio.estimate() - expected).abs() < 1e-12);
        assert!(2.0 < ratio.df && ratio.df < 7.0);
        let interval = ratio.interval(ConfidenceLevel::USUAL);
        for end in [interval.bounded().unwrap().lower, interval.bounded().unwrap().upper] {
            assert!((ratio.p_value(end, Alternative::TwoSided).get() - 0.05).abs() < 1e-9);
        }
    }

    #[test]
    fn what_are_no_pairs_or_do_not_vary_is_refused() {
        let (x, y) = pairs();
        let short = sample(&[1.0, 2.0]);
        assert!(matches!(
            PairedRatio::new(&x, &short),
            Err(SuiteRatioError::Ratio(RatioError::TooFew { .. }))
        ));
        assert!(PairedRatio::new(&x, &y).is_ok());
        let doubled = Sample::new(x.in_run_order().iter().map(|x| 2.0 * x).collect()).unwrap();
        assert_eq!(PairedRatio::new(&x, &doubled), Err(SuiteRatioError::Ratio(RatioError::Constant)));
    }

    /// Pairs that share nearly all of their spread: the level is kept, at a width that independent samples never have.
    #[test]
    fn the_interval_covers_the_true_ratio_as_often_as_promised() {
        let mut random = Seed(5).child("paired ratio");
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let mut covered = 0;
        for _ in 0..2_000 {
            let mut x = Vec::new();
            let mut y = Vec::new();
            for _ in 0..12 {
                let host = 100.0 + 10.0 * normal();
                x.push(1.25 * host + normal());
                y.push(host + normal());
            }
            let ratio = PairedRatio::new(&sample(&x), &sample(&y)).unwrap();
            let interval = ratio.interval(ConfidenceLevel::USUAL);
            let interval = interval.bounded().unwrap();
            assert!(interval.upper - interval.lower < 0.06);
            covered += u32::from((interval.lower..=interval.upper).contains(&1.25));
        }
        // 1 900 are expected; three standard deviations are 29.
        assert!((1_870..=1_930).contains(&covered), "{covered}");
    }
}
