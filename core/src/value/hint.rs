//! What the reader of an error can do about it: a value of the error, which only a door that prints joins to a text.

use std::{error::Error, fmt::Display};

/// What stands before a hint where it shares one text with the words that it is about.
pub const MARK: &str = "\nhint: ";

/// An error whose reader may be able to do something.
pub trait Hinted: Error {
    /// What can be done, where that is known. An error that passes another on passes its hint on.
    fn hint(&self) -> Option<&'static str>;

    /// The error and its hint as a sentence of a report says them, with a colon between. The sentence leaves causes out, and
    /// what can be done about them.
    fn in_a_sentence(&self) -> String {
        match self.hint() {
            Some(hint) if self.source().is_none() => format!("{self}: {hint}"),
            Some(_) | None => self.to_string(),
        }
    }
}

/// Implements [`Hinted`]: `hints! { LinkError: Self::Refused(_) => "start it", Self::Open(error) => error.hint() }`. A variant that is
/// left out has no hint.
#[macro_export]
macro_rules! hints {
    ($name:ident: $($pattern:pat $(if $condition:expr)? => $hint:expr),+ $(,)?) => {
        impl $crate::value::hint::Hinted for $name {
            #[allow(unreachable_patterns, clippy::wildcard_enum_match_arm, reason = "some errors have hints in all variants")]
            fn hint(&self) -> Option<&'static str> {
                match self {
                    $($pattern $(if $condition)? => $hint.into(),)+
                    _ => None,
                }
            }
        }
    };
}

/// Words and hint in one text, for a door that has only one: a gRPC status, a line of a log, the refusal of an argument.
pub fn with_hint(words: impl Display, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{words}{MARK}{hint}"),
        None => words.to_string(),
    }
}

/// The words and the hint of such a text, for a door that got one.
pub fn split_hint(text: &str) -> (&str, Option<&str>) {
    match text.split_once(MARK) {
        Some((words, hint)) => (words, Some(hint)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_comes_out_of_a_text_as_it_went_in() {
        for hint in [None, Some("start more"), Some("write\nhint: like this")] {
            assert_eq!(split_hint(&with_hint("3 hosts are too few", hint)), ("3 hosts are too few", hint));
        }
        assert_eq!(with_hint("no", Some("ask")), "no\nhint: ask");
    }

    #[derive(Debug, thiserror::Error)]
    enum Inner {
        #[error("it is full")]
        Full,
        #[error("it is closed")]
        Closed,
    }
    crate::hints! { Inner: Self::Full => "make room" }

    #[derive(Debug, thiserror::Error)]
    #[error("it failed")]
    struct Outer(Inner);
    crate::hints! { Outer: Self(error) => error.hint() }

    #[test]
    fn an_error_has_its_own_hint_or_that_of_another_or_none() {
        assert_eq!((Inner::Full.hint(), Inner::Closed.hint()), (Some("make room"), None));
        assert_eq!((Outer(Inner::Full).hint(), Outer(Inner::Closed).hint()), (Some("make room"), None));
    }
}
