//! Whether the runs become slower or faster.

use super::RunOrderError;
use crate::inference::{Alternative, Caveat, PValue};
use crate::{distribution::Tails, distribution::normal, sample::Sample};
use serde::Serialize;

/// The Mann–Kendall test of a trend, with the Theil–Sen slope.
///
/// S is the number of later runs that are greater than earlier ones less those that are smaller (Mann, Econometrica
/// 13, 1945). Its law is exact for at most 50 runs without ties (Kendall's, by counting inversions), else normal with
/// continuity and tie corrections, as in pymannkendall's `original_test`.
///
/// ```
/// use speedup_statistics::diagnostics::run_order::Drift;
/// use speedup_statistics::inference::Alternative;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Every run is slower than all before it: 10 pairs, 1 of the 5! orders.
/// let drift = Drift::new(&Sample::new(vec![2.0, 2.1, 2.2, 2.3, 2.4])?)?;
/// assert_eq!(drift.s(), 10);
/// assert!((drift.p_value(Alternative::Greater).get() - 1.0 / 120.0).abs() < 1e-12);
/// assert!((drift.slope() - 0.1).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drift {
    s: i64,
    variance: f64,
    tied: bool,
    #[serde(skip)]
    in_run_order: Vec<f64>,
}

/// Two runs have one order, three the first test.
const FEWEST_RUNS: usize = 3;
/// Up to here the exact law is counted.
const EXACT_UP_TO: usize = 50;
/// Up to here all slopes are listed; beyond they are counted.
const LISTED_UP_TO: usize = 1_000;

impl Drift {
    /// The full name of the method with the exact law.
    pub const NAME_EXACT: &'static str = "Mann–Kendall test of a trend (exact)";
    /// The full name of the method with the normal law.
    pub const NAME_NORMAL: &'static str = "Mann–Kendall test of a trend (normal law, corrected for ties)";
    /// Of `sample` in run order.
    ///
    /// # Errors
    /// [`RunOrderError`] below three runs, or when all are equal.
    pub fn new(sample: &Sample) -> Result<Self, RunOrderError> {
        let runs = sample.len();
        if runs < FEWEST_RUNS {
            return Err(RunOrderError::TooFew { runs, needed: FEWEST_RUNS });
        }
        if sample.is_constant() {
            return Err(RunOrderError::Constant);
        }
        let (s, variance) = Self::s_and_variance(sample);
        let tied = sample.sorted().windows(2).any(|two| two[0] == two[1]);
        Ok(Self { s, variance, tied, in_run_order: sample.in_run_order().to_vec() })
    }

    /// S and its variance, corrected for ties.
    pub(super) fn s_and_variance(sample: &Sample) -> (i64, f64) {
        let weight = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
        let groups = || sample.sorted().chunk_by(|a, b| a == b).map(<[f64]>::len);
        let tie_term: f64 = groups().map(|t| weight(t as f64)).sum();
        let pairs_of = |n: usize| (n * (n - 1) / 2) as i64;
        let rising = pairs(sample.in_run_order(), |a, b| a < b);
        let falling = pairs_of(sample.len()) - groups().map(pairs_of).sum::<i64>() - rising;
        (rising - falling, (weight(sample.len() as f64) - tie_term) / 18.0)
    }

    /// S.
    pub fn s(&self) -> i64 {
        self.s
    }

    /// S, moved by 1 toward zero, over its standard deviation in random order.
    pub fn z(&self) -> f64 {
        let s = self.s as f64;
        (s - s.signum() * f64::from(u8::from(self.s != 0))) / self.variance.sqrt()
    }

    /// The full name of the method of the p-value.
    pub fn name(&self) -> &'static str {
        if self.is_exact() { Self::NAME_EXACT } else { Self::NAME_NORMAL }
    }

    /// The p-value of random order; greater is becoming slower, if the values are times.
    pub fn p_value(&self, alternative: Alternative) -> PValue {
        let tails = if self.is_exact() { self.exact_tails() } else { self.normal_tails() };
        alternative.p_value(tails.lower, tails.upper)
    }

    /// What the reader must know of the p-value.
    pub fn caveats(&self) -> Vec<Caveat> {
        if self.is_exact() { Vec::new() } else { vec![Caveat::NormalApproximation] }
    }

    /// The median of the slopes between all pairs of runs, in the unit of the observations per run (Theil 1950, Sen
    /// 1968). Beyond 1000 runs it is found by counting, to the rounding of the observations.
    pub fn slope(&self) -> f64 {
        let pairs = self.pairs();
        // Of an odd number both are the middle one.
        let [lower, upper] = Slopes::new(&self.in_run_order).kth([pairs.div_ceil(2), pairs / 2 + 1]);
        lower / 2.0 + upper / 2.0
    }

    fn pairs(&self) -> u64 {
        let n = self.in_run_order.len() as u64;
        n * (n - 1) / 2
    }

    fn is_exact(&self) -> bool {
        !self.tied && self.in_run_order.len() <= EXACT_UP_TO
    }

    /// `P[S ≤ s]` and `P[S ≥ s]` each moved by ½ of the lattice's step of 2.
    fn normal_tails(&self) -> Tails {
        let s = self.s as f64;
        let sd = self.variance.sqrt();
        Tails { lower: normal::tails((s + 1.0) / sd).lower, upper: normal::tails((s - 1.0) / sd).upper }
    }

    /// S is the number of pairs less twice the inversions, whose probabilities are a product of uniform laws.
    fn exact_tails(&self) -> Tails {
        let inversions = ((self.pairs() as i64 - self.s) / 2) as usize;
        let mut law = vec![1.0];
        for size in 2..=self.in_run_order.len() {
            let mut longer = vec![0.0; law.len() + size - 1];
            for (at, probability) in law.iter().enumerate() {
                for more in 0..size {
                    longer[at + more] += probability / size as f64;
                }
            }
            law = longer;
        }
        Tails { lower: law[inversions..].iter().sum(), upper: law[..=inversions].iter().sum() }
    }
}

