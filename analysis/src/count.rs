//! Numbers as sentences show them.

pub use speedup_core::value::count::{counted, grouped};
use speedup_statistics::inference::percent_beside;

/// The decimals that show the leading digit of `width`, at most `most`.
pub fn decimals(width: f64, most: usize) -> usize {
    if !(width > 0.0 && width.is_finite()) {
        return most.min(2);
    }
    let needed = -width.log10().floor();
    needed.clamp(0.0, most as f64) as usize
}

/// A speedup with its interval, all three with as many digits as the interval bears: "1.23× [1.19, 1.27]".
pub fn ratio(estimate: f64, interval: Option<(f64, f64)>) -> String {
    let least = 2 + leading_zeros(estimate);
    match interval {
        Some((lower, upper)) if lower == upper => {
            let digits = decimals_beside_one(estimate, least);
            format!("{}× [no width: ties]", fixed_or_exponent(estimate, digits))
        }
        Some((lower, upper)) => {
            let mut digits = decimals(upper - lower, MOST_DIGITS).max(least);
            for end in [lower, upper] {
                digits = decimals_beside_one(end, digits.max(1 + leading_zeros(end)));
            }
            let [estimate, lower, upper] =
                [estimate, lower, upper].map(|number| fixed_or_exponent(number, digits));
            format!("{estimate}× [{lower}, {upper}]")
        }
        None => format!("{}×", fixed_or_exponent(estimate, least)),
    }
}

/// A number with so many decimals, or with an exponent where it is long without one.
fn fixed_or_exponent(number: f64, digits: usize) -> String {
    with_exponent(number).unwrap_or_else(|| format!("{number:.digits$}"))
}

/// The most decimals of a ratio: as many as a clock of nanoseconds tells of a tenth of a second.
const MOST_DIGITS: usize = 8;

/// The sizes that are read without an exponent.
const PLAIN: std::ops::Range<f64> = 1e-4..1e6;

/// A number that is long without an exponent, with three digits and one.
fn with_exponent(number: f64) -> Option<String> {
    let is_long = number != 0.0 && number.is_finite() && !PLAIN.contains(&number.abs());
    is_long.then(|| format!("{number:.2e}"))
}

/// The zeros between the point's first decimal and the leading digit of a number of [`PLAIN`]: none of 0.1, one of 0.01.
fn leading_zeros(number: f64) -> usize {
    if !PLAIN.contains(&number.abs()) {
        return 0;
    }
    (-number.abs().log10().floor() - 1.0).max(0.0) as usize
}

/// At least `digits` decimals, and as many of at most [`MOST_DIGITS`] as it takes that a number is not shown as 1 when it is
/// beside 1: on which side, is what an interval is read for.
fn decimals_beside_one(number: f64, digits: usize) -> usize {
    for enough in digits..=MOST_DIGITS {
        if number == 1.0 || format!("{number:.enough$}") != format!("{:.enough$}", 1.0) {
            return enough;
        }
    }
    digits
}

