//! Moments and lengths of time as people and machines read them.

use jiff::tz::TimeZone;
use speedup_core::value::time::Timestamp;
pub(crate) use speedup_report::roughly;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_read_every_nanosecond() {
        assert_eq!(rfc3339(Timestamp(1_700_000_000_000_000_007)), "2023-11-14T22:13:20.000000007Z");
        assert_eq!(rfc3339(Timestamp(0)), "1970-01-01T00:00:00.000000000Z");
        assert!(rfc3339(Timestamp(u64::MAX)).starts_with("2554-"));
    }
}
