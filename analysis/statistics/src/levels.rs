//! Observations of an experiment that repeats at several levels: compilations, of each some executions, of each
//! some measurements (Kalibera 2012 §6.1, §7.1).
//!
//! Levels are numbered from 1, the lowest, as in the paper: a *unit* of level i + 1 has some members of level
//! i, and the observations are the members of level 1. A plan makes all units of a level alike (*balanced*);
//! lost runs make them unlike, and nothing here assumes that they are not.
//!
//! What is said of them: [`RandomEffects`], [`EffectSize`], [`HierarchicalBootstrap`].

mod effect_size;
mod hierarchical_bootstrap;
mod random_effects;
mod unit_means;

use crate::sample::LARGEST_OBSERVATION;
pub use effect_size::{EffectSize, EffectSizeError};
pub use hierarchical_bootstrap::{
    BootstrapError, HierarchicalBootstrap, MOST_DRAWS, RatioReplicates, Replicates, Resampling, Statistic,
};
pub use random_effects::{
    DroppedLevel, DroppedWhy, KeptLevel, LevelVariance, MeanErrorUnknown, RandomEffects, Reshaped,
};
use std::ops::Range;
use thiserror::Error;

/// The most levels an experiment may have: more than anybody repeats at, few enough to walk down.
pub const MOST_LEVELS: usize = 16;

/// The least that the largest magnitude may be, unless all is zero: differences in its last digits must still
/// have a square.
const SMALLEST_OBSERVATION: f64 = 1e-130;

/// A tree of observations, of any number of levels, all its leaves equally deep.
///
/// ```
/// use speedup_statistics::levels::LevelTree;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Kalibera 2012, Table III: 3 binaries of 2 executions of 2 measurements.
/// let times = vec![9.0, 5.0, 8.0, 3.0, 10.0, 6.0, 7.0, 11.0, 1.0, 12.0, 2.0, 4.0];
/// let levels = LevelTree::balanced(times, &[2, 2, 3])?;
/// assert_eq!((levels.depth(), levels.members(2), levels.units(2)), (3, 6, 3));
/// // Lost runs leave any shape: 3 and 1 measurements of two executions.
/// let levels = LevelTree::from_counts(vec![1.0, 2.0, 3.0, 4.0], &[vec![3, 1], vec![2]])?;
/// assert!(!levels.is_balanced());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LevelTree {
    /// The observations, those of one unit side by side.
    values: Vec<f64>,
    /// Of each level, the lowest first: where the members of each unit above begin, and after the last one
    /// where they end. The highest level has one unit above it, the experiment.
    starts: Vec<Vec<usize>>,
}

/// Why values are not an experiment of several levels.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LevelsError {
    /// No level, or more than [`MOST_LEVELS`].
    #[error("an experiment has 1 to {MOST_LEVELS} levels, not {0}")]
    NumberOfLevels(usize),
    #[error("a unit above level {level} has no members")]
    EmptyUnit { level: usize },
    /// The counts of a level do not add up to the members there are.
    #[error("the counts of level {level} add up to {counted}, and it has {present} members")]
    Count { level: usize, counted: usize, present: usize },
    /// An observation is not a number, infinite, or beyond [`LARGEST_OBSERVATION`].
    #[error("observation {index} is {value:e}, which is not a number that can be squared")]
    NotSquarable {
        /// Its position, from 0.
        index: usize,
        value: f64,
    },
    /// All observations are smaller than 10⁻¹³⁰.
    #[error("no observation is larger than {largest:e}, too small to square")]
    TooSmall { largest: f64 },
}

speedup_core::hints! { LevelsError:
    Self::EmptyUnit { .. } => "leave out the units that have lost all their runs",
    Self::NotSquarable { .. } => "give the observations in another unit",
    Self::TooSmall { .. } => "give the observations in a smaller unit",
}

impl LevelTree {
    /// An experiment as planned: `repetitions` holds the counts of each level, the lowest first; `values` has
    /// the observations with the lowest level running fastest.
    ///
    /// # Errors
    /// [`LevelsError`] for values or counts that make no experiment.
    pub fn balanced(values: Vec<f64>, repetitions: &[usize]) -> Result<Self, LevelsError> {
        if let Some(below) = repetitions.iter().position(|&repeated| repeated == 0) {
            return Err(LevelsError::EmptyUnit { level: below + 1 });
        }
        let mut units: usize = 1;
        let mut counts = Vec::with_capacity(repetitions.len());
        for (below, &repeated) in repetitions.iter().enumerate().rev() {
            // A product beyond the values there are is refused before anything of its size is made.
            if units > values.len() {
                let level = below + 2;
                return Err(LevelsError::Count { level, counted: units, present: values.len() });
            }
            counts.push(vec![repeated; units]);
            units = units.saturating_mul(repeated);
        }
        counts.reverse();
        Self::from_counts(values, &counts)
    }

    /// An experiment of any shape: `counts` holds for each level, the lowest first, how many members each unit
    /// above has; the highest level has one count.
    ///
    /// # Errors
    /// [`LevelsError`] for values or counts that make no experiment.
    pub fn from_counts(values: Vec<f64>, counts: &[Vec<usize>]) -> Result<Self, LevelsError> {
        if counts.is_empty() || counts.len() > MOST_LEVELS {
            return Err(LevelsError::NumberOfLevels(counts.len()));
        }
        let mut starts = Vec::with_capacity(counts.len());
        let mut present = values.len();
        for (below, counts) in counts.iter().enumerate() {
            let level = below + 1;
            if counts.is_empty() || counts.contains(&0) {
                return Err(LevelsError::EmptyUnit { level });
            }
            let of_level = cumulated(counts);
            let counted = of_level[counts.len()];
            if counted != present {
                return Err(LevelsError::Count { level, counted, present });
            }
            present = counts.len();
            starts.push(of_level);
        }
        if present != 1 {
            return Err(LevelsError::Count { level: counts.len() + 1, counted: 1, present });
        }
        check(&values)?;
        Ok(Self { values, starts })
    }

