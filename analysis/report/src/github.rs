//! Commands of a GitHub workflow, which its runner finds among the lines that a step prints, and turns into annotations of the
//! run and of its pull request.

use speedup_analysis::gate::Conclusion;
use speedup_core::value::foreign::one_line;

/// Annotations of a kind that a step may have: its runner drops those beyond.
pub const MOST_ANNOTATIONS: usize = 10;

speedup_core::words! {
    /// How grave an annotation is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AnnotationLevel {
        Error = "error",
        /// It does not fail, and somebody should look.
        Warning = "warning",
    }
    fn command;
}

/// The lines that annotate with conclusions, under a title; the last one counts those that have no line.
pub fn annotations(level: AnnotationLevel, title: &str, conclusions: &[Conclusion]) -> Vec<String> {
    let shown = if conclusions.len() > MOST_ANNOTATIONS { MOST_ANNOTATIONS - 1 } else { conclusions.len() };
    let mut lines: Vec<String> = conclusions[..shown]
        .iter()
        .map(|conclusion| annotation(level, title, &conclusion.to_string()))
        .collect();
    if let Some(more) = conclusions.len().checked_sub(shown).filter(|more| *more > 0) {
        lines.push(annotation(level, title, &format!("and {more} more: the job summary has the report")));
    }
    lines
}

/// One line: nothing in title or message ends it, or begins another command.
pub fn annotation(level: AnnotationLevel, title: &str, message: &str) -> String {
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{} title={title}::{}", level.command(), escaped(message))
}

/// The escapes of a message; in a property, colons and commas have theirs, too.
fn escaped(text: &str) -> String {
    one_line(text).replace('%', "%25")
}
