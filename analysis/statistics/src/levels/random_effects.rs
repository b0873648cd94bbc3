//! How much each level of an experiment contributes to the variation, and the mean with its interval.
//!
//! Kalibera 2012 §7.1: the mean of a unit is itself random around the mean of the unit above, so var(Y) = Σ σᵢ². S²ᵢ is
//! the variance of the means of level i within their units; it contains what is left of the levels below, and
//! T²ᵢ, the unbiased estimate of σ²ᵢ, is S²ᵢ less that (§7.6).
//!
//! # Lost runs
//! The paper's experiments are balanced. Here every unit is summarised by the plain mean of its members'
//! means, however many they are (the unweighted means analysis: Thomas and Hultquist, Annals of Statistics 6,
//! 1978, §2, for two levels; Searle, Casella and McCulloch, Variance Components, 1992, ch. 5). The units of
//! the highest level are then still independent, each with expectation μ, so that E(S²ₙ₊₁/nₙ₊₁) is the
//! variance of the mean exactly, as it is for balanced data; what is lost is that their variances may differ a
//! little, for which there is [`Caveat::Unbalanced`]. The squares of the lower levels are pooled over units by
//! their degrees of freedom, and what they contain of the levels below follows from the counts:
//!
//! > var(Ȳ_u | μ_u) = Σₗ hᵤₗ σ²ₗ,  hᵤₗ = Σ_c h_cₗ / kᵤ² over the kᵤ members c of u,  hᵤᵢ = 1/kᵤ for its own members
//!
//! Hence E(S²ᵢ) = σ²ᵢ + Σₗ aᵢₗ σ²ₗ with aᵢₗ the average of h_cₗ over the members of level i, and T²ᵢ = S²ᵢ − Σₗ
//! aᵢₗ T²ₗ is unbiased for any shape. For balanced data this is the paper's T²ᵢ = S²ᵢ − S²ᵢ₋₁/nᵢ₋₁.

mod reshape;

pub use reshape::{DroppedLevel, DroppedWhy, KeptLevel, Reshaped};

use crate::inference::{Caveat, ConfidenceLevel, Critical, Interval};
use crate::levels::{LevelTree, unit_means::Units};
use serde::Serialize;
use thiserror::Error;

/// The variances of an experiment's levels, and its mean.
///
/// ```
/// use speedup_statistics::levels::{LevelTree, RandomEffects};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Kalibera 2012, Table III and §6.1: 3 binaries of 2 executions of 2 measurements.
/// let times = vec![9.0, 5.0, 8.0, 3.0, 10.0, 6.0, 7.0, 11.0, 1.0, 12.0, 2.0, 4.0];
/// let effects = RandomEffects::new(&LevelTree::balanced(times, &[2, 2, 3])?);
/// assert_eq!(effects.mean(), 6.5);
/// assert_eq!(effects.levels()[0].unbiased, Some(16.5));
/// // Executions add no variance.
/// assert!(effects.levels()[1].unbiased.is_some_and(|unbiased| (unbiased + 5.7).abs() < 0.05));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RandomEffects {
    mean: f64,
    levels: Vec<LevelVariance>,
    highest_units: usize,
    balanced: bool,
}

/// What one level contributes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelVariance {
    /// The level, from 1, the lowest.
    pub level: usize,
    /// The count nᵢ of its members in each unit above, if it is one count.
    pub repetitions: Option<usize>,
    /// S²ᵢ, the variance of the means of this level within their units, in the unit of the observations
    /// squared; none where no unit has two members.
    pub biased: Option<f64>,
    /// T²ᵢ, the unbiased estimate of the variance that this level adds, which may be negative; none where it
    /// cannot be told from a level that is not repeated.
    pub unbiased: Option<f64>,
}

/// Why the mean of an experiment has no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MeanErrorUnknown {
    #[error("the error of a mean needs at least 2 units of the highest level, but there is one")]
    OneUnit,
    /// The means of the highest level's units are all equal.
    #[error("the units of the highest level all have one mean, so it has no error")]
    Constant,
}

speedup_core::hints! { MeanErrorUnknown:
    Self::OneUnit => "repeat the highest level, or take it out of the experiment",
    Self::Constant => "use a finer clock or a longer run",
}

impl RandomEffects {
    /// The interval's full name, with Student's t.
    const NAME_STUDENT: &'static str = "t interval of the mean by levels (random effects)";
    /// The interval's full name, with the normal law.
    pub const NAME_NORMAL: &'static str = "normal interval of the mean by levels (random effects)";

