//! Numbers of JSON documents by a pointer (RFC 6901).

use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};
use serde_json::{Deserializer, Value};

use super::{ValueError, quantity};

/// A text, or, as the first group, one of the words for what is no finite number: Python writes them, and JSON has none.
static NOT_FINITE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""(?:[^"\\\n]|\\.)*"|(-?\b(?:NaN|Infinity)\b)"#).expect("a regular expression")
});

/// Whether a text is a JSON pointer: empty, for the whole document, or names after slashes, in which `~` stands only in
/// `~0` and `~1` (RFC 6901, section 3).
pub(super) fn is_pointer(text: &str) -> bool {
    let escapes_right =
        || text.split('~').skip(1).all(|after| after.starts_with('0') || after.starts_with('1'));
    (text.is_empty() || text.starts_with('/')) && escapes_right()
}

/// The numbers at `pointer` in every document of `bytes`, in their order: the only one, one a line, or what stands among the
/// lines of a log. A document that has nothing there is passed over.
pub(super) fn numbers(bytes: &[u8], pointer: &str, unit: &str) -> Result<Vec<f64>, ValueError> {
    let mut values = Vec::new();
    let whole = match serde_json::from_slice(bytes) {
        Ok(document) => {
            collect(&document, pointer, unit, &mut values)?;
            return Ok(values);
        }
        Err(error) => error,
    };
    // As text they are refused by their name where they are pointed to, and do no harm elsewhere.
    let bytes = &*NOT_FINITE.replace_all(bytes, |found: &Captures<'_>| match found.get(1) {
        Some(word) => [b"\"", word.as_bytes(), b"\""].concat(),
        None => found[0].to_vec(),
    });
    let mut at = 0;
    let mut has_document = false;
    while let Some(start) = bytes[at..].iter().position(|byte| matches!(byte, b'{' | b'[')) {
        let before =
            bytes[at..at + start].iter().rfind(|byte| **byte == b'\n' || !byte.is_ascii_whitespace());
        let begins_line = before.is_none_or(|byte| *byte == b'\n');
        at += start;
        let is_object = bytes[at] == b'{';
        let mut documents = Deserializer::from_slice(&bytes[at..]).into_iter();
        match documents.next() {
            Some(Ok(document)) => {
                has_document = true;
                collect(&document, pointer, unit, &mut values)?;
                at += documents.byte_offset();
            }
            // What looks like a document to the end of a line, or begins one as an object, is one with a fault: its
            // parts are no documents of their own.
            Some(Err(error)) if error.line() > 1 || is_object && (begins_line || error.is_eof()) => {
                let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
                let cause = format!("in the document that begins in line {line}: {error}");
                return Err(ValueError::Json { cause });
            }
            // `{x}` behind other text is text, and so are braces in it.
            Some(Err(_)) if is_object => {
                let rest = &bytes[at..];
                at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            }
            // `[INFO]` is text, and an object may follow it. What was read once is not read again, so the time is linear.
            Some(Err(error)) => at += error.column().saturating_sub(1).max(1),
            None => break,
        }
    }
    if !has_document {
        return Err(ValueError::Json { cause: whole.to_string() });
    }
    Ok(values)
}

/// Adds the number at `pointer`, or the numbers of the array there.
fn collect(document: &Value, pointer: &str, unit: &str, values: &mut Vec<f64>) -> Result<(), ValueError> {
    let numbers = match document.pointer(pointer) {
        None => &[],
        Some(Value::Array(items)) => items.as_slice(),
        Some(single) => std::slice::from_ref(single),
    };
    for one in numbers {
        values.push(number(one, unit)?);
    }
    Ok(())
}

/// A number, also one that is written as text.
fn number(value: &Value, unit: &str) -> Result<f64, ValueError> {
    match value {
        Value::Number(number) => number.as_f64().ok_or_else(|| ValueError::no_number(&number.to_string())),
        Value::String(text) => quantity::read(text, None, unit),
        Value::Null | Value::Bool(_) => Err(ValueError::no_number(&value.to_string())),
        Value::Array(_) => Err(ValueError::no_number("an array")),
        Value::Object(_) => Err(ValueError::no_number("an object")),
    }
}
