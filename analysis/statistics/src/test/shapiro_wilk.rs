//! The Shapiro–Wilk test of normality: algorithm AS R94.
//!
//! P. Royston, "Remark AS R94: A remark on algorithm AS 181: the W-test for normality", Applied Statistics 44
//! (1995): W = (Σ aᵢ x₍ᵢ₎)² / Σ(xᵢ − x̄)² with approximate weights a, and a normalising transformation of 1 −
//! W. Its constants and its three regimes (n = 3, n ≤ 11, n ≥ 12) are the paper's.

use crate::{
    distribution::Tails, distribution::normal, inference::Caveat, inference::PValue, sample::Sample,
};
use serde::Serialize;
use thiserror::Error;

/// The statistic W and its p-value, for 3 to 5000 observations that are not all equal.
///
/// ```
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::ShapiroWilk;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Touati 2010 §4.1, as R's shapiro.test.
/// let test = ShapiroWilk::new(&Sample::new(vec![2.799, 2.046, 1.259, 1.877, 2.244])?)?;
/// assert!((test.statistic() - 0.9862).abs() < 5e-5);
/// assert!((test.p_value().get() - 0.9647).abs() < 5e-5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShapiroWilk {
    w: f64,
    p_value: PValue,
    n: usize,
}

/// Why normality was not tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ShapiroWilkError {
    /// Fewer than 3 observations.
    #[error("the Shapiro–Wilk test needs at least 3 observations, but there are {n}")]
    TooFew { n: usize },
    /// More than 5,000 observations, the range the approximation was made for.
    #[error("the Shapiro–Wilk test is made for at most 5000 observations, but there are {n}")]
    TooMany { n: usize },
    /// All observations are equal, to the last digit of their spread.
    #[error("all observations are equal, so they have no shape to test")]
    AllEqual,
}

speedup_core::hints! { ShapiroWilkError:
    Self::TooFew { .. } => "plan more runs",
    Self::AllEqual => "use a finer clock or a longer run",
}

impl ShapiroWilk {
    /// The method's full name.
    pub const NAME: &'static str = "Shapiro–Wilk test of normality (AS R94)";
    /// The largest sample that AS R94 was made for.
    const LARGEST: usize = 5000;

    /// Tests whether `sample` could come from a normal law.
    ///
    /// # Errors
    /// [`ShapiroWilkError`] outside 3 to 5000 observations, or when all are equal.
    pub fn new(sample: &Sample) -> Result<Self, ShapiroWilkError> {
        let n = sample.len();
        if n < 3 {
            return Err(ShapiroWilkError::TooFew { n });
        }
        if n > Self::LARGEST {
            return Err(ShapiroWilkError::TooMany { n });
        }
        if sample.is_constant() {
            return Err(ShapiroWilkError::AllEqual);
        }
        let one_less_w = one_less_w(sample.sorted(), &half_weights(n));
        Ok(Self { w: 1.0 - one_less_w, p_value: p_value(one_less_w, n), n })
    }

    /// W, in (0, 1]; near 1 for a normal sample.
    pub fn statistic(&self) -> f64 {
        self.w
    }

    /// What must be known: nothing, within the sizes that AS R94 was made for.
    pub fn caveats(&self) -> Vec<Caveat> {
        Vec::new()
    }

    /// The probability of so small a W from a normal sample.
    pub fn p_value(&self) -> PValue {
        self.p_value
    }
}

