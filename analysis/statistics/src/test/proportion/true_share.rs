//! The share of benchmarks that are truly accelerated, from tests that err.
//!
//! The interval of a proportion is of the share that *this test with these runs* calls faster: a test that misses small
//! speedups leaves it below the truth, and one that errs puts it above. Yet each test errs with a risk α that is known. Let π
//! be the share of benchmarks whose true speedup lies above a threshold. Of benchmarks drawn at random each is shown to lie
//! above it with a probability of at most π + (1 − π)α, whatever the power; so from the exact lower bound L of that
//! probability, π ≥ (L − α)/(1 − α). In the same way each is shown to lie below it with at most (1 − π) + πα. Both hold at
//! any power and for any mixture of effects; both ends are wide where the tests cannot tell.

use super::{Binomial, ProportionError};
use crate::inference::{ConfidenceLevel, Interval, Risk};

/// What was shown of benchmarks drawn at random: how many lie above a threshold and how many below, each tested one-sided.
///
/// ```
/// use speedup_statistics::inference::{ConfidenceLevel, Risk};
/// use speedup_statistics::test::TrueShare;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Of 31 benchmarks 13 were shown to be faster and none to be slower, each at a risk of 2.5 %.
/// let share = TrueShare::new(31, 13, 0, Risk::new(0.025)?)?;
/// let interval = share.interval(ConfidenceLevel::new(0.9)?);
/// assert!((interval.lower - 0.250_078).abs() < 1e-6);
/// // The other 18 may be faster by too little to be seen.
/// assert_eq!(interval.upper, 1.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrueShare {
    benchmarks: u64,
    above: u64,
    below: u64,
    risk_of_each: Risk,
}

impl TrueShare {
    /// The method's full name.
    pub const NAME: &'static str =
        "share truly beyond the threshold, valid at any power (exact binomial bounds)";
    /// The most benchmarks that are told to be needed: more than anybody draws.
    const MOST_NEEDED: u64 = 1 << 30;

    /// Of `benchmarks`, `above` were shown to lie above the threshold and `below` to lie below it, each with at most
    /// `risk_of_each` of being wrong.
    ///
    /// # Errors
    /// [`ProportionError`] when the numbers cannot be.
    pub fn new(benchmarks: u64, above: u64, below: u64, risk_of_each: Risk) -> Result<Self, ProportionError> {
        match above.saturating_add(below) {
            _ if benchmarks == 0 => Err(ProportionError::NoBenchmarks),
            shown if shown > benchmarks => Err(ProportionError::TooMany { accelerated: shown, benchmarks }),
            _ => Ok(Self { benchmarks, above, below, risk_of_each }),
        }
    }

    /// The equal-tailed interval of the share that truly lies above the threshold, within 0 and 1.
    pub fn interval(&self, level: ConfidenceLevel) -> Interval {
        self.interval_of([self.above as f64, self.below as f64], self.benchmarks as f64, level)
    }

    /// Half the width that the interval tends to with ever more benchmarks, if as large shares of them are shown above and below:
    /// what the tests leave open, which takes more runs of each benchmark.
    pub fn least_half_width(&self) -> f64 {
        let [above, below] = self.shares();
        half_width(&within(Self::NAME, self.risk_of_each, [above, below], ConfidenceLevel::USUAL))
    }

    /// The fewest benchmarks with which the interval's half-width is at most `precision`, if as large shares of them are shown above
    /// and below; `None` where that takes more than 2³⁰ benchmarks, or is beyond the least half-width.
    pub fn benchmarks_needed(&self, precision: f64, level: ConfidenceLevel) -> Option<u64> {
        let suffices = |benchmarks: u64| {
            let benchmarks = benchmarks as f64;
            let shown = self.shares().map(|share| share * benchmarks);
            half_width(&self.interval_of(shown, benchmarks, level)) <= precision
        };
        if self.least_half_width() >= precision || !suffices(Self::MOST_NEEDED) {
            return None;
        }
        let mut too_few = 0;
        let mut enough = Self::MOST_NEEDED;
        while enough - too_few > 1 {
            let middle = too_few + (enough - too_few) / 2;
            if suffices(middle) { enough = middle } else { too_few = middle }
        }
        Some(enough)
    }

    fn shares(&self) -> [f64; 2] {
        [self.above, self.below].map(|shown| shown as f64 / self.benchmarks as f64)
    }

