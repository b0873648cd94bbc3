//! Precision against cost.

use maud::{Markup, html};
use speedup_analysis::study::PrecisionFigure;

use super::frame::{BOTTOM, LEFT, Labels, RIGHT, TICKS, TOP, frame, line};
use super::panel::title;
use super::{class, shape, short, stroke};
use crate::figure::axis::{Axis, Spacing};
use crate::figure::panel::{as_percent, costs, half_width, now};
use crate::figure::{Panel, Panels};

pub(super) fn drawn(panels: &Panels, panel: &Panel) -> Markup {
    let curves = || {
        let of_versions = panels.figures.precision.iter().zip(1..);
        of_versions.filter_map(|(curve, version)| Some((curve.as_ref()?, version)))
    };
    let times = curves().flat_map(|(curve, _)| curve.cost_ns.iter().copied());
    let widths = curves().flat_map(|(curve, _)| curve.relative_half_width.iter().copied());
    let x = Axis::over(Spacing::Logarithmic, times, 0.03).across(LEFT, RIGHT);
    let y = Axis::over(Spacing::Logarithmic, widths, 0.06).across(BOTTOM, TOP);
    let drawn = html! { @for (curve, version) in curves() { (curve_of(curve, version, &x, &y)) } };
    let ticks = y.ticks(TICKS).0.into_iter().map(|tick| (tick, as_percent(tick))).collect();
    let y = Labels { axis: &y, name: "half-width of the speedup's interval", ticks };
    let x = Labels { axis: &x, name: "wall time of the runs of both versions", ticks: costs(&x) };
    frame(&title(panels, panel), &panel.description, &x, &y, &drawn)
}

fn curve_of(curve: &PrecisionFigure, version: usize, x: &Axis, y: &Axis) -> Markup {
    let place = |at: usize| (x.at(curve.cost_ns[at]), y.at(curve.relative_half_width[at]));
    let d = line((0..curve.runs.len()).map(place));
    html! {
        path class={ "line " (class(version)) } d=(d) stroke-dasharray=[stroke(version)] {}
        @if let Some(at) = now(curve) {
            @let (left, top) = place(at);
            path class={ "dot now " (class(version)) } d={ "M" (short(left)) " " (short(top)) (shape(version)) } {}
            text class="value" x=(short(left + 8.0)) y=(short(top - 5.0)) {
                "now: " (curve.runs_now) " runs, ±" (half_width(curve.relative_half_width[at]))
            }
        }
    }
}
