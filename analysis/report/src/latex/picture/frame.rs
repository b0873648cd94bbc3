//! The frame of a small drawing: its size, its axes and their labels, in millimetres.

use super::{line, picture, words};
pub(super) use crate::figure::axis::{Labels, TICKS};

/// The corners of what is drawn within.
pub(super) const LEFT: f64 = 10.0;
pub(super) const RIGHT: f64 = 82.0;
pub(super) const TOP: f64 = 44.0;
pub(super) const BOTTOM: f64 = 8.0;
/// A drawing with its axes, and its caption above.
pub(super) fn frame(title: &str, x: &Labels<'_>, y: &Labels<'_>, drawn: &str) -> String {
    let mut inside = words("above right,inner sep=0pt,font=\\footnotesize\\bfseries", 0.0, TOP + 5.0, title);
    for (value, label) in &y.ticks {
        let at = y.axis.at(*value);
        inside += &line("rule", [(LEFT, at), (RIGHT, at)].into_iter());
        inside += &words("left,inner sep=2pt", LEFT, at, label);
    }
    inside += &words("right,inner sep=0pt,text=quiet", 0.0, TOP + 2.5, y.name);
    inside += &line("quiet", [(LEFT, BOTTOM), (RIGHT, BOTTOM)].into_iter());
    for (value, label) in &x.ticks {
        let at = x.axis.at(*value);
        inside += &line("quiet", [(at, BOTTOM), (at, BOTTOM - 1.0)].into_iter());
        inside += &words("below,inner sep=2pt", at, BOTTOM - 0.5, label);
    }
    inside += &words("left,inner sep=0pt,text=quiet", RIGHT, 1.0, x.name);
    picture(&(inside + drawn))
}
