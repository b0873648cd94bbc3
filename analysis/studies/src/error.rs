//! Why a study is refused, and the limits of what it draws.

use super::RunCounts;
use speedup_statistics::{levels::BootstrapError, scaling::ScalingError};
use thiserror::Error;

/// The most replicates: with them a share is known to 0.0005.
pub const MOST_REPLICATES: u32 = 1_000_000;
/// The most runs, units or benchmarks of an experiment that a study draws: a hundred times what anybody repeats.
pub(super) const MOST_REPEATED: u64 = 10_000;
/// The greatest standard deviation, as a share of the mean: a normal time is then positive but in one draw of 30 million.
pub(super) const LARGEST_VARIATION: f64 = 0.19;
/// The least, as a share of the mean: what a clock of nanoseconds sees of a second. Below, times differ by the rounding of
/// doubles as much as by the law, and the methods refuse them.
pub(super) const LEAST_VARIATION: f64 = 1e-9;

/// Why a study is refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SimulationError {
    /// No replicates, or more than [`MOST_REPLICATES`].
    #[error("a study makes 1 to {MOST_REPLICATES} replicates, not {0}")]
    Replicates(u32),
    #[error("the {what} must be {fewest} to {MOST_REPEATED}, not {given}")]
    Count { what: &'static str, given: u64, fewest: u64 },
    #[error("versions of the section {section} have equal numbers of runs, not {} and {}", runs.baseline, runs.candidate)]
    UnequalRuns { runs: RunCounts, section: &'static str },
    #[error(
        "a relative standard deviation must be at least {LEAST_VARIATION:e} and at most {LARGEST_VARIATION}, not {0}"
    )]
    Variation(f64),
    /// A level's variation that is negative, not finite, or all of them next to nothing.
    #[error(
        "the variations of the levels are at least 0 and below 1, one of them at least {LEAST_VARIATION:e}, and {given:?} \
         are not"
    )]
    LevelVariations { given: [f64; 3] },
    #[error("the {what} must be strictly between {above} and {below}, not {given}")]
    Range { what: &'static str, given: f64, above: f64, below: f64 },
    #[error("an experiment has at most {most} measurements, not {measurements}")]
    TooLarge { measurements: u64, most: u64 },
    #[error("the bootstrap is not drawn")]
    Bootstrap(#[from] BootstrapError),
    #[error("the scaling is not drawn")]
    Scaling(#[from] ScalingError),
}

impl SimulationError {
    /// Refuses counts outside `fewest` to the most there may be.
    pub(super) fn check_counts(what: &'static str, fewest: u64, counts: &[u64]) -> Result<(), Self> {
        match counts.iter().find(|count| !(fewest..=MOST_REPEATED).contains(count)) {
            Some(&given) => Err(Self::Count { what, given, fewest }),
            None => Ok(()),
        }
    }

    /// Refuses a relative standard deviation with which times would not be positive, or would differ by rounding.
    pub(super) fn check_variation(relative: f64) -> Result<(), Self> {
        let is_drawn = (LEAST_VARIATION..=LARGEST_VARIATION).contains(&relative);
        if is_drawn { Ok(()) } else { Err(Self::Variation(relative)) }
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
