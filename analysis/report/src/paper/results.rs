//! The results file: one line a benchmark, in the columns of the original (Touati 2010 §6.2.5).

use speedup_analysis::inquiry::SpeedupTestMode;
use speedup_analysis::inquiry::configured::{BenchmarkAnswer, ConfiguredAnswer};
use speedup_statistics::protocol::speedup_test::ProtocolVerdict;

const HEADING: &str = "\"Name\",\"SpeedupMin\",\"SpeedupMean\",\"IsMeanSignificant\",\"MeanConfLevel\",\
    \"SpeedupMedian\",\"IsMedianSignificant\",\"MedianConfLevel\",\"CoefMin\",\"CoefMean\",\"CoefMedian\"\n";
/// The word for no value.
const NOT_AVAILABLE: &str = "NA";

/// The file as text: RFC 4180 but for its line ends, with quoted names, `TRUE`, `FALSE` and `NA`, as R writes.
///
/// Speedups are rounded to three decimals, as published; in the exact mode all digits are written.
pub fn results(answer: &ConfiguredAnswer) -> String {
    let lines = answer.benchmarks.iter().map(|benchmark| line(benchmark, answer.mode));
    std::iter::once(HEADING.to_owned()).chain(lines).collect()
}

fn line(benchmark: &BenchmarkAnswer, mode: SpeedupTestMode) -> String {
    let quoted = format!("\"{}\"", benchmark.name.replace('"', "\"\""));
    let Some(tested) = benchmark.tested() else {
        return format!("{quoted}{}\n", format!(",{NOT_AVAILABLE}").repeat(10));
    };
    // Published results are rounded, so that they can be compared with a paper's; others keep what was computed.
    let speedup: fn(f64) -> String = match mode {
        SpeedupTestMode::Published => three_decimals,
        SpeedupTestMode::Exact => all_digits,
    };
    let coefficient: fn(f64) -> String = match mode {
        SpeedupTestMode::Published => fifteen_digits,
        SpeedupTestMode::Exact => all_digits,
    };
    let [by_minimum, by_mean, by_median] = tested.coefficients.map(coefficient);
    let fields = [
        quoted,
        speedup(tested.speedups.min),
        speedup(tested.speedups.mean),
        truth(&tested.mean).to_owned(),
        level(&tested.mean),
        speedup(tested.speedups.median),
        truth(&tested.median).to_owned(),
        level(&tested.median),
        by_minimum,
        by_mean,
        by_median,
    ];
    format!("{}\n", fields.join(","))
}

fn level(verdict: &ProtocolVerdict) -> String {
    verdict.confidence.map_or_else(|| NOT_AVAILABLE.to_owned(), fifteen_digits)
}

fn truth(verdict: &ProtocolVerdict) -> &'static str {
    match verdict.significant {
        Some(true) => "TRUE",
        Some(false) => "FALSE",
        None => NOT_AVAILABLE,
    }
}

fn all_digits(value: f64) -> String {
    value.to_string()
}

/// Where three decimals would be all zeros, or more digits than a double has: three significant ones stand instead.
const DECIMAL: std::ops::Range<f64> = 0.0005..1e15;

/// 1.13 for 1.1297: three decimals without the zeros at their end.
pub(super) fn three_decimals(value: f64) -> String {
    if value != 0.0 && !DECIMAL.contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// As R prints a double: at most fifteen digits, so that 1 − 0.17 is 0.83; but what is below 1 is never shown as 1.
pub(super) fn fifteen_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    let misleads = rounded == 1.0 && value < 1.0;
    if misleads { value.to_string() } else { rounded.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_published() {
        assert_eq!(
            [1.129_68, 1.971, 2.0, 10.0, 0.0, 0.0006].map(three_decimals),
            ["1.13", "1.971", "2", "10", "0", "0.001"]
        );
        assert_eq!(
            [1.0 - 0.17, 0.99, 1.0, 2.5, 100.0].map(fifteen_digits),
            ["0.83", "0.99", "1", "2.5", "100"]
        );
        // Never a speedup of nothing, and no digits that a double does not have.
        assert_eq!([0.0004, -1e-17, 8.494e150].map(three_decimals), ["4.00e-4", "-1.00e-17", "8.49e150"]);
        assert_eq!(fifteen_digits(1.0 - f64::EPSILON / 2.0), "0.9999999999999999");
    }
}