/// The change of the time that goes with a speedup, in percent: "−18.7 %".
pub fn change(percent: f64, interval: Option<(f64, f64)>) -> String {
    let width = interval.map_or(1.0, |(lower, upper)| 100.0 * (1.0 / lower - 1.0 / upper));
    let digits = if width.is_finite() { decimals(width, MOST_DIGITS - 2).max(1) } else { 1 };
    let size = with_exponent(percent.abs()).filter(|_| percent.abs() > 1.0);
    let size = size.unwrap_or_else(|| format!("{:.digits$}", percent.abs()));
    let sign = match percent {
        _ if size.bytes().all(|byte| matches!(byte, b'0' | b'.')) => "",
        _ if percent < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{size}\u{a0}%")
}

/// How far a ratio lies from another, given by the larger factor less 1: "±3.5 %", and of the double and more the factor, "×/÷ 2.98",
/// since no ratio is smaller by 100 %.
pub fn spread(share: f64) -> String {
    if share < 0.999_5 {
        let digits = decimals(share * 10.0, 4).max(1);
        format!("±{:.digits$}\u{a0}%", 100.0 * share)
    } else {
        format!("×/÷\u{a0}{}", ratio(1.0 + share, None).trim_end_matches('×'))
    }
}

/// A share in percent: "95 %", "99.9 %"; with as many digits as it takes that neither nothing nor all is shown of what is
/// beside it, "0.0001 %".
pub fn percent(share: f64) -> String {
    let rounded = (share * 1e4).round() / 1e2;
    if let Some(long) = with_exponent(100.0 * share).filter(|_| share.abs() > 1.0) {
        return format!("{long}\u{a0}%");
    }
    let hides = (rounded == 0.0 && share > 0.0) || (rounded == 100.0 && share != 1.0);
    if !hides {
        return format!("{rounded}\u{a0}%");
    }
    format!("{}\u{a0}%", percent_beside(share))
}

/// A number that is known roughly, rounded up to two digits: 5 403 is 5 500.
pub fn rough(number: u64) -> u64 {
    let unit = 10_u64.pow(number.max(10).ilog10() - 1);
    number.div_ceil(unit).saturating_mul(unit)
}

/// A share that is known roughly, in percent with two digits: "4.4 %", "0.61 %", "36 %".
pub fn about(share: f64) -> String {
    let percents = 100.0 * share;
    if !(1e-9..100.0).contains(&percents) {
        return percent((10.0 * share).round() / 10.0);
    }
    let digits = (1.0 - percents.log10().floor()) as usize;
    format!("{percents:.digits$}\u{a0}%")
}

/// A p-value with two digits, and by its size where it is smaller than anyone reads: "0.031", "< 0.0001".
pub fn p_value(p: f64) -> String {
    const LEAST_SHOWN: f64 = 1e-4;
    if p < LEAST_SHOWN {
        return format!("< {LEAST_SHOWN}");
    }
    let digits = decimals(p, 4).saturating_add(1).min(4);
    format!("{p:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spaced(text: &str) -> String {
        text.replace(' ', "\u{a0}")
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(ratio(1.2345, Some((1.19, 1.27))), "1.23× [1.19, 1.27]");
        assert_eq!(ratio(1.2345, Some((1.0, 1.5))), "1.23× [1.00, 1.50]");
        assert_eq!(ratio(1.2345, Some((1.2341, 1.2349))), "1.2345× [1.2341, 1.2349]");
        assert_eq!(ratio(1.07, Some((0.998, 1.17))), "1.070× [0.998, 1.170]");
        assert_eq!(ratio(1.07, Some((0.999_999, 1.17))), "1.070000× [0.999999, 1.170000]");
        assert_eq!(ratio(1.000_007_1, Some((1.000_003, 1.000_012))), "1.000007× [1.000003, 1.000012]");
        assert_eq!(change(-0.000_71, Some((1.000_003, 1.000_012))), "−0.0007\u{a0}%");
        assert_eq!(ratio(2.0, Some((0.0, 4.2))), "2.00× [0.00, 4.20]");
        assert_eq!([0.035, 0.725, 1.976].map(spread), ["±3.5 %", "±72.5 %", "×/÷ 2.98"].map(spaced));
        assert_eq!([0.9994, 0.999_99].map(spread), ["±99.9 %", "×/÷ 2.00"].map(spaced));
        assert_eq!(ratio(0.001, Some((0.000_998, 0.001_002))), "0.001000× [0.000998, 0.001002]");
        assert_eq!(ratio(1e-9, None), "1.00e-9×");
        assert_eq!(ratio(1e9, Some((1e8, 1e50))), "1.00e9× [1.00e8, 1.00e50]");
        assert_eq!(ratio(1.5, Some((0.001, 3.0))), "1.500× [0.001, 3.000]");
        assert_eq!(ratio(0.996, Some((0.9955, 0.9964))), "0.9960× [0.9955, 0.9964]");
        assert_eq!(ratio(0.996, Some((0.996, 0.996))), "0.996× [no width: ties]");
        assert_eq!(ratio(1.0, Some((0.996, 1.004))), "1.000× [0.996, 1.004]");
        assert_eq!(ratio(0.9999, Some((0.9, 1.1))), "1.00× [0.90, 1.10]");
        assert_eq!(ratio(2.0, Some((0.0, f64::INFINITY))), "2.00× [0.00, inf]");
        assert_eq!(percent(1e40), spaced("1.00e42 %"));
        assert_eq!(change(1e30, None), spaced("+1.00e30 %"));
        assert_eq!(change(-18.69, Some((1.19, 1.27))), "−18.7\u{a0}%");
        assert_eq!(change(-0.001, Some((0.99, 1.01))), "0.0\u{a0}%");
        assert_eq!(
            [0.0, 0.95, 0.999, 1.0, 25.6].map(percent),
            ["0 %", "95 %", "99.9 %", "100 %", "2560 %"].map(spaced)
        );
        assert_eq!([0, 7, 83, 99, 101, 5_403, u64::MAX].map(rough), [0, 7, 83, 99, 110, 5_500, u64::MAX]);
        assert_eq!(
            [0.0443, 0.0061, 0.3551, 0.000_123, 3.551, 0.0].map(about),
            ["4.4 %", "0.61 %", "36 %", "0.012 %", "360 %", "0 %"].map(spaced)
        );
        assert_eq!(
            [1e-6, 1e-300, 0.99999, 1.0 - f64::EPSILON / 2.0].map(percent),
            ["0.0001 %", "1e-298 %", "99.999 %", "99.99999999999999 %"].map(spaced)
        );
        assert_eq!(
            [1e-9, 0.00012, 0.031, 0.5, 1.0].map(p_value),
            ["< 0.0001", "0.0001", "0.031", "0.50", "1.0"]
        );
    }
}
