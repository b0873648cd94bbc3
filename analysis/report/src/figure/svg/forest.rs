//! A forest: name and speedup on one line, the interval below it; proportions likewise.

use maud::{Markup, html};

use super::{mark, percentage};
use crate::figure::axis::{Axis, Spacing, label};
use crate::figure::{Forest, IntervalRow, ProportionFigure};

/// Rows of one drawing: browsers and paper dislike pictures without end.
const MOST_ROWS: usize = 60;
/// Between the tops of two rows.
const ROW: usize = 42;
/// Above the first row, and below the last, where the labels stand.
const TOP: usize = 4;
const BOTTOM: usize = 34;
/// Where the axis begins and ends, in percent of the width.
const ENDS: (f64, f64) = (5.0, 95.0);
/// Labels of the axis, for which there is room on a phone.
const TICKS: usize = 5;
/// Speedups farther than this beyond the others' estimates are cut off: one wide interval would hide all others.
const WIDEST: f64 = 4.0;

/// The drawings, one below the other, and how high each is.
pub(super) fn parts(figure: &Forest) -> Vec<(Markup, usize)> {
    let axis = figure.axis(WIDEST, 0.04).across(ENDS.0, ENDS.1);
    let pages = figure.rows.chunks(MOST_ROWS);
    let number = pages.len();
    let part = |(at, rows): (usize, &[IntervalRow])| {
        let height = TOP + ROW * rows.len() + BOTTOM;
        let drawn = html! {
            svg class="forest" role="img" width="100%" height=(height) {
                title { (figure.title) @if number > 1 { ", part " (at + 1) " of " (number) } }
                desc { @if at == 0 { (figure.description) } @else { "Continued: " (told(rows)) } }
                (grid(&axis, height))
                @for (row, y) in rows.iter().zip((TOP..).step_by(ROW)) { (drawn_row(row, &axis, y)) }
            }
        };
        (drawn, height)
    };
    pages.enumerate().map(part).collect()
}

fn grid(axis: &Axis, height: usize) -> Markup {
    let (ticks, decimals) = axis.ticks(TICKS);
    let base = height - BOTTOM;
    let one = percentage(axis.at(1.0));
    html! {
        @for tick in ticks {
            @let x = percentage(axis.at(tick));
            line class="grid" x1=(x) x2=(x) y1=(TOP) y2=(base) {}
            text class="tick" x=(x) y=(base + 14) text-anchor="middle" { (label(tick, decimals)) "×" }
        }
        line class="one" x1=(one) x2=(one) y1=(TOP) y2=(base) {}
        text class="axis" x=(percentage(ENDS.0)) y=(base + 29) { "← slower" }
        text class="axis" x=(percentage(ENDS.1)) y=(base + 29) text-anchor="end" { "faster →" }
    }
}

fn drawn_row(row: &IntervalRow, axis: &Axis, y: usize) -> Markup {
    let middle = y + 24;
    html! {
        g {
            title { (row.name) ": " (row.label) }
            text class="name" x="0" y=(y + 14) { (cut(&row.name)) }
            text class="value" x="100%" y=(y + 14) text-anchor="end" { (row.label) }
            @if let Some((lower, upper)) = row.interval {
                @let ends = [axis.at(lower), axis.at(upper)].map(percentage);
                line class="interval" x1=(ends[0]) x2=(ends[1]) y1=(middle) y2=(middle) {}
                (end(&ends[0], middle, axis.holds(lower), "M0-5V5", "M6-5L0 0L6 5"))
                (end(&ends[1], middle, axis.holds(upper), "M0-5V5", "M-6-5L0 0L-6 5"))
            }
            @if let Some(speedup) = row.value {
                svg x=(percentage(axis.at(speedup))) y=(middle) overflow="visible" { (mark(row.mark)) }
            }
        }
    }
}

/// The end of an interval: a bar, or an arrow where it goes on beyond the drawing.
pub(super) fn end(x: &str, y: usize, is_within: bool, bar: &str, arrow: &str) -> Markup {
    html! {
        svg x=(x) y=(y) overflow="visible" { path class="interval" d=(if is_within { bar } else { arrow }) {} }
    }
}

/// A name beside which the speedup has room on a phone.
fn cut(name: &str) -> String {
    const MOST: usize = 24;
    crate::names::shortened(name, MOST)
}

fn told(rows: &[IntervalRow]) -> String {
    rows.iter().map(|row| format!("{}: {}", row.name, row.label)).collect::<Vec<_>>().join("; ")
}

/// Below the last row of proportions, where the labels stand.
const PROPORTION_BOTTOM: usize = 22;

pub(super) fn proportion_height(figure: &ProportionFigure) -> usize {
    ROW * figure.rows.len() + 4 + PROPORTION_BOTTOM
}

/// Draws proportions between none and all of the benchmarks.
pub(crate) fn proportion(figure: &ProportionFigure) -> Markup {
    let axis = Axis::between(Spacing::Linear, 0.0, 1.0).across(ENDS.0, ENDS.1);
    let base = proportion_height(figure) - PROPORTION_BOTTOM;
    html! {
        svg class="forest" role="img" width="100%" height=(proportion_height(figure)) {
            title { (figure.title) }
            desc { (figure.description) }
            @for quarter in 0..=4_u32 {
                @let x = percentage(axis.at(f64::from(quarter) / 4.0));
                line class="grid" x1=(x) x2=(x) y1="0" y2=(base) {}
                text class="tick" x=(x) y=(base + 14) text-anchor="middle" { (quarter * 25) "\u{a0}%" }
            }
            @for (row, y) in figure.rows.iter().zip((0..).step_by(ROW)) { (proportion_row(row, &axis, y)) }
        }
    }
}

fn proportion_row(row: &IntervalRow, axis: &Axis, y: usize) -> Markup {
    let middle = y + 24;
    html! {
        text class="name" x="0" y=(y + 14) { (row.name) }
        text class="value" x="100%" y=(y + 14) text-anchor="end" { (row.label) }
        @if let Some((lower, upper)) = row.interval {
            @let ends = [lower, upper].map(|end| percentage(axis.at(end)));
            line class="interval" x1=(ends[0]) x2=(ends[1]) y1=(middle) y2=(middle) {}
            @for x in &ends {
                line class="interval" x1=(x) x2=(x) y1=(middle - 5) y2=(middle + 5) {}
            }
        }
        @if let Some(share) = row.value {
            svg x=(percentage(axis.at(share))) y=(middle) overflow="visible" { (mark(row.mark)) }
        }
    }
}
