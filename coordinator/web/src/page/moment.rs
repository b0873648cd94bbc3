//! Moments, in UTC: the page does not know where its reader is.

use maud::{Markup, html};

/// A moment in nanoseconds since 1970.
pub(super) fn moment(at_ns: u64) -> Markup {
    let at = jiff::Timestamp::from_nanosecond(i128::from(at_ns)).unwrap_or(jiff::Timestamp::MAX);
    let shown = at.strftime("%Y-%m-%d %H:%M:%S").to_string();
    html! { time datetime=(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()) { (shown) "\u{a0}UTC" } }
}

/// A moment in seconds since 1970.
pub(super) fn moment_of_seconds(at_s: u64) -> Markup {
    moment(at_s.saturating_mul(1_000_000_000))
}
