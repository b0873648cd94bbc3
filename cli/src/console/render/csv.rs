//! What a list's JSON says of each of its things, as rows of CSV (RFC 4180).
//!
//! A column is called as the field of the JSON is, one within another with a dot between: `lease.run`. What is null or not
//! there is empty, and the members of a list have `;` between them.

use anyhow::{Context as _, Error};
use serde::Serialize;
use serde_json::Value;

pub(crate) fn rows<T: Serialize>(things: &[T], columns: &[&str]) -> Result<String, Error> {
    written(things, columns).context("cannot write CSV")
}

fn written<T: Serialize>(things: &[T], columns: &[&str]) -> Result<String, Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns)?;
    for thing in things {
        let thing = serde_json::to_value(thing)?;
        let cell = |column: &&str| thing.pointer(&format!("/{}", column.replace('.', "/"))).map(text);
        writer.write_record(columns.iter().map(|column| cell(column).unwrap_or_default()))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?.trim_end().to_owned())
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(members) => members.iter().map(text).collect::<Vec<_>>().join(";"),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_columns_and_what_is_not_there_is_empty() {
        let things = [
            serde_json::json!({ "name": "a, b", "lease": { "run": 3 }, "drifted": ["cpu", "kernel"] }),
            serde_json::json!({ "name": "c", "lease": null, "drifted": [] }),
        ];
        let columns = ["name", "lease.run", "drifted"];
        assert_eq!(rows(&things, &columns).unwrap(), "name,lease.run,drifted\n\"a, b\",3,cpu;kernel\nc,,");
        assert_eq!(rows::<Value>(&[], &columns).unwrap(), "name,lease.run,drifted");
    }
}
