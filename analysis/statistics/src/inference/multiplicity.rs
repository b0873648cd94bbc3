//! Many tests at once: p-values adjusted for how many there are.
//!
//! An adjusted p-value is compared with the risk as a plain one is. The papers decide every benchmark by itself;
//! these stand beside their verdicts. Steps of R's `p.adjust`: a test that gave no p-value stays without one and
//! is not counted among the tests.

use crate::inference::PValue;
use serde::{Deserialize, Serialize};

speedup_core::words! {
    /// How p-values are adjusted for their number n; p₍ᵢ₎ is the i-th smallest.
    ///
    /// ```
    /// use speedup_statistics::inference::{Adjustment, PValue};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // The second benchmark was not tested. Of the other three: 3·0.01, then 2·0.03, and for 0.04 no less than that.
    /// let p_values = [Some(PValue::new(0.01)?), None, Some(PValue::new(0.04)?), Some(PValue::new(0.03)?)];
    /// let adjusted = Adjustment::Holm.adjust(&p_values);
    /// let rounded = adjusted.iter().map(|p| p.map(|p| (p.get() * 100.0).round()));
    /// assert_eq!(rounded.collect::<Vec<_>>(), [Some(3.0), None, Some(6.0), Some(6.0)]);
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Adjustment {
        /// n·p.
        Bonferroni = "Bonferroni",
        /// Stepping down, max over j ≤ i of (n + 1 − j)·p₍ⱼ₎; never worse than Bonferroni (Holm 1979).
        Holm = "Holm",
        /// Stepping up, min over j ≥ i of (n + 1 − j)·p₍ⱼ₎; for independent tests (Hochberg 1988).
        Hochberg = "Hochberg",
        /// By closing Simes' test; for independent tests (Hommel 1988).
        Hommel = "Hommel",
        /// min over j ≥ i of n·p₍ⱼ₎/j (Benjamini and Hochberg 1995).
        BenjaminiHochberg = "Benjamini–Hochberg",
        /// The same times 1 + 1/2 + … + 1/n, for tests with any dependence (Benjamini and Yekutieli 2001).
        BenjaminiYekutieli = "Benjamini–Yekutieli",
    }
    fn name;
    const ALL;
}

/// What stays below the risk if adjusted p-values are compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorRate {
    /// The probability of any false alarm among all tests.
    Familywise,
    /// The expected share of false alarms among the alarms.
    FalseDiscovery,
}

impl Adjustment {
    /// Which error rate it controls.
    pub fn controls(self) -> ErrorRate {
        match self {
            Self::Bonferroni | Self::Holm | Self::Hochberg | Self::Hommel => ErrorRate::Familywise,
            Self::BenjaminiHochberg | Self::BenjaminiYekutieli => ErrorRate::FalseDiscovery,
        }
    }

    /// The adjusted p-values, in the order given; `None` where there was none.
    pub fn adjust(self, p_values: &[Option<PValue>]) -> Vec<Option<PValue>> {
        let mut order: Vec<usize> = (0..p_values.len()).filter(|i| p_values[*i].is_some()).collect();
        let p = |i: &usize| p_values[*i].map_or(1.0, PValue::get);
        order.sort_by(|a, b| p(a).total_cmp(&p(b)));
        let sorted: Vec<f64> = order.iter().map(p).collect();
        let mut adjusted = vec![None; p_values.len()];
        for (i, p) in order.into_iter().zip(self.adjust_sorted(&sorted)) {
            adjusted[i] = Some(PValue::clamped(p));
        }
        adjusted
    }

    /// The adjustments of ascending p-values, which may exceed 1.
    fn adjust_sorted(self, sorted: &[f64]) -> Vec<f64> {
        let n = sorted.len();
        let steps_left = |i: usize| (n - i) as f64;
        match self {
            Self::Bonferroni => sorted.iter().map(|p| n as f64 * p).collect(),
            Self::Holm => step_down(sorted, steps_left),
            Self::Hochberg => step_up(sorted, steps_left),
            Self::Hommel => hommel(sorted),
            Self::BenjaminiHochberg => step_up(sorted, |i| n as f64 / (i + 1) as f64),
            Self::BenjaminiYekutieli => {
                let harmonic: f64 = (1..=n).map(|k| 1.0 / k as f64).sum();
                step_up(sorted, |i| harmonic * n as f64 / (i + 1) as f64)
            }
        }
    }
}

/// The running maximum of factor(i)·p₍ᵢ₎ from the smallest p on.
fn step_down(sorted: &[f64], factor: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut largest = 0.0_f64;
    let step = |(i, p): (usize, &f64)| {
        largest = largest.max(factor(i) * p);
        largest
    };
    sorted.iter().enumerate().map(step).collect()
}

/// The running minimum of factor(i)·p₍ᵢ₎ from the largest p on.
fn step_up(sorted: &[f64], factor: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut adjusted: Vec<f64> = sorted.iter().enumerate().map(|(i, p)| factor(i) * p).collect();
    for i in (1..adjusted.len()).rev() {
        adjusted[i - 1] = adjusted[i - 1].min(adjusted[i]);
    }
    adjusted
}

/// Hommel's adjustment (Wright 1992, Adjusted p-values for simultaneous inference, appendix): for each size m of
/// an intersection hypothesis, the least Simes p-value of an intersection of m that contains the i-th test; the
/// greatest over m counts. O(n²).
fn hommel(sorted: &[f64]) -> Vec<f64> {
    let n = sorted.len();
    let mut adjusted = sorted.to_vec();
    for m in 2..=n {
        let size = m as f64;
        // The m − 1 largest p-values stand in every such intersection, at Simes' places 2 to m.
        let (lower, upper) = sorted.split_at(n - m + 1);
        let shared = upper
            .iter()
            .zip(2_u32..)
            .map(|(p, place)| size * p / f64::from(place))
            .fold(f64::INFINITY, f64::min);
        for (adjusted, p) in adjusted.iter_mut().zip(lower) {
            *adjusted = adjusted.max(shared.min(size * p));
        }
        // A test among the largest is in the same intersection as the last of the lower ones.
        let of_upper = shared.min(size * sorted[n - m]);
        for adjusted in &mut adjusted[n - m + 1..] {
            *adjusted = adjusted.max(of_upper);
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_p_value_stays_missing_and_is_not_counted() {
        let p = |p: f64| Some(PValue::new(p).unwrap());
        let adjusted = Adjustment::Holm.adjust(&[p(0.02), None, p(0.01)]);
        assert_eq!(adjusted, [p(0.02), None, p(0.02)]);
        assert!(Adjustment::ALL.iter().all(|adjustment| adjustment.adjust(&[]).is_empty()));
    }
}
