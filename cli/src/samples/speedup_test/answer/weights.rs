//! What the benchmarks count, from the configuration and the command line.

use speedup_statistics::protocol::speedup_test::published;
use speedup_statistics::ratio::BenchmarkWeights;

use super::{AnswerError, Mode, Options, Weighting};
use crate::samples::speedup_test::input::Loaded;
use crate::samples::speedup_test::warning::Warning;

/// The weights of the benchmarks that can be tested, and what they are called.
pub(super) fn weights(
    loaded: &[Loaded],
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<(BenchmarkWeights, Weighting), AnswerError> {
    match options.weighting {
        Weighting::Equal => return Ok((BenchmarkWeights::Equal, Weighting::Equal)),
        Weighting::Fraction => return Ok((BenchmarkWeights::Fraction, Weighting::Fraction)),
        Weighting::Custom => {}
    }
    let coefficients: Vec<_> = loaded.iter().map(|one| one.entry.coefficient).collect();
    for Loaded { entry, .. } in loaded {
        if let Some(value) = entry.coefficient.filter(|value| *value <= 0.0) {
            return Err(AnswerError::Coefficient { line: entry.line, value });
        }
    }
    let missing = coefficients.iter().filter(|coefficient| coefficient.is_none()).count();
    if missing == coefficients.len() {
        return Ok((BenchmarkWeights::Equal, Weighting::Equal));
    }
    if missing > 0 {
        if options.mode == Mode::Exact {
            let first = loaded.iter().find(|one| one.entry.coefficient.is_none());
            return Err(AnswerError::MissingCoefficient { line: first.map_or(0, |one| one.entry.line) });
        }
        warnings.push(Warning::MissingCoefficients { missing });
        return Ok((BenchmarkWeights::Equal, Weighting::Equal));
    }
    let equally =
        options.mode == Mode::Published && published::weights(&coefficients) == BenchmarkWeights::Equal;
    if equally {
        if coefficients.windows(2).any(|two| two[0] != two[1]) {
            warnings.push(Warning::WholeCoefficients);
        }
        return Ok((BenchmarkWeights::Equal, Weighting::Equal));
    }
    let tested = loaded.iter().filter(|one| one.samples.is_ok());
    Ok((
        BenchmarkWeights::Custom(tested.filter_map(|one| one.entry.coefficient).collect()),
        Weighting::Custom,
    ))
}
