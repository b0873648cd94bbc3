//! Fractions that people write as options: levels and precisions.

use speedup_core::value::hint::{Hinted, with_hint};
use speedup_statistics::inference::ConfidenceLevel;

/// The least precision: what is finer asks for more benchmarks than can be counted.
const LEAST_PRECISION: f64 = 1e-6;

/// A confidence level, strictly between 0 and 1, as 0.95 or 95%.
pub(crate) fn confidence_level(text: &str) -> Result<ConfidenceLevel, String> {
    let number =
        fraction(text).ok_or_else(|| with_hint("it is not a number", Some("95 % is written 0.95 or 95%")))?;
    ConfidenceLevel::new(number).map_err(|error| with_hint(error, error.hint()))
}

/// A share that is written as 0.01 or as 1%.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = fraction(text).filter(|share| (0.0..1.0).contains(share));
    number.ok_or_else(|| "a share must be at least 0 and below 1, such as 0.01 or 1%".to_owned())
}

/// By how much something is faster, as 0.5 or 50%; also more than by its own size.
pub(crate) fn amount(text: &str) -> Result<f64, String> {
    let number = fraction(text).filter(|amount| (0.0..=1e6).contains(amount));
    number.ok_or_else(|| "an amount must be at least 0, such as 0.5 or 50% for a speedup of 1.5".to_owned())
}

/// A margin that is written as 0.01 or as 1%.
pub(crate) fn margin(text: &str) -> Result<f64, String> {
    let number = fraction(text).filter(|margin| *margin > 0.0 && *margin < 1.0);
    number.ok_or_else(|| "a margin must be above 0 and below 1, such as 0.01 or 1%".to_owned())
}

/// The probability of a quantile, as 0.99 or 99%.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    let number = fraction(text).filter(|p| *p > 0.0 && *p < 1.0);
    number.ok_or_else(|| {
        "the probability of a quantile must be above 0 and below 1, such as 0.99 or 99%".to_owned()
    })
}

/// The half-width of the interval of a proportion, as 0.05 or 5%.
pub(crate) fn precision(text: &str) -> Result<f64, String> {
    let number = fraction(text).filter(|r| (LEAST_PRECISION..1.0).contains(r));
    number.ok_or_else(|| {
        let words = format!("a precision must be at least {LEAST_PRECISION} and below 1");
        with_hint(words, Some("5 % is written 0.05 or 5%"))
    })
}

/// A number, or a percentage of one.
pub(crate) fn fraction(text: &str) -> Option<f64> {
    match text.trim().strip_suffix('%') {
        // Shifted as it is written: 99.9 / 100 is not 0.999.
        Some(percent) => match format!("{}e-2", percent.trim_end()).parse() {
            Ok(fraction) => Some(fraction),
            Err(_) => percent.trim_end().parse().ok().map(|percent: f64| percent / 100.0),
        },
        None => text.trim().parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_the_fraction_that_it_says() {
        assert_eq!(confidence_level("95%").map(ConfidenceLevel::get), Ok(0.95));
        assert_eq!(confidence_level("99.9 %").map(ConfidenceLevel::get), Ok(0.999));
        assert_eq!((share("1%"), precision("5%")), (Ok(0.01), Ok(0.05)));
        for text in ["95", "100%", "%", "", "0%", "-1%", "nan%", "95%%"] {
            assert!(confidence_level(text).is_err(), "{text}");
        }
    }
}
