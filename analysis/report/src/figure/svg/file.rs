//! Drawings as files of their own, with the style that a page gives them.

use maud::{Markup, PreEscaped, html};

use super::{STYLE, forest, frame, history, panel, scaling};
use crate::figure::Figure;

/// Pixels: the width of a forest or a proportion, which takes what it is given, and how much larger a small drawing is.
const WIDTH: usize = 760;
const LARGER: f64 = 1.25;

#[derive(Clone, Debug)]
pub(crate) struct File {
    /// What it shows, in words.
    pub(crate) description: String,
    pub(crate) svg: String,
}

/// The drawings of a figure.
pub(crate) fn files(figure: &Figure) -> Vec<File> {
    match figure {
        Figure::Forest(of) => {
            let parts = forest::parts(of).into_iter();
            parts.map(|(drawn, height)| wide(&of.description, &drawn, height)).collect()
        }
        Figure::Proportion(of) => {
            vec![wide(&of.description, &forest::proportion(of), forest::proportion_height(of))]
        }
        Figure::History(of) => vec![file(&of.description, &history::drawn(of), history::SIZE, 1.0)],
        Figure::Scaling(of) => vec![small(&of.description, &scaling::drawn(of))],
        Figure::Panels(of) => of
            .panels
            .iter()
            .map(|one| small(&format!("{}. {}", one.title, one.description), &panel::drawn(of, one)))
            .collect(),
    }
}

fn wide(description: &str, drawn: &Markup, height: usize) -> File {
    file(description, drawn, (WIDTH as f64, height as f64), 1.0)
}

fn small(description: &str, drawn: &Markup) -> File {
    file(description, drawn, frame::SIZE, LARGER)
}

fn file(description: &str, drawn: &Markup, (width, height): (f64, f64), larger: f64) -> File {
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" class="speedup-report" width=(width * larger) height=(height * larger)
            viewBox={ "0 0 " (width) " " (height) } {
            // Its own file: it holds no letter that XML would take for another.
            style { (PreEscaped(STYLE)) }
            rect width="100%" height="100%" style="fill:var(--ground)" {}
            (drawn)
        }
    };
    File { description: description.to_owned(), svg: format!("{}\n", svg.into_string()) }
}