    /// The effects that `levels` show.
    pub fn new(levels: &LevelTree) -> Self {
        let mut below = Units::from_observations(levels);
        let mut passed_on = PassedOn::default();
        let mut variances: Vec<LevelVariance> = Vec::with_capacity(levels.depth());
        for level in 1..=levels.depth() {
            if level > 1 {
                below = Units::from_means(levels, level, &below.means);
            }
            let biased = pooled(levels, level, &below.squares);
            let contained = passed_on.contained(levels, level);
            let lower = variances.iter().zip(&contained).map(|(v, a)| v.unbiased.map(|t2| a * t2));
            let from_below: Option<f64> = lower.sum();
            let unbiased = biased.zip(from_below).map(|(s2, below)| s2 - below);
            variances.push(LevelVariance { level, repetitions: levels.repetitions(level), biased, unbiased });
            passed_on.rise(levels, level);
        }
        Self {
            mean: below.means.value[0],
            levels: variances,
            highest_units: levels.members(levels.depth()),
            balanced: levels.is_balanced(),
        }
    }

    /// The mean: of all observations if the experiment is balanced, else of the units' means.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The variance of each level, the lowest first.
    pub fn levels(&self) -> &[LevelVariance] {
        &self.levels
    }

    /// nₙ₊₁, how often the highest level was repeated.
    pub fn highest_units(&self) -> usize {
        self.highest_units
    }

    /// Whether each level has one count.
    pub fn is_balanced(&self) -> bool {
        self.balanced
    }

    /// S²ₙ₊₁/nₙ₊₁, the estimated variance of the mean (Kalibera 2012 §7.2.2), in the unit of the observations squared.
    ///
    /// # Errors
    /// [`MeanErrorUnknown`] for one unit of the highest level, or none that differs from another.
    pub(crate) fn squared_error(&self) -> Result<f64, MeanErrorUnknown> {
        let highest = self.levels[self.levels.len() - 1].biased.ok_or(MeanErrorUnknown::OneUnit)?;
        if highest == 0.0 {
            return Err(MeanErrorUnknown::Constant);
        }
        Ok(highest / self.highest_units as f64)
    }

    /// The two-sided interval of the mean: Ȳ ± t √(S²ₙ₊₁/nₙ₊₁) with nₙ₊₁ − 1 degrees of freedom (Kalibera 2012 §6.2), or
    /// with the normal value (eq. 11).
    ///
    /// Levels with T²ᵢ ≤ 0 stay: which levels an experiment has is its design's, and dropping the highest
    /// because these data hide it would make the interval too narrow.
    ///
    /// # Errors
    /// [`MeanErrorUnknown`] for one unit of the highest level, or none that differs from another.
    pub fn interval(&self, level: ConfidenceLevel, critical: Critical) -> Result<Interval, MeanErrorUnknown> {
        let error = self.squared_error()?.sqrt();
        let half = critical.two_sided(level, (self.highest_units - 1) as f64) * error;
        let method = match critical {
            Critical::Student => Self::NAME_STUDENT,
            Critical::Normal => Self::NAME_NORMAL,
        };
        let lower = self.mean - half;
        let upper = self.mean + half;
        Ok(Interval { method, lower, upper, level, caveats: self.caveats() })
    }

    /// What must be known of anything that these effects say.
    pub fn caveats(&self) -> Vec<Caveat> {
        if self.balanced { Vec::new() } else { vec![Caveat::Unbalanced] }
    }
}

/// S²ᵢ: the squares within all units over their degrees of freedom.
fn pooled(levels: &LevelTree, level: usize, squares: &[f64]) -> Option<f64> {
    let df = levels.members(level) - levels.units(level);
    if df > 0 { Some(squares.iter().sum::<f64>() / df as f64) } else { None }
}

/// The h of each unit of the level reached, for each level below it; the lowest first.
#[derive(Default)]
struct PassedOn(Vec<Vec<f64>>);

impl PassedOn {
    /// aᵢₗ for the level above those passed.
    fn contained(&self, levels: &LevelTree, level: usize) -> Vec<f64> {
        let df = (levels.members(level) - levels.units(level)) as f64;
        let average = |shares: &Vec<f64>| {
            let of_units = levels.boundaries(level).windows(2).map(|bounds| {
                let count = (bounds[1] - bounds[0]) as f64;
                (count - 1.0) * shares[bounds[0]..bounds[1]].iter().sum::<f64>() / count
            });
            of_units.sum::<f64>() / df
        };
        self.0.iter().map(average).collect()
    }

    /// Goes up by one: from the members of `level` to the units above.
    fn rise(&mut self, levels: &LevelTree, level: usize) {
        let bounds = || levels.boundaries(level).windows(2);
        for shares in &mut self.0 {
            *shares = bounds()
                .map(|bounds| {
                    let count = (bounds[1] - bounds[0]) as f64;
                    shares[bounds[0]..bounds[1]].iter().sum::<f64>() / (count * count)
                })
                .collect();
        }
        self.0.push(bounds().map(|bounds| 1.0 / (bounds[1] - bounds[0]) as f64).collect());
    }
}
