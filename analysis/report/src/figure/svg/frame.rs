//! The frame of a small drawing: its size, its axes and their labels.

use maud::{Markup, html};

use super::short;
pub(super) use crate::figure::axis::Labels;
use crate::figure::{Panel, Panels};

/// The size of a small drawing: a phone shows it as it is.
pub(super) const SIZE: (f64, f64) = (340.0, 220.0);
/// The corners of what is drawn within.
pub(super) const LEFT: f64 = 44.0;
pub(super) const RIGHT: f64 = 332.0;
pub(super) const TOP: f64 = 20.0;
pub(super) const BOTTOM: f64 = 182.0;
/// A drawing with its axes.
pub(super) fn frame(
    title: &str,
    description: &str,
    x: &Labels<'_>,
    y: &Labels<'_>,
    drawn: &Markup,
) -> Markup {
    html! {
        svg class="panel" role="img" viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } {
            title { (title) }
            desc { (description) }
            @for (value, label) in &y.ticks {
                @let at = short(y.axis.at(*value));
                line class="grid" x1=(LEFT) x2=(RIGHT) y1=(at) y2=(at) {}
                text class="tick" x=(LEFT - 5.0) y=(at) dy="3.5" text-anchor="end" { (label) }
            }
            text class="axis" x="2" y="11" { (y.name) }
            line class="base" x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
            @for (value, label) in &x.ticks {
                @let at = short(x.axis.at(*value));
                line class="base" x1=(at) x2=(at) y1=(BOTTOM) y2=(BOTTOM + 4.0) {}
                text class="tick" x=(at) y=(BOTTOM + 16.0) text-anchor="middle" { (label) }
            }
            text class="axis" x=(RIGHT) y=(SIZE.1 - 6.0) text-anchor="end" { (x.name) }
            (drawn)
        }
    }
}

/// A line through points, in the order in which they come.
pub(super) fn line(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    for (x, y) in points {
        d += if d.is_empty() { "M" } else { "L" };
        d += &format!("{} {}", short(x), short(y));
    }
    d
}

/// The title of a drawing: its caption, and whose it is.
pub(super) fn title(panels: &Panels, panel: &Panel) -> String {
    format!("{}: {}", panels.benchmark, panel.title)
}
