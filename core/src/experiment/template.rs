//! Placeholders in commands and environment values: `{name}` stands for a value that the plan or the host gives.
//!
//! Shell and awk lines are full of braces, so the rule is narrow. Only `{identifier}`, an identifier of `[a-z_][a-z0-9_]*`
//! directly between two braces, is a placeholder; `{{identifier}}` is the literal text `{identifier}`; every other brace
//! stands for itself. `awk '{ n++ } END { print n }'`, `{}`, `a{3}`, `{a,b}` and `${HOME}` are written as always;
//! `awk '{print}'` and `${i}` look like placeholders and are written `{{print}}` and `${{i}}` (or `$i`). One more form,
//! `{file.identifier}` and `{build.identifier}`, is that of a plan's staged files and of what its builds make.
//!
//! A placeholder nobody knows is an error, never an empty text: a command that silently lost its input would be measured.
//! A value is put in as it is. It is not expanded again, and in a shell line the quotes around it are the plan's:
//! `sort "{input}/words.txt"`.

use thiserror::Error;

use crate::experiment::{build, files};

/// The placeholder for the host's input directory.
pub const INPUT: &str = "input";
/// The placeholder for the version's name.
pub const VERSION: &str = "version";
/// The placeholder for the benchmark's name.
pub const BENCHMARK: &str = "benchmark";

/// A placeholder nobody has a value for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown placeholder `{{{name}}}` at character {position}")]
pub struct TemplateError {
    /// The name between the braces.
    pub name: String,
    /// Where its opening brace stands, in characters from 1.
    pub position: usize,
}

impl TemplateError {
    /// What the user can do about it.
    pub fn hint(&self) -> String {
        doubling_hint(&self.name)
    }
}

/// How to write `{name}` where no placeholder is meant.
pub(crate) fn doubling_hint(name: &str) -> String {
    format!("for the literal text, double the braces: `{{{{{name}}}}}`")
}

/// The text with every placeholder replaced by its value.
pub fn expand<'v>(text: &str, value: impl Fn(&str) -> Option<&'v str>) -> Result<String, TemplateError> {
    let mut expanded = String::with_capacity(text.len());
    for piece in (Segments { text, at: 0 }) {
        match piece {
            Segment::Literal(literal) => expanded.push_str(literal),
            Segment::Placeholder { name, at } => match value(name) {
                Some(known) => expanded.push_str(known),
                None => {
                    let position = text[..at].chars().count() + 1;
                    return Err(TemplateError { name: name.to_owned(), position });
                }
            },
        }
    }
    Ok(expanded)
}

/// The names of the placeholders in a text, in order, as often as they occur.
pub fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    Segments { text, at: 0 }.filter_map(|piece| match piece {
        Segment::Placeholder { name, .. } => Some(name),
        Segment::Literal(_) => None,
    })
}

/// Whether a name can stand in a placeholder.
pub fn is_identifier(name: &str) -> bool {
    !name.is_empty() && identifier_length(name) == name.len()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment<'t> {
    Literal(&'t str),
    /// `at` is the byte of the opening brace.
    Placeholder {
        name: &'t str,
        at: usize,
    },
}

/// Cuts a text into its pieces, without copying.
struct Segments<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for Segments<'t> {
    type Item = Segment<'t>;

    fn next(&mut self) -> Option<Segment<'t>> {
        let rest = &self.text[self.at..];
        let at = self.at;
        let first = rest.chars().next()?;
        if let Some(doubled) = rest.strip_prefix('{').and_then(braced)
            && rest[doubled.len() + 3..].starts_with('}')
        {
            self.at += doubled.len() + 4;
            return Some(Segment::Literal(&rest[1..doubled.len() + 3]));
        }
        if let Some(name) = braced(rest) {
            self.at += name.len() + 2;
            return Some(Segment::Placeholder { name, at });
        }
        let skipped = first.len_utf8();
        let length = rest[skipped..].find('{').map_or(rest.len(), |brace| skipped + brace);
        self.at += length;
        Some(Segment::Literal(&rest[..length]))
    }
}

/// The name of a text that begins with `{name}`.
fn braced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?;
    let name = &inner[..name_length(inner)];
    (!name.is_empty() && inner[name.len()..].starts_with('}')).then_some(name)
}