    /// The interval where so many of `benchmarks` are shown above and below.
    fn interval_of(&self, shown: [f64; 2], benchmarks: f64, level: ConfidenceLevel) -> Interval {
        let bound = |a: f64| Binomial { a, b: benchmarks }.clopper_pearson(level.risk().get()).0;
        within(Self::NAME, self.risk_of_each, shown.map(bound), level)
    }
}

/// The interval, from the lower bounds of the probabilities of being shown above and of being shown below.
fn within(method: &'static str, risk: Risk, [above, below]: [f64; 2], level: ConfidenceLevel) -> Interval {
    let risk = risk.get();
    let beyond = |bound: f64| ((bound - risk) / (1.0 - risk)).clamp(0.0, 1.0);
    Interval { method, lower: beyond(above), upper: 1.0 - beyond(below), level, caveats: Vec::new() }
}

fn half_width(interval: &Interval) -> f64 {
    (interval.upper - interval.lower) / 2.0
}

/// What is known of a benchmark's speedup: one-sided limits, each with the same risk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedupLimits {
    /// It is above this; zero where nothing is known.
    pub lower: f64,
    /// It is below this; infinite where nothing is known.
    pub upper: f64,
}

/// Which share of benchmarks is faster by at least x, for every x, with its band.
///
/// ```
/// use speedup_statistics::inference::{ConfidenceLevel, Risk};
/// use speedup_statistics::test::{ShareCurve, SpeedupLimits};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let near = |speedup: f64| SpeedupLimits { lower: speedup, upper: speedup + 0.1 };
/// let limits: Vec<SpeedupLimits> = (0..40).map(|i| near(1.0 + f64::from(i) / 100.0)).collect();
/// let curve = ShareCurve::new(&limits, Risk::new(0.025)?)?;
/// let level = ConfidenceLevel::USUAL;
/// // The larger the speedup, the fewer have it.
/// assert!(curve.pointwise(1.0, level).lower > curve.pointwise(1.3, level).lower);
/// // A band for all x at once is wider than the interval at one.
/// assert!(curve.simultaneous(1.2, level).lower < curve.pointwise(1.2, level).lower);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ShareCurve {
    /// Both ascending.
    lowers: Vec<f64>,
    uppers: Vec<f64>,
    risk_of_each: Risk,
}

impl ShareCurve {
    /// The full name of the band for all thresholds at once.
    const NAME_OF_BAND: &'static str =
        "share truly beyond each threshold, all at once (Dvoretzky–Kiefer–Wolfowitz–Massart)";

    /// The curve of benchmarks drawn at random, whose `limits` each have `risk_of_each`.
    ///
    /// # Errors
    /// [`ProportionError::NoBenchmarks`] without any.
    pub fn new(limits: &[SpeedupLimits], risk_of_each: Risk) -> Result<Self, ProportionError> {
        if limits.is_empty() {
            return Err(ProportionError::NoBenchmarks);
        }
        let ascending = |of: fn(&SpeedupLimits) -> f64| {
            let mut ends: Vec<f64> = limits.iter().map(of).collect();
            ends.sort_by(f64::total_cmp);
            ends
        };
        let lowers = ascending(|limits| limits.lower);
        let uppers = ascending(|limits| limits.upper);
        Ok(Self { lowers, uppers, risk_of_each })
    }

    /// The benchmarks.
    pub fn benchmarks(&self) -> u64 {
        self.lowers.len() as u64
    }

    /// The risk of each limit.
    pub fn risk_of_each(&self) -> Risk {
        self.risk_of_each
    }

    /// How many are shown to be faster by more than `threshold`.
    pub fn shown_above(&self, threshold: f64) -> u64 {
        (self.lowers.len() - self.lowers.partition_point(|lower| *lower <= threshold)) as u64
    }

    /// How many are shown to be faster by less than `threshold`, or slower.
    pub fn shown_below(&self, threshold: f64) -> u64 {
        self.uppers.partition_point(|upper| *upper < threshold) as u64
    }

    /// The thresholds at which anything changes, ascending, each once.
    pub fn steps(&self) -> Vec<f64> {
        let ends = self.lowers.iter().chain(&self.uppers).copied();
        let mut steps: Vec<f64> = ends.filter(|end| *end > 0.0 && end.is_finite()).collect();
        steps.sort_by(f64::total_cmp);
        steps.dedup();
        steps
    }

