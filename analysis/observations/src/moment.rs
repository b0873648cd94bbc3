//! Moments as programs read them.

use speedup_core::value::time::Timestamp;

/// RFC 3339 in UTC, to the nanosecond.
pub fn rfc3339(moment: Timestamp) -> String {
    let at = jiff::Timestamp::from_nanosecond(i128::from(moment.0)).unwrap_or(jiff::Timestamp::MAX);
    format!("{at:.9}")
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
