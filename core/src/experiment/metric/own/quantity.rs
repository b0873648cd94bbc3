//! Quantities as programs write them: numbers with separators of thousands, durations, and numbers with a unit.
//!
//! A comma never is a decimal point: `1,234` is a thousand and more, and `1,5` is refused.

use std::sync::LazyLock;

use regex::Regex;

use super::ValueError;
use crate::value::excerpt::excerpt;

/// Separators of thousands; the last two are the spaces that locales print.
const SEPARATORS: [char; 5] = [',', '_', '\'', '\u{a0}', '\u{202f}'];
/// Units of time in nanoseconds, so that the factor between two of them is a whole number. Those of size are left out: kB and MB
/// mean a thousand to one tool and 1,024 to another.
const TIMES: [(f64, &[&str]); 6] = [
    (1.0, &["ns", "nsec"]),
    (1e3, &["us", "µs", "μs", "usec"]),
    (1e6, &["ms", "msec"]),
    (1e9, &["s", "sec", "seconds"]),
    (6e10, &["m", "min"]),
    (3.6e12, &["h"]),
];

/// A number with one kind of separator. `0,123` has the decimal comma of another locale.
static GROUPED: LazyLock<Regex> = LazyLock::new(|| {
    let groups = SEPARATORS.map(|separator| format!("(?:{separator}[0-9]{{3}})+")).join("|");
    pattern(&format!(r"^[+-]?[1-9][0-9]{{0,2}}(?:{groups})(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?$"))
});
/// Hours, minutes and seconds as a clock shows them: `1:02:03.5` and `0:01.23`.
static CLOCK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-5][0-9](?:\.[0-9]+)?)$"));
/// A number and the unit behind it: `12.5 ms`, and each part of `1m2.5s`.
static PART: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([0-9.,_'\u{a0}\u{202f}]+)\s*([^0-9.,_'\s]+)\s*"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}

/// Reads a quantity in the unit that the plan declares. `unit` is what the output has for its unit in a place of its own.
pub(super) fn read(text: &str, unit: Option<&str>, declared: &str) -> Result<f64, ValueError> {
    let text = text.trim();
    if let Some(value) = number(text) {
        return unit.map_or(Ok(value), |unit| convert(value, unit.trim(), declared));
    }
    let (magnitude, sign) = text.strip_prefix('-').map_or((text, 1.0), |magnitude| (magnitude, -1.0));
    if unit.is_some() || magnitude.is_empty() {
        return Err(ValueError::no_number(text));
    }
    if let Some(clock) = CLOCK.captures(magnitude) {
        let mut seconds = 0.0;
        for field in clock.iter().skip(1) {
            seconds = 60.0 * seconds + field.and_then(|field| number(field.as_str())).unwrap_or(0.0);
        }
        return convert(sign * seconds, "s", declared);
    }
    let mut sum = 0.0;
    let mut rest = magnitude;
    while !rest.is_empty() {
        let part = PART.captures(rest).ok_or_else(|| ValueError::no_number(text))?;
        let value = number(&part[1]).ok_or_else(|| ValueError::no_number(text))?;
        // Only times are written in several parts.
        if part[0].len() < magnitude.len() && nanoseconds(&part[2]).is_none() {
            return Err(ValueError::no_number(text));
        }
        sum += convert(value, &part[2], declared)?;
        rest = &rest[part[0].len()..];
    }
    Ok(sign * sum)
}

/// A number, also with separators before every three of its whole digits.
fn number(text: &str) -> Option<f64> {
    match text.parse() {
        Err(_) if GROUPED.is_match(text) => text.replace(SEPARATORS, "").parse().ok(),
        read => read.ok(),
    }
}

/// Converts from one unit of time into another. What both are per, as in `ns/op`, has to be the same.
fn convert(value: f64, from: &str, to: &str) -> Result<f64, ValueError> {
    let (from_unit, from_per) = from.split_once('/').unwrap_or((from, ""));
    let (to_unit, to_per) = to.split_once('/').unwrap_or((to, ""));
    match (nanoseconds(from_unit), nanoseconds(to_unit)) {
        _ if from == to => Ok(value),
        // By the larger over the smaller, which is exact: 0.1 ms are 100 µs.
        (Some(from), Some(to)) if from_per == to_per && from >= to => Ok(value * (from / to)),
        (Some(from), Some(to)) if from_per == to_per => Ok(value / (to / from)),
        _ => Err(ValueError::Unit { written: excerpt(from), declared: to.to_owned() }),
    }
}

fn nanoseconds(unit: &str) -> Option<f64> {
    TIMES.iter().find(|(_, names)| names.contains(&unit)).map(|(factor, _)| *factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_of_thousands_stand_before_every_three_digits() {
        let plain = |text| read(text, None, "");
        for text in ["1,234,567.5", "1_234_567.5", "1'234'567.5", "1\u{202f}234\u{202f}567.5", "1234567.5"] {
            assert_eq!(plain(text), Ok(1_234_567.5), "{text}");
        }
        assert_eq!(plain("-12,000e-3"), Ok(-12.0));
        for text in [
            "1,5",
            "0,123",
            "1,2345",
            "1234,567",
            "1,234_567",
            "1.234,5",
            "1,,234",
            ",234",
            "1,234 567",
            "-",
            "",
        ] {
            assert_eq!(plain(text), Err(ValueError::no_number(text)), "{text}");
        }
    }

    #[test]
    fn a_unit_of_its_own_is_converted() {
        let cases = [
            ("12.5", "ms", "s", 0.0125),
            ("0.1", "ms", "µs", 100.0),
            ("1,250", "ns/iter", "us/iter", 1.25),
            ("7", "widgets", "widgets", 7.0),
        ];
        for (text, unit, declared, expected) in cases {
            assert_eq!(read(text, Some(unit), declared), Ok(expected), "{text} {unit}");
        }
        for (unit, declared) in
            [("ms", "MiB"), ("ms/op", "ms"), ("kB", "B"), ("ops/s", "ops/ms"), ("ms", ""), ("MS", "s")]
        {
            let refused = read("1", Some(unit), declared);
            assert!(matches!(refused, Err(ValueError::Unit { .. })), "{unit}: {refused:?}");
        }
    }

    #[test]
    fn durations_are_read_in_the_declared_unit() {
        let cases = [
            ("0:01.23", "ms", 1230.0),
            ("1:02:03.5", "s", 3723.5),
            ("90:00", "h", 1.5),
            ("1m2.5s", "s", 62.5),
            ("0m1.234s", "ms", 1234.0),
            ("1h 2m", "min", 62.0),
            ("-1m2s", "s", -62.0),
            ("350.25 µs", "ns", 350_250.0),
            ("1,024 KiB", "KiB", 1024.0),
        ];
        for (text, declared, expected) in cases {
            assert_eq!(read(text, None, declared), Ok(expected), "{text}");
        }
        assert!(matches!(read("0:01.23", None, ""), Err(ValueError::Unit { .. })));
        for text in ["1:2:3", "1:60", "::", "1m2", "2 GiB 3 MiB", "12:30:00 UTC", "s", "e"] {
            assert_eq!(read(text, None, "s"), Err(ValueError::no_number(text)), "{text}");
        }
    }
}
