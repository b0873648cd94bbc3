//! What is found wrong in a file that a user writes, shown as a person can mend it: line, column, the line itself with a caret, the
//! cause, and a hint.

use std::{fmt, ops::Range};

use thiserror::Error;

use crate::{experiment::KeyPath, experiment::MAX_PROBLEMS, value::hint::with_hint};

/// Most characters of a line that are shown: a plan may be one line of megabytes.
const MAX_SHOWN: usize = 110;
/// Characters shown before the caret when a line is longer.
const SHOWN_BEFORE: usize = 50;

/// Why a text is no plan: all that was found, in the order of the text, as far as it is told.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct PlanFileError {
    /// At least one.
    findings: Vec<Finding>,
    untold: usize,
}

impl PlanFileError {
    /// What was found, at least one finding.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many findings there are beside those told.
    pub fn untold(&self) -> usize {
        self.untold
    }
}

impl fmt::Display for PlanFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, finding) in self.findings.iter().enumerate() {
            let between = if number == 0 { "" } else { "\n\n" };
            write!(f, "{between}{finding}")?;
        }
        match self.untold {
            0 => Ok(()),
            untold => write!(f, "\n\nand {untold} more"),
        }
    }
}

/// One thing that is wrong in a plan file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// The keys that lead there; empty where that is the whole text, or it could not be read so far.
    pub path: KeyPath,
    pub message: String,
    /// What can be done about it.
    pub hint: String,
    /// The line, or the part of it around the column, as it can be shown.
    pub shown: String,
    /// Where the carets stand under `shown`, in characters.
    pub carets: Range<usize>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, path: _, message, hint, shown, carets } = self;
        let margin = " ".repeat(line.to_string().len());
        let before = " ".repeat(carets.start);
        let under = "^".repeat(carets.len());
        writeln!(f, "line {line}, column {column}: {message}")?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{line} | {shown}")?;
        f.write_str(&with_hint(format_args!("{margin} | {before}{under}"), Some(hint)))
    }
}

impl Finding {
    fn new(text: &str, flaw: Flaw) -> Self {
        let at = text.floor_char_boundary(flaw.span.start);
        let end = text.floor_char_boundary(flaw.span.end).max(at);
        let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
        let before = text[line_start..at].chars().count();
        let under = text[at..end.min(line_end)].trim_end().chars().count();
        let line = text[line_start..line_end].trim_end_matches('\r');

        let skipped = if before < MAX_SHOWN { 0 } else { before - SHOWN_BEFORE };
        let carets_at = before - skipped;
        Self {
            line: text[..line_start].matches('\n').count() + 1,
            column: before + 1,
            path: KeyPath(flaw.path),
            message: flaw.message,
            hint: flaw.hint,
            shown: line.chars().skip(skipped).take(MAX_SHOWN).map(printable).collect(),
            carets: carets_at..(carets_at + under.max(1)).min(MAX_SHOWN),
        }
    }
}

/// A character that takes one place and does nothing else to a terminal.
fn printable(character: char) -> char {
    match character {
        '\t' => ' ',
        control if control.is_control() => '\u{fffd}',
        other => other,
    }
}

/// Something wrong, by its bytes in the text.
#[derive(Debug)]
struct Flaw {
    span: Range<usize>,
    /// The keys that lead there.
    path: Vec<String>,
    message: String,
    hint: String,
}

/// Gathers what is wrong while a plan file is read.
#[derive(Debug, Default)]
pub(crate) struct Flaws {
    told: Vec<Flaw>,
    untold: usize,
}

impl Flaws {
    /// Takes note of a flaw. `cause` gives its message and hint, and is asked only if they will be told: a file can hold
    /// millions of flaws.
    pub(crate) fn note(&mut self, span: Range<usize>, cause: impl FnOnce() -> (String, String)) {
        if self.told.len() < MAX_PROBLEMS {
            let (message, hint) = cause();
            self.told.push(Flaw { span, path: Vec::new(), message, hint });
        } else {
            self.untold += 1;
        }
    }

    /// Whether anything is wrong.
    pub(crate) fn any(&self) -> bool {
        !self.told.is_empty()
    }

    /// Says of each flaw which keys lead to it, by where it begins; one without extent is about the whole.
    pub(super) fn locate(&mut self, keys_at: impl Fn(usize) -> Vec<String>) {
        for flaw in self.told.iter_mut().filter(|flaw| !flaw.span.is_empty()) {
            flaw.path = keys_at(flaw.span.start);
        }
    }

    /// Flaws that were counted elsewhere and not told there.
    pub(super) fn note_untold(&mut self, count: usize) {
        self.untold += count;
    }

    /// Refuses the text if anything is wrong with it.
    pub(crate) fn into_result(mut self, text: &str) -> Result<(), PlanFileError> {
        if self.told.is_empty() {
            return Ok(());
        }
        self.told.sort_by_key(|flaw| flaw.span.start);
        let findings = self.told.into_iter().map(|flaw| Finding::new(text, flaw)).collect();
        Err(PlanFileError { findings, untold: self.untold })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, span: Range<usize>) -> Finding {
        let mut flaws = Flaws::default();
        flaws.note(span, || ("cause".to_owned(), "help".to_owned()));
        flaws.into_result(text).unwrap_err().findings.remove(0)
    }

    #[test]
    fn a_finding_shows_its_line_with_carets() {
        let shown = found("a = 1\r\n\tbé = 22\r\n", 14..16).to_string();
        assert_eq!(shown, "line 2, column 7: cause\n  |\n2 |  bé = 22\n  |       ^^\nhint: help");
    }

    #[test]
    fn a_finding_at_the_end_or_beyond_is_shown() {
        assert_eq!((found("a\n", 2..2).line, found("a\n", 2..2).column), (2, 1));
        assert_eq!(found("é", 1..99).column, 1);
        assert_eq!(found("", 5..7).carets, 0..1);
    }

    #[test]
    fn a_long_line_is_shown_around_its_caret() {
        let text = format!("{}X{}", "a".repeat(100_000), "b".repeat(100_000));
        let finding = found(&text, 100_000..100_001);
        assert_eq!(finding.column, 100_001);
        assert_eq!(finding.shown.chars().count(), MAX_SHOWN);
        assert_eq!(finding.shown.find('X'), Some(finding.carets.start));
    }

    #[test]
    fn what_is_not_told_is_counted() {
        let mut flaws = Flaws::default();
        for _ in 0..MAX_PROBLEMS + 2 {
            flaws.note(0..1, || ("cause".to_owned(), "help".to_owned()));
        }
        let error = flaws.into_result("x").unwrap_err();
        assert_eq!((error.findings().len(), error.untold()), (MAX_PROBLEMS, 2));
        assert!(error.to_string().ends_with("and 2 more"));
    }
}
