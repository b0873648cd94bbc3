//! The speedup of a typical run, with an interval by inverting the rank-sum test.
//!
//! The Hodges–Lehmann shift of the logarithms (Hodges and Lehmann 1963; Hollander and Wolfe §4.2–4.3) is a
//! factor: the median of all ratios xᵢ/yⱼ. A factor r is in the interval exactly when the rank-sum test of x
//! against r·y does not reject, and the ends are two of those ratios. Logarithms are monotone, so the ratios
//! themselves are counted and none is rounded twice; the k-th of the n·m is found among the floating-point
//! numbers by counting the ratios up to a guess, until so few are left that they are listed.
//!
//! If the versions differ by a factor, this is the ratio of their medians (and of their means). If not, it
//! still is the factor that makes a run of either version equally likely to be the faster.

use crate::inference::{Caveat, ConfidenceLevel, Interval, RatioInterval, Unbounded};
use crate::ratio::{RatioError, mean::require_positive};
use crate::{distribution::normal, sample::Sample, sample::SampleError, test::RankSum, test::RankSumLaw};

/// All the ratios of a run of the baseline to a run of the candidate.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::ratio::MedianRatio;
/// use speedup_statistics::sample::Sample;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (baseline, candidate) = (Sample::new(vec![6.0, 8.0, 10.0])?, Sample::new(vec![2.0, 4.0, 5.0])?);
/// // The nine ratios are 1.2, 1.5, 1.6, 2, 2, 2.5, 3, 4 and 5.
/// let speedup = MedianRatio::new(&baseline, &candidate)?;
/// assert_eq!(speedup.estimate(), 2.0);
/// let interval = speedup.interval(ConfidenceLevel::new(0.85)?);
/// let interval = interval.bounded().ok_or("three runs each suffice for 85 %")?;
/// // Few runs offer few levels; the next one is 1 − 2/C(6, 3).
/// assert_eq!((interval.lower, interval.upper, interval.level.get()), (1.2, 5.0, 0.9));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MedianRatio<'a> {
    baseline: &'a Sample,
    candidate: &'a Sample,
}

impl<'a> MedianRatio<'a> {
    /// The method's full name with few runs.
    pub const NAME_EXACT: &'static str =
        "Hodges–Lehmann ratio, interval by inverting the exact rank-sum test";
    /// The method's full name with many runs.
    pub const NAME_NORMAL: &'static str =
        "Hodges–Lehmann ratio, interval by inverting the normal rank-sum test";

    /// The ratios of `baseline` to `candidate`.
    ///
    /// # Errors
    /// [`RatioError::NotPositive`] for times that are not positive.
    pub fn new(baseline: &'a Sample, candidate: &'a Sample) -> Result<Self, RatioError> {
        require_positive(baseline, candidate)?;
        Ok(Self { baseline, candidate })
    }

    /// The median of the ratios; the geometric mean of the middle two of an even number.
    pub fn estimate(&self) -> f64 {
        let ratios = self.ratios();
        let pairs = self.pairs();
        let mut counted = Vec::new();
        let upper = ratios.kth(pairs / 2 + 1, &mut counted);
        if pairs % 2 == 1 { upper } else { ratios.kth(pairs / 2, &mut counted).sqrt() * upper.sqrt() }
    }

    /// What must be known of the interval.
    pub fn caveats(&self) -> Vec<Caveat> {
        let is_exact = self.law().is_some();
        let of_law = (!is_exact).then_some(Caveat::NormalApproximation);
        std::iter::once(Caveat::AssumesScaleShift).chain(of_law).collect()
    }

    /// The law of few runs without ties.
    fn law(&self) -> Option<RankSumLaw> {
        RankSumLaw::new(self.baseline.len(), self.candidate.len()).ok()
    }

