//! Speedups with their intervals, each in a row of a table, under one scale.

use maud::{Markup, html};

use super::{forest::end, mark, percentage};
use crate::{figure::Forest, figure::IntervalRow, figure::Mark, figure::axis::Axis, figure::axis::label};

/// How high a row and the scale are.
const ROW: usize = 28;
const SCALE: usize = 34;
/// Where the axis begins and ends, in percent of the width: labels have room on both sides.
const ENDS: (f64, f64) = (8.0, 92.0);
/// Labels of the scale, for which there is room on a phone.
const TICKS: usize = 3;

/// The scale of a table.
pub(crate) struct Strips {
    axis: Axis,
    ticks: Vec<f64>,
    decimals: usize,
}

impl Strips {
    /// That of a forest's rows.
    pub(crate) fn new(forest: &Forest) -> Self {
        let axis = forest.strip_axis().across(ENDS.0, ENDS.1);
        let (ticks, decimals) = axis.ticks(TICKS);
        Self { axis, ticks, decimals }
    }

    pub(crate) fn scale(&self) -> Markup {
        html! {
            svg class="strip" width="100%" height=(SCALE) aria-hidden="true" focusable="false" {
                text class="axis" x="0" y="12" { "← slower" }
                text class="axis" x="100%" y="12" text-anchor="end" { "faster →" }
                @for tick in &self.ticks {
                    text class="tick" x=(percentage(self.axis.at(*tick))) y="29" text-anchor="middle" {
                        (label(*tick, self.decimals)) "×"
                    }
                }
            }
        }
    }

    /// A row: the numbers stand beside it.
    pub(crate) fn row(&self, row: &IntervalRow) -> Markup {
        let middle = ROW / 2;
        let one = percentage(self.axis.at(1.0));
        html! {
            svg class="strip" width="100%" height=(ROW) aria-hidden="true" focusable="false" {
                @for x in self.ticks.iter().map(|tick| percentage(self.axis.at(*tick))) {
                    line class="grid" x1=(x) x2=(x) y1="0" y2=(ROW) {}
                }
                line class="one" x1=(one) x2=(one) y1="0" y2=(ROW) {}
                @if let Some((lower, upper)) = row.interval {
                    @let [from, to] = [lower, upper].map(|end| percentage(self.axis.at(end)));
                    line class="interval" x1=(from) x2=(to) y1=(middle) y2=(middle) {}
                    (end(&from, middle, self.axis.holds(lower), "M0-5V5", "M6-5L0 0L6 5"))
                    (end(&to, middle, self.axis.holds(upper), "M0-5V5", "M-6-5L0 0L-6 5"))
                }
                @if let Some(speedup) = row.value {
                    svg x=(percentage(self.axis.at(speedup))) y=(middle) overflow="visible" { (self.mark(row, speedup)) }
                }
            }
        }
    }

    /// The mark of a verdict; beyond the scale it points to where the speedup is.
    fn mark(&self, row: &IntervalRow, speedup: f64) -> Markup {
        if self.axis.holds(speedup) {
            return mark(row.mark);
        }
        let verdict = match row.mark {
            Mark::Faster => "better",
            Mark::Slower => "worse",
            Mark::Neither => "neither",
        };
        let arrow = if speedup > 1.0 { "M-5-6L6 0L-5 6z" } else { "M5-6L-6 0L5 6z" };
        html! { path class={ "mark " (verdict) } d=(arrow) {} }
    }
}
