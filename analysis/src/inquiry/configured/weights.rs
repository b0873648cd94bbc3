//! What the benchmarks count, from the configuration and the command line.

use speedup_statistics::{protocol::speedup_test::published, ratio::BenchmarkWeights};

use super::{ConfigurationWarning, ConfiguredBenchmark, ConfiguredError, ConfiguredOptions};
use crate::inquiry::SpeedupTestMode;
use speedup_core::experiment::Weights;

/// The weights of the benchmarks that can be tested, and what they are called.
pub(super) fn weights(
    benchmarks: &[ConfiguredBenchmark],
    options: &ConfiguredOptions,
    warnings: &mut Vec<ConfigurationWarning>,
) -> Result<(BenchmarkWeights, Weights), ConfiguredError> {
    match options.weights {
        Weights::Equal => return Ok((BenchmarkWeights::Equal, Weights::Equal)),
        Weights::Fraction => return Ok((BenchmarkWeights::Fraction, Weights::Fraction)),
        Weights::Custom => {}
    }
    let coefficients: Vec<_> = benchmarks.iter().map(|one| one.coefficient).collect();
    for one in benchmarks {
        if let Some(value) = one.coefficient.filter(|value| *value <= 0.0) {
            return Err(ConfiguredError::Coefficient { line: one.line, value });
        }
    }
    let missing = coefficients.iter().filter(|coefficient| coefficient.is_none()).count();
    if missing == coefficients.len() {
        return Ok((BenchmarkWeights::Equal, Weights::Equal));
    }
    if missing > 0 {
        if options.mode == SpeedupTestMode::Exact {
            let first = benchmarks.iter().find(|one| one.coefficient.is_none());
            return Err(ConfiguredError::MissingCoefficient { line: first.map_or(0, |one| one.line) });
        }
        warnings.push(ConfigurationWarning::MissingCoefficients { missing });
        return Ok((BenchmarkWeights::Equal, Weights::Equal));
    }
    let equally = options.mode == SpeedupTestMode::Published
        && published::weights(&coefficients) == BenchmarkWeights::Equal;
    if equally {
        if coefficients.windows(2).any(|two| two[0] != two[1]) {
            warnings.push(ConfigurationWarning::WholeCoefficients);
        }
        return Ok((BenchmarkWeights::Equal, Weights::Equal));
    }
    let tested = benchmarks.iter().filter(|one| one.samples.is_ok());
    Ok((BenchmarkWeights::Custom(tested.filter_map(|one| one.coefficient).collect()), Weights::Custom))
}
