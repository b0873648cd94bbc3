//! Whether values go with a number that is known of each, within strata.

use super::run_order::RunOrderError;
use crate::inference::{Alternative, Caveat, PValue};
use crate::{distribution::normal, sample::Sample};
use serde::Serialize;
use std::collections::BTreeMap;

/// Kendall's S of values and a covariate, summed over strata that are never compared with each other: pairs in which
/// the larger covariate has the larger value less those in which it has the smaller one (M. G. Kendall and J. D.
/// Gibbons, Rank Correlation Methods, 1990, §4; summed over strata as by Hirsch, Slack and Smith 1982), normal with
/// continuity and the correction for ties of both.
///
/// Benchmarks and versions of different lengths count alike, and of the covariate only the order counts.
///
/// ```
/// use speedup_statistics::diagnostics::StratifiedKendall;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Runs over two switches take longer than those over one, in a cell of short runs and in one of long ones.
/// let (short, long) = (Sample::new(vec![1.0, 2.0, 1.1, 2.2])?, Sample::new(vec![30.0, 50.0, 45.0, 31.0])?);
/// let found = StratifiedKendall::new(&[(&short, &[1, 2, 1, 2]), (&long, &[1, 2, 2, 1])])?;
/// // All four pairs of each cell; the variance of each is 2 · 2 · 5/3.
/// assert_eq!(found.s(), 8);
/// assert!((found.z() - 7.0 / (40.0_f64 / 3.0).sqrt()).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StratifiedKendall {
    s: i64,
    variance: f64,
    strata: usize,
    runs: usize,
    factor: Option<f64>,
}

/// Below this variance of S its law is not near the normal one.
const LEAST_VARIANCE: f64 = 10.0;
/// The most pairs whose ratios are kept: more runs than anyone makes of a cell on several hosts.
const MOST_PAIRS: usize = 1 << 22;

impl StratifiedKendall {
    /// The method's full name.
    pub const NAME: &'static str = "Kendall's S summed over strata (normal law, corrected for ties)";

    /// Of the values of each stratum with the covariate of each; strata in which either does not vary say nothing.
    ///
    /// # Errors
    /// [`RunOrderError`] when the strata together are too small for a test.
    pub fn new(strata: &[(&Sample, &[u32])]) -> Result<Self, RunOrderError> {
        let mut s = 0;
        let mut variance = 0.0;
        let mut used = 0;
        let mut runs = 0;
        let mut slopes = Some(Vec::new());
        for (sample, covariates) in strata {
            let mut levels: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for (value, covariate) in sample.in_run_order().iter().zip(*covariates) {
                levels.entry(*covariate).or_default().push(*value);
            }
            if levels.len() < 2 || sample.is_constant() {
                continue;
            }
            levels.values_mut().for_each(|values| values.sort_by(f64::total_cmp));
            used += 1;
            runs += sample.len();
            s += concordance(&levels);
            variance += variance_of(sample.sorted(), &levels);
            slopes = slopes.and_then(|slopes| with_slopes(slopes, &levels));
        }
        if variance < LEAST_VARIANCE {
            return Err(RunOrderError::TooFew { runs, needed: 2 * LEAST_VARIANCE as usize });
        }
        let factor = slopes.and_then(|slopes| Some(libm::exp(Sample::new(slopes).ok()?.median())));
        Ok(Self { s, variance, strata: used, runs, factor })
    }

    /// ΣS.
    pub fn s(&self) -> i64 {
        self.s
    }

    /// The strata in which values and covariate vary.
    pub fn strata(&self) -> usize {
        self.strata
    }

    /// Their values.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// ΣS, one nearer to zero, in standard deviations.
    pub fn z(&self) -> f64 {
        (self.s - self.s.signum()) as f64 / self.variance.sqrt()
    }

    /// By what factor the value grows with each further unit of the covariate: the median over all pairs within
    /// strata of the slope of the logarithms (Theil and Sen, on logarithms); none of values that are not positive, or
    /// of too many pairs.
    pub fn factor(&self) -> Option<f64> {
        self.factor
    }

    /// What must be known: that the law is not exact.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::NormalApproximation]
    }

    /// The p-value of values that have nothing to do with the covariate; greater is that they grow with it.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let tails = normal::tails(self.z());
        alternative.p_value(tails.lower, tails.upper)
    }
}

/// A level of the covariate with its values, ascending.
type LevelValues<'a> = (u32, &'a [f64]);

/// Each two levels, the lower one first.
fn pairs(levels: &BTreeMap<u32, Vec<f64>>) -> impl Iterator<Item = [LevelValues<'_>; 2]> {
    levels.iter().flat_map(|(low, below)| {
        levels.range(low + 1..).map(move |(high, above)| [(*low, &below[..]), (*high, &above[..])])
    })
}

/// S: over all pairs of levels what is above less what is below.
fn concordance(levels: &BTreeMap<u32, Vec<f64>>) -> i64 {
    let of = |[(_, below), (_, above)]: [LevelValues<'_>; 2]| {
        let of_one = |value: &f64| {
            let less = below.partition_point(|other| other < value);
            let more = below.len() - below.partition_point(|other| other <= value);
            less as i64 - more as i64
        };
        above.iter().map(of_one).sum::<i64>()
    };
    pairs(levels).map(of).sum()
}

/// The variance of S where any value could be at any covariate, given the ties of both (Kendall and Gibbons 1990,
/// §4.9).
fn variance_of(sorted: &[f64], levels: &BTreeMap<u32, Vec<f64>>) -> f64 {
    let n = sorted.len() as f64;
    let tied: Vec<f64> = sorted.chunk_by(|one, other| one == other).map(|tied| tied.len() as f64).collect();
    let of_levels: Vec<f64> = levels.values().map(|values| values.len() as f64).collect();
    let sum = |of: fn(f64) -> f64, over: &[f64]| over.iter().map(|count| of(*count)).sum::<f64>();
    let first = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let second = |t: f64| t * (t - 1.0) * (t - 2.0);
    let third = |t: f64| t * (t - 1.0);
    let all = (first(n) - sum(first, &tied) - sum(first, &of_levels)) / 18.0;
    let of_three =
        if n > 2.0 { sum(second, &tied) * sum(second, &of_levels) / (9.0 * second(n)) } else { 0.0 };
    all + of_three + sum(third, &tied) * sum(third, &of_levels) / (2.0 * third(n))
}

/// Adds the slopes of the logarithms between all pairs of a stratum; none where there are none, or too many.
fn with_slopes(mut slopes: Vec<f64>, levels: &BTreeMap<u32, Vec<f64>>) -> Option<Vec<f64>> {
    for [(low, below), (high, above)] in pairs(levels) {
        if slopes.len() + below.len() * above.len() > MOST_PAIRS || below[0] <= 0.0 || above[0] <= 0.0 {
            return None;
        }
        let further = f64::from(high - low);
        for value in above {
            slopes.extend(below.iter().map(|other| libm::log(value / other) / further));
        }
    }
    Some(slopes)
}
