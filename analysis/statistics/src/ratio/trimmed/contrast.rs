//! The studentised difference of trimmed means, and its two laws.
//!
//! T is the difference of the trimmed means over its error by the winsorised variances (Yuen 1974). It is referred to its own
//! permutation law, which is exact where the versions have one law, whatever their numbers of observations, and right with many where
//! they have not (Janssen 1997; Chung and Romano 2013); and to Student's with the degrees of freedom of the smaller side, which holds
//! better where shapes differ. The larger p-value counts.

use super::relabelling::{Labels, Relabellings};
use crate::distribution::{Tails, student_t};
use std::sync::OnceLock;

/// Two samples that are compared, and what that counts for.
#[derive(Debug)]
pub(super) struct Stratum {
    pub(super) weight: f64,
    pub(super) values: Values,
}

/// The values of a stratum.
#[derive(Debug)]
pub(super) enum Values {
    /// Of independent samples, each ascending.
    Apart { baseline: Vec<f64>, candidate: Vec<f64> },
    /// Of pairs, in one order.
    Pairs { baseline: Vec<f64>, candidate: Vec<f64> },
}

/// That the baseline's centre is `factor` times the candidate's, and `shift` more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hypothesis {
    pub(super) factor: f64,
    pub(super) shift: f64,
}

/// How many of a sample's observations are left out at each end: a whole number of them, and a share of the next.
#[derive(Clone, Copy, Debug)]
struct Cut {
    n: usize,
    whole: usize,
    part: f64,
}

/// A trimmed mean, or a difference of such, and its squared error.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) squared_error: f64,
}

/// The statistic of several strata.
#[derive(Debug)]
pub(super) struct Contrast {
    strata: Vec<Stratum>,
    cuts: Vec<[Cut; 2]>,
    df: f64,
    relabellings: Relabellings,
    /// The tails if the versions are equal, which every verdict asks for.
    of_equal: OnceLock<Tails>,
}

/// A count of relabellings below this is told too coarsely, and a further stage draws more.
const ENOUGH_BEYOND: usize = 20;
/// Statistics that are equal but for rounding.
const ROUNDING: f64 = 1e-9;

impl Cut {
    fn new(n: usize, share: f64) -> Self {
        // A whole number that rounding has moved is still one.
        let cut = (share * n as f64 * 1e9).round() / 1e9;
        Self { n, whole: cut.floor() as usize, part: cut - cut.floor() }
    }

    fn left(self) -> f64 {
        self.n as f64 - 2.0 * (self.whole as f64 + self.part)
    }
}

impl Estimate {
    /// The trimmed mean of ascending values.
    fn trimmed_mean(ascending: &[f64], cut: Cut) -> Self {
        let left = cut.left();
        let rest = &ascending[cut.whole..cut.n - cut.whole];
        let ends = rest[0] + rest[rest.len() - 1];
        let value = (rest.iter().sum::<f64>() - cut.part * ends) / left;
        let mut squares = winsorised(rest, cut.whole);
        if cut.part > 0.0 {
            // The variance with one observation more replaced at each end counts by the share of it that is cut.
            let more = winsorised(&rest[1..rest.len() - 1], cut.whole + 1);
            squares += cut.part * (more - squares);
        }
        Self { value, squared_error: squares / (left * (left - 1.0)) }
    }

    /// Adds an independent estimate, by its weight.
    fn add(&mut self, weight: f64, other: Self) {
        self.value += weight * other.value;
        self.squared_error += weight * weight * other.squared_error;
    }
}

/// Σ(w − w̄)² where so many observations at each end are replaced by the next that is left.
fn winsorised(left: &[f64], replaced: usize) -> f64 {
    // Squares are of what is left when the middle is taken away, so that no digit of a small spread is lost.
    let middle = left[left.len() / 2];
    let low = left[0] - middle;
    let high = left[left.len() - 1] - middle;
    let replaced = replaced as f64;
    let n = left.len() as f64 + 2.0 * replaced;
    let mut sum = replaced * (low + high);
    let mut squares = replaced * (low * low + high * high);
    for value in left {
        let off = value - middle;
        sum += off;
        squares += off * off;
    }
    (squares - sum * sum / n).max(0.0)
}

