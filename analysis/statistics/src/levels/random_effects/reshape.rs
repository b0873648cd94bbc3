//! The experiment without the levels that do not vary (Kalibera 2012 §6.1).
//!
//! A level with T²ᵢ ≤ 0 is removed and the experiment taken as one of fewer levels: its units are dissolved,
//! S² and T² computed anew. The lowest such level goes first, since the others' estimates rest on it. A level
//! that was never repeated goes too: its variance cannot be told from its neighbour's.

use crate::{levels::LevelTree, levels::LevelVariance, levels::RandomEffects, levels::unit_means::Units};
use serde::Serialize;

/// The levels that an experiment needs, and those it does not.
///
/// ```
/// use speedup_statistics::levels::{LevelTree, Reshaped};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Kalibera 2012, Table IV: executions are dropped, and each binary has 4 measurements.
/// let times = vec![9.0, 5.0, 8.0, 3.0, 10.0, 6.0, 7.0, 11.0, 1.0, 12.0, 2.0, 4.0];
/// let reshaped = Reshaped::new(&LevelTree::balanced(times, &[2, 2, 3])?);
/// assert_eq!(reshaped.dropped[0].level, 2);
/// let kept: Vec<_> = reshaped.kept.iter().map(|kept| (kept.level, kept.repetitions)).collect();
/// assert_eq!(kept, [(1, Some(4)), (3, Some(3))]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reshaped {
    /// The levels kept, the lowest first; at least one.
    pub kept: Vec<KeptLevel>,
    /// The levels dropped, in the order of their going.
    pub dropped: Vec<DroppedLevel>,
}

/// A level that was kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KeptLevel {
    /// Its number in the whole experiment.
    pub level: usize,
    /// The count of its members in each unit above, dissolved levels included; none if it is not one count.
    pub repetitions: Option<usize>,
    /// S²ᵢ among the levels kept; none if the only level left was not repeated.
    pub biased: Option<f64>,
    /// T²ᵢ among the levels kept: positive, unless this is the only one and nothing varies.
    pub unbiased: Option<f64>,
}

/// A level that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DroppedLevel {
    /// Its number in the whole experiment.
    pub level: usize,
    pub why: DroppedWhy,
}

/// Why a level was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DroppedWhy {
    /// No unit has two members of it.
    NotRepeated,
    /// Its variance is not above what the levels below explain.
    NoVariance {
        /// T²ᵢ when it was dropped; at most 0.
        unbiased: f64,
    },
}

impl Reshaped {
    /// Drops the levels of `levels` that do not vary, one by one.
    pub fn new(levels: &LevelTree) -> Self {
        let mut numbers: Vec<usize> = (1..=levels.depth()).collect();
        let mut dropped = Vec::new();
        let mut left = levels.clone();
        loop {
            let effects = RandomEffects::new(&left);
            let first = effects.levels().iter().position(|v| v.unbiased.is_none_or(|t2| t2 <= 0.0));
            let first = match first {
                // The last level stays, whether it varies or not.
                Some(first) if numbers.len() > 1 => first,
                _ => return Self { kept: kept(&numbers, &effects), dropped },
            };
            let why = match effects.levels()[first].unbiased {
                Some(unbiased) => DroppedWhy::NoVariance { unbiased },
                None => DroppedWhy::NotRepeated,
            };
            dropped.push(DroppedLevel { level: numbers.remove(first), why });
            left = if first == 0 {
                // The observations of each unit are one number, or one observation: its mean says all.
                let means = Units::from_observations(&left).means.value;
                left.above_lowest(means)
            } else {
                left.dissolve(first + 1)
            };
        }
    }
}

fn kept(numbers: &[usize], effects: &RandomEffects) -> Vec<KeptLevel> {
    let keep = |(&level, variance): (&usize, &LevelVariance)| KeptLevel {
        level,
        repetitions: variance.repetitions,
        biased: variance.biased,
        unbiased: variance.unbiased,
    };
    numbers.iter().zip(effects.levels()).map(keep).collect()
}
