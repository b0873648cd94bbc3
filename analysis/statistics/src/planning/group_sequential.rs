//! Several looks at growing data, with one risk over all of them.
//!
//! At look k the share tₖ of the planned information is there. Under the null hypothesis the statistics Z₁…Zₖ are
//! jointly normal with correlations √(tᵢ/tⱼ), whatever the test, if the runs are many (Jennison & Turnbull, Group
//! Sequential Methods, 2000, ch. 3). The boundaries keep the probability of ever crossing one at the risk; they
//! come from a spending function ([`SpendingFunction`]). For t and rank tests the p-value of a look is compared with its nominal
//! risk, which is Jennison and Turnbull's advice (§3.3).
//!
//! The probabilities are by the recursion of Armitage, McPherson & Rowe (JRSS A 132, 1969).

mod recursion;

use crate::inference::{ConfidenceLevel, PValue, Risk};
use crate::{distribution::Tails, distribution::normal, number::monotone_root};
use recursion::Recursion;
use serde::Serialize;
use thiserror::Error;

/// More looks than anyone takes.
const MOST_LOOKS: usize = 100;
/// Looks that are closer than this share of the information say the same.
const LEAST_INCREMENT: f64 = 1e-3;

/// A spending function of Lan & DeMets (Biometrika 70, 1983): zero at 0, the whole risk at 1, increasing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpendingFunction {
    /// 2(1 − Φ(z_{α/2}/√t)): little at first, as O'Brien and Fleming's boundaries do.
    OBrienFlemingLike,
    /// α ln(1 + (e − 1)t): much at first, as Pocock's boundaries do.
    PocockLike,
    /// αt.
    Linear,
}

impl SpendingFunction {
    /// The risk that may be spent up to the fraction `t` of the information, of `risk` on one side.
    pub fn spent(self, t: f64, risk: f64) -> f64 {
        let t = t.clamp(0.0, 1.0);
        match self {
            Self::OBrienFlemingLike => {
                let z = normal::quantile(Tails::from_upper(risk / 2.0));
                2.0 * normal::tails(z / t.sqrt()).upper
            }
            Self::PocockLike => risk * (t * (std::f64::consts::E - 1.0)).ln_1p(),
            Self::Linear => risk * t,
        }
    }
}

/// A plan of looks and what each may conclude.
///
/// ```
/// use speedup_statistics::inference::{ConfidenceLevel, PValue};
/// use speedup_statistics::planning::group_sequential::{GroupSequential, LookDecision, Sides, SpendingFunction, equal_fractions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fractions = equal_fractions(5);
/// let plan = GroupSequential::spending(&fractions, Sides::Both, ConfidenceLevel::USUAL, SpendingFunction::PocockLike)?;
/// // Reboussin et al. 2000.
/// assert!((plan.looks()[0].boundary - 2.438).abs() < 5.1e-4);
/// // What one test would call significant is not enough at the first of five looks.
/// assert_eq!(plan.decide(0, PValue::new(0.04)?)?, LookDecision::GoOn);
/// assert_eq!(plan.decide(0, PValue::new(0.01)?)?, LookDecision::Stop);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupSequential {
    sides: Sides,
    looks: Vec<Look>,
}

/// One look of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Look {
    /// The share of the planned information (of runs, usually) that is there.
    pub fraction: f64,
    /// The z that the statistic must reach; infinite while nothing may be concluded.
    pub boundary: f64,
    /// The risk at which this look alone tests: the p-value must not exceed it.
    pub nominal_risk: Risk,
    /// The risk that this look and those before have spent together.
    pub spent: f64,
}

/// On which sides of zero a look may conclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sides {
    /// Only that the first is greater (or only that it is less: the same boundaries).
    One,
    /// Either.
    Both,
}

/// What a look concludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LookDecision {
    /// The null hypothesis is rejected: stop.
    Stop,
    /// Not yet: go on to the next look.
    GoOn,
    /// Not rejected, and there is no further look.
    EndWithout,
}

