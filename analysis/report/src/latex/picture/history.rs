//! The history of a benchmark, in millimetres.

use super::{line, mark, picture, points, words};
use crate::{figure::History, figure::axis::Axis, figure::axis::Labels, figure::axis::Spacing};

const LEFT: f64 = 12.0;
const RIGHT: f64 = 220.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 6.0;

pub(super) fn drawn(history: &History) -> String {
    let x = Axis::between(Spacing::Linear, 0.0, history.commits.max(2) as f64 - 1.0).across(LEFT, RIGHT);
    let y = history.axis().across(BOTTOM, TOP);
    let at = |(commit, ratio): (usize, f64)| (x.at(commit as f64), y.at(ratio));
    let mut inside =
        words("above right,inner sep=0pt,font=\\footnotesize\\bfseries", 0.0, TOP + 5.0, &history.title);
    for (value, label) in Labels::round(&y, "ratio").ticks {
        let level = y.at(value);
        inside += &line("rule", [(LEFT, level), (RIGHT, level)].into_iter());
        inside += &words("left,inner sep=2pt", LEFT, level, &label);
    }
    inside += &line("quiet", [(LEFT, BOTTOM), (RIGHT, BOTTOM)].into_iter());
    inside += &words("below right,inner sep=2pt", LEFT, BOTTOM, &history.ends[0]);
    inside += &words("below left,inner sep=2pt", RIGHT, BOTTOM, &history.ends[1]);
    inside += &line("quiet,dashed", [(LEFT, y.at(1.0)), (RIGHT, y.at(1.0))].into_iter());
    for (name, ratio) in &history.references {
        let level = y.at(*ratio);
        inside += &line("v2,densely dashed", [(LEFT, level), (RIGHT, level)].into_iter());
        inside += &words("above left,inner sep=1pt", RIGHT, level, name);
    }
    for step in &history.steps {
        let middle = x.at((step.set[0] + step.set[1]) as f64 / 2.0);
        inside += &line("rule", [(middle, BOTTOM), (middle, TOP)].into_iter());
        inside += &mark(step.mark, middle, TOP + 1.5);
        inside += &words("right,inner sep=3pt", middle, TOP + 1.5, &format!("step {}", step.number));
    }
    for band in history.bands() {
        inside += &line("v1,opacity=0.4", band.into_iter().map(at));
    }
    for (from, to, ratio) in &history.levels {
        inside += &line("v1,thick", [(*from, *ratio), (*to, *ratio)].into_iter().map(at));
    }
    inside += &points(1, history.points.iter().map(|point| at((point.commit, point.ratio))));
    format!("{}\\par\n{}\\par\n", picture(&inside), super::escaped(History::KEY))
}
