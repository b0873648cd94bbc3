//! Precision against cost.

use super::frame::{BOTTOM, LEFT, Labels, RIGHT, TICKS, TOP, frame};
use super::{colour, line, points, stroke, words};
use crate::figure::axis::{Axis, Spacing};
use crate::figure::panel::{as_percent, costs, half_width, now};
use crate::figure::{Panel, Panels};

pub(super) fn drawn(panels: &Panels, panel: &Panel) -> String {
    let curves = || {
        let of_versions = panels.figures.precision.iter().zip(1..);
        of_versions.filter_map(|(curve, version)| Some((curve.as_ref()?, version)))
    };
    let x = curves().flat_map(|(curve, _)| curve.cost_ns.iter().copied());
    let x = Axis::over(Spacing::Logarithmic, x, 0.03).across(LEFT, RIGHT);
    let y = curves().flat_map(|(curve, _)| curve.relative_half_width.iter().copied());
    let y = Axis::over(Spacing::Logarithmic, y, 0.06).across(BOTTOM, TOP);
    let mut drawn = String::new();
    for (curve, version) in curves() {
        let place = |at: usize| (x.at(curve.cost_ns[at]), y.at(curve.relative_half_width[at]));
        drawn += &line(&format!("{},{}", colour(version), stroke(version)), (0..curve.runs.len()).map(place));
        if let Some(at) = now(curve) {
            let (left, height) = place(at);
            drawn += &points(version, [(left, height)].into_iter());
            let text =
                format!("now: {} runs, ±{}", curve.runs_now, half_width(curve.relative_half_width[at]));
            drawn += &words("above right,inner sep=2pt", left, height, &text);
        }
    }
    let ticks = y.ticks(TICKS).0.into_iter().map(|tick| (tick, as_percent(tick))).collect();
    let y = Labels { axis: &y, name: "half-width of the speedup's interval", ticks };
    let x = Labels { axis: &x, name: "wall time of the runs of both versions", ticks: costs(&x) };
    frame(panel.title, &x, &y, &drawn)
}
