//! The two-sample Kolmogorov–Smirnov test of equal distributions, two-sided.
//!
//! D = max |i/n − j/m| over the pooled order, kept as the whole number |i·m − j·n| so that no comparison is
//! rounded. Under the null hypothesis every path from (0, 0) to (n, m) is equally likely; the exact p-value
//! is the share of paths that reach the distance, summed where they first do: no difference is taken, so
//! tails of 1e-80 keep their digits.

use crate::inference::{Caveat, PValue};
use crate::{distribution::kolmogorov, number::rounding::Rounded, sample::Sample};
use serde::Serialize;
use thiserror::Error;

/// Below this product of the sizes the exact law is used; R's bound.
pub(crate) const EXACT_BELOW: usize = 10_000;
/// The largest product of the sizes for which paths are counted: a tenth of a second.
const LARGEST_LATTICE: usize = 100_000_000;

/// The greatest distance between two empirical distribution functions.
///
/// ```
/// use speedup_statistics::sample::Sample;
/// use speedup_statistics::test::{ExactRule, KolmogorovSmirnovStatistic};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let x = Sample::new(vec![11.5, 12.5, 13.5, 14.5, 15.5])?;
/// let y = Sample::new(vec![1.25, 2.25, 3.25, 4.25, 5.25])?;
/// let test = KolmogorovSmirnovStatistic::new(&x, &y).test(ExactRule::SmallProduct);
/// // Apart, as 2 of the C(10, 5) = 252 orders are.
/// assert_eq!(test.d(), 1.0);
/// assert!((test.p_value().get() - 2.0 / 252.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KolmogorovSmirnovStatistic {
    n: usize,
    m: usize,
    /// n·m·D.
    distance: u64,
    /// After which positions of the pooled order the next value is another one.
    #[serde(skip)]
    group_ends: Vec<bool>,
}

/// The test by the law that suits the data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "law", rename_all = "snake_case")]
pub enum KolmogorovSmirnov {
    /// The exact law, given the ties.
    Exact { d: f64, p_value: PValue },
    /// The limit law.
    Asymptotic { d: f64, p_value: PValue },
}

/// What the exact law does about equal observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// Only paths through the ends of the groups of equal values count: R from 4.2.
    Conditional,
    /// As though there were none.
    Ignored,
}

/// When the exact law is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExactRule {
    /// Whenever n·m < 10000: R from 4.2.
    SmallProduct,
    /// Whenever n·m < 10000 and no two observations are equal: R before 4.2.
    SmallProductWithoutTies,
}

/// Why the exact law was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the exact Kolmogorov–Smirnov law of {n} and {m} observations is too large")]
pub struct LatticeTooLarge {
    /// Observations of the first sample.
    pub n: usize,
    /// Observations of the second sample.
    pub m: usize,
}

speedup_core::hints! { LatticeTooLarge: _ => "use the limit law" }

impl KolmogorovSmirnovStatistic {
    /// The distance between `x` and `y`.
    pub fn new(x: &Sample, y: &Sample) -> Self {
        Self::from_sorted(x.sorted(), y.sorted())
    }

    /// The distance between `x` and `y`, each less its own median (Touati 2010 §4.2: the location-shift model), where
    /// what differs by the rounding of that subtraction is equal: the distance does not depend on the unit.
    pub(crate) fn median_centred_within_rounding(x: &Sample, y: &Sample) -> Self {
        let centred = |sample: &Sample, of_x: bool| -> Vec<(Rounded, bool)> {
            let median = sample.median();
            let one = |value: &f64| (Rounded::new(value - median, value.abs().max(median.abs())), of_x);
            sample.sorted().iter().map(one).collect()
        };
        let mut pooled = [centred(x, true), centred(y, false)].concat();
        pooled.sort_by(|(a, _), (b, _)| a.value.total_cmp(&b.value));
        let mut of_x = Vec::with_capacity(x.len());
        let mut of_y = Vec::with_capacity(y.len());
        for group in pooled.chunk_by(|(a, _), (b, _)| a.may_equal(b)) {
            let value = group[0].0.value;
            for (_, is_of_x) in group {
                if *is_of_x { of_x.push(value) } else { of_y.push(value) }
            }
        }
        Self::from_sorted(&of_x, &of_y)
    }

    /// The same with the differences as floating-point subtraction gives them, so that ties are those that R sees.
    pub fn median_centred(x: &Sample, y: &Sample) -> Self {
        Self::from_sorted(&x.sorted_less(x.median()), &y.sorted_less(y.median()))
    }

