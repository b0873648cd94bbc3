//! How many benchmarks must be drawn to know a proportion to a given precision.

use super::Binomial;
use crate::{distribution::normal, inference::ConfidenceLevel, test::Selection};
use thiserror::Error;

/// Why a number of benchmarks cannot be given.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum PrecisionError {
    /// The precision is not a half-width of a proportion.
    #[error("a precision must be strictly between 0 and 1, not {0}")]
    Precision(f64),
    #[error("a proportion must be between 0 and 1, not {0}")]
    Proportion(f64),
}

speedup_core::hints! { PrecisionError: Self::Precision(_) => "5 % is written 0.05" }

/// The least b with z²·C(1−C)/r² ≤ b (Touati 2010 §5): the Wald interval of the proportion C has half-width at most
/// r.
///
/// For a finite population of N the number is n₀N/(n₀ + N − 1) (Cochran, Sampling Techniques, §4.4). A
/// proportion of 0 or 1 gives 0, which only says that this formula knows nothing there: see
/// [`benchmarks_by_wilson`].
///
/// ```
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::test::{Selection, benchmarks_by_wald};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Touati 2010 §5, example 4: 17 of 30 to within 5 %.
/// assert_eq!(benchmarks_by_wald(17.0 / 30.0, 0.05, ConfidenceLevel::USUAL, Selection::Drawn)?, 378);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`PrecisionError`] unless 0 < r < 1 and 0 ≤ C ≤ 1.
pub fn benchmarks_by_wald(
    proportion: f64,
    precision: f64,
    level: ConfidenceLevel,
    selection: Selection,
) -> Result<u64, PrecisionError> {
    check(proportion, precision)?;
    let z = normal::two_sided_critical(level.risk().get());
    let infinite = z * z * (proportion * (1.0 - proportion)) / (precision * precision);
    // At a level that rounds to nothing z is zero, and no benchmark is none to go by.
    let least = u64::from(proportion > 0.0 && proportion < 1.0);
    Ok(for_population(infinite, selection).max(least))
}

/// The least b for which the Wilson interval of the proportion C has half-width at most r.
///
/// The half-width is z/(b + z²)·√(bC(1−C) + z²/4), which falls with b; found by halving.
///
/// # Errors
/// [`PrecisionError`] unless 0 < r < 1 and 0 ≤ C ≤ 1.
pub fn benchmarks_by_wilson(
    proportion: f64,
    precision: f64,
    level: ConfidenceLevel,
    selection: Selection,
) -> Result<u64, PrecisionError> {
    check(proportion, precision)?;
    let z = normal::two_sided_critical(level.risk().get());
    let too_wide = |b: u64| {
        let b = b as f64;
        let (lower, upper) = Binomial { a: b * proportion, b }.wilson(z, 0.0);
        (upper - lower) / 2.0 > precision
    };
    let mut below = 0_u64;
    let mut enough = 1_u64;
    while enough < LARGEST_ANSWER && too_wide(enough) {
        (below, enough) = (enough, enough * 2);
    }
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        if too_wide(middle) { below = middle } else { enough = middle }
    }
    Ok(for_population(enough as f64, selection))
}

/// More benchmarks than anyone has; ends the search for absurd precisions.
const LARGEST_ANSWER: u64 = 1 << 50;

fn check(proportion: f64, precision: f64) -> Result<(), PrecisionError> {
    if !(precision > 0.0 && precision < 1.0) {
        return Err(PrecisionError::Precision(precision));
    }
    if (0.0..=1.0).contains(&proportion) { Ok(()) } else { Err(PrecisionError::Proportion(proportion)) }
}

fn for_population(infinite: f64, selection: Selection) -> u64 {
    match selection {
        Selection::Drawn | Selection::Chosen => infinite.ceil() as u64,
        Selection::DrawnFromFinite { size } => {
            let size = size as f64;
            (infinite * size / (infinite + size - 1.0)).ceil().min(size) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_example() {
        // Touati 2010 §5, example 4: C = 17/30, r = 5 %, 95 %: 378 benchmarks.
        let needed =
            |selection| benchmarks_by_wald(17.0 / 30.0, 0.05, ConfidenceLevel::USUAL, selection).unwrap();
        assert_eq!(needed(Selection::Drawn), 378);
        assert_eq!(needed(Selection::DrawnFromFinite { size: 378 }), 190);
        assert_eq!(needed(Selection::DrawnFromFinite { size: 1 }), 1);
    }

    #[test]
    fn wilson_knows_the_ends() {
        let needed = benchmarks_by_wilson(1.0, 0.05, ConfidenceLevel::USUAL, Selection::Drawn).unwrap();
        assert_eq!(needed, 35);
        assert!(benchmarks_by_wilson(0.5, 0.0, ConfidenceLevel::USUAL, Selection::Drawn).is_err());
    }
}