    /// The two-sided interval at the least level not below `level` that order statistics offer.
    pub fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        let n = self.baseline.len();
        let m = self.candidate.len();
        let (method, depth) = match &self.law() {
            Some(law) => (Self::NAME_EXACT, exact_depth(law, level)),
            None => (Self::NAME_NORMAL, normal_depth(n, m, level)),
        };
        let Some(Depth { k, miss }) = depth else {
            return RatioInterval::Unbounded { method, level, reason: Unbounded::TooFewRuns };
        };
        let ratios = self.ratios();
        let mut counted = Vec::new();
        RatioInterval::Bounded(Interval {
            method,
            lower: ratios.kth(k, &mut counted),
            upper: ratios.kth(self.pairs() + 1 - k, &mut counted),
            level: ConfidenceLevel::achieved(miss),
            caveats: self.caveats(),
        })
    }

    /// The rank-sum test of the speedup being `ratio`, by the law that suits the data: of the baseline against `ratio` times the
    /// candidate. What it does not reject is in the interval.
    ///
    /// # Errors
    /// [`SampleError`] for a ratio that takes the candidate out of the range of observations.
    pub fn test(&self, ratio: f64) -> Result<RankSum, SampleError> {
        let scaled = self.candidate.in_run_order().iter().map(|time| ratio * time);
        Ok(RankSum::choose(self.baseline, &Sample::new(scaled.collect())?))
    }

    fn pairs(&self) -> u64 {
        self.ratios().pairs()
    }

    fn ratios(&self) -> Ratios<'a> {
        Ratios { x: self.baseline.sorted(), y: self.candidate.sorted() }
    }
}

/// The ratios of each of some positive values to each of others, both ascending.
#[derive(Clone, Copy)]
struct Ratios<'a> {
    x: &'a [f64],
    y: &'a [f64],
}