/// The bytes of the name a text begins with: an identifier, or that of a file or product; 0 when it begins with none.
fn name_length(text: &str) -> usize {
    for prefix in [files::PREFIX, build::PREFIX] {
        let identifier = text.strip_prefix(prefix).map_or(0, identifier_length);
        if identifier > 0 {
            return prefix.len() + identifier;
        }
    }
    identifier_length(text)
}

/// The bytes of the identifier a text begins with; 0 when it begins with none.
fn identifier_length(text: &str) -> usize {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return 0;
    }
    let end = text.bytes().position(|byte| !matches!(byte, b'a'..=b'z' | b'_' | b'0'..=b'9'));
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fill(text: &str) -> Result<String, TemplateError> {
        expand(text, |name| match name {
            "input" => Some("/in"),
            "v_2" => Some("{input}"),
            _ => None,
        })
    }

    #[test]
    fn a_placeholder_becomes_its_value() {
        assert_eq!(fill("{input}/a {input}").unwrap(), "/in/a /in");
        assert_eq!(fill("a{v_2}b").unwrap(), "a{input}b", "a value is not expanded again");
        assert_eq!(fill("").unwrap(), "");
    }

    #[test]
    fn braces_of_shell_and_awk_stand_for_themselves() {
        for line in [
            "awk '{ print $1 }'",
            "awk '{n++} END{ print n }'",
            "find . -exec wc {} +",
            "grep -E 'a{3}|b{2,5}|{input'",
            "echo {a,b} ${HOME} ${x:-y} } {{ }} { input } {Input} {1a}",
            "{é} {{",
        ] {
            assert_eq!(fill(line).unwrap(), line);
        }
    }

    #[test]
    fn doubled_braces_are_literal() {
        assert_eq!(fill("awk '{{print}}' ${{i}} {{input}}").unwrap(), "awk '{print}' ${i} {input}");
        assert_eq!(fill("{{{input}}}").unwrap(), "{{input}}", "one pair of braces is taken away");
        assert_eq!(fill("{input}}").unwrap(), "/in}");
        assert_eq!(fill("{{input}").unwrap(), "{/in");
    }

    #[test]
    fn an_unknown_placeholder_is_refused_with_its_position() {
        let error = fill("é {input} {print}").unwrap_err();
        assert_eq!(error, TemplateError { name: "print".to_owned(), position: 11 });
        assert!(error.hint().contains("`{{print}}`"), "{}", error.hint());
    }

    #[test]
    fn staged_files_have_placeholders_and_nothing_else_has_a_dot() {
        assert_eq!(
            expand("a {file.words}b", |name| (name == "file.words").then_some("/w")),
            Ok("a /wb".into())
        );
        assert_eq!(placeholders("{file.a_1} {file} {{file.b}}").collect::<Vec<_>>(), ["file.a_1", "file"]);
        for literal in ["{file.}", "{file.1}", "{file.a.b}", "{file.A}", "{input.a}", "{.a}", "{files.a}"] {
            assert_eq!(fill(literal).unwrap(), literal);
        }
        assert_eq!(fill("{{file.a}}").unwrap(), "{file.a}");
        assert_eq!(placeholders("{build.prog} {build.} {{build.a}}").collect::<Vec<_>>(), ["build.prog"]);
    }

    #[test]
    fn placeholders_are_listed() {
        assert_eq!(placeholders("{a} {{b}} {c_1}{a}").collect::<Vec<_>>(), ["a", "c_1", "a"]);
    }

    proptest! {
        #[test]
        fn any_text_is_expanded_or_refused(text in "[{}a-c_1 é$]{0,40}") {
            let names: Vec<&str> = placeholders(&text).collect();
            prop_assert!(names.iter().all(|name| is_identifier(name)));
            prop_assert_eq!(expand(&text, |_| None).is_err(), !names.is_empty());
            prop_assert!(expand(&text, |_| Some("value")).is_ok());
        }

        #[test]
        fn doubling_an_identifiers_braces_makes_it_literal(name in "[a-z_][a-z0-9_]{0,8}") {
            let literal = format!("{{{name}}}");
            prop_assert_eq!(expand(&format!("{{{literal}}}"), |_| None), Ok(literal));
        }
    }
}
