//! The overall speedup of the mean over a suite, with an interval and a test.
//!
//! Touati 2010 §3.2 gives the overall speedup without a test. For benchmarks and weights taken as they are, it is a
//! ratio of two weighted sums of means, Σw x̄/Σw ȳ, and the samples are independent; so Fieller's argument
//! (Kalibera 2012 §7.3.2) holds with the variances Σw²s²/n. The degrees of freedom are Satterthwaite's over all samples at the
//! estimated ratio; or over the samples of the version that has fewer of them, as with few runs of one version against many of the other
//! those of all are too many.
//! With one benchmark it is [`crate::ratio::MeanRatio`]. It says nothing of other benchmarks: that is what the proportion is for.

use crate::inference::{Alternative, ConfidenceLevel, Interval, PValue, RatioInterval, Unbounded};
use crate::ratio::fieller::{Estimate, unit_of};
use crate::ratio::{
    BenchmarkWeights, LogEffect, Overall, RatioError, SuiteError, SuiteMember, Summary, fieller,
};
use crate::{distribution::student_t, number::rounding::CompensatedSum, sample::Sample};
use std::collections::BTreeMap;
use thiserror::Error;

/// The ratio of the weighted sums of means, baseline over candidate.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::ratio::{BenchmarkWeights, SuiteMember, SuiteRatio};
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let [a, b] = [Sample::new(vec![10.0, 10.2, 9.8])?, Sample::new(vec![8.0, 8.1, 7.9])?];
/// let [c, d] = [Sample::new(vec![5.0, 5.1, 4.9])?, Sample::new(vec![4.0, 4.2, 3.8])?];
/// let members = [SuiteMember { baseline: &a, candidate: &b }, SuiteMember { baseline: &c, candidate: &d }];
/// let speedup = SuiteRatio::new(&members, &BenchmarkWeights::Equal)?;
/// // Of the sums of the mean times.
/// assert!((speedup.estimate() - 15.0 / 12.0).abs() < 1e-12);
/// let interval = speedup.interval(ConfidenceLevel::USUAL);
/// assert!(interval.bounded().is_some_and(|interval| interval.lower > 1.2 && interval.upper < 1.3));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SuiteRatio {
    baseline: WeightedSum,
    candidate: WeightedSum,
    df: f64,
    method: &'static str,
}

/// Σ w x̄ and its squared standard error, in a unit of the sum's own size: squares of squared errors are doubles then.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WeightedSum {
    /// A power of two, in the unit of the observations.
    unit: f64,
    mean: f64,
    error: f64,
    /// Σ v²/(n − 1), where v are the squared errors: what Satterthwaite's formula divides by.
    spread: f64,
}

/// The clusters of a member's observations, of the baseline's and of the candidate's, where there are any.
pub type Clusters<'a> = [Option<&'a [u32]>; 2];

