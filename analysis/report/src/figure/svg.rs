//! The drawings as SVG, to stand in a page with [`STYLE`]: colours are the style's, for light and dark; what a
//! colour says is said by a shape or a stroke as well. Each has a title and a description, and needs no script.
//!
//! A forest and a proportion are as wide as their place, with letters of one size: their places are percentages. The small
//! drawings have a size, and grow a little with their place.

mod file;
mod forest;
mod frame;
mod history;
mod panel;
mod precision;
mod scaling;
mod strip;
mod values;

use maud::{Markup, html};

pub(crate) use self::{file::File, file::files, strip::Strips};
use super::{Forest, History, Mark, Panel, Panels, ProportionFigure, ScalingFigure};

/// The style of a report; all its rules are within the class `speedup-report`.
pub const STYLE: &str = include_str!("../style.css");
/// The shapes of the versions, in their order, about a point; the first again after the last.
const SHAPES: [&str; 6] = [
    "m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0z",
    "m0-3.6l3.6 3.6l-3.6 3.6l-3.6-3.6z",
    "m-2.5-2.5h5v5h-5z",
    "m0-3.3l3.3 5.6h-6.6z",
    "m0 3.3l3.3-5.6h-6.6z",
    "m-3.2 0h6.4m-3.2-3.2v6.4",
];
/// The strokes of the versions, in their order.
const STROKES: [&str; 4] = ["", "7 3", "9 3 2 3", "4 2"];

/// A forest, in drawings one below the other.
pub fn forest(figure: &Forest) -> Markup {
    html! { @for (drawn, _) in forest::parts(figure) { (drawn) } }
}

/// Proportions.
pub fn proportion(figure: &ProportionFigure) -> Markup {
    forest::proportion(figure)
}

/// The history of a benchmark on a track.
pub fn history(figure: &History) -> Markup {
    history::drawn(figure)
}

/// Speedups against numbers of hosts.
pub fn scaling(figure: &ScalingFigure) -> Markup {
    scaling::drawn(figure)
}

/// One of the drawings of a benchmark.
pub fn panel(panels: &Panels, panel: &Panel) -> Markup {
    panel::drawn(panels, panel)
}

/// The mark of a version, as it stands beside its name.
pub fn key(version: usize) -> Markup {
    html! {
        svg class="key" width="34" height="12" viewBox="0 0 34 12" aria-hidden="true" focusable="false" {
            path class={ "line " (class(version)) } d="M1 6H33" stroke-dasharray=[stroke(version)] {}
            path class={ "dot " (class(version)) } d={ "M17 6" (shape(version)) } {}
        }
    }
}

/// The mark of a verdict about a point.
fn mark(mark: Mark) -> Markup {
    match mark {
        Mark::Faster => html! { circle class="mark better" r="4.5" {} },
        Mark::Slower => html! { rect class="mark worse" x="-4" y="-4" width="8" height="8" {} },
        Mark::Neither => html! { circle class="mark neither" r="4" {} },
    }
}

fn class(version: usize) -> String {
    format!("v{}", version % SHAPES.len())
}

fn shape(version: usize) -> &'static str {
    SHAPES[version % SHAPES.len()]
}

fn stroke(version: usize) -> Option<&'static str> {
    Some(STROKES[version % STROKES.len()]).filter(|stroke| !stroke.is_empty())
}

/// A length or place: a tenth of a pixel is not seen.
fn short(value: f64) -> String {
    super::axis::label(value, 1).replace('−', "-")
}

/// A share of the width.
fn percentage(share: f64) -> String {
    format!("{}%", super::axis::label(share, 2).replace('−', "-"))
}
