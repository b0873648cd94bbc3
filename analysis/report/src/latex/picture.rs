//! The drawings as TikZ, which `pdflatex` draws by itself: from the same figures as those of the page. What a colour says is said
//! by a mark or a stroke as well; the words of each drawing stand under it, as they are its alternative on a page.

mod forest;
mod history;
mod panel;

use super::escaped;
use crate::figure::{Figure, Mark, ScalingFigure, axis::Labels};
use panel::keys;

/// What the drawings need before the text: marks, and the colours of the versions and verdicts, which are those of the page.
pub(super) const PREAMBLE: &str = r"\usepackage{tikz}
\usetikzlibrary{plotmarks}
\definecolor{v0}{HTML}{4B5563}
\definecolor{v1}{HTML}{0B5CAD}
\definecolor{v2}{HTML}{A84300}
\definecolor{v3}{HTML}{7B2D8E}
\definecolor{v4}{HTML}{00695C}
\definecolor{v5}{HTML}{8A5A00}
\definecolor{better}{HTML}{0A6B2F}
\definecolor{worse}{HTML}{B3261E}
\definecolor{rule}{HTML}{D8DDE3}
\definecolor{quiet}{HTML}{59626F}
";
/// The marks of the versions, in their order; the first again after the last.
const MARKS: [&str; 6] = ["o", "diamond*", "square*", "triangle*", "pentagon*", "x"];
/// The strokes of the versions, in their order.
const STROKES: [&str; 4] = ["solid", "dashed", "dash dot", "densely dashed"];

/// The corners of what is drawn within the frame of a small drawing, in millimetres.
const LEFT: f64 = 10.0;
const RIGHT: f64 = 82.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 8.0;

/// A figure, as something to stand between paragraphs.
pub(super) fn drawn(figure: &Figure) -> String {
    match figure {
        Figure::Forest(of) => forest::drawn(of),
        Figure::Proportion(of) => forest::proportion(of),
        Figure::History(of) => history::drawn(of),
        Figure::Scaling(of) => scaling(of),
        Figure::Panels(of) => panel::all(of),
    }
}

fn scaling(figure: &ScalingFigure) -> String {
    let (x, y) = figure.axes();
    let x = x.across(LEFT, RIGHT);
    let y = y.across(BOTTOM, TOP);
    let place = |(hosts, speedup): (f64, f64)| (x.at(hosts), y.at(speedup));
    let mut drawn = line("quiet", figure.ideal().into_iter().map(place));
    for (version, curve) in figure.curves.iter().enumerate() {
        let colour = colour(version);
        drawn += &line(&format!("{colour},dotted"), curve.fitted.iter().copied().map(place));
        let at = curve.points.iter().map(|point| place((point.hosts, point.speedup)));
        drawn += &line(&format!("{colour},{}", stroke(version)), at.clone());
        for point in &curve.points {
            if let Some((lower, upper)) = point.ends {
                let ends = [lower, upper].map(|end| place((point.hosts, end)));
                drawn += &line(&format!("{colour},|-|"), ends.into_iter());
            }
        }
        drawn += &points(version, at);
    }
    let versions: Vec<&str> = figure.curves.iter().map(|curve| curve.version.as_str()).collect();
    let picture = frame(&figure.title, &figure.labels(&x), &Labels::round(&y, "speedup"), &drawn);
    format!(
        "{}\\par\\nopagebreak\n{picture}\\par\n{{\\footnotesize {}\\par}}\n",
        keys(&versions),
        escaped(&figure.description)
    )
}

/// A picture, whose unit is a millimetre.
fn picture(inside: &str) -> String {
    format!("\\begin{{tikzpicture}}[x=1mm,y=1mm,font=\\scriptsize]\n{inside}\\end{{tikzpicture}}")
}

/// The mark of a verdict about a point.
fn mark(mark: Mark, x: f64, y: f64) -> String {
    let at = point(x, y);
    match mark {
        Mark::Faster => format!("\\fill[better] {at} circle[radius=0.8];\n"),
        Mark::Slower => {
            format!("\\fill[worse] {} rectangle {};\n", point(x - 0.7, y - 0.7), point(x + 0.7, y + 0.7))
        }
        Mark::Neither => format!("\\filldraw[fill=white,draw=black] {at} circle[radius=0.8];\n"),
    }
}

/// The marks of a version, as what is to be drawn.
fn marks(version: usize, points: impl Iterator<Item = (f64, f64)>) -> String {
    let points: String = points.map(|(x, y)| point(x, y)).collect();
    let mark = MARKS[version % MARKS.len()];
    format!("plot[only marks,mark={mark},mark size=0.9pt] coordinates {{{points}}};\n")
}

fn points(version: usize, points: impl Iterator<Item = (f64, f64)>) -> String {
    format!("\\draw[{},line width=0.3pt] {}", colour(version), marks(version, points))
}

fn colour(version: usize) -> String {
    format!("v{}", version % MARKS.len())
}

fn stroke(version: usize) -> &'static str {
    STROKES[version % STROKES.len()]
}

/// A point; a hundredth of a millimetre is not seen.
fn point(x: f64, y: f64) -> String {
    format!("({},{})", short(x), short(y))
}

fn short(value: f64) -> String {
    crate::figure::axis::label(value, 2).replace('−', "-")
}

/// A line through points.
fn line(options: &str, points: impl Iterator<Item = (f64, f64)>) -> String {
    let points: Vec<String> = points.map(|(x, y)| point(x, y)).collect();
    if points.is_empty() { String::new() } else { format!("\\draw[{options}] {};\n", points.join("--")) }
}

/// Words at a point.
fn words(options: &str, x: f64, y: f64, words: &str) -> String {
    format!("\\node[{options}] at {} {{{}}};\n", point(x, y), escaped(words))
}

/// A small drawing with its axes, and its caption above.
fn frame(title: &str, x: &Labels<'_>, y: &Labels<'_>, drawn: &str) -> String {
    let mut inside = words("above right,inner sep=0pt,font=\\footnotesize\\bfseries", 0.0, TOP + 5.0, title);
    for (value, label) in &y.ticks {
        let at = y.axis.at(*value);
        inside += &line("rule", [(LEFT, at), (RIGHT, at)].into_iter());
        inside += &words("left,inner sep=2pt", LEFT, at, label);
    }
    inside += &words("right,inner sep=0pt,text=quiet", 0.0, TOP + 2.5, &y.name);
    inside += &line("quiet", [(LEFT, BOTTOM), (RIGHT, BOTTOM)].into_iter());
    for (value, label) in &x.ticks {
        let at = x.axis.at(*value);
        inside += &line("quiet", [(at, BOTTOM), (at, BOTTOM - 1.0)].into_iter());
        inside += &words("below,inner sep=2pt", at, BOTTOM - 0.5, label);
    }
    inside += &words("left,inner sep=0pt,text=quiet", RIGHT, 1.0, &x.name);
    picture(&(inside + drawn))
}
