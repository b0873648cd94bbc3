//! A text of a tool that is shown to people: a benchmark, a version, a metric, a message.

use crate::bounds::{MAX_EXCERPT_BYTES, MAX_NAME_BYTES};
use std::fmt;

/// A text of bounded length that is shown without its control characters.
///
/// It holds exactly what the tool wrote, since two files are joined by it. `Display` escapes what could move a terminal's
/// cursor, break a line or turn the direction of text; who writes HTML, CSV or a shell line quotes for that as well.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// A text that is no name: longer than [`MAX_NAME_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name of {bytes} bytes is longer than {MAX_NAME_BYTES}")]
pub struct NameTooLong {
    pub bytes: usize,
}

impl Name {
    /// The text as a name.
    pub fn new(text: impl Into<String>) -> Result<Self, NameTooLong> {
        let text = text.into();
        if text.len() > MAX_NAME_BYTES { Err(NameTooLong { bytes: text.len() }) } else { Ok(Self(text)) }
    }

    /// As much of the text as a message shows, which joins nothing.
    pub(crate) fn beginning(text: &str) -> Self {
        Self(text[..text.floor_char_boundary(MAX_EXCERPT_BYTES)].to_owned())
    }

    /// As much of what is shown as a name holds.
    pub(crate) fn shown(shown: &impl fmt::Display) -> Self {
        Self::beginning(&shown.to_string())
    }

    /// One of this crate's own words.
    pub(crate) fn of(word: &'static str) -> Self {
        Self(word.to_owned())
    }

    /// Exactly what the tool wrote, control characters included.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, &self.0)
    }
}

/// Writes a text with everything escaped that is not simply shown.
pub(crate) fn write_escaped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        if is_unsafe(c) {
            write!(f, "{}", c.escape_default())?;
        } else {
            fmt::Write::write_char(f, c)?;
        }
    }
    Ok(())
}

/// Control characters, line separators, and those that turn the direction of the text around them.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{feff}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
