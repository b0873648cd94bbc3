//! Precision against cost.

use maud::{Markup, html};
use speedup_analysis::study::PrecisionFigure;
use speedup_core::value::foreign::one_line;

use super::frame::{BOTTOM, LEFT, RIGHT, TOP, frame, line, title};
use super::{class, shape, short, stroke};
use crate::figure::layout::precision_labels;
use crate::figure::panel::{half_width, now};
use crate::figure::{Panel, Panels, axis::Axis};
use crate::names::shortened;

/// How far words reach beside a point, how far lines of them are apart, and the letters of a name in them.
const WORDS: f64 = 150.0;
const LINE: f64 = 13.0;
const NAME: usize = 16;

pub(super) fn drawn(panels: &Panels, panel: &Panel) -> Markup {
    let (x, y) = panels.precision_axes();
    let x = x.across(LEFT, RIGHT);
    let y = y.across(BOTTOM, TOP);
    let number = panels.precision_curves().count();
    let drawn = html! {
        @for (at, (curve, version)) in panels.precision_curves().enumerate() {
            (curve_of(curve, version, &x, &y))
            (now_of(curve, version, (number > 1).then_some(at), (&x, &y)))
        }
    };
    let (costs, widths) = precision_labels(&x, &y);
    frame(&title(panels, panel), &panel.description, &costs, &widths, &drawn)
}

fn curve_of(curve: &PrecisionFigure, version: usize, x: &Axis, y: &Axis) -> Markup {
    let d = line((0..curve.runs.len()).map(|at| place(curve, at, x, y)));
    html! { path class={ "line " (class(version)) } d=(d) stroke-dasharray=[stroke(version)] {} }
}

fn place(curve: &PrecisionFigure, at: usize, x: &Axis, y: &Axis) -> (f64, f64) {
    (x.at(curve.cost_ns[at]), y.at(curve.relative_half_width[at]))
}

/// Where the runs that there are stand on a curve: beside it, or of several curves in the `line` of each at the top, where the
/// curves, which fall, leave room.
fn now_of(curve: &PrecisionFigure, version: usize, line: Option<usize>, (x, y): (&Axis, &Axis)) -> Markup {
    let Some(at) = now(curve) else { return html! {} };
    let (left, top) = place(curve, at, x, y);
    let words = format!("now: {} runs, ±{}", curve.runs_now, half_width(curve.relative_half_width[at]));
    html! {
        path class={ "dot now " (class(version)) } d={ "M" (short(left)) " " (short(top)) (shape(version)) } {}
        @match line {
            Some(line) => {
                @let name = shortened(&one_line(&curve.candidate), NAME);
                text class="value" x=(RIGHT) y=(short(LINE.mul_add(line as f64 + 1.0, TOP))) text-anchor="end" {
                    (name) ", " (words)
                }
            }
            None if left + WORDS > RIGHT => {
                text class="value" x=(RIGHT) y=(short(top - 5.0)) text-anchor="end" { (words) }
            }
            None => text class="value" x=(short(left + 8.0)) y=(short(top - 5.0)) { (words) },
        }
    }
}