/// The weighted sums over the members by cluster, of the clusters that all members have; `None` of a side without clusters.
pub(crate) fn sums_of_clusters(
    members: &[SuiteMember<'_>],
    clusters: &[Clusters<'_>],
    weights: &[f64],
) -> [Option<Vec<f64>>; 2] {
    [0, 1].map(|side| {
        let mut sums: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
        for ((member, clusters), weight) in members.iter().zip(clusters).zip(weights) {
            let values = [member.baseline, member.candidate][side].in_run_order();
            for (cluster, value) in clusters[side]?.iter().zip(values) {
                let (count, sum) = sums.entry(*cluster).or_default();
                *count += 1;
                *sum += weight * value;
            }
        }
        let common = sums.into_values().filter(|(count, _)| *count == members.len());
        if members.is_empty() { None } else { Some(common.map(|(_, sum)| sum).collect()) }
    })
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

speedup_core::hints! { SuiteRatioError:
    Self::Suite(error) => error.hint(),
    Self::Ratio(error) => error.hint(),
}

impl SuiteRatio {
    /// The method's full name.
    pub const NAME: &'static str =
        "Fieller interval of the ratio of weighted sums of means (Satterthwaite degrees of freedom)";
    /// The method's full name with the degrees of freedom of the version that has fewer.
    pub const NAME_BY_SMALLER_SIDE: &'static str = "Fieller interval of the ratio of weighted sums of means (Satterthwaite degrees of freedom of the version with fewer)";

    /// The ratio over `members`, weighted by `weights`, which are taken as fixed.
    ///
    /// # Errors
    /// [`SuiteRatioError`] for weights that do not fit, times that are not positive, single runs, or no
    /// variation beyond rounding.
    pub fn new(members: &[SuiteMember<'_>], weights: &BenchmarkWeights) -> Result<Self, SuiteRatioError> {
        Self::from_clusters(members, &vec![[None, None]; members.len()], weights)
    }

    /// The same where observations of a side are of `clusters` that the members share, as builds of a version are: each
    /// member's ascending, as many as observations. The sums over the members are then what is independent, of the clusters
    /// that all of them have; without that, what the members have in common would be taken for chance of each.
    ///
    /// # Errors
    /// As [`SuiteRatio::new`]; fewer than two common clusters are too few.
    pub fn from_clusters(
        members: &[SuiteMember<'_>],
        clusters: &[Clusters<'_>],
        weights: &BenchmarkWeights,
    ) -> Result<Self, SuiteRatioError> {
        let weights = Overall::new(members, Summary::Mean, weights)?.weights;
        let [joint_baseline, joint_candidate] = sums_of_clusters(members, clusters, &weights);
        for member in members {
            let n = joint_baseline.as_ref().map_or(member.baseline.len(), Vec::len);
            let m = joint_candidate.as_ref().map_or(member.candidate.len(), Vec::len);
            if n < 2 || m < 2 {
                return Err(RatioError::TooFew { n, m }.into());
            }
        }
        let baseline: Vec<&Sample> = members.iter().map(|member| member.baseline).collect();
        let candidate: Vec<&Sample> = members.iter().map(|member| member.candidate).collect();
        let baseline = WeightedSum::joint_or_own(joint_baseline, &baseline, &weights);
        let candidate = WeightedSum::joint_or_own(joint_candidate, &candidate, &weights);
        if baseline.error == 0.0 && candidate.error == 0.0 {
            return Err(RatioError::Constant.into());
        }
        if fieller::is_rounding(baseline.estimate(), candidate.estimate()) {
            return Err(RatioError::EssentiallyConstant.into());
        }
        let square = (baseline.mean / candidate.mean).powi(2);
        let error = baseline.error + square * candidate.error;
        let df = error * error / (baseline.spread + square * square * candidate.spread);
        Ok(Self { baseline, candidate, df, method: Self::NAME })
    }

    /// The same with the degrees of freedom of the version that has fewer.
    #[must_use]
    pub fn by_smaller_side(self) -> Self {
        // A sum without error has none, which is not the smaller number.
        let df = self.baseline.df().min(self.candidate.df());
        Self { df, method: Self::NAME_BY_SMALLER_SIDE, ..self }
    }

    /// The observed overall speedup of the mean.
    pub fn estimate(&self) -> f64 {
        self.baseline.mean / self.candidate.mean * (self.baseline.unit / self.candidate.unit)
    }

    /// The logarithm of the ratio, with its error by the delta method.
    pub fn log_effect(&self) -> LogEffect {
        let [baseline, candidate] = [self.baseline, self.candidate].map(|sum| sum.estimate().relative());
        LogEffect { estimate: self.estimate().ln(), variance: baseline + candidate, df: self.df }
    }

    /// The p-value of the overall speedup being `ratio` against its being otherwise, greater or less.
    pub fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        let ratio = ratio / self.baseline.unit * self.candidate.unit;
        let t = fieller::statistic(self.baseline.estimate(), self.candidate.estimate(), ratio);
        let tails = student_t::tails(t, self.df);
        alternative.p_value(tails.lower, tails.upper)
    }

    /// The two-sided interval of the overall speedup.
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let t = student_t::two_sided_critical(level.risk().get(), self.df);
        let relative = |sum: &WeightedSum| t * t * (sum.error / sum.mean / sum.mean);
        let a = relative(&self.baseline);
        let b = relative(&self.candidate);
        if b.is_nan() || b >= 1.0 || !t.is_finite() {
            let reason = Unbounded::DenominatorNearZero;
            return RatioInterval::Unbounded { method: self.method, level, reason };
        }
        let root = (a + b - a * b).max(0.0).sqrt();
        let ends = [(1.0 - root) / (1.0 - b), (1.0 + root) / (1.0 - b)];
        let [lower, upper] = ends.map(|end| self.estimate() * end);
        RatioInterval::Bounded(Interval { method: self.method, lower, upper, level, caveats: Vec::new() })
            .cut_at_zero()
    }
}

impl WeightedSum {
    /// The sums over the members by cluster where there are clusters, else the members' own samples.
    fn joint_or_own(joint: Option<Vec<f64>>, own: &[&Sample], weights: &[f64]) -> Self {
        match joint.and_then(|sums| Sample::new(sums).ok()) {
            Some(sums) => Self::new(&[&sums], &[1.0]),
            None => Self::new(own, weights),
        }
    }

    fn new(samples: &[&Sample], weights: &[f64]) -> Self {
        let mean = CompensatedSum::sum(samples.iter().zip(weights).map(|(sample, w)| w * sample.mean()));
        let unit = unit_of(mean);
        let mut errors = Vec::with_capacity(samples.len());
        let mut spreads = Vec::with_capacity(samples.len());
        for (sample, w) in samples.iter().zip(weights) {
            let variance = sample.variance().unwrap_or_default() / unit / unit;
            let error = w * w * variance / sample.len() as f64;
            errors.push(error);
            spreads.push(error.powi(2) / (sample.len() - 1) as f64);
        }
        Self {
            unit,
            mean: mean / unit,
            error: CompensatedSum::sum(errors),
            spread: CompensatedSum::sum(spreads),
        }
    }

    /// Satterthwaite's.
    fn df(&self) -> f64 {
        self.error * self.error / self.spread
    }

    fn estimate(&self) -> Estimate {
        Estimate { mean: self.mean, squared_error: self.error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::MeanRatio;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn of_one_benchmark_it_is_the_mean_ratio() {
        let baseline = sample(&[10.0, 11.0, 12.5, 9.0]);
        let candidate = sample(&[8.0, 8.5, 9.5]);
        let member = SuiteMember { baseline: &baseline, candidate: &candidate };
        let suite = SuiteRatio::new(&[member], &BenchmarkWeights::Fraction).unwrap();
        let mean = MeanRatio::new(&baseline, &candidate).unwrap();
        assert!((suite.estimate() - mean.estimate()).abs() < 1e-14);
        let [a, b] = [suite.interval(ConfidenceLevel::USUAL), mean.interval(ConfidenceLevel::USUAL)];
        let a = a.bounded().unwrap();
        let b = b.bounded().unwrap();
        assert!((a.lower - b.lower).abs() < 1e-12 && (a.upper - b.upper).abs() < 1e-12, "{a:?} {b:?}");
        // Of the candidate's three runs.
        assert_eq!(suite.by_smaller_side().df, 2.0);
    }

    #[test]
    fn a_constant_benchmark_adds_no_error_and_a_single_run_is_refused() {
        let x = sample(&[10.0, 11.0, 12.0]);
        let y = sample(&[8.0, 9.0, 10.0]);
        let c = sample(&[5.0, 5.0]);
        let one = sample(&[5.0]);
        let noisy = SuiteMember { baseline: &x, candidate: &y };
        let constant = SuiteMember { baseline: &c, candidate: &c };
        assert_eq!(
            SuiteRatio::new(&[noisy, constant], &BenchmarkWeights::Equal).unwrap().by_smaller_side().df,
            2.0
        );
        let refused = SuiteRatio::new(&[constant], &BenchmarkWeights::Equal);
        assert_eq!(refused, Err(SuiteRatioError::Ratio(RatioError::Constant)));
        let single = SuiteMember { baseline: &one, candidate: &y };
        let refused = SuiteRatio::new(&[noisy, single], &BenchmarkWeights::Equal);
        assert_eq!(refused, Err(SuiteRatioError::Ratio(RatioError::TooFew { n: 1, m: 3 })));
    }

    /// What a build adds to all benchmarks alike does not average out over them.
    #[test]
    fn what_members_share_is_not_their_own_chance() {
        let x = sample(&[10.0, 11.0, 12.0]);
        let y = sample(&[8.0, 9.0, 10.0]);
        let member = SuiteMember { baseline: &x, candidate: &y };
        let members = [member, member];
        let builds = [0, 1, 2];
        let alone = SuiteRatio::new(&[member], &BenchmarkWeights::Equal).unwrap();
        let apart = SuiteRatio::new(&members, &BenchmarkWeights::Equal).unwrap();
        let clusters = [[Some(&builds[..]), Some(&builds[..])]; 2];
        let shared = SuiteRatio::from_clusters(&members, &clusters, &BenchmarkWeights::Equal).unwrap();
        let width = |ratio: &SuiteRatio| {
            let interval = ratio.interval(ConfidenceLevel::USUAL);
            let interval = interval.bounded().unwrap().clone();
            interval.upper - interval.lower
        };
        assert!((width(&shared) - width(&alone)).abs() < 1e-12 && width(&apart) < width(&shared));
        let other = [[Some(&builds[..]), None], [Some(&[2, 3, 4][..]), None]];
        let refused = SuiteRatio::from_clusters(&members, &other, &BenchmarkWeights::Equal);
        assert_eq!(refused, Err(SuiteRatioError::Ratio(RatioError::TooFew { n: 1, m: 3 })));
    }

    #[test]
    fn the_interval_ends_where_the_test_rejects() {
        let x = sample(&[10.0, 11.0, 12.0]);
        let y = sample(&[8.0, 9.0, 10.0]);
        let u = sample(&[30.0, 33.0]);
        let v = sample(&[31.0, 30.0, 30.5]);
        let members =
            [SuiteMember { baseline: &x, candidate: &y }, SuiteMember { baseline: &u, candidate: &v }];
        let suite = SuiteRatio::new(&members, &BenchmarkWeights::Custom(vec![1.0, 3.0])).unwrap();
        let level = ConfidenceLevel::USUAL;
        let interval = suite.interval(level);
        let interval = interval.bounded().unwrap();
        for end in [interval.lower, interval.upper] {
            let p = suite.p_value(end, Alternative::TwoSided).get();
            assert!((p - level.risk().get()).abs() < 1e-9, "{p}");
        }
    }
}
