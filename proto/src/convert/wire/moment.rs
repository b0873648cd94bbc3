//! Moments and durations: the well-known types of protobuf in the API, whole nanoseconds in what is stored.

use speedup_core::value::time::{Span, Timestamp};

use super::malformed::{Malformed, Why};

const SECOND_NS: u64 = 1_000_000_000;

/// Converts a moment to the API's type.
pub fn timestamp(moment: Timestamp) -> prost_types::Timestamp {
    let (seconds, nanos) = parts(moment.0);
    prost_types::Timestamp { seconds, nanos }
}

/// Converts whole seconds since 1970, as in certificates and tokens, to the API's type.
pub fn timestamp_of_seconds(seconds: u64) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds: i64::try_from(seconds).unwrap_or(i64::MAX), nanos: 0 }
}

/// Converts a duration to the API's type.
pub fn duration(span: Span) -> prost_types::Duration {
    let (seconds, nanos) = parts(span.0);
    prost_types::Duration { seconds, nanos }
}

fn parts(ns: u64) -> (i64, i32) {
    // A u64 of nanoseconds has 584 years, and a rest below a second fits.
    ((ns / SECOND_NS).cast_signed(), ((ns % SECOND_NS) as u32).cast_signed())
}

/// Reads the moment of a field.
pub fn moment(wire: &prost_types::Timestamp, field: &str) -> Result<Timestamp, Malformed> {
    whole(wire.seconds, wire.nanos, field).map(Timestamp)
}

/// Reads the moment of a required field.
pub fn required_moment(wire: Option<&prost_types::Timestamp>, field: &str) -> Result<Timestamp, Malformed> {
    moment(wire.ok_or_else(|| Malformed::new(field, Why::Missing))?, field)
}

/// Reads a moment of an answer that is only displayed: `None` if it is absent or invalid.
pub fn known_moment(wire: Option<&prost_types::Timestamp>) -> Option<Timestamp> {
    moment(wire?, "").ok()
}

/// Reads a duration of an answer that is only displayed: `None` if it is absent or invalid.
pub fn known_span(wire: Option<&prost_types::Duration>) -> Option<Span> {
    span(wire?, "").ok()
}

/// Reads the duration of a field.
pub fn span(wire: &prost_types::Duration, field: &str) -> Result<Span, Malformed> {
    whole(wire.seconds, wire.nanos, field).map(Span)
}

/// Reads the duration of a field in whole seconds.
pub fn span_in_seconds(wire: &prost_types::Duration, field: &str) -> Result<u64, Malformed> {
    let seconds = u64::try_from(wire.seconds).ok().filter(|_| wire.nanos == 0);
    seconds.ok_or_else(|| Malformed::new(field, Why::WholeSeconds))
}

/// Converts to nanoseconds; refuses moments before 1970 and negative durations.
fn whole(seconds: i64, nanos: i32, field: &str) -> Result<u64, Malformed> {
    let nanos = u32::try_from(nanos).ok().map(u64::from).filter(|nanos| *nanos < SECOND_NS);
    let seconds = u64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(SECOND_NS));
    let whole = seconds.zip(nanos).and_then(|(seconds, nanos)| seconds.checked_add(nanos));
    whole.ok_or_else(|| Malformed::new(field, Why::Moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_and_duration_is_read_back() {
        for ns in [0, 1, SECOND_NS - 1, SECOND_NS, 1_795_640_407_123_456_789, u64::MAX] {
            assert_eq!(moment(&timestamp(Timestamp(ns)), "at"), Ok(Timestamp(ns)));
            assert_eq!(span(&duration(Span(ns)), "lasts"), Ok(Span(ns)));
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for (seconds, nanos) in [(-1, 0), (0, -1), (0, 1_000_000_000), (i64::MAX, 0), (0, i32::MIN)] {
            let wire = prost_types::Timestamp { seconds, nanos };
            let error = moment(&wire, "at").unwrap_err().to_string();
            assert!(error.starts_with("at: ") && error.contains("1970"), "{error}");
        }
        let half = prost_types::Duration { seconds: 1, nanos: 500_000_000 };
        assert!(span_in_seconds(&half, "lifetime").unwrap_err().to_string().contains("whole seconds"));
    }
}
