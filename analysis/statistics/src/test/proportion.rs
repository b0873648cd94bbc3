//! The proportion of accelerated benchmarks, its intervals, and how many benchmarks it takes to know it.
//!
//! Touati 2010 §5 publishes R's `prop.test`: Wilson's interval with continuity correction. The others are as compared
//! by Brown, Cai and DasGupta ("Interval estimation for a binomial proportion", Statistical Science 16,
//! 2001), who recommend Wilson or Jeffreys for at most 40 trials and, for more, also Agresti–Coull.

mod benchmarks_needed;
mod finite_population;
mod true_share;

use crate::distribution::{Tails, beta, normal};
use crate::inference::{Caveat, ConfidenceLevel, Interval};
pub use benchmarks_needed::{PrecisionError, benchmarks_by_wald, benchmarks_by_wilson};
use serde::{Deserialize, Serialize};
use thiserror::Error;
pub use true_share::{ShareCurve, SpeedupLimits, TrueShare};

/// a accelerated benchmarks among b.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::test::{Proportion, ProportionMethod, Selection};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Touati 2010 §5, example 3: 17 of 30 benchmarks are accelerated.
/// let proportion = Proportion::new(17, 30, Selection::Drawn)?;
/// let interval = proportion.interval(ProportionMethod::WilsonCorrected, ConfidenceLevel::new(0.9)?);
/// assert!((interval.lower - 0.4027157).abs() < 1e-7 && (interval.upper - 0.7184049).abs() < 1e-7);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Proportion {
    accelerated: u64,
    benchmarks: u64,
    selection: Selection,
}

/// How the benchmarks came to be measured, which decides what the interval is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Selection {
    /// Drawn at random from a population that is practically infinite.
    Drawn,
    /// Drawn at random, without replacement, from a population of `size`.
    DrawnFromFinite {
        /// How many benchmarks the population has.
        size: u64,
    },
    /// Chosen by a person: no interval is valid.
    Chosen,
}

speedup_core::words! {
    /// An interval of a proportion.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ProportionMethod {
        /// Wilson's score interval with continuity correction: the published one.
        WilsonCorrected = "Wilson interval with continuity correction",
        /// Wilson's score interval.
        Wilson = "Wilson interval",
        /// Clopper and Pearson's exact interval: never below its level, and wide.
        ClopperPearson = "Clopper–Pearson interval",
        /// Agresti and Coull's: Wald's about Wilson's centre, cut at 0 and 1.
        AgrestiCoull = "Agresti–Coull interval",
        /// The equal-tailed posterior of Jeffreys' prior, with end points 0 at a = 0 and 1 at a = b.
        Jeffreys = "Jeffreys interval",
        /// The textbook interval C ± z√(C(1−C)/b) of Touati 2010 §5, cut at 0 and 1.
        Wald = "Wald interval",
    }
    fn name;
    const ALL;
}

/// Why numbers are not a proportion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProportionError {
    #[error("a proportion needs at least one benchmark")]
    NoBenchmarks,
    #[error("{accelerated} accelerated benchmarks are more than the {benchmarks} measured")]
    TooMany { accelerated: u64, benchmarks: u64 },
    #[error("{benchmarks} benchmarks cannot be drawn from a population of {size}")]
    Population { benchmarks: u64, size: u64 },
}

impl ProportionMethod {
    /// What Brown, Cai and DasGupta (2001, §5) recommend for `benchmarks` trials.
    pub fn recommended(benchmarks: u64) -> Self {
        if benchmarks <= 40 { Self::Wilson } else { Self::AgrestiCoull }
    }
}

impl Proportion {
    /// The full name of the interval of a finite population.
    pub const NAME_OF_POPULATION: &'static str = "exact hypergeometric interval of a finite population";

    /// `accelerated` of `benchmarks`, selected as `selection` says.
    ///
    /// # Errors
    /// [`ProportionError`] when the numbers cannot be.
    pub fn new(accelerated: u64, benchmarks: u64, selection: Selection) -> Result<Self, ProportionError> {
        if benchmarks == 0 {
            return Err(ProportionError::NoBenchmarks);
        }
        if accelerated > benchmarks {
            return Err(ProportionError::TooMany { accelerated, benchmarks });
        }
        match selection {
            Selection::DrawnFromFinite { size } if size < benchmarks => {
                Err(ProportionError::Population { benchmarks, size })
            }
            Selection::Drawn | Selection::DrawnFromFinite { .. } | Selection::Chosen => {
                Ok(Self { accelerated, benchmarks, selection })
            }
        }
    }

    /// C = a/b.
    pub fn estimate(&self) -> f64 {
        self.accelerated as f64 / self.benchmarks as f64
    }

    /// a(1 − a/b) > 5, the published condition for the normal approximation (Touati 2010 §5).
    pub fn satisfies_condition(&self) -> bool {
        self.accelerated as f64 * (1.0 - self.estimate()) > 5.0
    }

