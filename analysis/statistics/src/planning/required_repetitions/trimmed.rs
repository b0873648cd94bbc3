//! Runs for the test of trimmed means, and for its interval.

use super::{
    Attainability, PlanningAssumption, RequiredError, RequiredRuns, SpeedupGoal, checked_half_width,
    given_spread,
};
use crate::distribution::{Tails, normal};
use crate::inference::ConfidenceLevel;
use crate::number::monotone_root;
use crate::ratio::{TrimShare, TrimmedPower, mean::require_positive, trimmed_mean};
use crate::sample::Sample;
use std::f64::consts::PI;

/// What a pilot, or a spread that is known from elsewhere, says of the test of [`crate::ratio::TrimmedRatio`].
///
/// A trimmed mean of n runs has the error s/√n, where s² is the winsorised variance of the log times over (1 − 2g)² for the share g that n
/// runs lose at each end (Yuen 1974): of a pilot its own, of a known spread that of normal logarithms.
///
/// ```
/// use speedup_statistics::inference::{Alternative, ConfidenceLevel};
/// use speedup_statistics::planning::required_repetitions::{SpeedupGoal, TrimmedDetection};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (alternative, level) = (Alternative::TwoSided, ConfidenceLevel::USUAL);
/// let goal = SpeedupGoal { speedup: 1.02, alternative, level, power: 0.8, maximum: 1_000 };
/// // A run takes 100 ± 4.
/// let detection = TrimmedDetection::from_moments(100.0, 4.0)?;
/// assert_eq!(detection.required(&goal)?.reach.needed(), Some(71));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TrimmedDetection {
    /// Of each version; one of pairs, or where it is that of both versions.
    spreads: Vec<Spread>,
    are_pairs: bool,
    share: TrimShare,
    /// The runs of the pilot; 0 without one.
    pilot: usize,
    /// By how much variances are multiplied.
    inflation: f64,
}

#[derive(Clone, Debug)]
enum Spread {
    /// The standard deviation of normal logarithms.
    Normal(f64),
    /// Ascending logarithms of a pilot, or of ratios within pairs.
    Pilot(Vec<f64>),
}

/// From so many runs on, a pilot loses at least one at each end where the planned runs lose any: a stall is among them often enough.
const FEWEST_TO_TRIM: f64 = 6.0;

impl Spread {
    /// s², and its degrees of freedom, where a share is left out at each end.
    fn variance(&self, share: f64) -> (f64, f64) {
        match self {
            Self::Normal(sd) => (sd * sd * normal_variance(share), f64::INFINITY),
            Self::Pilot(logarithms) => {
                let runs = logarithms.len() as f64;
                let is_trimmed = share > 0.0 && runs >= FEWEST_TO_TRIM;
                let cut = if is_trimmed { (share * runs).max(1.0) } else { 0.0 };
                let mean = trimmed_mean(logarithms, cut / runs);
                (mean.squared_error * runs, mean.left - 1.0)
            }
        }
    }
}

/// The winsorised variance of a standard normal number over (1 − 2g)², a share g left out at each end.
fn normal_variance(share: f64) -> f64 {
    if share == 0.0 {
        return 1.0;
    }
    let end = normal::quantile(Tails::from_upper(share));
    let density = (-end * end / 2.0).exp() / (2.0 * PI).sqrt();
    let left = 1.0 - 2.0 * share;
    (left - 2.0 * end * density + 2.0 * share * end * end) / (left * left)
}

impl TrimmedDetection {
    /// The method's full name for a speedup to find.
    pub const NAME: &'static str =
        "runs for the two-sided test of trimmed means to find a speedup (noncentral t)";
    /// The method's full name for a precision.
    pub const NAME_OF_PRECISION: &'static str = "runs for the interval of the ratio of trimmed means";

    /// From pilots of independent runs: of the baseline, and of the candidate if there is one.
    ///
    /// # Errors
    /// [`RequiredError`] for pilots of one run, without spread, or with times that are not positive.
    pub fn new(
        baseline: &Sample,
        candidate: Option<&Sample>,
        share: TrimShare,
    ) -> Result<Self, RequiredError> {
        let samples = [Some(baseline), candidate];
        require_positive(baseline, candidate.unwrap_or(baseline)).map_err(RequiredError::Ratio)?;
        let mut spreads = Vec::new();
        let mut fewest = baseline.len();
        for sample in samples.into_iter().flatten() {
            spreads.push(Spread::Pilot(sample.sorted().iter().map(|time| time.ln()).collect()));
            fewest = fewest.min(sample.len());
        }
        Self::varying(spreads, false, share, fewest)
    }

