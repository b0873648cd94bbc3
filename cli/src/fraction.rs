//! Fractions that people write as options: levels and precisions.

use speedup_analysis::ConfidenceLevel;

/// The least precision: what is finer asks for more benchmarks than can be counted.
const LEAST_PRECISION: f64 = 1e-6;

/// A confidence level, strictly between 0 and 1.
pub(crate) fn confidence_level(text: &str) -> Result<ConfidenceLevel, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    ConfidenceLevel::new(number).map_err(|error| error.to_string())
}

/// The half-width of the interval of a proportion.
pub(crate) fn precision(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|r| (LEAST_PRECISION..1.0).contains(r));
    number.ok_or_else(|| {
        format!("a precision is at least {LEAST_PRECISION} and below 1\nhint: 5 % is written 0.05")
    })
}
