//! The parsed text with its positions: where each thing stands, and in which order the author wrote the names.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::experiment::template::expand;
use crate::experiment::{Fault, KeyPath, Problem};

/// Where a problem stands in the text: at its place or, for a placeholder, at the very braces.
pub(super) fn span_of_problem(text: &str, document: &DeTable<'_>, problem: &Problem) -> Range<usize> {
    let span = span_of(document, &problem.place);
    let (Fault::UnknownPlaceholder { name, .. } | Fault::PlaceholderLacks { name, .. }) = &problem.fault
    else {
        return span;
    };
    let source = &text[span.clone()];
    let Err(error) = expand(source, |other| (other != name).then_some("")) else { return span };
    let at = source.chars().take(error.position - 1).map(char::len_utf8).sum::<usize>();
    span.start + at..span.start + at + name.len() + 2
}

/// Where a place stands in the text: its value, or its key when that is a table; where the way ends earlier, there.
pub(super) fn span_of(document: &DeTable<'_>, place: &KeyPath) -> Range<usize> {
    let mut span = 0..0;
    let mut table = document;
    let mut keys = place.0.iter();
    while let Some((key, value)) = keys.next().and_then(|key| table.get_key_value(key.as_str())) {
        match value.get_ref() {
            DeValue::Table(inner) => (span, table) = (key.span(), inner),
            DeValue::Array(words) => {
                let word = keys.next().and_then(|number| words.get(number.parse::<usize>().ok()?));
                return word.map_or(value.span(), Spanned::span);
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => return value.span(),
        }
    }
    span
}

/// The names in a section such as `[versions.NAME]`, as the author ordered them. A section is given by the keys that lead
/// there.
pub(super) fn names_in_order(document: &DeTable<'_>, section: &[&str]) -> Vec<String> {
    let mut table = Some(document);
    for key in section {
        table = table.and_then(|table| table.get(*key)?.get_ref().as_table());
    }
    let mut keys: Vec<_> = table.into_iter().flat_map(DeTable::keys).collect();
    keys.sort_by_key(|key| key.span().start);
    keys.into_iter().map(|key| key.get_ref().to_string()).collect()
}
