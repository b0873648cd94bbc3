//! The JSON Schema of the plan file, made from [`Form`], so that it cannot differ from what is read.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::form::Form;

/// The JSON Schema (draft 2020-12) of the plan file. Editors complete and check plans with it.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Form>().to_value();
    without_null(&mut schema);
    schema
}

/// Takes out the null that schemars allows for what may be absent: TOML has none.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Array(kinds)) = members.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [only] = kinds.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(either)) = members.get_mut("anyOf") {
                either.retain(|one| one["type"] != "null");
                if let [Value::Object(only)] = either.as_mut_slice() {
                    let only = std::mem::take(only);
                    members.remove("anyOf");
                    // The field's own description stands before its type's.
                    for (key, value) in only {
                        members.entry(key).or_insert(value);
                    }
                }
            }
            if members.get("default").is_some_and(Value::is_null) {
                members.remove("default");
            }
            members.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
