//! Numbers of a JSON document by a pointer (RFC 6901).

use serde_json::Value;

use super::ValueError;

/// Whether a text is a JSON pointer: empty, for the whole document, or names after slashes, in which `~` stands only in
/// `~0` and `~1` (RFC 6901, section 3).
pub(super) fn is_pointer(text: &str) -> bool {
    let escapes_right =
        || text.split('~').skip(1).all(|after| after.starts_with('0') || after.starts_with('1'));
    (text.is_empty() || text.starts_with('/')) && escapes_right()
}

/// The number at `pointer`, or the numbers of the array there, in the document that `bytes` are.
pub(super) fn numbers(bytes: &[u8], pointer: &str) -> Result<Vec<f64>, ValueError> {
    let document: Value =
        serde_json::from_slice(bytes).map_err(|error| ValueError::Json { cause: error.to_string() })?;
    let found = document.pointer(pointer).ok_or(ValueError::NotFound)?;
    match found {
        Value::Number(_) => Ok(vec![number(found)?]),
        Value::Array(items) => items.iter().map(number).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Object(_) => Err(no_number(found)),
    }
}

fn number(value: &Value) -> Result<f64, ValueError> {
    value.as_f64().ok_or_else(|| no_number(value))
}

fn no_number(value: &Value) -> ValueError {
    let text = match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    };
    ValueError::no_number(&text)
}
