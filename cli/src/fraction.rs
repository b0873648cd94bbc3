//! Fractions that people write as options: levels and precisions.

use speedup_analysis::ConfidenceLevel;

/// The least precision: what is finer asks for more benchmarks than can be counted.
const LEAST_PRECISION: f64 = 1e-6;

/// A confidence level, strictly between 0 and 1.
pub(crate) fn confidence_level(text: &str) -> Result<ConfidenceLevel, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    ConfidenceLevel::new(number).map_err(|error| error.to_string())
}

/// A share that is written as 0.01 or as 1%.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number: Option<f64> = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse().ok().map(|percent: f64| percent / 100.0),
        None => text.trim().parse().ok(),
    };
    let number = number.filter(|share| (0.0..1.0).contains(share));
    number.ok_or_else(|| "a share is at least 0 and below 1, as 0.01 or 1%".to_owned())
}

/// The half-width of the interval of a proportion.
pub(crate) fn precision(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|r| (LEAST_PRECISION..1.0).contains(r));
    number.ok_or_else(|| {
        format!("a precision is at least {LEAST_PRECISION} and below 1\nhint: 5 % is written 0.05")
    })
}