/// The weights of the upper half, largest first: the lower half has them negated, a middle one is zero.
fn half_weights(n: usize) -> Vec<f64> {
    const LARGEST: [f64; 6] = [0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056];
    const SECOND: [f64; 6] = [0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633];
    if n == 3 {
        return vec![0.5_f64.sqrt()];
    }
    // Blom's approximate expected order statistics, largest first.
    let score = |i: usize| -normal::quantile(Tails::from_lower((i as f64 - 0.375) / (n as f64 + 0.25)));
    let scores: Vec<f64> = (1..=n / 2).map(score).collect();
    let squares = 2.0 * scores.iter().map(|m| m * m).sum::<f64>();
    let u = 1.0 / (n as f64).sqrt();
    let largest = polynomial(&LARGEST, u) + scores[0] / squares.sqrt();
    let mut exact = vec![largest];
    if n > 5 {
        exact.push(polynomial(&SECOND, u) + scores[1] / squares.sqrt());
    }
    // The rest keep the scores' proportions and bring the sum of squares to 1.
    let taken: f64 = 2.0 * scores[..exact.len()].iter().map(|m| m * m).sum::<f64>();
    let left: f64 = 1.0 - 2.0 * exact.iter().map(|a| a * a).sum::<f64>();
    let scale = ((squares - taken) / left).sqrt();
    let rest = scores[exact.len()..].iter().map(|m| m / scale);
    exact.iter().copied().chain(rest).collect()
}

/// 1 − W, as a difference of squares so that a W near 1 keeps its digits.
///
/// Divided by the range before it is centred, as AS R94 is published and R computes it. Where the spread is
/// below 1e-7 of the mean this costs digits of W (2e-8 of it at a spread of 1e-9); centring first would keep
/// them, and differ from every other implementation.
fn one_less_w(sorted: &[f64], half_weights: &[f64]) -> f64 {
    let n = sorted.len();
    let range = sorted[n - 1] - sorted[0];
    let scaled: Vec<f64> = sorted.iter().map(|x| x / range).collect();
    let mean = scaled.iter().sum::<f64>() / n as f64;
    let weight = |i: usize| match (half_weights.get(i), half_weights.get(n - 1 - i)) {
        (Some(low), _) => -low,
        (None, Some(high)) => *high,
        (None, None) => 0.0,
    };
    let mut weights_squared = 0.0;
    let mut spread = 0.0;
    let mut product = 0.0;
    for (i, x) in scaled.iter().enumerate() {
        let a = weight(i);
        let d = x - mean;
        weights_squared += a * a;
        spread += d * d;
        product += a * d;
    }
    let bound = (weights_squared * spread).sqrt();
    ((bound - product) * (bound + product) / (weights_squared * spread)).max(0.0)
}

fn p_value(one_less_w: f64, n: usize) -> PValue {
    const MEAN_SMALL: [f64; 4] = [0.544, -0.39978, 0.025054, -6.714e-4];
    const LOG_SD_SMALL: [f64; 4] = [1.3822, -0.77857, 0.062767, -0.0020322];
    const MEAN_LARGE: [f64; 4] = [-1.5861, -0.31082, -0.083751, 0.0038915];
    const LOG_SD_LARGE: [f64; 3] = [-0.4803, -0.082676, 0.0030302];
    const LIMIT_SMALL: [f64; 2] = [-2.273, 0.459];
    let size = n as f64;
    if n == 3 {
        // The exact law: (6/π)(asin √W − asin √¾).
        let angle = (1.0 - one_less_w).sqrt().asin() - 0.75_f64.sqrt().asin();
        return PValue::clamped(6.0 / std::f64::consts::PI * angle);
    }
    let y = one_less_w.ln();
    let (y, mean, log_sd) = if n <= 11 {
        let limit = polynomial(&LIMIT_SMALL, size);
        if y >= limit {
            return PValue::clamped(SMALLEST_P);
        }
        (-(limit - y).ln(), polynomial(&MEAN_SMALL, size), polynomial(&LOG_SD_SMALL, size))
    } else {
        (y, polynomial(&MEAN_LARGE, size.ln()), polynomial(&LOG_SD_LARGE, size.ln()))
    };
    PValue::clamped(normal::tails((y - mean) / log_sd.exp()).upper)
}

/// What AS R94 gives for a W below the range of its transformation.
const SMALLEST_P: f64 = 1e-99;

/// Σ cᵢ xⁱ.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}
