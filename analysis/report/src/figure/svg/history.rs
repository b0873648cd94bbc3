//! The history of a benchmark: the points with their band, the levels, the steps, and the references.

use maud::{Markup, html};

use super::{mark, short};
use crate::{figure::History, figure::axis::Axis, figure::axis::Labels, figure::axis::Spacing};

/// The size of the drawing.
pub(super) const SIZE: (f64, f64) = (760.0, 280.0);
/// The corners of what is drawn within.
const LEFT: f64 = 48.0;
const RIGHT: f64 = 744.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 244.0;

pub(crate) fn drawn(history: &History) -> Markup {
    let x = Axis::between(Spacing::Linear, 0.0, history.commits.max(2) as f64 - 1.0).across(LEFT, RIGHT);
    let y = history.axis().across(BOTTOM, TOP);
    let at = |(commit, ratio): (usize, f64)| (x.at(commit as f64), y.at(ratio));
    let ticks = Labels::round(&y, "ratio").ticks;
    html! {
        svg class="panel" role="img" viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } {
            title { (history.title) }
            desc { (history.description) }
            @for (value, label) in &ticks {
                @let level = short(y.at(*value));
                line class="grid" x1=(LEFT) x2=(RIGHT) y1=(level) y2=(level) {}
                text class="tick" x=(LEFT - 6.0) y=(level) dy="3.5" text-anchor="end" { (label) }
            }
            text class="axis" x="2" y="12" { "commit over reference" }
            line class="base" x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
            text class="tick" x=(LEFT) y=(BOTTOM + 16.0) { (history.ends[0]) }
            text class="tick" x=(RIGHT) y=(BOTTOM + 16.0) text-anchor="end" { (history.ends[1]) }
            text class="axis" x=(RIGHT) y=(BOTTOM + 32.0) text-anchor="end" { "commits of the branch" }
            @for step in &history.steps {
                // From half a commit before the first of the set to half a commit behind the last.
                @let [from, to] = [step.set[0] as f64 - 0.5, step.set[1] as f64 + 0.5].map(|place| x.at(place.max(0.0)));
                rect class="area v0" x=(short(from)) y=(TOP) width=(short((to - from).max(2.0))) height=(BOTTOM - TOP) {}
                @let middle = (from + to) / 2.0;
                svg x=(short(middle)) y=(TOP - 6.0) overflow="visible" { (mark(step.mark)) }
                text class="tick" x=(short(middle + 8.0)) y=(TOP - 2.0) { "step " (step.number) }
            }
            @let one = short(y.at(1.0));
            line class="one" x1=(LEFT) x2=(RIGHT) y1=(one) y2=(one) {}
            @for (name, ratio) in &history.references {
                @let level = short(y.at(*ratio));
                line class="line v2" stroke-dasharray="4 2" x1=(LEFT) x2=(RIGHT) y1=(level) y2=(level) {}
                text class="tick" x=(RIGHT) y=(level) dy="-4" text-anchor="end" { (name) }
            }
            @for band in history.bands() {
                path class="area v1" d={ (super::frame::line(band.into_iter().map(at))) "z" } {}
            }
            @for (from, to, ratio) in &history.levels {
                path class="line v1" d=(super::frame::line([(*from, *ratio), (*to, *ratio)].into_iter().map(at))) {}
            }
            @for point in &history.points {
                @let (left, top) = at((point.commit, point.ratio));
                path class="dot v1" d={ "M" (short(left)) " " (short(top)) (super::shape(0)) } {}
            }
        }
    }
}