    /// The interval of the proportion by `method`; of a finite population the exact one, whatever the method, since all others
    /// are for populations without end: its ends are shares that the population can have.
    pub fn interval(&self, method: ProportionMethod, level: ConfidenceLevel) -> Interval {
        if let Selection::DrawnFromFinite { size } = self.selection {
            return self.interval_of_population(size, level);
        }
        let mut caveats = Vec::new();
        // The condition is one of normal approximations.
        if method != ProportionMethod::ClopperPearson && !self.satisfies_condition() {
            let Self { accelerated, benchmarks, .. } = *self;
            caveats.push(Caveat::ProportionCondition { accelerated, benchmarks });
        }
        if self.selection == Selection::Chosen {
            caveats.push(Caveat::BenchmarksChosen);
        }
        let binomial = Binomial { a: self.accelerated as f64, b: self.benchmarks as f64 };
        let (lower, upper) = binomial.interval(method, level);
        Interval { method: method.name(), lower, upper, level, caveats }
    }

    fn interval_of_population(&self, size: u64, level: ConfidenceLevel) -> Interval {
        let (lowest, highest) =
            finite_population::members(self.accelerated, self.benchmarks, size, level.risk().get());
        let share = |members: u64| members as f64 / size as f64;
        Interval {
            method: Self::NAME_OF_POPULATION,
            lower: share(lowest),
            upper: share(highest),
            level,
            caveats: Vec::new(),
        }
    }
}

/// a successes in b trials, not necessarily whole where a number of trials is looked for.
#[derive(Clone, Copy)]
struct Binomial {
    a: f64,
    b: f64,
}

impl Binomial {
    fn interval(self, method: ProportionMethod, level: ConfidenceLevel) -> (f64, f64) {
        let risk = level.risk().get();
        let z = normal::two_sided_critical(risk);
        match method {
            ProportionMethod::WilsonCorrected => self.wilson(z, (self.a - self.b / 2.0).abs().min(0.5)),
            ProportionMethod::Wilson => self.wilson(z, 0.0),
            ProportionMethod::ClopperPearson => self.clopper_pearson(risk),
            ProportionMethod::AgrestiCoull => self.agresti_coull(z),
            ProportionMethod::Jeffreys => self.jeffreys(risk),
            ProportionMethod::Wald => {
                let c = self.a / self.b;
                let half_width = z * (c * (1.0 - c) / self.b).sqrt();
                within_shares(c - half_width, c + half_width)
            }
        }
    }

    /// The proportions that a score test with `correction` does not reject.
    ///
    /// In trials, so that the ends at a = 0 and a = b come out as 0 and 1.
    fn wilson(self, z: f64, correction: f64) -> (f64, f64) {
        let Self { a, b } = self;
        let square = z * z;
        let end = |a: f64, sign: f64| {
            let root = (square / 4.0 + a * (b - a) / b).max(0.0).sqrt();
            (a + square / 2.0 + sign * z * root) / (b + square)
        };
        let lower = if a <= correction { 0.0 } else { end(a - correction, -1.0) };
        let upper = if a + correction >= b { 1.0 } else { end(a + correction, 1.0) };
        (lower.max(0.0), upper.min(1.0))
    }

    fn clopper_pearson(self, risk: f64) -> (f64, f64) {
        let Self { a, b } = self;
        let half = Tails::from_lower(risk / 2.0);
        let lower = if a <= 0.0 { 0.0 } else { beta::quantile(half, a, b - a + 1.0).x };
        let upper = if a >= b { 1.0 } else { beta::quantile(half.mirrored(), a + 1.0, b - a).x };
        (lower, upper)
    }

    fn agresti_coull(self, z: f64) -> (f64, f64) {
        let trials = self.b + z * z;
        let centre = (self.a + z * z / 2.0) / trials;
        let half_width = z * (centre * (1.0 - centre) / trials).sqrt();
        within_shares(centre - half_width, centre + half_width)
    }

    fn jeffreys(self, risk: f64) -> (f64, f64) {
        let Self { a, b } = self;
        let half = Tails::from_lower(risk / 2.0);
        let end = |tails| beta::quantile(tails, a + 0.5, b - a + 0.5).x;
        let lower = if a <= 0.0 { 0.0 } else { end(half) };
        let upper = if a >= b { 1.0 } else { end(half.mirrored()) };
        (lower, upper)
    }
}

/// No share is below none or above all.
fn within_shares(lower: f64, upper: f64) -> (f64, f64) {
    (lower.max(0.0), upper.min(1.0))
}

/// The standard error √(p(1 − p)/n) of the share `of_interest`/`of` of independent draws, with p drawn by half a case toward
/// ½ (k + ½ of n + 1), so that a share of 0 or 1 has an error too.
pub fn error_of_share(of_interest: f64, of: f64) -> f64 {
    let p = (of_interest + 0.5) / (of + 1.0);
    (p * (1.0 - p) / of).sqrt()
}
