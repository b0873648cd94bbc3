//! The report on a terminal: words first, colour second.

mod page;
mod plot;
#[cfg(test)]
mod tests;

use speedup_core::value::foreign::without_commands;

use self::page::Page;
use crate::document::{Document, Element, Kind, Section, Tone};

/// Columns where there is no terminal to ask.
pub const USUAL_WIDTH: usize = 100;
/// Below and above these, lines are not laid out differently.
const WIDTHS: (usize, usize) = (60, 160);

/// Drawings of a section: a few screens' worth.
const MOST_DRAWN: usize = 12;

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    pub width: usize,
    /// Whether it is given colours.
    pub coloured: bool,
    /// With which characters plots are drawn.
    pub plots: Plots,
}

/// With which characters plots are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plots {
    None,
    /// Those that every terminal has.
    Ascii,
    /// Lines and blocks as well.
    Unicode,
}

/// The report, at most as wide as the terminal where the names in it allow.
pub fn text(document: &Document, terminal: Terminal) -> String {
    let mut page = Page::new(Terminal { width: terminal.width.clamp(WIDTHS.0, WIDTHS.1), ..terminal });
    // The runs are nothing but drawn.
    for section in &document.sections {
        if section.kind != Kind::Runs || terminal.plots != Plots::None {
            write(&mut page, section, &section.heading);
        }
    }
    // A terminal shows the end of a long text.
    if document.repeats_verdict
        && let Some(verdict) = document.sections.iter().find(|section| section.kind == Kind::Verdict)
    {
        write(&mut page, verdict, "In short");
    }
    without_commands(&page.into_text()).into_owned()
}

fn write(page: &mut Page, section: &Section, heading: &str) {
    page.heading(heading);
    let mut drawn = 0;
    for block in &section.blocks {
        match block {
            Element::Paragraph { text, tone } | Element::Verdict { text, tone } => {
                page.paragraph(text, *tone);
            }
            Element::Item(text) => page.hanging("- ", text, Tone::Plain),
            Element::Command(line) => page.verbatim(line),
            Element::Table(table) => page.table(table),
            Element::Figure(figure) => {
                drawn += 1;
                if drawn <= MOST_DRAWN {
                    plot::write(page, figure);
                }
            }
        }
    }
    if let Some(more) = drawn.checked_sub(MOST_DRAWN).filter(|more| *more > 0) {
        page.paragraph(&format!("and {more} more; a page (--format html) has all"), Tone::Plain);
    }
}
