//! The drawings as SVG, to stand in a page with [`STYLE`]: colours are the style's, for light and dark; what a
//! colour says is said by a shape or a stroke as well. Each has a title and a description, and needs no script.
//!
//! A forest and a proportion are as wide as their place, with letters of one size: their places are percentages. The small
//! drawings have a size, and grow a little with their place.

mod forest;
mod frame;
mod history;
mod panel;
mod precision;
mod scaling;
mod strip;
mod values;

use maud::{Markup, PreEscaped, html};

pub(crate) use self::forest::proportion;
pub(crate) use self::history::drawn as history;
pub(crate) use self::panel::drawn as panel;
pub(crate) use self::scaling::drawn as scaling;
pub(crate) use self::strip::Strips;
use super::{Figure, Mark};

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
/// Pixels: the width of a forest or a proportion, which takes what it is given, and how much larger a small drawing is.
const WIDTH: usize = 760;
const LARGER: f64 = 1.25;

/// A drawing as a file of its own, with the style that a page gives it.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// What it shows, in words.
    pub(crate) description: String,
    pub(crate) svg: String,
}

/// The drawings of a figure.
pub(crate) fn files(figure: &Figure) -> Vec<File> {
    match figure {
        Figure::Forest(of) => {
            let parts = forest::parts(of).into_iter();
            parts.map(|(drawn, height)| wide(&of.description, &drawn, height)).collect()
        }
        Figure::Proportion(of) => {
            vec![wide(&of.description, &forest::proportion(of), forest::proportion_height(of))]
        }
        Figure::History(of) => vec![file(&of.description, &history::drawn(of), history::SIZE, 1.0)],
        Figure::Scaling(of) => vec![small(&of.description, &scaling::drawn(of))],
        Figure::Panels(of) => of
            .panels
            .iter()
            .map(|one| small(&format!("{}. {}", one.title, one.description), &panel::drawn(of, one)))
            .collect(),
    }
}

fn wide(description: &str, drawn: &Markup, height: usize) -> File {
    file(description, drawn, (WIDTH as f64, height as f64), 1.0)
}

fn small(description: &str, drawn: &Markup) -> File {
    file(description, drawn, frame::SIZE, LARGER)
}

fn file(description: &str, drawn: &Markup, (width, height): (f64, f64), larger: f64) -> File {
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" class="speedup-report" width=(width * larger) height=(height * larger)
            viewBox={ "0 0 " (width) " " (height) } {
            // Its own file: it holds no letter that XML would take for another.
            style { (PreEscaped(STYLE)) }
            rect width="100%" height="100%" style="fill:var(--ground)" {}
            (drawn)
        }
    };
    File { description: description.to_owned(), svg: format!("{}\n", svg.into_string()) }
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