/// How many pairs, the earlier first, satisfy `ordered`, which is a strict or weak order of values; by merging.
fn pairs(values: &[f64], ordered: impl Fn(f64, f64) -> bool) -> i64 {
    let mut work: Vec<f64> = values.to_vec();
    let mut merged = work.clone();
    let mut count = 0;
    let mut width = 1;
    while width < work.len() {
        for start in (0..work.len()).step_by(2 * width) {
            let middle = (start + width).min(work.len());
            let end = (start + 2 * width).min(work.len());
            let left = &work[start..middle];
            let right = &work[middle..end];
            let mut i = 0;
            let mut j = 0;
            // Which side is next is anyone's guess, so that a branch on it would mostly be predicted wrongly.
            while i < left.len() && j < right.len() {
                // From the left while its head is not to be counted before the right's.
                let from_right = ordered(left[i], right[j]);
                merged[start + i + j] = if from_right { right[j] } else { left[i] };
                count += if from_right { left.len() - i } else { 0 };
                j += usize::from(from_right);
                i += usize::from(!from_right);
            }
            let at = start + i + j;
            merged[at..at + left.len() - i].copy_from_slice(&left[i..]);
            merged[start + left.len() + j..end].copy_from_slice(&right[j..]);
        }
        std::mem::swap(&mut work, &mut merged);
        width *= 2;
    }
    count as i64
}

/// The slopes between all pairs of runs.
enum Slopes<'a> {
    Listed(Vec<f64>),
    Counted(&'a [f64]),
}

impl<'a> Slopes<'a> {
    fn new(values: &'a [f64]) -> Self {
        if values.len() > LISTED_UP_TO {
            return Self::Counted(values);
        }
        let later = |i: usize| (i + 1..values.len()).map(move |j| (values[j] - values[i]) / (j - i) as f64);
        let mut slopes: Vec<f64> = (0..values.len()).flat_map(later).collect();
        slopes.sort_unstable_by(f64::total_cmp);
        Self::Listed(slopes)
    }

    /// The k-th smallest for each of two k, from 1.
    fn kth(&self, both: [u64; 2]) -> [f64; 2] {
        match self {
            Self::Listed(slopes) => both.map(|k| slopes[k as usize - 1]),
            Self::Counted(values) => kth_by_counting(values, both),
        }
    }
}

/// The least slope of a grid that at least k slopes do not exceed, for each of two k. What was counted for one serves the other:
/// neighbours of one order share nearly all of it.
fn kth_by_counting(values: &[f64], both: [u64; 2]) -> [f64; 2] {
    let (least, greatest) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, g), x| (l.min(*x), g.max(*x)));
    let step = (greatest - least) / GRID as f64;
    let at_most = |place: i64| {
        // A slope is at most another where values tilted by that do not rise.
        let slope = place as f64 * step;
        let tilted: Vec<f64> = values.iter().enumerate().map(|(i, x)| x - slope * i as f64).collect();
        Counted { place, count: pairs(&tilted, |a, b| a >= b) as u64 }
    };
    let n = values.len() as u64;
    let mut counted =
        vec![Counted { place: -GRID, count: 0 }, Counted { place: GRID, count: n * (n - 1) / 2 }];
    both.map(|k| kth_place(&mut counted, k, at_most) as f64 * step)
}

/// The range of the values over this is their rounding; no slope is greater than the range.
const GRID: i64 = 1 << 52;

/// A place of the grid, and how many slopes are at most the one there.
#[derive(Clone, Copy)]
struct Counted {
    place: i64,
    count: u64,
}

/// The first place with a count of k. It is sought where the line through both ends crosses k, moved a little toward the middle,
/// and no farther from it than leaves hardly more steps than halving has (the ITP method: I. Oliveira and R. Takahashi, ACM TOMS
/// 47, 2020). Slopes are dense, so that a dozen steps do where halving takes 53.
fn kth_place(counted: &mut Vec<Counted>, k: u64, at_most: impl Fn(i64) -> Counted) -> i64 {
    let below = counted.iter().filter(|one| one.count < k).max_by_key(|one| one.place).copied();
    let enough = counted.iter().filter(|one| one.count >= k).min_by_key(|one| one.place).copied();
    let (Some(mut below), Some(mut enough)) = (below, enough) else { return GRID };
    let first = (enough.place - below.place) as f64;
    let mut reach = first.log2().ceil().exp2();
    while enough.place - below.place > 1 {
        let width = (enough.place - below.place) as f64;
        let short = k as f64 - 0.5 - below.count as f64;
        let over = enough.count as f64 - (k as f64 - 0.5);
        let middle = width / 2.0;
        let crossing = width * (short / (short + over));
        let inward = (middle - crossing).signum();
        let moved = 0.2 * width * (width / first);
        let moved = if moved <= (middle - crossing).abs() { crossing + inward * moved } else { middle };
        let radius = (reach - middle).max(0.0);
        let from_middle = (moved - middle).clamp(-radius, radius);
        let tried = below.place + (middle + from_middle).round() as i64;
        let one = at_most(tried.clamp(below.place + 1, enough.place - 1));
        *(if one.count >= k { &mut enough } else { &mut below }) = one;
        counted.push(one);
        reach /= 2.0;
    }
    enough.place
}
