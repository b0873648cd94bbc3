//! What was found: one check, its verdict, and what can be done.

use std::fmt::Write as _;

use serde::Serialize;

use crate::console::Paint;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) check: String,
    pub(super) verdict: Verdict,
    pub(super) words: String,
    /// What can be done, where something can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Fine,
    /// It works, and may come to harm or measure worse.
    Warning,
    /// It does not work.
    Wrong,
}

impl Finding {
    pub(super) fn fine(check: impl Into<String>, words: impl Into<String>) -> Self {
        Self { check: check.into(), verdict: Verdict::Fine, words: words.into(), hint: None }
    }

    pub(super) fn warning(
        check: impl Into<String>,
        words: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { check: check.into(), verdict: Verdict::Warning, words: words.into(), hint: Some(hint.into()) }
    }

    pub(super) fn wrong(check: impl Into<String>, words: impl Into<String>, hint: Option<String>) -> Self {
        Self { check: check.into(), verdict: Verdict::Wrong, words: words.into(), hint }
    }

    /// One line, and one for what can be done.
    pub(super) fn text(&self, paint: Paint) -> String {
        let verdict = match self.verdict {
            Verdict::Fine => "ok      ".to_owned(),
            Verdict::Warning => paint.strong("warning "),
            Verdict::Wrong => paint.alarm("wrong   "),
        };
        let mut text = format!("{verdict}{}: {}", self.check, self.words);
        if let Some(hint) = &self.hint {
            let _ = write!(text, "\n        {} {hint}", paint.strong("hint:"));
        }
        text
    }
}