impl Ratios<'_> {
    fn pairs(self) -> u64 {
        self.x.len() as u64 * self.y.len() as u64
    }

    /// So many ratios are listed rather than counted once more.
    fn few(self) -> u64 {
        (self.x.len() + self.y.len()) as u64
    }

    /// The `k`-th smallest ratio, from 1: the least double that at least k ratios do not exceed. What was `counted` for
    /// another k serves this one, and is added to.
    fn kth(self, k: u64, counted: &mut Vec<Side>) -> f64 {
        if counted.is_empty() {
            counted.extend(self.ends());
        }
        let (below, enough) = self.sides(k, counted);
        if enough.ratios - below.ratios > self.few() && self.few() > THIN_FROM {
            counted.extend(self.guessed(k).map(|at| self.side(at)));
        }
        let (mut below, mut enough) = self.sides(k, counted);
        // How far the count of each side is from k.
        let mut lacking = (k - below.ratios) as f64;
        let mut surplus = (enough.ratios - k) as f64 + 0.5;
        let mut steps = 0;
        while enough.at - below.at > 1 && enough.ratios - below.ratios > self.few() {
            let between = enough.at - below.at;
            let share = if steps < MOST_GUESSES { lacking / (lacking + surplus) } else { 0.5 };
            let step = ((between as f64 * share) as u64).clamp(1, between - 1);
            let middle = self.side(below.at + step);
            counted.push(middle);
            // The side that stays pulls less each time (the Illinois method), so that both close in.
            if middle.ratios >= k {
                (surplus, lacking) = ((middle.ratios - k) as f64 + 0.5, lacking / 2.0);
                enough = middle;
            } else {
                (lacking, surplus) = ((k - middle.ratios) as f64, surplus / 2.0);
                below = middle;
            }
            steps += 1;
        }
        if enough.at - below.at == 1 {
            return f64::from_bits(enough.at);
        }
        let mut left = self.between(f64::from_bits(below.at), f64::from_bits(enough.at));
        let place = (k - below.ratios - 1) as usize;
        *left.select_nth_unstable_by(place, f64::total_cmp).1
    }

    /// Below the least ratio, and at the largest. Positive doubles are ordered as their bits.
    fn ends(self) -> [Side; 2] {
        let least = self.x[0] / self.y[self.y.len() - 1];
        let largest = self.x[self.x.len() - 1] / self.y[0];
        [
            Side { at: least.max(LEAST).to_bits() - 1, ratios: 0 },
            Side { at: largest.max(LEAST).to_bits(), ratios: self.pairs() },
        ]
    }

    /// What was counted nearest to the `k`-th ratio on either side.
    fn sides(self, k: u64, counted: &[Side]) -> (Side, Side) {
        let [start, end] = self.ends();
        let below = counted.iter().filter(|side| side.ratios < k).max_by_key(|side| side.at);
        let enough = counted.iter().filter(|side| side.ratios >= k).min_by_key(|side| side.at);
        (below.copied().unwrap_or(start), enough.copied().unwrap_or(end))
    }

    /// Two doubles between which the `k`-th ratio probably is: as far from it as leaves few ratios between them, by every
    /// sixteenth value of both sides, whose ratios are distributed nearly alike.
    fn guessed(self, k: u64) -> [u64; 2] {
        let thinned = |values: &[f64]| -> Vec<f64> {
            values.iter().skip(THINNING / 2).step_by(THINNING).copied().collect()
        };
        let x = thinned(self.x);
        let y = thinned(self.y);
        let thin = Ratios { x: &x, y: &y };
        let share = thin.pairs() as f64 / self.pairs() as f64;
        let mut counted = Vec::new();
        let margin = self.few() / 4;
        [k.saturating_sub(margin), k + margin].map(|k| {
            let of_thin = ((k as f64 * share).round() as u64).clamp(1, thin.pairs());
            thin.kth(of_thin, &mut counted).to_bits()
        })
    }

    /// How many ratios are at most the double of these bits.
    fn side(self, at: u64) -> Side {
        Side { at, ratios: self.at_most(f64::from_bits(at)) }
    }

    /// The ratios above `below` that are at most `most`.
    fn between(self, below: f64, most: f64) -> Vec<f64> {
        let mut ratios = Vec::new();
        let mut first = 0;
        for a in self.x {
            while first < self.y.len() && a / self.y[first] > most {
                first += 1;
            }
            let of_run = self.y[first..].iter().map(|b| (a / b).max(LEAST));
            ratios.extend(of_run.take_while(|ratio| *ratio > below));
        }
        ratios
    }

    /// How many ratios are at most `bound`; along both once.
    fn at_most(self, bound: f64) -> u64 {
        let mut count = 0;
        let mut j = 0;
        for a in self.x {
            // The slower the baseline's run, the fewer of the candidate's are slow enough.
            while j < self.y.len() && a / self.y[j] > bound {
                j += 1;
            }
            count += (self.y.len() - j) as u64;
        }
        count
    }
}

/// From this many values of both sides on, a subsample of every sixteenth value is searched first.
const THIN_FROM: u64 = 2_048;
/// Every sixteenth value: a thirty-second of the work, and near enough to the place.
const THINNING: usize = 16;

/// How often the place of a ratio is guessed from the counts on both sides: usually fewer suffice. Where ratios lie in
/// heaps, halving finds it sooner.
const MOST_GUESSES: u32 = 16;

/// The least positive double, which stands for ratios that are too small for one.
const LEAST: f64 = f64::from_bits(1);

/// A positive double, by its bits, and how many ratios are at most that.
#[derive(Clone, Copy)]
struct Side {
    at: u64,
    ratios: u64,
}

/// The interval runs from the k-th smallest to the k-th largest ratio and misses with probability `miss`.
struct Depth {
    k: u64,
    miss: f64,
}

