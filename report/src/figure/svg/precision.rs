//! Precision against cost.

use maud::{Markup, html};
use speedup_analysis::study::PrecisionFigure;

use super::frame::{BOTTOM, LEFT, Labels, RIGHT, TICKS, TOP, frame, line};
use super::panel::title;
use super::{class, shape, short, stroke};
use crate::duration::span;
use crate::figure::axis::{Axis, Spacing};
use crate::figure::panel::{half_width, now};
use crate::figure::{Panel, Panels};

/// Labels of the costs, which are words.
const COSTS: usize = 4;

pub(super) fn drawn(panels: &Panels, panel: &Panel) -> Markup {
    let curves = || {
        let of_versions = panels.figures.precision.iter().zip(1..);
        of_versions.filter_map(|(curve, version)| Some((curve.as_ref()?, version)))
    };
    let costs = curves().flat_map(|(curve, _)| curve.cost_ns.iter().copied());
    let widths = curves().flat_map(|(curve, _)| curve.relative_half_width.iter().copied());
    let x = Axis::over(Spacing::Logarithmic, costs, 0.03).across(LEFT, RIGHT);
    let y = Axis::over(Spacing::Logarithmic, widths, 0.06).across(BOTTOM, TOP);
    let drawn = html! { @for (curve, version) in curves() { (curve_of(curve, version, &x, &y)) } };
    let ticks = y.ticks(TICKS).0.into_iter().map(|tick| (tick, percent(tick))).collect();
    let y = Labels { axis: &y, name: "half-width of the speedup's interval", ticks };
    let x = Labels { axis: &x, name: "wall time of the runs of both versions", ticks: costs_of(&x) };
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

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent >= 1.0 { 1 } else { 4 };
    format!("{}%", crate::figure::axis::label(percent, digits))
}

/// Round costs, each in the unit that fits it.
fn costs_of(axis: &Axis) -> Vec<(f64, String)> {
    const ROUND: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
    let short = [1.0, 1e3, 1e6].into_iter().flat_map(|unit| ROUND.map(|round| round * unit));
    let seconds =
        [1.0, 5.0, 20.0, 60.0, 300.0, 1_200.0, 3_600.0, 14_400.0, 43_200.0, 86_400.0, 432_000.0, 2_592_000.0];
    let all = short.chain(seconds.into_iter().map(|second| second * 1e9));
    let within: Vec<f64> = all.filter(|cost| axis.holds(*cost)).collect();
    let every = within.len().div_ceil(COSTS).max(1);
    within.into_iter().step_by(every).map(|cost| (cost, trimmed(&span(cost)))).collect()
}

/// A round time without its zeros: "50 ms" of "50.0 ms".
fn trimmed(span: &str) -> String {
    match span.split_once('\u{a0}') {
        Some((number, unit)) if number.contains('.') => {
            format!("{}\u{a0}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        Some(_) | None => span.to_owned(),
    }
}