/// Why looks cannot be planned.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum LooksError {
    #[error("a plan has between 1 and {MOST_LOOKS} looks, not {0}")]
    Count(usize),
    #[error(
        "fractions of the information grow by at least {LEAST_INCREMENT} from above 0 to at most 1, and \
         number {index} is {fraction}"
    )]
    Fraction {
        /// Its position, from 0.
        index: usize,
        fraction: f64,
    },
    #[error("a drift must be a finite number below {LARGEST_DRIFT} in magnitude, not {0}")]
    Drift(f64),
    /// A look that the plan does not have.
    #[error("the plan has {looks} looks, and number {index} was asked for")]
    NoSuchLook {
        /// Its position, from 0.
        index: usize,
        /// Looks of the plan.
        looks: usize,
    },
}

/// A drift is the mean of the last Z: beyond this everything is found at the first look.
const LARGEST_DRIFT: f64 = 30.0;
/// Boundaries are looked for below this z; a double knows no smaller risk.
const LARGEST_BOUNDARY: f64 = 38.0;

impl GroupSequential {
    /// Looks at these fractions that spend the risk of `level` by `spending`; a two-sided plan spends half on each
    /// side. The fractions need not be equally spaced, and those to come may change while the plan runs, if not
    /// because of what was seen (Lan & DeMets, Biometrika 70, 1983).
    ///
    /// # Errors
    /// [`LooksError`] for fractions that are not ascending in (0, 1], or too many.
    pub fn spending(
        fractions: &[f64],
        sides: Sides,
        level: ConfidenceLevel,
        spending: SpendingFunction,
    ) -> Result<Self, LooksError> {
        check_fractions(fractions)?;
        let risk_of_side = sides.share(level.risk().get());
        let mut recursion = Recursion::new(sides, 0.0);
        let mut looks = Vec::new();
        let mut spent_of_side = 0.0;
        for (index, &fraction) in fractions.iter().enumerate() {
            recursion.advance(fraction);
            let target = spending.spent(fraction, risk_of_side);
            let boundary = boundary_that_spends(&recursion, target - spent_of_side);
            let next = fractions.get(index + 1).copied();
            spent_of_side += recursion.cross(boundary, next).upper;
            looks.push(Look::new(fraction, boundary, sides, spent_of_side));
        }
        Ok(Self { sides, looks })
    }

    /// The looks in their order.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// The level that all looks keep together, computed from their boundaries.
    pub fn level(&self) -> ConfidenceLevel {
        ConfidenceLevel::achieved(self.looks.last().map_or(0.0, |look| look.spent))
    }

    /// What look `index` (from 0) concludes from the p-value of its test, one-sided or two-sided as the plan is.
    ///
    /// # Errors
    /// [`LooksError::NoSuchLook`] beyond the plan.
    pub fn decide(&self, index: usize, p: PValue) -> Result<LookDecision, LooksError> {
        let looks = self.looks.len();
        let look = self.looks.get(index).ok_or(LooksError::NoSuchLook { index, looks })?;
        Ok(if p.rejects_at(look.nominal_risk) && look.nominal_risk.get() > 0.0 {
            LookDecision::Stop
        } else if index + 1 < looks {
            LookDecision::GoOn
        } else {
            LookDecision::EndWithout
        })
    }

    /// The probability of stopping with a rejection, on either side, if the last Z at full information has the mean
    /// `drift`; at 0, the risk.
    ///
    /// # Errors
    /// [`LooksError::Drift`] for drifts that are not finite or absurd.
    pub fn power(&self, drift: f64) -> Result<f64, LooksError> {
        let crossings = self.crossings(drift)?;
        Ok((crossings.upper.iter().sum::<f64>() + crossings.lower.iter().sum::<f64>()).min(1.0))
    }

