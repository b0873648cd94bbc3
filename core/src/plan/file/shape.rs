//! Whether a document has the shape of a plan: it is compared with the published schema, so what the schema says is what
//! is accepted. All deviations are found in one pass, each with the key's own description as its hint.

use std::ops::Range;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::{finding::Flaws, spelling};
use crate::value::excerpt::{excerpt, quoted};

pub(super) fn compare(document: &DeTable<'_>, schema: &Value, flaws: &mut Flaws) {
    let mut walk = Walk { root: schema, path: Vec::new(), flaws };
    walk.table(document, 0..0, schema);
}

struct Walk<'w> {
    root: &'w Value,
    /// The keys that led here.
    path: Vec<String>,
    flaws: &'w mut Flaws,
}

impl Walk<'_> {
    fn table(&mut self, table: &DeTable<'_>, at: Range<usize>, schema: &Value) {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for key in required.filter(|key| table.get(*key).is_none()) {
            let property = &schema["properties"][key];
            self.flaws.note(at.clone(), || {
                let cause = format!("{} is missing{}", named(key, property), inside(&self.path));
                (cause, hint_of(key, property))
            });
        }
        for (key, value) in table {
            let name = key.get_ref();
            let known = schema["properties"].get(name.as_ref());
            let property = known.unwrap_or(&schema["additionalProperties"]);
            if property.is_object() {
                let at = if value.get_ref().is_table() { key.span() } else { value.span() };
                self.path.push(name.to_string());
                self.value(value.get_ref(), at, property);
                self.path.pop();
            } else {
                self.flaws.note(key.span(), || {
                    let known: Vec<&str> = properties(schema).collect();
                    let section = self.path.first().map_or("", String::as_str);
                    let elsewhere = table_of(self.root, name);
                    let hint = spelling::hint(section, &excerpt(name), &known, elsewhere.as_deref());
                    (format!("unknown key `{}`{}", excerpt(name), inside(&self.path)), hint)
                });
            }
        }
    }

    fn value(&mut self, value: &DeValue<'_>, at: Range<usize>, schema: &Value) {
        let schema = alternative(schema, value);
        let choices = choices(schema);
        match (value, schema["type"].as_str()) {
            // A value that is no string falls through to the last arm, which names the type.
            (DeValue::String(word), _) if !choices.is_empty() => {
                if !choices.contains(&word.as_ref()) {
                    self.flaws.note(at, || {
                        let section = self.path.first().map_or("", String::as_str);
                        let cause = format!("{} is not allowed for `{}`", quoted(word), key_of(&self.path));
                        (cause, spelling::hint(section, &excerpt(word), &choices, None))
                    });
                }
            }
            (DeValue::Table(table), Some("object")) => self.table(table, at, schema),
            (DeValue::Array(items), Some("array")) => {
                for item in items {
                    self.value(item.get_ref(), item.span(), &schema["items"]);
                }
            }
            (DeValue::Integer(integer), Some("integer")) => {
                let number = i128::from_str_radix(integer.as_str(), integer.radix()).ok();
                let (least, most) = integer_bounds(schema);
                if !number.is_some_and(|number| (least..=most).contains(&number)) {
                    self.flaws.note(at, || {
                        let cause = format!(
                            "{} is out of range for `{}`: it must be {least} to {most}",
                            excerpt(&integer.to_string()),
                            key_of(&self.path)
                        );
                        (cause, hint_of(key_of(&self.path), schema))
                    });
                }
            }
            (DeValue::String(_), Some("string"))
            | (DeValue::Boolean(_), Some("boolean"))
            | (DeValue::Float(_) | DeValue::Integer(_), Some("number")) => {}
            (found, expected) => self.flaws.note(at, || {
                let expected = if choices.is_empty() { expected.unwrap_or_default() } else { "string" };
                let alternatives: Vec<String> = alternatives(schema).map(|one| a(type_of(one))).collect();
                let wanted = if alternatives.is_empty() { a(expected) } else { alternatives.join(" or ") };
                let cause = format!("`{}` must be {wanted}, not {}", key_of(&self.path), a(found.type_str()));
                let hint = hint_of(key_of(&self.path), schema);
                if let DeValue::String(line) = found
                    && expected == "array"
                {
                    return (cause, as_array(key_of(&self.path), line) + &hint);
                }
                (cause, hint)
            }),
        }
    }
}

/// What a value may be, where it may be of several types.
fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    schema["anyOf"].as_array().into_iter().flatten()
}

/// The alternative that a value is meant for; the schema itself where it has none.
fn alternative<'s>(schema: &'s Value, value: &DeValue<'_>) -> &'s Value {
    alternatives(schema).find(|one| type_of(one) == value.type_str()).unwrap_or(schema)
}

fn type_of(schema: &Value) -> &str {
    schema["type"].as_str().unwrap_or_default()
}

/// How a line of words is written as an array.
fn as_array(key: &str, line: &str) -> String {
    let words: Vec<String> = line.split_whitespace().map(|word| format!("{word:?}")).collect();
    format!("write {} = [{}]. ", excerpt(key), excerpt(&words.join(", ")))
}

/// The values of an enumeration, which schemars writes as `enum` or, where they are described, as constants.
fn choices(schema: &Value) -> Vec<&str> {
    let plain = schema["enum"].as_array().into_iter().flatten();
    let described = schema["oneOf"].as_array().into_iter().flatten().flat_map(|one| {
        let several = one["enum"].as_array().into_iter().flatten();
        several.chain(one.get("const"))
    });
    plain.chain(described).filter_map(Value::as_str).collect()
}

/// The bounds that the schema states; a missing one is that of the integer's width.
fn integer_bounds(schema: &Value) -> (i128, i128) {
    let bound = |key: &str| schema[key].as_i64().map(i128::from);
    let (least, most) = match schema["format"].as_str() {
        Some("int32") => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Some("uint8") => (0, i128::from(u8::MAX)),
        Some("uint32") => (0, i128::from(u32::MAX)),
        _ => (0, i128::from(u64::MAX)),
    };
    (bound("minimum").unwrap_or(least), bound("maximum").unwrap_or(most))
}

/// The table of a plan that knows a key.
fn table_of(root: &Value, key: &str) -> Option<String> {
    let sections = root["properties"].as_object()?;
    sections.iter().find_map(|(section, schema)| {
        let named = &schema["additionalProperties"];
        if properties(schema).any(|known| known == key) {
            Some(section.clone())
        } else if properties(named).any(|known| known == key) {
            Some(format!("{section}.NAME"))
        } else {
            None
        }
    })
}

fn properties(schema: &Value) -> impl Iterator<Item = &str> {
    schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str())
}

/// The key that a message speaks of: the last of the path.
fn key_of(path: &[String]) -> &str {
    path.last().map_or("plan", String::as_str)
}

fn hint_of(key: &str, schema: &Value) -> String {
    let description = schema["description"].as_str().unwrap_or("see the plan file's schema");
    format!("`{}`: {}", excerpt(key), description.replace('\n', " "))
}

/// A key as its author would write it: a table in brackets.
fn named(key: &str, schema: &Value) -> String {
    if schema["type"] == "object" { format!("[{key}]") } else { format!("`{key}`") }
}

fn inside(path: &[String]) -> String {
    if path.is_empty() { String::new() } else { format!(" in [{}]", excerpt(&path.join("."))) }
}

fn a(kind: &str) -> String {
    match kind {
        "object" | "table" => "a table".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" | "integer" => format!("an {kind}"),
        other => format!("a {other}"),
    }
}
