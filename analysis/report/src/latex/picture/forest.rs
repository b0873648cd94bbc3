//! Speedups and proportions with their intervals, one under the other.

use super::{line, mark, picture, words};
use crate::figure::{Forest, IntervalRow, ProportionFigure, axis::Axis, axis::Spacing, axis::label};
use crate::names::shortened;

/// Millimetres: from one row to the next, where the axis begins and ends, and where the words at the right end.
const ROW: f64 = 4.2;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 200.0;
const END: f64 = 250.0;
/// Rows of one picture: those of a page.
const MOST_ROWS: usize = 32;
/// Letters of a name.
const NAME: usize = 28;
/// Labels of the axis.
const TICKS: usize = 9;
/// Intervals are drawn so much beyond the estimates at most.
const WIDEST: f64 = 4.0;

pub(super) fn drawn(forest: &Forest) -> String {
    let axis = forest.axis(WIDEST, 0.03).across(LEFT, RIGHT);
    let (ticks, decimals) = axis.ticks(TICKS);
    let ticks: Vec<(f64, String)> =
        ticks.into_iter().map(|tick| (tick, format!("{}×", label(tick, decimals)))).collect();
    let pictures = forest.rows.chunks(MOST_ROWS);
    pictures.map(|rows| drawn_rows(rows, &axis, &ticks, Some(1.0)) + "\\par\n").collect()
}

pub(super) fn proportion(figure: &ProportionFigure) -> String {
    let axis = Axis::between(Spacing::Linear, 0.0, 1.0).across(LEFT, RIGHT);
    let ticks: Vec<(f64, String)> =
        (0..=4_u32).map(|at| (f64::from(at) / 4.0, format!("{}\u{a0}%", 25 * at))).collect();
    drawn_rows(&figure.rows, &axis, &ticks, None) + "\\par\n"
}

fn drawn_rows(rows: &[IntervalRow], axis: &Axis, ticks: &[(f64, String)], reference: Option<f64>) -> String {
    let base = -ROW * rows.len() as f64;
    let mut inside = String::new();
    for (value, label) in ticks {
        let x = axis.at(*value);
        inside += &line("rule", [(x, 0.0), (x, base)].into_iter());
        inside += &words("below,inner sep=2pt", x, base, label);
    }
    if let Some(reference) = reference {
        let x = axis.at(reference);
        inside += &line("quiet,dotted,thick", [(x, 0.0), (x, base)].into_iter());
    }
    for (at, row) in rows.iter().enumerate() {
        let y = -ROW * (at as f64 + 0.5);
        inside += &words("right,inner sep=0pt", 0.0, y, &shortened(&row.name, NAME));
        inside += &words("left,inner sep=0pt", END, y, &row.label);
        let Some(value) = row.value else { continue };
        if let Some((lower, upper)) = row.interval {
            let from = axis.at(lower);
            let to = axis.at(upper);
            // An end beyond the drawing has no bar but a point.
            let start = if axis.holds(lower) { "|" } else { "<" };
            let end = if axis.holds(upper) { "|" } else { ">" };
            let ends = format!("{start}-{end}");
            inside += &line(&ends, [(from, y), (to, y)].into_iter());
        }
        inside += &mark(row.mark, axis.at(value), y);
    }
    picture(&inside)
}
