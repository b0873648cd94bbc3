//! The report on this terminal.

use std::io::IsTerminal as _;

use comfy_table::Table;
use speedup_analysis::study::Report;
use speedup_report::Document;
use speedup_report::document::Kind;
use speedup_report::terminal::{self, Plots, Terminal, USUAL_WIDTH};

use crate::console::Paint;

/// How much of a report is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// What was shown, what that is worth, and the times: what fits a screen.
    Brief,
    Sections(Vec<Kind>),
}

impl Extent {
    /// So much of a report.
    pub(crate) fn document(&self, report: &Report) -> Document {
        match self {
            Self::Whole => Document::full(report),
            Self::Brief => Document::brief(report),
            Self::Sections(kinds) => Document::full(report).only(kinds),
        }
    }
}

/// A document as wide as the terminal.
pub(crate) fn document(document: &Document, paint: Paint) -> String {
    let width = Table::new().width().map_or(USUAL_WIDTH, usize::from);
    let plots = plots();
    terminal::text(document, Terminal { width, coloured: paint.is_coloured(), plots })
}

/// With which characters plots are drawn on standard output: where nobody looks there are none.
pub(crate) fn plots() -> Plots {
    match std::io::stdout().is_terminal() {
        false => Plots::None,
        true if speaks_unicode_here() => Plots::Unicode,
        true => Plots::Ascii,
    }
}

/// Whether the terminal of this process takes UTF-8.
pub(crate) fn speaks_unicode_here() -> bool {
    speaks_unicode(|name| std::env::var(name).ok())
}

/// Whether the locale that holds says that the terminal takes UTF-8: the first of these that is set is the one (POSIX
/// XBD 8.2).
fn speaks_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    variable("TERM").is_none_or(|term| term != "dumb" && term != "linux")
        && (locale.contains("utf-8") || locale.contains("utf8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_says_whether_there_is_unicode() {
        let with = |pairs: &'static [(&str, &str)]| {
            speaks_unicode(|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(with(&[("LANG", "de_DE.UTF-8"), ("TERM", "xterm-256color")]));
        assert!(with(&[("LC_ALL", "C.utf8")]));
        assert!(!with(&[]) && !with(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
        assert!(!with(&[("LANG", "en_US.UTF-8"), ("TERM", "dumb")]));
    }
}
