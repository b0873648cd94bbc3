//! Moments and lengths of time as people and machines read them.

use std::time::Duration;

use jiff::tz::TimeZone;
use speedup_core::value::time::Timestamp;

fn calendar(moment: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_nanosecond(i128::from(moment.0)).unwrap_or(jiff::Timestamp::MAX)
}

/// In the user's time zone, to the second.
pub(crate) fn local(moment: Timestamp) -> String {
    calendar(moment).to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// RFC 3339 in UTC, to the nanosecond.
pub(crate) fn rfc3339(moment: Timestamp) -> String {
    format!("{:.9}", calendar(moment))
}

/// The time of day now, in the user's time zone.
pub(crate) fn time_of_day() -> String {
    jiff::Zoned::now().strftime("%H:%M:%S").to_string()
}

/// A length of time with the two units that matter.
pub(crate) fn roughly(length: Duration) -> String {
    let seconds = length.as_secs_f64().round() as u64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min {} s", seconds % 60),
        3_600..86_400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_read_every_nanosecond() {
        assert_eq!(rfc3339(Timestamp(1_700_000_000_000_000_007)), "2023-11-14T22:13:20.000000007Z");
        assert_eq!(rfc3339(Timestamp(0)), "1970-01-01T00:00:00.000000000Z");
        assert!(rfc3339(Timestamp(u64::MAX)).starts_with("2554-"));
    }

    #[test]
    fn people_read_two_units() {
        let shown = |seconds| roughly(Duration::from_secs(seconds));
        assert_eq!([shown(0), shown(59), shown(60)], ["0 s", "59 s", "1 min 0 s"]);
        assert_eq!([shown(7_800), shown(100_000)], ["2 h 10 min", "1 d 3 h"]);
    }
}
