//! The correlation of each run with the next.

use super::RunOrderError;
use crate::inference::{Alternative, Caveat, PValue};
use crate::{distribution::normal, number::rounding::CompensatedSum, sample::Sample};
use serde::Serialize;

/// The lag-1 autocorrelation r = Σ(xᵢ − x̄)(xᵢ₊₁ − x̄)/Σ(xᵢ − x̄)², R's `acf`.
///
/// In random order its mean is −1/n, and its variance that of Moran's statistic on a path under randomization (Cliff
/// & Ord, Spatial Processes, 1981, eq. 1.43), which knows the kurtosis of the values; the law is taken as normal.
///
/// ```
/// use speedup_statistics::diagnostics::run_order::Autocorrelation;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // The products of neighbours' deviations are 2, 0, 0 and 2; the squares add up to 10.
/// let correlation = Autocorrelation::new(&Sample::new(vec![1.0, 2.0, 3.0, 4.0, 5.0])?)?;
/// assert!((correlation.coefficient() - 0.4).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Autocorrelation {
    coefficient: f64,
    runs: usize,
    variance: f64,
}

/// The variance of the statistic has n − 3 in its denominator.
const FEWEST_RUNS: usize = 4;

impl Autocorrelation {
    /// The method's full name.
    pub const NAME: &'static str = "lag-1 autocorrelation (moments of random order, normal law)";

    /// Of `sample` in run order.
    ///
    /// # Errors
    /// [`RunOrderError`] below four runs, or when all are equal.
    pub fn new(sample: &Sample) -> Result<Self, RunOrderError> {
        let runs = sample.len();
        if runs < FEWEST_RUNS {
            return Err(RunOrderError::TooFew { runs, needed: FEWEST_RUNS });
        }
        let deviations: Vec<f64> = sample.in_run_order().iter().map(|x| x - sample.mean()).collect();
        // In units of the largest, so that fourth powers stay doubles.
        let largest = deviations.iter().fold(0.0_f64, |largest, d| largest.max(d.abs()));
        if sample.is_constant() || largest <= 0.0 {
            return Err(RunOrderError::Constant);
        }
        let deviations: Vec<f64> = deviations.into_iter().map(|d| d / largest).collect();
        let squares = CompensatedSum::sum(deviations.iter().map(|d| d * d));
        let fourths = CompensatedSum::sum(deviations.iter().map(|d| d.powi(4)));
        let products = CompensatedSum::sum(deviations.windows(2).map(|pair| pair[0] * pair[1]));
        let variance = variance_in_random_order(runs as f64, runs as f64 * fourths / (squares * squares));
        Ok(Self { coefficient: products / squares, runs, variance })
    }

    /// r.
    pub fn coefficient(&self) -> f64 {
        self.coefficient
    }

    /// (r + 1/n) over its standard deviation in random order.
    pub fn z(&self) -> f64 {
        (self.coefficient + 1.0 / self.runs as f64) / self.variance.sqrt()
    }

    /// The p-value of random order; greater is a run like the one before it, less is alternation.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        // The few orders of four runs may all have one coefficient.
        if self.variance <= 0.0 {
            return PValue::clamped(1.0);
        }
        let tails = normal::tails(self.z());
        alternative.p_value(tails.lower, tails.upper)
    }

    /// What the reader must know.
    pub fn caveats(&self) -> Vec<Caveat> {
        vec![Caveat::NormalApproximation]
    }
}

/// Moran's I on a path of n is r·n/(n − 1); `kurtosis` is n Σd⁴/(Σd²)².
fn variance_in_random_order(n: f64, kurtosis: f64) -> f64 {
    let s1 = 4.0 * (n - 1.0);
    let s2 = 16.0 * n - 24.0;
    let w = 2.0 * (n - 1.0);
    let first = n * ((n * n - 3.0 * n + 3.0) * s1 - n * s2 + 3.0 * w * w);
    let second = kurtosis * ((n * n - n) * s1 - 2.0 * n * s2 + 6.0 * w * w);
    let square = (first - second) / ((n - 1.0) * (n - 2.0) * (n - 3.0) * w * w);
    let of_moran = square - 1.0 / ((n - 1.0) * (n - 1.0));
    (of_moran * ((n - 1.0) / n).powi(2)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 720 orders of six values: mean and variance of the coefficient are those that are claimed.
    #[test]
    fn moments_are_those_of_all_orders() {
        let mut orders = vec![vec![]];
        for value in [1.0, 2.0, 4.0, 4.5, 7.0, 30.0] {
            let longer = |order: &Vec<f64>| -> Vec<Vec<f64>> {
                (0..=order.len()).map(|i| [&order[..i], &[value], &order[i..]].concat()).collect()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        let all: Vec<_> =
            orders.into_iter().map(|o| Autocorrelation::new(&Sample::new(o).unwrap()).unwrap()).collect();
        let mean = all.iter().map(|a| a.coefficient).sum::<f64>() / 720.0;
        let variance = all.iter().map(|a| (a.coefficient - mean).powi(2)).sum::<f64>() / 720.0;
        assert_eq!(all.len(), 720);
        assert!((mean + 1.0 / 6.0).abs() < 1e-13, "{mean}");
        assert!((variance / all[0].variance - 1.0).abs() < 1e-12, "{variance} {}", all[0].variance);
    }
}
