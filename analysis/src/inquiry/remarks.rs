//! What must be known of the samples of an inquiry, whatever is asked of them.

use super::Method;
use super::blocks;
use super::pairing::Pairing;
use super::suite::Grouping;
use crate::conclusion::{Warning, WarningCode};
use speedup_statistics::sample::Sample;

/// What must be known of how observations came about.
pub(super) fn of_observations(pairing: &Pairing<'_>, method: &Method) -> Vec<Warning> {
    let has = |grouping| pairing.samples.iter().flatten().any(|one| one.grouping == grouping);
    let mut warnings = Vec::new();
    if has(Grouping::OneRun) {
        warnings.push(Warning::new(
            WarningCode::OneRun,
            "Some samples are of a single run, whose values depend on each other as those of other runs \
                would not: restart the program for each value, or several times.",
        ));
    }
    if has(Grouping::RunMeans) && !method.asked().knows_levels() {
        warnings.push(Warning::new(
            WarningCode::RunMeans,
            "Several values of one run depend on each other, so the mean of each run is one observation: the effect \
             method keeps runs and values apart.",
        ));
    }
    let samples = || pairing.samples.iter().flatten().map(|one| &one.sample);
    if samples().any(|sample| sample.len() > 1 && sample.is_constant()) {
        warnings.push(Warning::new(
            WarningCode::AllEqual,
            "All values of some sample are equal, so it says nothing about how much they vary: use a finer \
                clock or a longer run.",
        ));
    }
    if samples().any(Sample::differs_by_rounding) {
        warnings.push(Warning::new(
            WarningCode::SpreadOfRounding,
            "The values of some sample differ only in their last digits, so the results describe rounding: \
                subtract the common part before recording.",
        ));
    }
    warnings.extend(blocks::warnings(pairing, method));
    if !pairing.unmatched.is_empty() {
        let names: Vec<&str> = pairing.unmatched.iter().map(|one| one.benchmark.as_str()).collect();
        warnings.push(Warning::new(
            WarningCode::UnmatchedBenchmarks,
            format!(
                "Not every version has these benchmarks, so they are not compared: {}.",
                names.join(", ")
            ),
        ));
    }
    warnings
}
