//! The studentised difference of trimmed means, and its two laws.
//!
//! T is the difference of the trimmed means over its error by the winsorised variances (Yuen 1974). It is referred to its own
//! permutation law, which is exact where the versions have one law, whatever their numbers of observations, and right with many where
//! they have not (Janssen 1997; Chung and Romano 2013); and to Student's with the degrees of freedom of the smaller side, which holds
//! better where shapes differ. The larger p-value counts.
//!
//! Draws stop as soon as they have told a p-value to a share of itself (Besag and Clifford 1991), or that it is clearly below what
//! it is compared with: the level of the finest comparison, or Student's p-value.

use super::power::TrimmedPower;
use super::relabelling::{Labels, Relabellings};
use super::{TrimShare, TrimmedMean};
use crate::distribution::{Tails, student_t};
use std::ops::ControlFlow;
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
    /// The least one-sided level that p-values are compared with.
    finest: f64,
    /// The tails if the versions are equal, which every verdict asks for.
    of_equal: OnceLock<Tails>,
}

/// The p-value of one side as draws tell it.
struct DrawnTail {
    drawn: usize,
    beyond: usize,
    /// What the p-value is compared with.
    bar: f64,
    p_value: Option<f64>,
}

/// The finest one-sided level of a comparison that nobody adjusts.
const USUAL_FINEST: f64 = 0.000_5;
/// Draws beyond the statistic that end the drawing: the p-value is then known to a seventh of itself.
const ENOUGH_BEYOND: usize = 50;
/// A p-value of less than one in so many of the level is clearly below it: by chance one of the level is so in a case of e⁴.
const CLEAR: f64 = 4.0;
/// Draws for each in 1/level, at most: a p-value beside the level is known to a quarter of itself.
const MOST_BEYOND: f64 = 16.0;
/// The same for levels below the usual finest, where a p-value is known to a half: their draws are what takes time.
const MOST_BEYOND_FINE: f64 = 4.0;
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
        // Sums are of what is left when the middle is taken away, so that no digit of a small spread is lost.
        let middle = rest[rest.len() / 2];
        let low = rest[0] - middle;
        let high = rest[rest.len() - 1] - middle;
        let sums = PowerSums::new(rest, middle);
        let value = middle + (sums.values - cut.part * (low + high)) / left;
        let mut squares = sums.winsorised([low, high], cut.whole);
        if cut.part > 0.0 {
            // The variance with one observation more replaced at each end counts by the share of it that is cut.
            let next = [rest[1] - middle, rest[rest.len() - 2] - middle];
            let more = sums.without([low, high]).winsorised(next, cut.whole + 1);
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

/// Sums over values of which a constant is taken away.
#[derive(Clone, Copy)]
struct PowerSums {
    count: f64,
    values: f64,
    squares: f64,
}

impl PowerSums {
    fn new(values: &[f64], middle: f64) -> Self {
        // Four sums abreast, which do not wait for each other.
        let mut sums = [0.0; 4];
        let mut squares = [0.0; 4];
        for four in values.chunks(4) {
            for (lane, value) in four.iter().enumerate() {
                let off = value - middle;
                sums[lane] += off;
                squares[lane] += off * off;
            }
        }
        Self { count: values.len() as f64, values: sums.iter().sum(), squares: squares.iter().sum() }
    }

    fn without(self, ends: [f64; 2]) -> Self {
        Self {
            count: self.count - 2.0,
            values: self.values - ends[0] - ends[1],
            squares: self.squares - ends[0] * ends[0] - ends[1] * ends[1],
        }
    }

    /// Σ(w − w̄)² where so many more observations at each end are as the `ends` are.
    fn winsorised(self, ends: [f64; 2], replaced: usize) -> f64 {
        let [low, high] = ends;
        let replaced = replaced as f64;
        let sum = self.values + replaced * (low + high);
        let squares = self.squares + replaced * (low * low + high * high);
        (squares - sum * sum / (self.count + 2.0 * replaced)).max(0.0)
    }
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
    /// One name for these values and those of the versions exchanged. Of equal values it tells only how many more are of one version.
    fn key(&self) -> Vec<u64> {
        let mut row = vec![0; self.labels.words()];
        let mut told = row.clone();
        let mut from = 0;
        for equal in self.values.chunk_by(|one, next| one == next) {
            let first = (from..from + equal.len()).filter(|place| is_set(&self.observed, *place)).count();
            let second = equal.len() - first;
            // A difference of nothing has no sign.
            let has_label = matches!(self.labels, Labels::Choice { .. }) || equal[0] != 0.0;
            let more = if has_label { first.abs_diff(second) } else { 0 };
            for place in from..from + more {
                told[place / 64] |= 1 << (place % 64);
                row[place / 64] |= u64::from(first > second) << (place % 64);
            }
            from += equal.len();
        }
        self.labels.unordered(&row, &told)
    }

    /// The difference of the trimmed means and its squared error, as labelled by `bits`; `ascending` is written over.
    fn difference(&self, bits: &[u64], ascending: &mut Vec<f64>) -> Estimate {
        let n = self.cuts[0].n;
        match self.labels {
            Labels::Choice { .. } => {
                // Each value is written to both sides and stays on its own: without a branch, as nothing foretells the labels.
                ascending.resize(self.values.len() + 2, 0.0);
                let (of_baseline, of_candidate) = ascending.split_at_mut(n + 1);
                let mut baseline = 0;
                let mut candidate = 0;
                for (word, values) in bits.iter().zip(self.values.chunks(64)) {
                    let mut word = *word;
                    for value in values {
                        of_baseline[baseline] = *value;
                        of_candidate[candidate] = *value;
                        let is_baseline = (word & 1) as usize;
                        baseline += is_baseline;
                        candidate += 1 - is_baseline;
                        word >>= 1;
                    }
                }
                let baseline = Estimate::trimmed_mean(&of_baseline[..n], self.cuts[0]);
                let candidate = Estimate::trimmed_mean(&of_candidate[..candidate], self.cuts[1]);
                let mut difference = baseline;
                difference.add(-1.0, candidate);
                difference
            }
            Labels::Signs(pairs) => {
                ascending.resize(pairs, 0.0);
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
    fn cuts(&self, share: TrimShare) -> [Cut; 2] {
        let (Values::Apart { baseline, candidate } | Values::Pairs { baseline, candidate }) = &self.values;
        let sizes = [baseline.len(), candidate.len()];
        let share = share.whole(sizes[0].min(sizes[1])).get();
        sizes.map(|n| Cut::new(n, share))
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
    pub(super) fn new(strata: Vec<Stratum>, share: TrimShare) -> Self {
        let cuts: Vec<[Cut; 2]> = strata.iter().map(|stratum| stratum.cuts(share)).collect();
        let labels: Vec<Labels> = strata.iter().map(Stratum::labels).collect();
        let mut key = Vec::new();
        for (stratum, cuts) in strata.iter().zip(&cuts) {
            key.extend(stratum.under(Hypothesis::EQUAL, cuts).key());
        }
        let mut contrast = Self {
            relabellings: Relabellings::new(labels, format!("{key:x?}")),
            strata,
            cuts,
            df: f64::INFINITY,
            finest: USUAL_FINEST,
            of_equal: OnceLock::new(),
        };
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

    /// What the power of the test depends on, at the observed spread.
    pub(super) fn power(&self) -> TrimmedPower {
        let mut squared_error = 0.0;
        let mut squares = 0.0;
        let mut fewest = 0.0;
        for (stratum, cuts) in self.strata.iter().zip(&self.cuts) {
            let squared_errors = match &stratum.values {
                Values::Apart { baseline, candidate } => vec![
                    Estimate::trimmed_mean(baseline, cuts[0]).squared_error,
                    Estimate::trimmed_mean(candidate, cuts[1]).squared_error,
                ],
                Values::Pairs { .. } => {
                    let pooled = stratum.under(Hypothesis::EQUAL, cuts);
                    vec![pooled.difference(&pooled.observed, &mut Vec::new()).squared_error]
                }
            };
            for (one, cut) in squared_errors.into_iter().zip(cuts) {
                let part = stratum.weight * stratum.weight * one;
                squared_error += part;
                squares += part * part / (cut.left() - 1.0);
            }
            fewest += cuts[0].n.min(cuts[1].n) as f64;
        }
        TrimmedPower {
            error: squared_error.sqrt(),
            df: squared_error * squared_error / squares,
            df_of_smaller: self.df,
            relabellings: self.relabellings.count() / self.hidden(),
            fewest,
        }
    }

    /// How many relabellings the statistic does not tell from the observed one of versions that are wholly apart.
    fn hidden(&self) -> f64 {
        let strata = self.strata.iter().zip(&self.cuts);
        strata.map(|(stratum, cuts)| stratum.labels().hidden(cuts.map(|cut| cut.whole))).product()
    }

    /// The degrees of freedom of its error.
    pub(super) fn df(&self) -> f64 {
        self.df
    }

    /// Whether what is left of the observations varies by no more than the rounding of their values.
    pub(super) fn is_rounding(&self) -> bool {
        let largest = self.strata.iter().map(Stratum::largest).fold(0.0, f64::max);
        self.estimate().squared_error <= (10.0 * f64::EPSILON * largest).powi(2)
    }

    fn under(&self, hypothesis: Hypothesis) -> Vec<PooledValues<'_>> {
        self.strata.iter().zip(&self.cuts).map(|(stratum, cuts)| stratum.under(hypothesis, cuts)).collect()
    }

    /// The same, with draws enough for comparisons with this one-sided level, as far as samples of this size have so many.
    pub(super) fn with_finest(mut self, finest: f64) -> Self {
        self.finest = if finest > 0.0 { finest.min(USUAL_FINEST) } else { USUAL_FINEST };
        self.relabellings.refine(most_draws(self.finest));
        self.of_equal = OnceLock::new();
        self
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
        Tails {
            lower: self.p_value(hypothesis, -1.0, self.finest, 1.0),
            upper: self.p_value(hypothesis, 1.0, self.finest, 1.0),
        }
    }

    /// The p-value of one side, by draws enough for the level `finest`. Where it is above `level`, only that is told.
    fn p_value(&self, hypothesis: Hypothesis, direction: f64, finest: f64, level: f64) -> f64 {
        let strata = self.under(hypothesis);
        let observed: Vec<u64> = strata.iter().flat_map(|pooled| pooled.observed.iter().copied()).collect();
        let mut ascending = Vec::new();
        let statistic = statistic_of(&strata, &observed, 1.0, &mut ascending);
        let by_t = student_tail(direction * statistic, self.df);
        if by_t > level {
            return by_t;
        }
        let slack = if statistic.is_finite() { ROUNDING * statistic.abs().max(1.0) } else { 0.0 };
        // Where a draw does not tell the versions apart, exchanging them turns its statistic around.
        let toward = if statistic < 0.0 { -1.0 } else { 1.0 };
        let mut is_beyond = |row: &[u64]| {
            let relabelled = statistic_of(&strata, row, toward, &mut ascending);
            direction * relabelled >= direction * statistic - slack
        };
        let most = self.relabellings.most();
        if self.relabellings.is_complete() {
            let mut beyond = 0;
            self.relabellings.visit(|row| {
                beyond += usize::from(is_beyond(row));
                let is_above = beyond as f64 > level * most as f64 + 0.5;
                if is_above { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            return by_t.max(beyond as f64 / most as f64);
        }
        let wanted = most_draws(finest).ceil() as usize;
        let mut tail = DrawnTail::new(finest.max(by_t));
        if most > 0 {
            self.relabellings.visit(|row| tail.count(is_beyond(row), level, most.min(wanted)));
        }
        // Large samples have fewer draws than so small a level takes. Where none of them is beyond, Student's law says how far.
        if tail.beyond == 0 && tail.drawn == most && most < wanted {
            return by_t;
        }
        by_t.max(tail.p_value())
    }

    /// The shifts that are not rejected with half of `risk` on either side; `None` where so few observations reject none.
    pub(super) fn limits(&self, risk: f64) -> Option<[f64; 2]> {
        if risk / 2.0 < self.relabellings.finest(self.hidden()) {
            return None;
        }
        Some([self.limit(risk, -1.0)?, self.limit(risk, 1.0)?])
    }

    /// Whether a shift on this side of the estimate is rejected with half of `risk`.
    fn rejects(&self, shift: f64, direction: f64, risk: f64) -> bool {
        let level = risk / 2.0;
        if shift == 0.0 && self.finest <= level {
            let tails = self.tails(Hypothesis::EQUAL);
            return (if direction < 0.0 { tails.upper } else { tails.lower }) <= level;
        }
        let hypothesis = Hypothesis { factor: 1.0, shift };
        self.p_value(hypothesis, -direction, self.finest.min(level), level) <= level
    }

    /// The last shift that is not rejected in a direction, to [`PRECISION`] of Student's distance from the estimate.
    fn limit(&self, risk: f64, direction: f64) -> Option<f64> {
        let Estimate { value: estimate, squared_error } = self.estimate();
        // Student's law rejects from here on.
        let reach = student_t::two_sided_critical(risk, self.df) * squared_error.sqrt();
        if !reach.is_finite() {
            return None;
        }
        let of_student = estimate + direction * reach;
        // The p-value of equal versions and the interval must agree, so that 0 is looked at itself.
        let is_zero_beyond = direction * of_student < 0.0;
        let is_zero_inside = is_zero_beyond && !self.rejects(0.0, direction, risk);
        let mut inside = if is_zero_inside { 0.0 } else { of_student };
        let mut outside = inside + direction * reach * ROUNDING;
        let mut step = reach * FIRST_STEP;
        let ends_at_zero = is_zero_beyond && !is_zero_inside;
        loop {
            if ends_at_zero && direction * outside > 0.0 {
                outside = 0.0;
                break;
            }
            if self.rejects(outside, direction, risk) {
                break;
            }
            inside = outside;
            outside += direction * step;
            step *= 2.0;
            if step > reach * MOST_REACH {
                return None;
            }
        }
        while (outside - inside).abs() > reach * PRECISION {
            let next = inside.midpoint(outside);
            // Between numbers that follow each other there is none.
            if next == inside || next == outside {
                break;
            }
            if self.rejects(next, direction, risk) {
                outside = next;
            } else {
                inside = next;
            }
        }
        Some(inside)
    }
}

/// No halving of [`FIRST_STEP`] is as long, so that rounding does not decide how many there are.
const PRECISION: f64 = 1.0 / 3000.0;
/// Steps beyond Student's limit begin with this share of its distance: the two laws are mostly close.
const FIRST_STEP: f64 = 1.0 / 32.0;
/// Beyond so many times Student's interval no shift is looked for: the values of the versions are far apart, and nothing changes.
const MOST_REACH: f64 = 1e6;

impl Hypothesis {
    /// That both centres are equal.
    pub(super) const EQUAL: Self = Self { factor: 1.0, shift: 0.0 };
}

/// Draws, at most, where p-values are compared with a one-sided level.
fn most_draws(level: f64) -> f64 {
    (MOST_BEYOND / level.max(USUAL_FINEST)).max(MOST_BEYOND_FINE / level)
}

/// The trimmed mean of ascending values, a share left out at each end.
pub(crate) fn trimmed_mean(ascending: &[f64], share: f64) -> TrimmedMean {
    let cut = Cut::new(ascending.len(), share);
    let Estimate { value, squared_error } = Estimate::trimmed_mean(ascending, cut);
    TrimmedMean { value, squared_error, left: cut.left() }
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

/// The probability of more than the statistic by Student's law.
fn student_tail(statistic: f64, df: f64) -> f64 {
    if statistic.is_infinite() {
        return if statistic > 0.0 { 0.0 } else { 1.0 };
    }
    student_t::tails(statistic, df).upper
}

impl DrawnTail {
    fn new(bar: f64) -> Self {
        Self { drawn: 0, beyond: 0, bar, p_value: None }
    }

    /// Counts a draw, and breaks off where no other could change the p-value, or on which side of `level` it is.
    fn count(&mut self, is_beyond: bool, level: f64, most: usize) -> ControlFlow<()> {
        self.drawn += 1;
        self.beyond += usize::from(is_beyond);
        if self.beyond == ENOUGH_BEYOND {
            self.p_value = Some(self.beyond as f64 / self.drawn as f64);
        }
        let is_clear = CLEAR * (self.beyond + 1) as f64 <= self.bar * (self.drawn + 1) as f64;
        let is_below = level < 1.0 && ENOUGH_BEYOND as f64 <= level * self.drawn as f64;
        if self.p_value.is_some() || is_clear || is_below || self.drawn >= most {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Where the drawing broke off before enough were beyond, the observed labelling is one more.
    fn p_value(&self) -> f64 {
        self.p_value.unwrap_or((self.beyond + 1) as f64 / (self.drawn + 1) as f64)
    }
}
