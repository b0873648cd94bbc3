//! Whether runs above and below the median come in series.

use super::RunOrderError;
use crate::inference::{Alternative, Caveat, PValue};
use crate::{distribution::Tails, sample::Sample};
use serde::Serialize;

/// The Wald–Wolfowitz test: the number of series of runs above, or below, the median; runs at the median are left
/// out, as R's `randtests::runs.test` does. The law is exact (Wald & Wolfowitz, Annals of Mathematical Statistics 11,
/// 1940).
///
/// ```
/// use speedup_statistics::diagnostics::run_order::RunsTest;
/// use speedup_statistics::inference::Alternative;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Four runs below the median, then four above: 2 of the C(8, 4) orders have two series.
/// let test = RunsTest::new(&Sample::new(vec![1.0, 3.0, 2.0, 4.0, 8.0, 6.0, 7.0, 9.0])?)?;
/// assert_eq!(test.series(), 2);
/// assert!((test.p_value(Alternative::Less).get() - 2.0 / 70.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RunsTest {
    above: u64,
    below: u64,
    series: u64,
}

/// One is its own median.
const FEWEST_RUNS: usize = 2;

impl RunsTest {
    /// The method's full name.
    pub const NAME: &'static str = "Wald–Wolfowitz runs test about the median (exact)";

    /// Of `sample` in run order.
    ///
    /// # Errors
    /// [`RunOrderError::TooFew`] for one run, [`RunOrderError::Constant`] when no run is above the median or none below.
    pub fn new(sample: &Sample) -> Result<Self, RunOrderError> {
        if sample.len() < FEWEST_RUNS {
            return Err(RunOrderError::TooFew { runs: sample.len(), needed: FEWEST_RUNS });
        }
        let median = sample.median();
        let sides: Vec<bool> =
            sample.in_run_order().iter().filter(|x| **x != median).map(|x| *x > median).collect();
        let above = sides.iter().filter(|side| **side).count() as u64;
        let below = sides.len() as u64 - above;
        if above == 0 || below == 0 {
            return Err(RunOrderError::Constant);
        }
        let changes = sides.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
        Ok(Self { above, below, series: changes + 1 })
    }

    /// The number of series.
    pub fn series(&self) -> u64 {
        self.series
    }

    /// (series − mean) over the standard deviation in random order: statsmodels' `runstest_1samp` without correction.
    pub fn z(&self) -> f64 {
        let a = self.above as f64;
        let b = self.below as f64;
        let n = a + b;
        let product = 2.0 * a * b;
        let mean = 1.0 + product / n;
        let variance = product * (product - n) / (n * n * (n - 1.0));
        if variance > 0.0 { (self.series as f64 - mean) / variance.sqrt() } else { 0.0 }
    }

    /// What must be known: nothing of an exact law.
    pub fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }

    /// The p-value of random order; less is fewer series than by chance (runs resemble their neighbours), greater is
    /// more of them (alternation).
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let Tails { lower, upper } = self.tails();
        alternative.p_value(lower, upper)
    }

    /// `P[R ≤ r]` and `P[R ≥ r]`.
    fn tails(&self) -> Tails {
        let most = (2 * self.above.min(self.below) + 1).min(self.above + self.below);
        let mut tails = Tails { lower: 0.0, upper: 0.0 };
        let law = self.law();
        for series in 2..=most {
            let probability = law(series);
            if series <= self.series {
                tails.lower += probability;
            }
            if series >= self.series {
                tails.upper += probability;
            }
        }
        tails
    }

    /// `P[R = r]`: 2·C(a−1, k−1)·C(b−1, k−1)/C(a+b, a) for r = 2k, and the two ways to have one side once more for r = 2k
    /// + 1.
    fn law(&self) -> impl Fn(u64) -> f64 {
        let a = self.above as usize;
        let b = self.below as usize;
        let all = ln_factorial(a + b) - ln_factorial(a) - ln_factorial(b);
        let of_above = ln_chooses(a - 1);
        let of_below = ln_chooses(b - 1);
        let ln_choose = |of: &[f64], k: u64| of.get(k as usize).copied().unwrap_or(f64::NEG_INFINITY);
        let ways = move |j: u64, k: u64| (ln_choose(&of_above, j) + ln_choose(&of_below, k) - all).exp();
        move |series| {
            let k = series / 2;
            if series.is_multiple_of(2) { 2.0 * ways(k - 1, k - 1) } else { ways(k, k - 1) + ways(k - 1, k) }
        }
    }
}

/// ln C(n, k) for all k up to n.
fn ln_chooses(n: usize) -> Vec<f64> {
    let factorials: Vec<f64> = (0..=n).map(ln_factorial).collect();
    (0..=n).map(|k| factorials[n] - factorials[k] - factorials[n - k]).collect()
}

fn ln_factorial(n: usize) -> f64 {
    libm::lgamma(n as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_is_too_few_and_equal_ones_are_constant() {
        let refused = |values: &[f64]| RunsTest::new(&Sample::new(values.to_vec()).unwrap()).unwrap_err();
        assert_eq!(refused(&[1.0]), RunOrderError::TooFew { runs: 1, needed: 2 });
        assert_eq!(refused(&[1.0, 1.0]), RunOrderError::Constant);
    }

    #[test]
    fn the_law_counts_all_orders() {
        // All 2⁹ sequences of nine with four above: C(9, 4) = 126 of them.
        for series in 2..=9 {
            let count = (0..512_u32)
                .filter(|bits| bits.count_ones() == 4)
                .filter(|bits| 1 + ((bits ^ (bits >> 1)) & 0xff).count_ones() as u64 == series)
                .count() as f64;
            let test = RunsTest { above: 4, below: 5, series };
            assert!((test.law()(series) - count / 126.0).abs() < 1e-14, "{series}");
        }
    }
}
