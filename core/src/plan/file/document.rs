//! The parsed text with its positions: where each thing stands, and in which order the author wrote the names.

use std::ops::Range;

use toml::{Spanned, de::DeTable, de::DeValue};

use crate::{experiment::Fault, experiment::KeyPath, experiment::Problem, experiment::template::expand};

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

/// The keys that lead to what stands at a byte of the text; none where that is no key and no value.
pub(super) fn keys_at(document: &DeTable<'_>, at: usize) -> Vec<String> {
    let mut keys = Vec::new();
    descend(document, at, &mut keys);
    keys
}

/// Whether the byte belongs to the table, with the keys that lead there. A table may stand in several places of the text, so
/// that each is looked into.
fn descend(table: &DeTable<'_>, at: usize, keys: &mut Vec<String>) -> bool {
    table.iter().any(|(key, value)| {
        keys.push(key.get_ref().to_string());
        let is_within = match value.get_ref() {
            DeValue::Table(inner) => descend(inner, at, keys) || key.span().contains(&at),
            DeValue::Array(words) => {
                if let Some(number) = words.iter().position(|word| word.span().contains(&at)) {
                    keys.push(number.to_string());
                    return true;
                }
                key.span().contains(&at) || value.span().contains(&at)
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => key.span().contains(&at) || value.span().contains(&at),
        };
        if !is_within {
            keys.pop();
        }
        is_within
    })
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
