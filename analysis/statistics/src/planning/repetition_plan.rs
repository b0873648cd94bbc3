//! How often to repeat each level, so that a given time buys the most precise mean.
//!
//! From the variances σ²ᵢ and the costs cᵢ of one more unit, Kalibera 2012 §7.4 minimises the variance of the mean, Σᵢ
//! σ²ᵢ / Πₖ₌ᵢ nₖ (eq. 10), at a given total cost (eq. 13):
//!
//! > nᵢ = √(cᵢ/cᵢ₋₁ · σ²ᵢ/σ²ᵢ₊₁), c₀ = 1, rounded up  (eq. 14)
//!
//! and the highest level is repeated as often as the time allows. Costs and times are counted in measurements:
//! the time of one observation of the lowest level is 1.
//!
//! A level without variance (σ²ᵢ ≤ 0) is executed once: nᵢ = 1, and its cost is one with that of the level
//! above. So is a level whose repetition saves nothing because a new unit above costs nothing.

mod budget;

pub use budget::{BudgetedPlan, OneLevelDesign};

use crate::levels::{RandomEffects, Reshaped};
use serde::Serialize;
use speedup_core::value::count::counted;
use thiserror::Error;

/// The most repetitions of a level within a unit that a plan asks for: more would outlast anybody's patience.
const MOST_REPETITIONS: u64 = 1_000_000_000;

/// The largest cost or budget, in measurements: up to here a double counts them one by one, and one a microsecond fills
/// thirty years.
pub(crate) const LARGEST_TIME: f64 = 1e15;

/// c₁ … cₙ, what one more unit above each level but the highest costs besides its members, in measurements.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Costs(Vec<f64>);

/// The mean and the variance that each level adds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VarianceComponents {
    mean: f64,
    /// σ²ᵢ, the lowest level first; 0 for a level that does not vary.
    variances: Vec<f64>,
}

/// The repetitions of all levels but the highest that varies.
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::planning::{Costs, RepetitionPlan, VarianceComponents};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Kalibera 2012 §8.5, FFT: the variances of measurements, executions, compilations in percent of the mean, squared.
/// let components = VarianceComponents::new(100.0, vec![4.6 * 4.6, 6.7 * 6.7, 4.1 * 4.1])?;
/// // 19 measurements of warm-up; a compilation takes as long as 5343.
/// let plan = RepetitionPlan::new(components, Costs::new(vec![19.0, 5343.0])?)?;
/// assert_eq!(plan.repetitions(), [3, 28]);
/// // In 6 hours, 18 compilations' time: 16 binaries, and the mean to within 2.3 %.
/// let plan = plan.within(18.0 * 5343.0, ConfidenceLevel::USUAL)?;
/// assert_eq!(plan.repetitions, [3, 28, 16]);
/// assert!((plan.relative_half_width - 0.023).abs() < 5e-4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RepetitionPlan {
    components: VarianceComponents,
    costs: Costs,
    /// nᵢ by the formula, before rounding; none where the level is executed once or as time allows.
    unrounded: Vec<Option<f64>>,
    /// nᵢ of each level below `highest`, 1 above it; that of `highest` itself is not fixed and stands as 1.
    repetitions: Vec<u64>,
    highest: usize,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RepetitionPlanError {
    /// A cost that is negative, not a number, or above 10¹⁵.
    #[error("the cost of a unit above level {level} is {value:?}, not between 0 and {LARGEST_TIME:e}")]
    Cost { level: usize, value: f64 },
    /// A variance or mean that is no number.
    #[error("a variance or the mean is {0:?}, which is not a finite number")]
    NotFinite(f64),
    /// Each level but the highest needs a cost.
    #[error(
        "expected one cost per level except the highest: got {} for {}",
        counted(*costs as u64, "cost"),
        counted(*levels as u64, "level")
    )]
    NumberOfCosts { levels: usize, costs: usize },
    #[error("no level varies, so there is nothing to repeat")]
    NothingVaries,
    /// A budget that is not a number, or is out of range.
    #[error("a budget of {0:?} measurements is not usable: the maximum is {LARGEST_TIME:e}")]
    Budget(f64),
    /// The time does not suffice for two units of the highest level.
    #[error("a budget of {budget} measurements buys no interval: that takes {needed}")]
    BudgetTooSmall {
        /// The budget, in measurements.
        budget: f64,
        /// What two units of the highest level cost, in measurements.
        needed: f64,
    },
}

speedup_core::hints! { RepetitionPlanError:
    Self::Cost { .. } => "costs are counted in measurements",
    Self::NumberOfCosts { .. } => "give one cost fewer than levels, the lowest level first",
    Self::NothingVaries => "use a finer clock, or a longer pilot",
    Self::Budget(_) => "give the time that there is",
    Self::BudgetTooSmall { .. } => "allow more time",
}

impl Costs {
    /// The costs `of_units`: first that of one more unit above level 1 (its warm-up), in measurements.
    ///
    /// # Errors
    /// [`RepetitionPlanError::Cost`] for a cost that is negative, not a number, or above 10¹⁵.
    pub fn new(of_units: Vec<f64>) -> Result<Self, RepetitionPlanError> {
        match of_units.iter().position(|cost| !(0.0..=LARGEST_TIME).contains(cost)) {
            Some(at) => Err(RepetitionPlanError::Cost { level: at + 1, value: of_units[at] }),
            None => Ok(Self(of_units)),
        }
    }

