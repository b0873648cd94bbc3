//! Mutants as cargo-mutants lists them.

use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// One change of one place.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Mutant {
    /// File, line, column and change, in words.
    pub(crate) name: String,
    /// The file, from the root of the repository.
    pub(crate) file: String,
    /// What kind of change it is.
    pub(crate) genre: Genre,
    /// What is replaced.
    pub(crate) span: Span,
    /// By what.
    pub(crate) replacement: String,
}

/// What kind of change a mutant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Genre {
    /// A function returns something at once.
    FnValue,
    /// Another operator between two operands.
    BinaryOperator,
    /// No operator before an operand.
    UnaryOperator,
    /// A guard that always or never holds.
    MatchArmGuard,
    /// An arm that is not there.
    MatchArm,
    /// A field that is taken from the base.
    StructField,
}

/// From where to where a mutant reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Span {
    /// Its first character.
    pub(crate) start: Place,
    /// The first one after it.
    pub(crate) end: Place,
}

/// Where a character stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Place {
    /// Its line, from 1.
    pub(crate) line: usize,
    /// Its column, from 1.
    pub(crate) column: usize,
}

impl Place {
    /// Its offset in a text.
    pub(crate) fn offset(self, text: &str) -> Option<usize> {
        let line_start: usize = text.split_inclusive('\n').take(self.line - 1).map(str::len).sum();
        let columns = text[line_start..].char_indices().map(|(offset, _)| offset);
        let offset = columns.chain([text.len() - line_start]).nth(self.column - 1)?;
        Some(line_start + offset)
    }
}

impl Mutant {
    /// The source with this change.
    pub(crate) fn apply(&self, source: &str) -> Option<String> {
        let (start, end) = (self.span.start.offset(source)?, self.span.end.offset(source)?);
        Some(format!("{}{}{}", &source[..start], self.replacement, &source[end..]))
    }
}

/// A mutant's name without line and column.
pub(crate) fn lasting_name(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    let (file, change) = (parts.next().unwrap_or_default(), parts.nth(2).unwrap_or_default());
    format!("{file}:{change}")
}

/// The mutants of a list.
pub(crate) fn read(list: &Path) -> anyhow::Result<Vec<Mutant>> {
    let text = std::fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is not what `cargo mutants --list --json` prints", list.display()))
}