    /// The median-unbiased estimate of the drift after the last look that was taken, `index` (from 0), whose statistic is `z`:
    /// the drift under which ending there or further up is as probable as not, where ending up at an earlier look is further
    /// up than at a later one, and ending down at an earlier look further down (the stagewise ordering: Fairbanks and Madsen,
    /// Biometrika 69, 1982; Jennison and Turnbull 2000, §8.4–8.5). √t times it is to be compared with `z`, which leans away from
    /// 0 where an earlier look could have ended the experiment. Only looks that `may_stop` could.
    ///
    /// # Errors
    /// [`LooksError::NoSuchLook`] beyond the plan, and [`LooksError::Drift`] for a statistic that is not finite or absurd.
    pub fn median_unbiased_drift(
        &self,
        index: usize,
        z: f64,
        may_stop: impl Fn(&Look) -> bool,
    ) -> Result<f64, LooksError> {
        let looks = self.looks.len();
        let last = self.looks.get(index).ok_or(LooksError::NoSuchLook { index, looks })?;
        let observed = z / last.fraction.sqrt();
        if z.is_nan() || z.abs() > LARGEST_BOUNDARY {
            return Err(LooksError::Drift(observed));
        }
        let before = &self.looks[..index];
        let is_further_up = |drift: f64| {
            let mut recursion = Recursion::new(self.sides, drift);
            let nexts = self.looks.iter().skip(1).map(|look| look.fraction);
            let mut probability = 0.0;
            for (look, next) in before.iter().zip(nexts) {
                recursion.advance(look.fraction);
                let boundary = if may_stop(look) { look.boundary } else { f64::INFINITY };
                probability += recursion.cross(boundary, Some(next)).upper;
            }
            recursion.advance(last.fraction);
            probability + recursion.stops(z).upper
        };
        // Ending earlier on the side of the drift makes what is further up more probable there, and less on the other side.
        let reach = observed.abs() + 1.0;
        Ok(monotone_root::between(-reach, reach, |drift| is_further_up(drift) - 0.5))
    }

    fn crossings(&self, drift: f64) -> Result<Crossings, LooksError> {
        if drift.is_nan() || drift.abs() > LARGEST_DRIFT {
            return Err(LooksError::Drift(drift));
        }
        let fractions: Vec<f64> = self.looks.iter().map(|look| look.fraction).collect();
        let boundaries: Vec<f64> = self.looks.iter().map(|look| look.boundary).collect();
        Ok(crossing(&fractions, &boundaries, self.sides, drift))
    }
}

/// Fractions of `looks` looks that are equally spaced and end with all of the information.
pub fn equal_fractions(looks: usize) -> Vec<f64> {
    (1..=looks).map(|look| look as f64 / looks as f64).collect()
}

/// The probabilities of stopping at each look.
struct Crossings {
    upper: Vec<f64>,
    lower: Vec<f64>,
}

fn crossing(fractions: &[f64], boundaries: &[f64], sides: Sides, drift: f64) -> Crossings {
    let mut recursion = Recursion::new(sides, drift);
    let mut crossings = Crossings { upper: Vec::new(), lower: Vec::new() };
    for (index, (&fraction, &boundary)) in fractions.iter().zip(boundaries).enumerate() {
        recursion.advance(fraction);
        let Tails { lower, upper } = recursion.cross(boundary, fractions.get(index + 1).copied());
        crossings.upper.push(upper);
        crossings.lower.push(lower);
    }
    crossings
}

/// The boundary above which this look stops with the probability `increment`.
fn boundary_that_spends(recursion: &Recursion, increment: f64) -> f64 {
    let excess = |boundary: f64| increment - recursion.stops(boundary).upper;
    if increment.is_nan() || increment <= 0.0 || excess(LARGEST_BOUNDARY) <= 0.0 {
        return f64::INFINITY;
    }
    if excess(-LARGEST_BOUNDARY) >= 0.0 {
        return -LARGEST_BOUNDARY;
    }
    // Logarithms make the tails straight enough for few steps.
    let excess = |boundary: f64| increment.ln() - recursion.stops(boundary).upper.ln();
    monotone_root::between(-LARGEST_BOUNDARY, LARGEST_BOUNDARY - 1.0, excess)
}