    /// The cost of an experiment with these `repetitions` of each level, the lowest first, in measurements
    /// (eq. 13).
    ///
    /// # Errors
    /// [`RepetitionPlanError::NumberOfCosts`] unless there is one repetition count more than costs.
    pub fn total(&self, repetitions: &[u64]) -> Result<f64, RepetitionPlanError> {
        self.require_levels(repetitions.len())?;
        let mut unit = 1.0;
        for (at, &count) in repetitions.iter().enumerate() {
            unit = unit * count as f64 + self.0.get(at).copied().unwrap_or(0.0);
        }
        Ok(unit)
    }

    fn require_levels(&self, levels: usize) -> Result<(), RepetitionPlanError> {
        let costs = self.0.len();
        if costs + 1 == levels { Ok(()) } else { Err(RepetitionPlanError::NumberOfCosts { levels, costs }) }
    }
}

impl VarianceComponents {
    /// A `mean` and the variance of each level, the lowest first; those not above 0 count as none.
    ///
    /// # Errors
    /// [`RepetitionPlanError::NotFinite`] for what is no number.
    pub fn new(mean: f64, variances: Vec<f64>) -> Result<Self, RepetitionPlanError> {
        let strange = variances.iter().copied().chain([mean]).find(|value| !value.is_finite());
        match strange {
            Some(value) => Err(RepetitionPlanError::NotFinite(value)),
            None => Ok(Self { mean, variances: variances.into_iter().map(|v| v.max(0.0)).collect() }),
        }
    }

    /// Those that a pilot shows, after the levels that do not vary were dropped.
    pub fn from_pilot(effects: &RandomEffects, reshaped: &Reshaped) -> Self {
        let mut variances = vec![0.0; effects.levels().len()];
        for kept in &reshaped.kept {
            variances[kept.level - 1] = kept.unbiased.unwrap_or(0.0).max(0.0);
        }
        Self { mean: effects.mean(), variances }
    }

    /// σ²ᵢ of each level, the lowest first.
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// The variance of the mean with these `repetitions` of each level (eq. 10).
    pub(crate) fn variance_of_mean(&self, repetitions: &[u64]) -> f64 {
        let mut product = 1.0;
        let terms = self.variances.iter().zip(repetitions).rev().map(|(variance, &count)| {
            product *= count as f64;
            variance / product
        });
        terms.sum()
    }
}

/// A level that is repeated, with what is merged into it.
#[derive(Clone, Copy)]
struct Repeated {
    level: usize,
    variance: f64,
    /// cᵢ₋₁: what one more member of it costs besides the members below.
    cost: f64,
}

impl RepetitionPlan {
    /// The optimal repetitions for `components` and `costs`.
    ///
    /// # Errors
    /// [`RepetitionPlanError`] if costs and levels do not fit, or nothing varies.
    pub fn new(components: VarianceComponents, costs: Costs) -> Result<Self, RepetitionPlanError> {
        let levels = components.variances.len();
        costs.require_levels(levels)?;
        let repeated = repeated(&components, &costs);
        let Some(highest) = repeated.last().map(|level| level.level) else {
            return Err(RepetitionPlanError::NothingVaries);
        };
        let mut unrounded = vec![None; levels];
        let mut repetitions = vec![1; levels];
        for pair in repeated.windows(2) {
            let [this, above] = [pair[0], pair[1]];
            // Each quotient of likes by itself: no product of them leaves the range of a double.
            let count = (above.cost / this.cost).sqrt() * (this.variance / above.variance).sqrt();
            unrounded[this.level - 1] = Some(count);
            repetitions[this.level - 1] = (count.ceil() as u64).clamp(1, MOST_REPETITIONS);
        }
        Ok(Self { components, costs, unrounded, repetitions, highest })
    }

    /// nᵢ of each level by eq. 14 before rounding, the lowest first; none where the level is executed once,
    /// or, the highest that varies, as often as time allows.
    pub fn unrounded(&self) -> &[Option<f64>] {
        &self.unrounded
    }

    /// nᵢ of each level below the highest that varies, the lowest first.
    pub fn repetitions(&self) -> &[u64] {
        &self.repetitions[..self.highest - 1]
    }

    /// The highest level that varies, which is repeated as often as time allows.
    pub fn highest(&self) -> usize {
        self.highest
    }
}

/// The levels that are worth repeating.
fn repeated(components: &VarianceComponents, costs: &Costs) -> Vec<Repeated> {
    let mut repeated: Vec<Repeated> = Vec::new();
    let mut cost = 1.0;
    for (at, &variance) in components.variances.iter().enumerate() {
        let mut level = Repeated { level: at + 1, variance, cost };
        if variance > 0.0 {
            if level.cost == 0.0 {
                // A new unit costs nothing beyond its members, so each has one: both levels vary as one.
                if let Some(below) = repeated.pop() {
                    level.variance += below.variance;
                    level.cost = below.cost;
                }
            }
            repeated.push(level);
            cost = 0.0;
        }
        cost += costs.0.get(at).copied().unwrap_or(0.0);
    }
    repeated
}