/// A difference in units of its error.
fn studentised(difference: Estimate) -> f64 {
    let Estimate { value, squared_error } = difference;
    if squared_error > 0.0 {
        value / squared_error.sqrt()
    } else if value == 0.0 {
        0.0
    } else {
        f64::INFINITY.copysign(value)
    }
}

/// A stratum under a hypothesis: what is relabelled, ascending, and how it was labelled.
struct PooledValues<'c> {
    weight: f64,
    cuts: &'c [Cut; 2],
    labels: Labels,
    values: Vec<f64>,
    observed: Vec<u64>,
}

impl PooledValues<'_> {
    /// The difference of the trimmed means and its squared error, as labelled by `bits`; `ascending` is written over.
    fn difference(&self, bits: &[u64], ascending: &mut Vec<f64>) -> Estimate {
        let n = self.cuts[0].n;
        ascending.resize(self.values.len(), 0.0);
        match self.labels {
            Labels::Choice { .. } => {
                // The baseline's from the start, the candidate's behind them: without a branch, as nothing foretells the labels.
                let mut next = [n, 0];
                for (place, value) in self.values.iter().enumerate() {
                    let side = usize::from(is_set(bits, place));
                    ascending[next[side]] = *value;
                    next[side] += 1;
                }
                let baseline = Estimate::trimmed_mean(&ascending[..n], self.cuts[0]);
                let candidate = Estimate::trimmed_mean(&ascending[n..], self.cuts[1]);
                let mut difference = baseline;
                difference.add(-1.0, candidate);
                difference
            }
            Labels::Signs(pairs) => {
                // The values are without their signs: those below zero ascend from the largest one, the others up to it.
                let mut below = 0;
                let mut above = pairs;
                for place in (0..pairs).rev() {
                    if is_set(bits, place) {
                        ascending[below] = -self.values[place];
                        below += 1;
                    } else {
                        above -= 1;
                        ascending[above] = self.values[place];
                    }
                }
                Estimate::trimmed_mean(ascending, self.cuts[0])
            }
        }
    }
}

fn is_set(bits: &[u64], place: usize) -> bool {
    bits[place / 64] >> (place % 64) & 1 == 1
}

impl Stratum {
    /// The largest magnitude of its values.
    fn largest(&self) -> f64 {
        let (Values::Apart { baseline, candidate } | Values::Pairs { baseline, candidate }) = &self.values;
        baseline.iter().chain(candidate).fold(0.0, |largest, value| value.abs().max(largest))
    }

    fn labels(&self) -> Labels {
        match &self.values {
            Values::Apart { baseline, candidate } => {
                Labels::Choice { first: baseline.len(), all: baseline.len() + candidate.len() }
            }
            Values::Pairs { baseline, .. } => Labels::Signs(baseline.len()),
        }
    }

    /// What both sides are cut by, where at most `share` of each is left out at each end. Both lose the same share, so that versions of
    /// one law have one centre whatever their numbers of runs.
    fn cuts(&self, share: f64) -> [Cut; 2] {
        let (Values::Apart { baseline, candidate } | Values::Pairs { baseline, candidate }) = &self.values;
        let sizes = [baseline.len(), candidate.len()];
        let fewest = sizes[0].min(sizes[1]) as f64;
        let whole = (share * fewest + 1e-9).floor();
        sizes.map(|n| Cut::new(n, whole / fewest))
    }

    fn under<'c>(&self, hypothesis: Hypothesis, cuts: &'c [Cut; 2]) -> PooledValues<'c> {
        let Hypothesis { factor, shift } = hypothesis;
        let labels = self.labels();
        let mut observed = vec![0; labels.words()];
        let values = match &self.values {
            Values::Apart { baseline, candidate } => {
                let candidate = candidate.iter().map(|value| (factor * value + shift, false));
                let mut pooled: Vec<(f64, bool)> =
                    baseline.iter().map(|value| (*value, true)).chain(candidate).collect();
                pooled.sort_by(|one, other| one.0.total_cmp(&other.0));
                for (place, (_, is_baseline)) in pooled.iter().enumerate() {
                    observed[place / 64] |= u64::from(*is_baseline) << (place % 64);
                }
                pooled.into_iter().map(|(value, _)| value).collect()
            }
            Values::Pairs { baseline, candidate } => {
                let pairs = baseline.iter().zip(candidate);
                let mut differences: Vec<f64> = pairs.map(|(x, y)| x - (factor * y + shift)).collect();
                // A sign turns a difference around and leaves its place.
                differences.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
                for (place, difference) in differences.iter().enumerate() {
                    observed[place / 64] |= u64::from(*difference < 0.0) << (place % 64);
                }
                differences.into_iter().map(f64::abs).collect()
            }
        };
        PooledValues { weight: self.weight, cuts, labels, values, observed }
    }
}