    /// The interval of the share that is faster by more than `threshold`, at this threshold alone.
    pub fn pointwise(&self, threshold: f64, level: ConfidenceLevel) -> Interval {
        let [above, below] = [self.shown_above(threshold), self.shown_below(threshold)];
        let share =
            TrueShare { benchmarks: self.benchmarks(), above, below, risk_of_each: self.risk_of_each };
        share.interval(level)
    }

    /// The same at all thresholds at once: with the probability `level` no one of these intervals misses.
    ///
    /// The limits of benchmarks drawn at random are independent draws, and their empirical law is off by more than √(ln(1/r)/2b)
    /// in one direction, anywhere, with probability at most r (Massart 1990); half of the risk for either end.
    pub fn simultaneous(&self, threshold: f64, level: ConfidenceLevel) -> Interval {
        let benchmarks = self.benchmarks() as f64;
        let distance = ((2.0 / level.risk().get()).ln() / (2.0 * benchmarks)).sqrt();
        let bounds = [self.shown_above(threshold), self.shown_below(threshold)]
            .map(|shown| shown as f64 / benchmarks - distance);
        within(Self::NAME_OF_BAND, self.risk_of_each, bounds, level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn more_shown_than_measured_is_refused() {
        let risk = Risk::new(0.05).unwrap();
        assert_eq!(TrueShare::new(0, 0, 0, risk), Err(ProportionError::NoBenchmarks));
        let refused = ProportionError::TooMany { accelerated: 11, benchmarks: 10 };
        assert_eq!(TrueShare::new(10, 6, 5, risk), Err(refused));
        assert!(ShareCurve::new(&[], risk).is_err());
    }

    /// So many suffice and one fewer does not; where the tests leave more open than the precision, none do.
    #[test]
    fn the_benchmarks_needed_are_the_fewest() {
        let risk = Risk::new(0.025).unwrap();
        let level = ConfidenceLevel::USUAL;
        let share = TrueShare::new(40, 24, 12, risk).unwrap();
        let needed = share.benchmarks_needed(0.1, level).unwrap();
        let width = |benchmarks: u64| {
            let shown = share.shares().map(|share| share * benchmarks as f64);
            half_width(&share.interval_of(shown, benchmarks as f64, level))
        };
        assert!(needed > 100 && width(needed) <= 0.1 && width(needed - 1) > 0.1, "{needed}");
        // 4 of 40 are shown to be neither.
        assert!((share.least_half_width() - (1.0 - (0.9 - 0.05) / 0.975) / 2.0).abs() < 1e-12);
        assert_eq!(share.benchmarks_needed(0.05, level), None);
        let open = TrueShare::new(40, 4, 0, risk).unwrap();
        assert!(open.least_half_width() > 0.4);
        assert_eq!(open.benchmarks_needed(0.4, level), None);
    }

    proptest! {
        /// Along the curve no end ever rises, the band holds the interval, and exchanging the versions turns all around.
        #[test]
        fn the_curve_falls(
            limits in prop::collection::vec((0.2..3.0_f64, 0.001..1.0_f64), 1..60), risk in 0.01..0.2_f64
        ) {
            let limits: Vec<SpeedupLimits> = limits
                .iter()
                .map(|(center, width)| SpeedupLimits { lower: center / (1.0 + width), upper: center * (1.0 + width) })
                .collect();
            let mirrored: Vec<SpeedupLimits> =
                limits.iter().map(|one| SpeedupLimits { lower: 1.0 / one.upper, upper: 1.0 / one.lower }).collect();
            let risk_of_each = Risk::new(risk / 2.0).unwrap();
            let level = ConfidenceLevel::new(1.0 - risk).unwrap();
            let mirrored = ShareCurve::new(&mirrored, risk_of_each).unwrap();
            let curve = ShareCurve::new(&limits, risk_of_each).unwrap();
            let mut before = [1.0; 4];
            for step in curve.steps() {
                // Beside the ends, where rounding does not decide.
                let step = step * 1.000_000_1;
                let at = curve.pointwise(step, level);
                let band = curve.simultaneous(step, level);
                let ends = [at.lower, at.upper, band.lower, band.upper];
                prop_assert!(ends.iter().zip(before).all(|(now, before)| *now <= before));
                prop_assert!(at.lower <= at.upper && band.lower <= band.upper);
                before = ends;
                let turned = mirrored.pointwise(1.0 / step, level);
                prop_assert!((turned.lower - (1.0 - at.upper)).abs() < 1e-12);
                prop_assert!((turned.upper - (1.0 - at.lower)).abs() < 1e-12);
            }
        }
    }
}
