//! `plan.md`: the plan file, from its JSON Schema.

use std::fmt::Write as _;

use serde_json::Value;
use speedup_core::plan;

use super::cell;

#[test]
fn the_page_of_the_plan_file_is_that_of_the_code() {
    let schema = plan::file::schema();
    let mut page = format!(
        "# Plan file\n\nMade from the code, as is the JSON Schema that `speedup plan schema` prints. {}\n\nThe file is TOML. \
         `NAME` stands for a name that the plan gives. What is not listed here is refused, with its line.\n",
        words(&schema)
    );
    tables(&schema, "", &mut page);
    super::meet("plan.md", &page);
}

/// The tables of a table, each with its values and then with its own tables.
fn tables(schema: &Value, path: &str, page: &mut String) {
    for (key, member) in members(schema).filter(|(_, member)| table(member).is_some()) {
        let (own, of) = match table(member) {
            Some(Table::Fixed) => (format!("{path}{key}"), member),
            Some(Table::Named(of)) => (format!("{path}{key}.NAME"), of),
            None => unreachable!("filtered"),
        };
        writeln!(page, "\n## `[{own}]`\n\n{}", words(member)).unwrap();
        values(of, page);
        tables(of, &format!("{own}."), page);
    }
}

fn values(schema: &Value, page: &mut String) {
    page.push_str("\n| key | type | default | meaning |\n|---|---|---|---|\n");
    for (key, value) in members(schema).filter(|(_, member)| table(member).is_none()) {
        let required =
            schema["required"].as_array().is_some_and(|names| names.iter().any(|name| name == key));
        let default = if required { "required".to_owned() } else { default(value) };
        writeln!(page, "| `{key}` | {} | {default} | {} |", kind(value), cell(&meaning(value))).unwrap();
    }
}

/// A member that TOML has as a table of its own.
enum Table<'a> {
    /// With the keys that the schema says.
    Fixed,
    /// With names of the plan's own, and a table behind each.
    Named(&'a Value),
}

fn table(member: &Value) -> Option<Table<'_>> {
    let named = &member["additionalProperties"];
    if member["properties"].is_object() {
        Some(Table::Fixed)
    } else {
        named["properties"].is_object().then_some(Table::Named(named))
    }
}

fn members(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = schema["properties"].as_object().into_iter().flatten();
    members.map(|(key, member)| (key.as_str(), member))
}

fn words(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('<', "&lt;")
}

fn kind(value: &Value) -> String {
    if value["oneOf"].is_array() {
        return "one of".to_owned();
    }
    if let Some(either) = value["anyOf"].as_array() {
        return either.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match value["type"].as_str() {
        Some("array") => format!("list of {}s", value["items"]["type"].as_str().unwrap_or("word")),
        Some("object") => "table of strings".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some(kind) => kind.to_owned(),
        None => panic!("the schema has a value without a type: {value}"),
    }
}

/// The description, and that of each word that can stand there.
fn meaning(value: &Value) -> String {
    let choice = value["oneOf"].as_array().or(value["items"]["oneOf"].as_array());
    let choice = choice.into_iter().flatten().map(|one| {
        let words = one["description"].as_str().unwrap_or_default().trim_end_matches('.');
        format!("`{}`: {words}", one["const"].as_str().expect("a choice is between words"))
    });
    let choice: Vec<String> = choice.collect();
    let own = value["description"].as_str().unwrap_or_default();
    if choice.is_empty() { own.to_owned() } else { format!("{own} {}.", choice.join("; ")) }
}

fn default(value: &Value) -> String {
    match &value["default"] {
        Value::Null => String::new(),
        Value::Object(members) if members.is_empty() => "`{}`".to_owned(),
        default => format!("`{default}`"),
    }
}
