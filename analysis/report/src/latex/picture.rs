//! The drawings as TikZ, which `pdflatex` draws by itself: from the same figures as those of the page. What a colour says is said
//! by a mark or a stroke as well; the words of each drawing stand under it, as they are its alternative on a page.

mod forest;
mod frame;
mod history;
mod panel;
mod precision;
mod scaling;

use super::escaped;
use crate::figure::{Figure, Mark};

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

/// A figure, as something to stand between paragraphs.
pub(super) fn drawn(figure: &Figure) -> String {
    match figure {
        Figure::Forest(of) => forest::drawn(of),
        Figure::Proportion(of) => forest::proportion(of),
        Figure::History(of) => history::drawn(of),
        Figure::Scaling(of) => scaling::drawn(of),
        Figure::Panels(of) => panel::all(of),
    }
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

/// Points of a version.
fn points(version: usize, points: impl Iterator<Item = (f64, f64)>) -> String {
    format!("\\draw[{},line width=0.3pt] {}", colour(version), marks(version, points))
}

/// The colour of a version.
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