    /// How many levels there are, the paper's n + 1.
    pub fn depth(&self) -> usize {
        self.starts.len()
    }

    /// The observations, those of one unit side by side.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// How many members of `level` there are, from 1.
    pub fn members(&self, level: usize) -> usize {
        let starts = self.boundaries(level);
        starts[starts.len() - 1]
    }

    /// How many units the members of `level` belong to; 1 for the highest.
    pub fn units(&self, level: usize) -> usize {
        self.boundaries(level).len() - 1
    }

    /// The members of `level` that belong to unit `unit` of the level above, both numbered from 0 within
    /// their level.
    pub fn members_of(&self, level: usize, unit: usize) -> Range<usize> {
        let starts = self.boundaries(level);
        starts[unit]..starts[unit + 1]
    }

    /// The count nᵢ of `level`, if all its units have one count.
    pub fn repetitions(&self, level: usize) -> Option<usize> {
        let mut counts = self.boundaries(level).windows(2).map(|pair| pair[1] - pair[0]);
        let first = counts.next()?;
        counts.all(|count| count == first).then_some(first)
    }

    /// Whether each level has one count.
    pub fn is_balanced(&self) -> bool {
        (1..=self.depth()).all(|level| self.repetitions(level).is_some())
    }

    /// Where the members of each unit above `level` begin, and the last one's end.
    pub(crate) fn boundaries(&self, level: usize) -> &[usize] {
        &self.starts[level - 1]
    }

    /// The same observations with the units between `level` and the level below it dissolved: their members
    /// belong directly to the unit above. The experiment has then one level fewer (Kalibera 2012 §6.1, Table IV).
    pub(crate) fn dissolve(&self, level: usize) -> Self {
        let mut starts = self.starts.clone();
        let above = starts.remove(level - 1);
        let merged = above.iter().map(|&unit| starts[level - 2][unit]).collect();
        starts[level - 2] = merged;
        Self { values: self.values.clone(), starts }
    }

    /// The same observations as an experiment of one level.
    pub(crate) fn flattened(&self) -> Self {
        Self { values: self.values.clone(), starts: vec![vec![0, self.values.len()]] }
    }

    /// The experiment that has `means` of the units above level 1 for its observations.
    pub(crate) fn above_lowest(&self, means: Vec<f64>) -> Self {
        Self { values: means, starts: self.starts[1..].to_vec() }
    }
}

fn cumulated(counts: &[usize]) -> Vec<usize> {
    let mut starts = Vec::with_capacity(counts.len() + 1);
    let mut end: usize = 0;
    starts.push(end);
    for &count in counts {
        end = end.saturating_add(count);
        starts.push(end);
    }
    starts
}

fn check(values: &[f64]) -> Result<(), LevelsError> {
    let mut largest: f64 = 0.0;
    for (index, &value) in values.iter().enumerate() {
        if !value.is_finite() || value.abs() > LARGEST_OBSERVATION {
            return Err(LevelsError::NotSquarable { index, value });
        }
        largest = largest.max(value.abs());
    }
    if largest > 0.0 && largest < SMALLEST_OBSERVATION {
        return Err(LevelsError::TooSmall { largest });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_counts_give_the_tree() {
        let levels =
            LevelTree::from_counts(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[vec![2, 1, 3], vec![1, 2], vec![2]])
                .unwrap();
        assert_eq!((levels.depth(), levels.members(1), levels.members(2), levels.members(3)), (3, 6, 3, 2));
        assert_eq!((levels.members_of(1, 2), levels.members_of(2, 1)), (3..6, 1..3));
        assert!(!levels.is_balanced());
        let flatter = levels.dissolve(2);
        assert_eq!((flatter.depth(), flatter.members_of(1, 0), flatter.members_of(1, 1)), (2, 0..2, 2..6));
    }

    #[test]
    fn refuses_what_is_no_experiment() {
        let balanced = |values: &[f64], dims: &[usize]| LevelTree::balanced(values.to_vec(), dims);
        assert_eq!(balanced(&[1.0], &[]), Err(LevelsError::NumberOfLevels(0)));
        assert_eq!(balanced(&[1.0], &[1; 17]), Err(LevelsError::NumberOfLevels(17)));
        assert!(matches!(balanced(&[1.0; 5], &[2, 3]), Err(LevelsError::Count { counted: 6, .. })));
        assert!(matches!(balanced(&[1.0; 5], &[1, 1 << 40, 1 << 40]), Err(LevelsError::Count { .. })));
        assert!(matches!(balanced(&[], &[0, 2]), Err(LevelsError::EmptyUnit { level: 1 })));
        assert!(matches!(balanced(&[], &[2, 0]), Err(LevelsError::EmptyUnit { level: 2 })));
        assert!(matches!(balanced(&[1.0, f64::NAN], &[2]), Err(LevelsError::NotSquarable { index: 1, .. })));
        assert!(matches!(balanced(&[1e300, 1.0], &[2]), Err(LevelsError::NotSquarable { index: 0, .. })));
        assert!(matches!(balanced(&[1e-300, 0.0], &[2]), Err(LevelsError::TooSmall { .. })));
        assert!(balanced(&[0.0, 0.0], &[2]).is_ok());
    }
}