    /// From the pairs that two pilots of one length are, in run order; planned are pairs.
    ///
    /// # Errors
    /// As [`TrimmedDetection::new`].
    pub fn from_pairs(
        baseline: &Sample,
        candidate: &Sample,
        share: TrimShare,
    ) -> Result<Self, RequiredError> {
        require_positive(baseline, candidate).map_err(RequiredError::Ratio)?;
        let pairs = baseline.in_run_order().iter().zip(candidate.in_run_order());
        let mut ratios: Vec<f64> = pairs.map(|(x, y)| (x / y).ln()).collect();
        ratios.sort_by(f64::total_cmp);
        let pilot = ratios.len();
        Self::varying(vec![Spread::Pilot(ratios)], true, share, pilot)
    }

    fn varying(
        spreads: Vec<Spread>,
        are_pairs: bool,
        share: TrimShare,
        pilot: usize,
    ) -> Result<Self, RequiredError> {
        if pilot < 2 {
            return Err(RequiredError::SmallPilot { runs: pilot, needed: 2 });
        }
        let detection = Self { spreads, are_pairs, share, pilot, inflation: 1.0 };
        if detection.spread() > 10.0 * f64::EPSILON {
            Ok(detection)
        } else {
            Err(RequiredError::ConstantPilot)
        }
    }

    /// A mean and a standard deviation of a run that are known from elsewhere, in one unit: their quotient is taken for the standard deviation of
    /// normal log times, which it nearly is while it is small.
    ///
    /// # Errors
    /// [`RequiredError`] for a mean that is not positive, or a standard deviation that is none of it.
    pub fn from_moments(mean: f64, sd: f64) -> Result<Self, RequiredError> {
        let spreads = vec![Spread::Normal(given_spread(mean, sd)?)];
        let share = TrimShare::USUAL;
        Ok(Self { spreads, are_pairs: false, share, pilot: 0, inflation: 1.0 })
    }

    /// Plans with the upper limit of the pilot's spread, which the true one exceeds with the probability 1 − `assurance`, as for normal
    /// logarithms: the planned power is then reached with that assurance (Browne, Statistics in Medicine 14, 1995).
    #[must_use]
    pub fn at_upper_limit(mut self, assurance: f64) -> Self {
        let (variance, df) = self.variance(self.share.get());
        if df.is_finite() && variance > 0.0 {
            // The quantile of χ²/df by Wilson and Hilferty (1931).
            let third = 2.0 / (9.0 * df);
            let z = normal::quantile(Tails::from_upper(assurance));
            self.inflation = (1.0 - third + z * third.sqrt()).max(0.05).powi(-3);
        }
        self
    }

    /// The standard deviation of log times that is planned with, as trimming leaves it; of pairs that of their log ratios.
    pub fn spread(&self) -> f64 {
        let (variance, _) = self.variance(self.share.get());
        (variance / self.spreads.len() as f64).sqrt()
    }

    /// The sum of s² over the versions and its degrees of freedom (Satterthwaite's) where a share is left out at each end.
    fn variance(&self, share: f64) -> (f64, f64) {
        let mut all = 0.0;
        let mut squares = 0.0;
        for spread in &self.spreads {
            let (variance, df) = spread.variance(share);
            all += variance;
            squares += variance * variance / df;
        }
        (all * self.inflation, all * all / squares)
    }

    /// Whether one spread is that of both versions.
    fn are_alike(&self) -> bool {
        !self.are_pairs && self.spreads.len() == 1
    }

    /// The test with `runs` ≥ 2 runs of each version, or pairs.
    pub fn with_runs(&self, runs: u64) -> TrimmedPower {
        let n = runs.max(2) as f64;
        let cut = (self.share.whole(runs.max(2) as usize).get() * n).round();
        let df_of_smaller = n - 2.0 * cut - 1.0;
        let mut all = 0.0;
        let mut squares = 0.0;
        for spread in &self.spreads {
            let (variance, _) = spread.variance(cut / n);
            all += variance;
            squares += variance * variance;
        }
        let alike = if self.are_alike() { 2.0 } else { 1.0 };
        // Those among the observations that are left out do not count.
        let log_choices = |n: f64| libm::lgamma(2.0 * n + 1.0) - 2.0 * libm::lgamma(n + 1.0);
        let relabellings = match self.are_pairs {
            true => (n - cut).exp2(),
            false => (log_choices(n) - log_choices(cut)).exp(),
        };
        TrimmedPower {
            error: (alike * all * self.inflation / n).sqrt(),
            df: df_of_smaller * alike * all * all / squares,
            df_of_smaller,
            relabellings,
            fewest: n,
        }
    }

