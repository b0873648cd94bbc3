//! Moments and lengths of time as people and machines read them.

use jiff::tz::TimeZone;
use speedup_core::value::time::Timestamp;
pub(crate) use speedup_observations::rfc3339;
pub(crate) use speedup_report::roughly;

fn calendar(moment: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_nanosecond(i128::from(moment.0)).unwrap_or(jiff::Timestamp::MAX)
}

/// In the user's time zone, to the second.
pub(crate) fn local(moment: Timestamp) -> String {
    calendar(moment).to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

pub(crate) fn day(moment: Timestamp) -> String {
    calendar(moment).strftime("%Y-%m-%d").to_string()
}

/// The day now, in UTC.
pub(crate) fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// The time of day now, in the user's time zone.
pub(crate) fn time_of_day() -> String {
    jiff::Zoned::now().strftime("%H:%M:%S").to_string()
}