fn check_fractions(fractions: &[f64]) -> Result<(), LooksError> {
    if fractions.is_empty() || fractions.len() > MOST_LOOKS {
        return Err(LooksError::Count(fractions.len()));
    }
    let mut before = 0.0;
    for (index, &fraction) in fractions.iter().enumerate() {
        // Half the increment is left to the rounding of fractions such as 1/1000.
        if !(fraction - before >= LEAST_INCREMENT / 2.0 && fraction <= 1.0) {
            return Err(LooksError::Fraction { index, fraction });
        }
        before = fraction;
    }
    Ok(())
}

impl Look {
    fn new(fraction: f64, boundary: f64, sides: Sides, spent_of_side: f64) -> Self {
        let nominal = (normal::tails(boundary).upper * sides.count()).min(1.0 - f64::EPSILON);
        let nominal_risk = Risk::new(nominal).unwrap_or(Risk::literal(0.0));
        Self { fraction, boundary, nominal_risk, spent: spent_of_side * sides.count() }
    }
}

impl Sides {
    fn count(self) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Both => 2.0,
        }
    }

    fn share(self, risk: f64) -> f64 {
        risk / self.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two-sided risk of looks with these boundaries.
    fn risk(fractions: &[f64], boundaries: &[f64]) -> f64 {
        2.0 * crossing(fractions, boundaries, Sides::Both, 0.0).upper.iter().sum::<f64>()
    }

    /// Jennison & Turnbull 2000, tables 2.1 (Pocock) and 2.3 (O'Brien and Fleming): the constants, to three decimals, of the
    /// two-sided risk 0.05.
    #[test]
    fn published_constants() {
        for (looks, pocock, fleming) in
            [(1, 1.960, 1.960), (2, 2.178, 1.977), (3, 2.289, 2.004), (5, 2.413, 2.040), (10, 2.555, 2.087)]
        {
            let fractions = equal_fractions(looks);
            let boundaries = |constant: f64, power| fractions.iter().map(move |t| constant * t.powf(power));
            for (constant, power) in [(pocock, 0.0), (fleming, -0.5)] {
                let risk_at = |c| risk(&fractions, &boundaries(c, power).collect::<Vec<_>>());
                let around = [constant - 5.1e-4, constant + 5.1e-4].map(risk_at);
                assert!(around[1] < 0.05 && 0.05 < around[0], "{constant} for {looks}: {around:?}");
            }
        }
    }

    /// Lan & DeMets' functions at five equal looks, two-sided risk 0.05, to the three decimals of the tables of
    /// Reboussin et al. (Controlled Clinical Trials 21, 2000); the second look also by scipy 1.17.1 (`quad` over
    /// the first).
    #[test]
    fn published_spending_boundaries() {
        for (spending, expected) in [
            (SpendingFunction::OBrienFlemingLike, [4.877, 3.357, 2.680, 2.290, 2.031]),
            (SpendingFunction::PocockLike, [2.438, 2.427, 2.410, 2.397, 2.386]),
        ] {
            let level = ConfidenceLevel::USUAL;
            let plan = GroupSequential::spending(&equal_fractions(5), Sides::Both, level, spending).unwrap();
            for (look, expected) in plan.looks().iter().zip(expected) {
                assert!((look.boundary - expected).abs() < 5.1e-4, "{spending:?}: {look:?}");
            }
            assert!((plan.level().get() - 0.95).abs() < 1e-10);
            if spending == SpendingFunction::OBrienFlemingLike {
                assert!((plan.looks()[1].boundary - 3.357_011_921_574_665).abs() < 1e-10);
            }
        }
    }

    /// Armitage, McPherson & Rowe 1969, table 2: repeated tests at 5 %.
    #[test]
    fn what_naive_looks_cost() {
        for (looks, expected) in [(1, 0.05), (2, 0.083), (3, 0.107), (5, 0.142), (10, 0.193), (20, 0.248)] {
            let boundary = normal::two_sided_critical(0.05);
            let got = risk(&equal_fractions(looks), &vec![boundary; looks]);
            assert!((got - expected).abs() < 5.1e-4, "{looks}: {got}");
        }
    }

    fn pocock(looks: usize) -> GroupSequential {
        let level = ConfidenceLevel::USUAL;
        let spending = SpendingFunction::PocockLike;
        GroupSequential::spending(&equal_fractions(looks), Sides::Both, level, spending).unwrap()
    }

    /// Looks, the last one from 0, its statistic and the drift.
    const MEDIAN_UNBIASED: [(usize, usize, f64, f64); 5] = [
        (2, 1, 2.5, 2.338_448_857_9),
        (2, 1, 0.7, 0.697_099_465_5),
        (3, 1, 2.6, 3.008_610_074_0),
        (3, 2, 1.2, 1.186_098_970_5),
        (3, 2, -3.0, -2.553_114_156_3),
    ];

    /// By scipy 1.17.1: the root (`brentq`) of the probabilities of the regions, whose boundaries are found and which are integrated by
    /// `quad` and `dblquad`.
    #[test]
    fn median_unbiased_drifts() {
        let all = |_: &Look| true;
        for (looks, index, z, expected) in MEDIAN_UNBIASED {
            let got = pocock(looks).median_unbiased_drift(index, z, all).unwrap();
            assert!((got - expected).abs() < 1e-9, "{looks} {index} {z}: {got}");
        }
        // Nothing could have ended before: the statistic itself.
        let first = pocock(3).median_unbiased_drift(0, 2.9, all).unwrap();
        assert!((first - 2.9 / (1.0_f64 / 3.0).sqrt()).abs() < 1e-9);
        let late = pocock(3).median_unbiased_drift(2, 2.9, |look| look.fraction > 0.9).unwrap();
        assert!((late - 2.9).abs() < 1e-9);
    }

    #[test]
    fn the_median_unbiased_drift_is_odd_grows_and_lies_towards_zero() {
        let plan = pocock(4);
        let all = |_: &Look| true;
        let mut before = f64::NEG_INFINITY;
        for step in -12..=12 {
            let z = f64::from(step) / 3.0;
            let drift = plan.median_unbiased_drift(3, z, all).unwrap();
            assert!(drift > before && drift.abs() <= z.abs() + 1e-9, "{z}: {drift}");
            assert!((drift + plan.median_unbiased_drift(3, -z, all).unwrap()).abs() < 1e-9);
            before = drift;
        }
        assert!(plan.median_unbiased_drift(4, 1.0, all).is_err());
        assert!(plan.median_unbiased_drift(1, f64::NAN, all).is_err());
    }

    #[test]
    fn impossible_plans_are_refused() {
        let level = ConfidenceLevel::USUAL;
        for fractions in [&[][..], &[0.5, 0.5], &[0.0, 1.0], &[0.5, 1.1], &[f64::NAN], &[0.9, 0.2]] {
            assert!(
                GroupSequential::spending(fractions, Sides::One, level, SpendingFunction::Linear).is_err()
            );
        }
        let pocock = SpendingFunction::PocockLike;
        let plan = GroupSequential::spending(&equal_fractions(3), Sides::Both, level, pocock).unwrap();
        assert!(plan.power(f64::NAN).is_err());
        assert!(plan.decide(3, PValue::clamped(0.0)).is_err());
        assert_eq!(plan.decide(2, PValue::clamped(0.5)), Ok(LookDecision::EndWithout));
        assert_eq!(plan.decide(0, PValue::clamped(1e-9)), Ok(LookDecision::Stop));
    }
}
