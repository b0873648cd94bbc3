//! Lengths of time and sizes as people write them in a plan.

use jiff::SignedDuration;

use crate::value::time::Span;

/// How lengths of time are written.
pub(super) const SPAN_HINT: &str =
    "write a length of time with its unit: \"500ms\", \"60s\", \"10m\" or \"1h 30m\"";
/// How sizes are written.
pub(super) const SIZE_HINT: &str = "write a size as a whole number with B, KiB, MiB or GiB: \"64MiB\"";

/// A length of time in jiff's friendly form, e.g. `1h 30m`, `1.5s`, or in ISO 8601, e.g. `PT60S`; not negative. What is
/// too long for a [`Span`] saturates.
pub(crate) fn span(text: &str) -> Option<Span> {
    let duration: SignedDuration = text.trim().parse().ok()?;
    (!duration.is_negative()).then(|| Span(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
}

/// A size in bytes: a whole number and its unit, with or without a space between. What is too large saturates.
pub(super) fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    if digits.is_empty() {
        return None;
    }
    let factor: u64 = match unit.trim_start() {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    // Digits that do not fit are a size beyond every bound, and are refused as such.
    Some(digits.parse().unwrap_or(u64::MAX).saturating_mul(factor))
}

/// How shares are written.
pub(super) const PERCENT_HINT: &str = "write a percentage: \"1%\" or \"0.5%\"";

/// A share written as a percentage; its bounds are checked elsewhere.
pub(super) fn percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let is_plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    if is_plain { number.parse().ok().map(|percent: f64| percent / 100.0) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_units() {
        assert_eq!(span("60s"), Some(Span::from_secs(60)));
        assert_eq!(span("1h 30m"), Some(Span::from_secs(5400)));
        assert_eq!(span("1.5s"), Some(Span::from_millis(1500)));
        assert_eq!(span("9000000000000s"), Some(Span(u64::MAX)));
        for bad in ["", "60", "-1s", "1 day", "1mo", "s", "60 seconds of fame"] {
            assert_eq!(span(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn percentages_have_their_sign() {
        assert_eq!(percent("1%"), Some(0.01));
        assert_eq!(percent(" 0.5 % "), Some(0.005));
        for bad in ["1", "%", "-1%", "1e1%", "nan%", "1%%", "1.2.3%"] {
            assert_eq!(percent(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(size("64MiB"), Some(64 << 20));
        assert_eq!(size("16 KiB"), Some(16 << 10));
        assert_eq!(size("0B"), Some(0));
        assert_eq!(size("99999999999999999999999GiB"), Some(u64::MAX));
        for bad in ["", "64", "64MB", "1.5MiB", "-1B", "MiB", "１B"] {
            assert_eq!(size(bad), None, "{bad:?}");
        }
    }
}
