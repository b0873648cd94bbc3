//! What no study is made of.

use super::replication::MOST_REPLICATES;
use crate::BootstrapError;
use thiserror::Error;

/// The most runs, units or benchmarks of an experiment that a study draws: a hundred times what anybody repeats.
pub(super) const MOST_REPEATED: u64 = 10_000;
/// The greatest standard deviation, as a share of the mean: a normal time is then positive but in one draw of 30 million.
pub(super) const LARGEST_VARIATION: f64 = 0.19;

/// Why a study is refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SimulationError {
    /// No replicates, or more than [`MOST_REPLICATES`].
    #[error("a study makes 1 to {MOST_REPLICATES} replicates, and {0} were asked for")]
    Replicates(u32),
    /// A count out of range.
    #[error("the {what} are {fewest} to {MOST_REPEATED}, and {given} were asked for")]
    Count {
        /// What is counted.
        what: &'static str,
        /// The number given.
        given: u64,
        /// The least that makes an experiment.
        fewest: u64,
    },
    /// A standard deviation out of range.
    #[error(
        "a relative standard deviation is positive and at most {LARGEST_VARIATION}, and {0} is not\n\
         hint: 10 % is written 0.1; more would make times that are not positive"
    )]
    Variation(f64),
    /// A level's variation that is negative, not finite, or all of them zero.
    #[error(
        "the variations of the levels are at least 0 and below 1, one of them above 0, and {given:?} are not"
    )]
    LevelVariations {
        /// Measurement, execution, compilation.
        given: [f64; 3],
    },
    /// A ratio out of range.
    #[error("the {what} lies strictly between {above} and {below}, and {given} does not")]
    Range {
        /// What.
        what: &'static str,
        /// The number given.
        given: f64,
        /// The number below the range.
        above: f64,
        /// The number above the range.
        below: f64,
    },
    /// An experiment that fills the memory.
    #[error("an experiment has at most {most} measurements, and {measurements} were asked for")]
    TooLarge {
        /// Asked for.
        measurements: u64,
        /// Allowed.
        most: u64,
    },
    /// The bootstrap was refused.
    #[error("the bootstrap is not drawn")]
    Bootstrap(#[from] BootstrapError),
}

impl SimulationError {
    /// Refuses counts outside `fewest` to the most there may be.
    pub(super) fn check_counts(what: &'static str, fewest: u64, counts: &[u64]) -> Result<(), Self> {
        match counts.iter().find(|count| !(fewest..=MOST_REPEATED).contains(count)) {
            Some(&given) => Err(Self::Count { what, given, fewest }),
            None => Ok(()),
        }
    }

    /// Refuses a relative standard deviation with which times would not be positive.
    pub(super) fn check_variation(relative: f64) -> Result<(), Self> {
        let is_small = relative > 0.0 && relative <= LARGEST_VARIATION;
        if is_small { Ok(()) } else { Err(Self::Variation(relative)) }
    }

    /// Refuses numbers that are not strictly between `above` and `below`.
    pub(super) fn check_range(
        what: &'static str,
        [above, below]: [f64; 2],
        given: &[f64],
    ) -> Result<(), Self> {
        match given.iter().find(|given| !(**given > above && **given < below)) {
            Some(&given) => Err(Self::Range { what, given, above, below }),
            None => Ok(()),
        }
    }
}
