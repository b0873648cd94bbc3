//! Moments, in UTC: the page does not know where its reader is.

use maud::{Markup, html};
use speedup_proto::convert::known_moment;

/// A moment in nanoseconds since 1970.
pub(super) fn moment(at_ns: u64) -> Markup {
    let at = jiff::Timestamp::from_nanosecond(i128::from(at_ns)).unwrap_or(jiff::Timestamp::MAX);
    let shown = at.strftime("%Y-%m-%d %H:%M:%S").to_string();
    html! { time datetime=(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()) { (shown) "\u{a0}UTC" } }
}

/// A moment of the API; nothing where it is absent.
pub(super) fn moment_of(wire: Option<&prost_types::Timestamp>) -> Markup {
    known_moment(wire).map_or_else(Markup::default, |at| moment(at.0))
}
