//! Times of a table in one unit, with as many digits as their spread bears, and lengths of time in words.

use std::time::Duration;

use speedup_analysis::count::decimals;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    nanoseconds: f64,
}

const UNITS: [Unit; 4] = [
    Unit { name: "s", nanoseconds: 1e9 },
    Unit { name: "ms", nanoseconds: 1e6 },
    Unit { name: "µs", nanoseconds: 1e3 },
    Unit { name: "ns", nanoseconds: 1.0 },
];

impl Unit {
    /// The largest unit in which none of `times` is below 1; where they span more than six digits, the one for their
    /// middle.
    pub(crate) fn fitting(times: impl Iterator<Item = f64> + Clone) -> Self {
        let least = times.clone().fold(f64::INFINITY, f64::min);
        let most = times.fold(0.0, f64::max);
        if !least.is_finite() {
            return UNITS[1];
        }
        let asked = if most / least > 1e6 { (least * most).sqrt() } else { least };
        UNITS.into_iter().find(|unit| asked >= unit.nanoseconds).unwrap_or(UNITS[3])
    }

    /// Nanoseconds in this unit.
    pub(crate) fn convert(self, nanoseconds: f64) -> f64 {
        nanoseconds / self.nanoseconds
    }

    /// "12.31 ± 0.12".
    pub(crate) fn with_spread(self, nanoseconds: f64, spread: f64) -> String {
        let value = nanoseconds / self.nanoseconds;
        let spread = spread / self.nanoseconds;
        // Two digits of the spread.
        let digits = decimals(spread / 10.0, 3);
        format!("{value:.digits$} ± {spread:.digits$}")
    }

    /// "12.31", to four digits.
    pub(crate) fn plain(self, nanoseconds: f64) -> String {
        let value = nanoseconds / self.nanoseconds;
        let digits = if value == 0.0 { 0 } else { decimals(value / 100.0, 3) };
        format!("{value:.digits$}")
    }
}

/// A time to three digits in the unit that fits it: "12.3 ms", "4.50 min".
pub(crate) fn span(nanoseconds: f64) -> String {
    const LONG: [(f64, &str); 3] = [(86_400e9, "d"), (3_600e9, "h"), (60e9, "min")];
    // Two of a unit before it is used: 90 s are easier than 1.5 min.
    let long = LONG.into_iter().find(|(size, _)| nanoseconds >= 2.0 * size);
    let (size, name) = long.unwrap_or_else(|| {
        let unit = Unit::fitting(std::iter::once(nanoseconds).filter(|time| *time > 0.0));
        (unit.nanoseconds, unit.name)
    });
    let value = nanoseconds / size;
    let digits = if value == 0.0 { 0 } else { decimals(value / 100.0, 2) };
    format!("{value:.digits$}\u{a0}{name}")
}

/// A length of time with the two units that matter.
pub fn roughly(length: Duration) -> String {
    let seconds = length.as_secs_f64().round() as u64;
    let minutes = seconds / 60;
    let hours = seconds / 3_600;
    let days = seconds / 86_400;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min {} s", seconds % 60),
        3_600..86_400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// A number to four digits: "12.31", "0.001231", "1.231e20"; of smaller numbers all digits before the point.
pub(crate) fn four_digits(value: f64) -> String {
    if value.abs() >= 1e12 {
        return format!("{value:.3e}");
    }
    let digits = if value == 0.0 { 0 } else { decimals(value.abs() / 1_000.0, 12) };
    format!("{value:.digits$}")
}

/// Bytes in the IEC unit that fits `bytes`.
pub(crate) fn bytes(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut at = 0;
    while value >= 1024.0 && at + 1 < units.len() {
        value /= 1024.0;
        at += 1;
    }
    let digits = if at == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$}\u{a0}{}", units[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_two_units() {
        let shown = |seconds| roughly(Duration::from_secs(seconds));
        assert_eq!([shown(0), shown(59), shown(60)], ["0 s", "59 s", "1 min 0 s"]);
        assert_eq!([shown(7_800), shown(100_000)], ["2 h 10 min", "1 d 3 h"]);
    }
}