impl Contrast {
    /// The contrast of strata whose weights add up to 1, each side of which has two observations or more. At most `share` of each sample is left
    /// out at each end.
    pub(super) fn new(strata: Vec<Stratum>, share: f64) -> Self {
        let cuts: Vec<[Cut; 2]> = strata.iter().map(|stratum| stratum.cuts(share)).collect();
        let relabellings = Relabellings::new(strata.iter().map(Stratum::labels).collect());
        let mut contrast = Self { strata, cuts, df: f64::INFINITY, relabellings, of_equal: OnceLock::new() };
        contrast.df = contrast.degrees_of_freedom();
        contrast
    }

    /// Satterthwaite's over the strata, of which each has those of its smaller side.
    fn degrees_of_freedom(&self) -> f64 {
        let mut all = 0.0;
        let mut shares = 0.0;
        for pooled in self.under(Hypothesis::EQUAL) {
            let difference = pooled.difference(&pooled.observed, &mut Vec::new());
            let error = pooled.weight * pooled.weight * difference.squared_error;
            let smaller = pooled.cuts[0].left().min(pooled.cuts[1].left());
            all += error;
            shares += error * error / (smaller - 1.0);
        }
        all * all / shares
    }

    /// The difference of the trimmed means, whose squared error is 0 where the observations that are left do not vary.
    pub(super) fn estimate(&self) -> Estimate {
        let mut estimate = Estimate::default();
        for pooled in self.under(Hypothesis::EQUAL) {
            estimate.add(pooled.weight, pooled.difference(&pooled.observed, &mut Vec::new()));
        }
        estimate
    }

    /// Whether what is left of the observations varies by no more than the rounding of their values.
    pub(super) fn is_rounding(&self) -> bool {
        let largest = self.strata.iter().map(Stratum::largest).fold(0.0, f64::max);
        self.estimate().squared_error <= (10.0 * f64::EPSILON * largest).powi(2)
    }

