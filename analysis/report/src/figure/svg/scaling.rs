//! Speedups against numbers of hosts.

use maud::{Markup, html};

use super::frame::{BOTTOM, LEFT, Labels, RIGHT, TOP, frame, line};
use super::{class, shape, short, stroke};
use crate::{figure::ScalingFigure, figure::ScalingSeriesCurve, figure::axis::Axis};

/// Half the bar at the end of an interval.
const BAR: f64 = 3.0;

pub(crate) fn drawn(figure: &ScalingFigure) -> Markup {
    let (x, y) = figure.axes();
    let x = x.across(LEFT, RIGHT);
    let y = y.across(BOTTOM, TOP);
    let place = |(hosts, speedup): (f64, f64)| (x.at(hosts), y.at(speedup));
    let drawn = html! {
        path class="one" d=(line(figure.ideal().into_iter().map(place))) {}
        @for (version, curve) in figure.curves.iter().enumerate() {
            path class={ "fit " (class(version)) } d=(line(curve.fitted.iter().copied().map(place))) {}
            (points(curve, version, &x, &y))
        }
    };
    frame(&figure.title, &figure.description, &figure.labels(&x), &Labels::round(&y, "speedup"), &drawn)
}

fn points(curve: &ScalingSeriesCurve, version: usize, x: &Axis, y: &Axis) -> Markup {
    let d = line(curve.points.iter().map(|point| (x.at(point.hosts), y.at(point.speedup))));
    html! {
        path class={ "line " (class(version)) } d=(d) stroke-dasharray=[stroke(version)] {}
        @for point in &curve.points {
            @let at = x.at(point.hosts);
            @if let Some((lower, upper)) = point.ends {
                @let bars = [lower, upper].map(|end| {
                    format!("M{} {}H{}", short(at - BAR), short(y.at(end)), short(at + BAR))
                });
                @let between = format!("M{} {}V{}", short(at), short(y.at(lower)), short(y.at(upper)));
                path class={ "line " (class(version)) } d={ (between) (bars[0]) (bars[1]) } {}
            }
            path class={ "dot " (class(version)) } d={ "M" (short(at)) " " (short(y.at(point.speedup))) (shape(version)) } {}
        }
    }
}
