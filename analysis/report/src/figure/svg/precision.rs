//! Precision against cost.

use maud::{Markup, html};
use speedup_analysis::study::PrecisionFigure;

use super::frame::{BOTTOM, LEFT, Labels, RIGHT, TICKS, TOP, frame, line, title};
use super::{class, shape, short, stroke};
use crate::document::{clean, shortened};
use crate::figure::panel::{as_percent, costs, half_width, now};
use crate::figure::{Panel, Panels, axis::Axis, axis::Spacing};

/// How far words reach beside a point, how far lines of them are apart, and the letters of a name in them.
const WORDS: f64 = 150.0;
const LINE: f64 = 13.0;
const NAME: usize = 16;

pub(super) fn drawn(panels: &Panels, panel: &Panel) -> Markup {
    let curves = || {
        let of_versions = panels.figures.precision.iter().zip(1..);
        of_versions.filter_map(|(curve, version)| Some((curve.as_ref()?, version)))
    };
    let times = curves().flat_map(|(curve, _)| curve.cost_ns.iter().copied());
    let widths = curves().flat_map(|(curve, _)| curve.relative_half_width.iter().copied());
    let x = Axis::over(Spacing::Logarithmic, times, 0.03).across(LEFT, RIGHT);
    let y = Axis::over(Spacing::Logarithmic, widths, 0.06).across(BOTTOM, TOP);
    let number = curves().count();
    let drawn = html! {
        @for (at, (curve, version)) in curves().enumerate() {
            (curve_of(curve, version, &x, &y))
            (now_of(curve, version, (number > 1).then_some(at), (&x, &y)))
        }
    };
    let ticks = y.ticks(TICKS).0.into_iter().map(|tick| (tick, as_percent(tick))).collect();
    let y = Labels { axis: &y, name: "half-width of the speedup's interval", ticks };
    let x = Labels { axis: &x, name: "wall time of the runs of both versions", ticks: costs(&x) };
    frame(&title(panels, panel), &panel.description, &x, &y, &drawn)
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
                @let name = shortened(&clean(&curve.candidate), NAME);
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