    fn under(&self, hypothesis: Hypothesis) -> Vec<PooledValues<'_>> {
        self.strata.iter().zip(&self.cuts).map(|(stratum, cuts)| stratum.under(hypothesis, cuts)).collect()
    }

    /// The probabilities of a difference at most, and at least, as large as the observed one: of both laws the larger.
    pub(super) fn tails(&self, hypothesis: Hypothesis) -> Tails {
        if hypothesis == Hypothesis::EQUAL {
            *self.of_equal.get_or_init(|| self.tails_under(hypothesis))
        } else {
            self.tails_under(hypothesis)
        }
    }

    fn tails_under(&self, hypothesis: Hypothesis) -> Tails {
        let strata = self.under(hypothesis);
        let observed: Vec<u64> = strata.iter().flat_map(|pooled| pooled.observed.iter().copied()).collect();
        let mut ascending = Vec::new();
        let statistic = statistic_of(&strata, &observed, 1.0, &mut ascending);
        let by_t = student_tails(statistic, self.df);
        let slack = if statistic.is_finite() { ROUNDING * statistic.abs().max(1.0) } else { 0.0 };
        // Where a draw does not tell the versions apart, exchanging them turns its statistic around.
        let toward = if statistic < 0.0 { -1.0 } else { 1.0 };
        let mut rows = 0;
        let mut at_most = 0;
        let mut at_least = 0;
        for stage in 0..self.relabellings.stages() {
            for row in self.relabellings.rows(stage) {
                let relabelled = statistic_of(&strata, row, toward, &mut ascending);
                rows += 1;
                at_most += usize::from(relabelled <= statistic + slack);
                at_least += usize::from(relabelled >= statistic - slack);
            }
            let is_settled =
                |beyond: usize, by_t: f64| beyond >= ENOUGH_BEYOND || by_t >= self.share(beyond, rows);
            if is_settled(at_most, by_t.lower) && is_settled(at_least, by_t.upper) {
                break;
            }
        }
        if rows == 0 {
            return by_t;
        }
        Tails {
            lower: by_t.lower.max(self.share(at_most, rows)),
            upper: by_t.upper.max(self.share(at_least, rows)),
        }
    }

    /// A p-value by so many rows. Of draws the observed labelling is one more.
    fn share(&self, beyond: usize, rows: usize) -> f64 {
        if self.relabellings.is_complete() {
            beyond as f64 / rows as f64
        } else {
            (beyond + 1) as f64 / (rows + 1) as f64
        }
    }

    /// The shifts that are not rejected with half of `risk` on either side; `None` where so few observations reject none.
    pub(super) fn limits(&self, risk: f64) -> Option<[f64; 2]> {
        if risk / 2.0 < self.relabellings.finest() {
            return None;
        }
        Some([self.limit(risk, -1.0)?, self.limit(risk, 1.0)?])
    }

    /// Whether a shift on this side of the estimate is rejected with half of `risk`.
    fn rejects(&self, shift: f64, direction: f64, risk: f64) -> bool {
        let tails = self.tails(Hypothesis { factor: 1.0, shift });
        (if direction < 0.0 { tails.upper } else { tails.lower }) <= risk / 2.0
    }

    /// The last shift that is not rejected in a direction, to 1/4,096 of what is searched.
    fn limit(&self, risk: f64, direction: f64) -> Option<f64> {
        let Estimate { value: estimate, squared_error } = self.estimate();
        // Student's law rejects from here on.
        let reach = student_t::two_sided_critical(risk, self.df) * squared_error.sqrt();
        let of_student = estimate + direction * reach;
        let mut inside = estimate;
        let mut outside = of_student + direction * reach * ROUNDING;
        if self.rejects(outside, direction, risk) {
            return Some(of_student);
        }
        let mut step = reach / 4.0;
        while !self.rejects(outside, direction, risk) {
            inside = outside;
            outside += direction * step;
            step *= 2.0;
            if step > reach * MOST_REACH {
                return None;
            }
        }
        // The p-value of equal versions and the interval must agree, so that 0 is looked at itself.
        let mut next = if inside.min(outside) < 0.0 && inside.max(outside) > 0.0 {
            0.0
        } else {
            inside.midpoint(outside)
        };
        for _ in 0..HALVINGS {
            if self.rejects(next, direction, risk) {
                outside = next;
            } else {
                inside = next;
            }
            next = inside.midpoint(outside);
        }
        Some(inside)
    }
}

/// Beyond so many times Student's interval no shift is looked for: the values of the versions are far apart, and nothing changes.
const MOST_REACH: f64 = 1e6;
/// Halvings of a step, after which a limit is known well enough to be shown.
const HALVINGS: usize = 12;

impl Hypothesis {
    /// That both centres are equal.
    pub(super) const EQUAL: Self = Self { factor: 1.0, shift: 0.0 };
}

/// The mean of ascending values without the whole number of them at each end that `share` allows.
pub(super) fn trimmed_mean(ascending: &[f64], share: f64) -> f64 {
    let n = ascending.len() as f64;
    Estimate::trimmed_mean(ascending, Cut::new(ascending.len(), (share * n + 1e-9).floor() / n)).value
}

/// The statistic as labelled by `row`; `toward` is the sign of strata whose versions have as many observations.
fn statistic_of(strata: &[PooledValues<'_>], row: &[u64], toward: f64, ascending: &mut Vec<f64>) -> f64 {
    let mut difference = Estimate::default();
    let mut from = 0;
    for pooled in strata {
        let to = from + pooled.labels.words();
        let sign = if pooled.labels.is_symmetric() { toward } else { 1.0 };
        difference.add(sign * pooled.weight, pooled.difference(&row[from..to], ascending));
        from = to;
    }
    studentised(difference)
}

fn student_tails(statistic: f64, df: f64) -> Tails {
    if statistic.is_infinite() {
        let beyond = Tails { lower: 1.0, upper: 0.0 };
        return if statistic > 0.0 { beyond } else { beyond.mirrored() };
    }
    student_t::tails(statistic, df)
}