    fn from_sorted(x: &[f64], y: &[f64]) -> Self {
        let n = x.len();
        let m = y.len();
        let mut group_ends = vec![false; n + m + 1];
        let mut i = 0;
        let mut j = 0;
        let mut distance = 0;
        while i < n || j < m {
            let value = match (x.get(i), y.get(j)) {
                (Some(a), Some(b)) => a.min(*b),
                (Some(a), None) => *a,
                (None, Some(b)) => *b,
                (None, None) => break,
            };
            i += x[i..].iter().take_while(|a| **a == value).count();
            j += y[j..].iter().take_while(|b| **b == value).count();
            group_ends[i + j] = true;
            distance = distance.max(gap(i, j, n, m));
        }
        Self { n, m, distance, group_ends }
    }

    /// D, in [0, 1].
    pub fn d(&self) -> f64 {
        self.distance as f64 / (self.n as f64 * self.m as f64)
    }

    /// Whether any two observations are equal.
    pub fn has_ties(&self) -> bool {
        self.group_ends[1..].contains(&false)
    }

    /// `P[D ≥ d]` by counting paths.
    ///
    /// # Errors
    /// [`LatticeTooLarge`] beyond a product of 1e8.
    pub fn exact(&self, ties: Ties) -> Result<PValue, LatticeTooLarge> {
        let counts = |position: usize| match ties {
            Ties::Conditional => self.group_ends[position],
            Ties::Ignored => true,
        };
        share_of_paths(self.n, self.m, self.distance, counts)
    }

    /// The limit of `P[D ≥ d]` for large samples: Kolmogorov's law at √(nm/(n+m)) · d.
    pub fn asymptotic(&self) -> PValue {
        let n = self.n as f64;
        let m = self.m as f64;
        PValue::clamped(kolmogorov::upper_tail((n * m / (n + m)).sqrt() * self.d()))
    }

    /// The test by the exact law where `rule` has it, else by the limit law.
    pub fn test(&self, rule: ExactRule) -> KolmogorovSmirnov {
        let small = self.n.checked_mul(self.m).is_some_and(|product| product < EXACT_BELOW);
        let exact = match rule {
            ExactRule::SmallProduct => small,
            ExactRule::SmallProductWithoutTies => small && !self.has_ties(),
        };
        let exact = if exact { self.exact(Ties::Conditional).ok() } else { None };
        match exact {
            Some(p_value) => KolmogorovSmirnov::Exact { d: self.d(), p_value },
            None => KolmogorovSmirnov::Asymptotic { d: self.d(), p_value: self.asymptotic() },
        }
    }
}

/// The share of the paths from (0, 0) to (n, m) that come to n·m·|i/n − j/m| ≥ `distance` at a position i + j
/// that `counts`.
fn share_of_paths(
    n: usize,
    m: usize,
    distance: u64,
    counts: impl Fn(usize) -> bool,
) -> Result<PValue, LatticeTooLarge> {
    if n.checked_mul(m).is_none_or(|product| product > LARGEST_LATTICE) {
        return Err(LatticeTooLarge { n, m });
    }
    if distance == 0 {
        return Ok(PValue::clamped(1.0));
    }
    let mut reached = 0.0;
    // The probability that a path passes (i, j) without having reached the distance; one row of the lattice.
    let mut row = vec![0.0; m + 1];
    for i in 0..=n {
        for j in 0..=m {
            let from_left = if j > 0 { row[j - 1] * step(m - j + 1, n - i) } else { 0.0 };
            let from_above = if i > 0 { row[j] * step(n - i + 1, m - j) } else { 0.0 };
            let arrived = if i + j == 0 { 1.0 } else { from_left + from_above };
            let far = gap(i, j, n, m) >= distance && counts(i + j);
            if far {
                reached += arrived;
            }
            row[j] = if far { 0.0 } else { arrived };
        }
    }
    Ok(PValue::clamped(reached))
}

/// n·m·|i/n − j/m|.
fn gap(i: usize, j: usize, n: usize, m: usize) -> u64 {
    (i as u64 * m as u64).abs_diff(j as u64 * n as u64)
}

/// The probability that the next observation of the pooled order is of the sample with `own` left, not of the
/// `other`.
fn step(own: usize, other: usize) -> f64 {
    own as f64 / (own + other) as f64
}

impl KolmogorovSmirnov {
    /// The full name of the method.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact { .. } => "two-sample Kolmogorov–Smirnov test (exact, given the ties)",
            Self::Asymptotic { .. } => "two-sample Kolmogorov–Smirnov test (limit law)",
        }
    }

    /// D.
    pub fn d(&self) -> f64 {
        match self {
            Self::Exact { d, .. } | Self::Asymptotic { d, .. } => *d,
        }
    }

    /// What must be known: whether the law is that of many observations.
    pub fn caveats(&self) -> Vec<Caveat> {
        match self {
            Self::Exact { .. } => Vec::new(),
            Self::Asymptotic { .. } => vec![Caveat::LimitLaw],
        }
    }

    /// The p-value of equal distributions.
    pub fn p_value(&self) -> PValue {
        match self {
            Self::Exact { p_value, .. } | Self::Asymptotic { p_value, .. } => *p_value,
        }
    }
}