/// The greatest k with 2 `P[W < k]` ≤ 1 − level.
fn exact_depth(law: &RankSumLaw, level: ConfidenceLevel) -> Option<Depth> {
    let miss = |k: u64| 2.0 * law.at_most(k - 1);
    let risk = level.risk().get();
    let mut enough = 0;
    let mut too_deep = law.largest() / 2 + 2;
    while too_deep - enough > 1 {
        let k = enough + (too_deep - enough) / 2;
        if miss(k) <= risk { enough = k } else { too_deep = k }
    }
    if enough > 0 { Some(Depth { k: enough, miss: miss(enough) }) } else { None }
}

/// The same by the normal law with continuity correction, `P[W < k]` ≈ Φ((k − ½ − nm/2)/σ), σ² = nm(n + m +
/// 1)/12.
fn normal_depth(n: usize, m: usize, level: ConfidenceLevel) -> Option<Depth> {
    let n = n as f64;
    let m = m as f64;
    let sigma = (n * m * (n + m + 1.0) / 12.0).sqrt();
    let z = normal::two_sided_critical(level.risk().get());
    let k = (n * m / 2.0 + 0.5 - z * sigma).floor();
    let miss = 2.0 * normal::tails((k - 0.5 - n * m / 2.0) / sigma).lower;
    if k >= 1.0 { Some(Depth { k: k as u64, miss }) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use speedup_core::value::seed::Seed;

    /// Times that tie, that lie in heaps, and that differ by more than doubles can tell.
    fn times() -> impl Strategy<Value = Vec<f64>> {
        let heap = prop_oneof![Just(1.0), Just(9.0)].prop_flat_map(|about| about..about + 1e-9);
        let wide = (-200..150_i32).prop_map(|exponent| 10_f64.powi(exponent));
        let one = prop_oneof![1.0..2.0_f64, (1..8_u32).prop_map(f64::from), heap, wide];
        prop::collection::vec(one, 1..24)
    }

    proptest! {
        #[test]
        fn the_kth_ratio_is_that_of_the_sorted_ratios(x in times(), y in times()) {
            let (Ok(x), Ok(y)) = (Sample::new(x), Sample::new(y)) else { return Ok(()) };
            let ratios = MedianRatio::new(&x, &y).unwrap().ratios();
            let pairs = x.sorted().iter().flat_map(|a| y.sorted().iter().map(move |b| (a / b).max(LEAST)));
            let mut listed: Vec<f64> = pairs.collect();
            listed.sort_unstable_by(f64::total_cmp);
            for (k, expected) in (1..).zip(&listed) {
                prop_assert_eq!(ratios.kth(k, &mut Vec::new()), *expected);
            }
        }
    }
    /// So many that the place is sought in a part of them first: fine times, times that tie, and times in heaps.
    #[test]
    fn the_kth_of_many_ratios_is_that_of_the_sorted_ratios() {
        let laws: [fn(f64) -> f64; 3] = [
            |share| 1.0 + share,
            |share| 10.0 + (20.0 * share).floor(),
            |share| if share < 0.6 { 1.0 + 1e-9 * share } else { 9.0 + share },
        ];
        for (seed, law) in (0..).zip(laws) {
            let mut draw = Seed(seed).child("many ratios");
            let mut sample = |n| Sample::new((0..n).map(|_| law(draw.random())).collect()).unwrap();
            let x = sample(1_300);
            let y = sample(900);
            let mut listed: Vec<f64> =
                x.sorted().iter().flat_map(|a| y.sorted().iter().map(move |b| a / b)).collect();
            listed.sort_unstable_by(f64::total_cmp);
            let ratios = MedianRatio::new(&x, &y).unwrap().ratios();
            let mut counted = Vec::new();
            for place in [0, 1, 999, 400_000, 585_000, 585_001, 1_000_000, listed.len() - 1] {
                let k = place as u64 + 1;
                assert_eq!(ratios.kth(k, &mut Vec::new()), listed[place], "{k} of law {seed}");
                assert_eq!(ratios.kth(k, &mut counted), listed[place], "{k} of law {seed} after others");
            }
        }
    }
}
