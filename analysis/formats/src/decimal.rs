//! Decimal numbers, moved by a power of ten without a rounding of their own.
//!
//! 16.95 ns are 1.695e-8 s. To read 16.95 first and divide then would round twice; here the exponent of the text is changed
//! before the text is read, so every value is the float that is nearest to what the tool wrote.

use crate::bounds::MAX_NUMBER_CHARS;

/// Why a text is no number that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberProblem {
    /// Neither digits nor one of the words for infinity.
    #[error("is not a decimal number")]
    NotANumber,
    #[error("is not a finite number")]
    NotFinite,
    /// A word for a run that failed.
    #[error("says that the run failed")]
    Failed,
    /// Beyond the largest 64-bit float.
    #[error("is larger than a 64-bit float holds")]
    TooLarge,
    /// Not zero, but nearer to it than a 64-bit float can be.
    #[error("is not zero, but smaller than a 64-bit float holds")]
    TooSmall,
    /// A comma where other numbers have a point, or the other way round.
    #[error("has another decimal mark than the numbers before it")]
    OtherMark,
    /// More than [`MAX_NUMBER_CHARS`] characters.
    #[error("is longer than {MAX_NUMBER_CHARS} characters")]
    TooLong,
}

impl NumberProblem {
    pub(crate) const fn hint(self) -> &'static str {
        match self {
            Self::NotANumber => "numbers are decimal with a point, without thousands separators and units",
            Self::OtherMark => "write all numbers with one decimal mark, and nothing between thousands",
            Self::NotFinite | Self::Failed => {
                "leave out the runs that have no value, and say so where you publish"
            }
            Self::TooLarge | Self::TooSmall => "give the values in another unit",
            Self::TooLong => "write numbers with 17 digits at most, which is all that a 64-bit float holds",
        }
    }
}

/// The words for a number that is not there, without a sign.
const ABSENT: [&str; 10] = ["", "n/a", "na", "none", "null", "nan", "inf", "infinity", "1.#inf", "1.#qnan"];
/// The words for a run that failed.
const FAILED: [&str; 9] =
    ["fail", "failed", "error", "crash", "crashed", "timeout", "timed out", "killed", "oom"];

/// The float nearest to `text` × 10^`shift`.
pub(crate) fn read(text: &str, shift: i32) -> Result<f64, NumberProblem> {
    if text.len() > MAX_NUMBER_CHARS {
        return Err(NumberProblem::TooLong);
    }
    let (mantissa, exponent) = split(text).ok_or_else(|| {
        let word = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
        if ABSENT.contains(&word.as_str()) {
            NumberProblem::NotFinite
        } else if FAILED.contains(&word.as_str()) {
            NumberProblem::Failed
        } else {
            NumberProblem::NotANumber
        }
    })?;
    // Shifting the exponent of the text rounds once; multiplying the float would round twice.
    let exponent = exponent.saturating_add(i64::from(shift));
    let value: f64 = format!("{mantissa}e{exponent}").parse().map_err(|_| NumberProblem::NotANumber)?;
    let is_zero = !mantissa.bytes().any(|byte| byte.is_ascii_digit() && byte != b'0');
    if value.is_infinite() {
        Err(NumberProblem::TooLarge)
    } else if value == 0.0 && !is_zero {
        Err(NumberProblem::TooSmall)
    } else {
        Ok(value)
    }
}

/// Mantissa and exponent; `None` if the text is not `[+-]digits[.digits][e[+-]digits]` with a digit before the exponent.
fn split(text: &str) -> Option<(&str, i64)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        None => (text, 0),
        Some((mantissa, exponent)) => {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || !are_digits(digits) {
                return None;
            }
            let far = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
            (mantissa, exponent.parse().unwrap_or(far))
        }
    };
    let digits = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_mantissa = whole.len() + part.len() > 0 && are_digits(whole) && are_digits(part);
    is_mantissa.then_some((mantissa, exponent))
}

/// Whether a text has nothing but digits, or nothing at all.
pub(crate) fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_exponent_is_moved_before_the_text_is_read() {
        assert_eq!(read("16.95", -9), Ok(1.695e-8));
        assert_eq!(read("0.1", -9), Ok(1e-10));
        assert_eq!(read("9007199254740993", -9), Ok(9007199.254740993));
        assert_eq!(read("+.5E+2", 0), Ok(50.0));
        assert_eq!(read("-0", -9), Ok(-0.0));
        assert_eq!(read("3774.70", 6), Ok(3.7747e9));
    }

    #[test]
    fn what_no_float_holds_is_refused() {
        assert_eq!(read("1e309", 0), Err(NumberProblem::TooLarge));
        assert_eq!(read("1e99999999999999999999", -9), Err(NumberProblem::TooLarge));
        assert_eq!(read("1e-9223372036854775808", -9), Err(NumberProblem::TooSmall));
        assert_eq!(read("0e99999999999999999999", 0), Ok(0.0));
        assert_eq!(read("-Infinity", 0), Err(NumberProblem::NotFinite));
        for text in [".", "1e", "1e+", "0x1f", "1,5", "1_000", "1 2", "١", "1d3", "--1", "."] {
            assert_eq!(read(text, 0), Err(NumberProblem::NotANumber), "{text}");
        }
        assert_eq!(read(&"1".repeat(MAX_NUMBER_CHARS + 1), 0), Err(NumberProblem::TooLong));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
            prop_assert_eq!(read(&format!("{value:?}"), 0), Ok(value));
            prop_assert_eq!(read(&format!("{value:e}"), 0), Ok(value));
        }

        #[test]
        fn nanoseconds_are_seconds_with_another_exponent(ns in 0_u64..u64::MAX) {
            let (whole, part) = (ns / 1_000_000_000, ns % 1_000_000_000);
            let exact: f64 = format!("{whole}.{part:09}").parse().unwrap();
            prop_assert_eq!(read(&ns.to_string(), -9), Ok(exact));
        }
    }
}