    /// The least number of runs of each version, or of pairs, with which the goal's speedup is found with its power, whichever its side.
    ///
    /// # Errors
    /// [`RequiredError`] for a goal out of range.
    pub fn required(&self, goal: &SpeedupGoal) -> Result<RequiredRuns, RequiredError> {
        goal.check()?;
        let risk = goal.level.risk();
        let is_enough = |runs| self.with_runs(runs).power(goal.speedup, risk) >= goal.power;
        let beyond = normal::quantile(Tails::from_lower(goal.power));
        let needed = self.least(goal.level, beyond, goal.speedup.ln().abs(), goal.maximum, is_enough);
        Ok(self.runs(Self::NAME, goal.level, Some(goal.power), goal.maximum, needed))
    }

    /// The least number of runs of each version, or of pairs, with which the interval is usually as narrow as asked for.
    ///
    /// # Errors
    /// [`RequiredError::HalfWidth`] unless 0 < `relative_half_width` < 1.
    pub fn precise(
        &self,
        relative_half_width: f64,
        level: ConfidenceLevel,
        maximum: u64,
    ) -> Result<RequiredRuns, RequiredError> {
        let goal = checked_half_width(relative_half_width)?;
        let is_enough = |runs| {
            let half_width = self.with_runs(runs).half_width(level.risk());
            half_width.is_some_and(|half_width| half_width <= goal)
        };
        let needed = self.least(level, 0.0, goal.ln_1p(), maximum, is_enough);
        Ok(self.runs(Self::NAME_OF_PRECISION, level, None, maximum, needed))
    }

    /// The least number of runs that is enough. It is looked for from where a normal statistic with a known spread reaches `distance`, which is too
    /// few unless the pilot's tails are trimmed there only.
    fn least(
        &self,
        level: ConfidenceLevel,
        beyond: f64,
        distance: f64,
        maximum: u64,
        is_enough: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let limit = maximum.max(self.pilot as u64);
        let errors = (normal::two_sided_critical(level.risk().get()) + beyond).max(0.0) / distance;
        let alike = if self.are_alike() { 2.0 } else { 1.0 };
        let from = (alike * self.variance(self.share.get()).0 * errors * errors) as u64;
        let from = from.clamp(2, limit.max(2));
        let least = if is_enough(from) { 2 } else { from };
        monotone_root::least_whole(least, limit, is_enough)
    }

    fn runs(
        &self,
        method: &'static str,
        level: ConfidenceLevel,
        power: Option<f64>,
        maximum: u64,
        needed: Option<u64>,
    ) -> RequiredRuns {
        let mut assumptions = vec![
            if self.inflation > 1.0 {
                PlanningAssumption::UpperLimitOfSpread { runs: self.pilot as u64 }
            } else {
                PlanningAssumption::spread(self.pilot)
            },
            PlanningAssumption::IndependentRuns,
            PlanningAssumption::EqualRuns,
        ];
        if self.are_alike() {
            assumptions.push(PlanningAssumption::SameRelativeSpread);
        }
        RequiredRuns {
            method,
            reach: Attainability::new(needed, self.pilot, maximum),
            level,
            power,
            assumptions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::noncentral_t;
    use crate::distribution::student_t;

    #[test]
    fn the_winsorised_variance_of_normal_numbers_is_its_integral() {
        // scipy's quadrature of the square of a number that is limited to the quantiles of g and 1 − g.
        for (share, expected) in
            [(0.1, 1.060_397_748_364), (0.05, 1.026_257_137_198), (0.25, 1.195_176_517_216)]
        {
            assert!((normal_variance(share) - expected).abs() < 1e-11, "{share}");
        }
        assert_eq!(normal_variance(0.0), 1.0);
    }

    #[test]
    fn powers_are_nearly_those_of_the_noncentral_t() {
        let detection = TrimmedDetection::from_moments(1.0, 0.04).unwrap();
        // scipy's nct with 2(h − 1) degrees of freedom beyond the quantile with h − 1.
        let cases = [
            (10, 0.95, 1.03, 0.256_093),
            (20, 0.95, 1.03, 0.559_778),
            (35, 0.95, 1.03, 0.831_403),
            (6, 0.9975, 1.2, 0.933_616),
        ];
        for (runs, level, ratio, expected) in cases {
            let power = detection.with_runs(runs).power(ratio, ConfidenceLevel::new(level).unwrap().risk());
            assert!((power - expected).abs() < 0.01, "{runs}: {power}");
        }
        for runs in [4_u64, 6, 12, 40, 200] {
            for level in [0.95, 0.9995] {
                let test = detection.with_runs(runs);
                let risk = ConfidenceLevel::new(level).unwrap().risk();
                let Some(smallest) = test.smallest(risk, 0.8) else { continue };
                let critical = student_t::two_sided_critical(risk.get(), test.df_of_smaller);
                let exact = noncentral_t::tails(critical, test.df, smallest.ln() / test.error).upper;
                assert!(exact > 0.79, "{runs} at {level}: {exact}");
            }
        }
    }
}
