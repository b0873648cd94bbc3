//! The page of the reference on the report's JSON is made from the types that are its fields: `docs/reference/report-json.md`. The test
//! fails when the page in the repository is not what their text says; `SPEEDUP_REFERENCE_PAGES=write cargo test -p
//! speedup-analysis --test report_reference` writes it anew.

#![expect(clippy::disallowed_methods, reason = "a test reads the sources and keeps the page")]

#[path = "report_reference/declaration.rs"]
mod declaration;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::{fmt::Write as _, path::Path, path::PathBuf};

use declaration::{Body, Declaration, Field};

#[test]
fn the_page_of_the_report_is_that_of_its_types() {
    let types = declarations();
    let mut page = String::from(
        "# The report as JSON\n\nMade from the code: what `speedup report ID --format json` prints, and what the method `Report` of the \
         [API](api.md) answers.\nFields are added, never renamed; `schema_version` says when one would mean another thing. A field that is said \
         to be absent\nis left out, or null.\n",
    );
    let mut ahead = VecDeque::from(["Report".to_owned()]);
    let mut seen = BTreeSet::from(["Report".to_owned()]);
    while let Some(name) = ahead.pop_front() {
        let declaration = &types[&name];
        describe(declaration, &types, &mut page);
        for below in declaration.fields().flat_map(|field| named(&field.of, &types)) {
            if seen.insert(below.clone()) {
                ahead.push_back(below);
            }
        }
    }
    assert!(seen.len() > 40, "only {seen:?} were found below the report");
    meet(&page);
}

/// The page in the repository is `text`, or becomes it where that is asked.
fn meet(text: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/report-json.md");
    if std::env::var_os("SPEEDUP_REFERENCE_PAGES").is_some_and(|wanted| wanted == "write") {
        std::fs::write(&page, text).expect("the page can be written");
    }
    let there = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        there == text,
        "docs/reference/report-json.md is stale; SPEEDUP_REFERENCE_PAGES=write cargo test -p speedup-analysis --test \
         report_reference writes it anew"
    );
}

/// All types that are serialised, by name; where two have one, that of the report counts before that of a method, and both
/// before that of the heart.
fn declarations() -> BTreeMap<String, Declaration> {
    let analysis = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    for folder in ["src/study", "src", "statistics/src", "../core/src"].map(|place| analysis.join(place)) {
        for file in sources(&folder) {
            for declaration in declaration::all(&std::fs::read_to_string(file).expect("a source")) {
                found.entry(declaration.name.clone()).or_insert(declaration);
            }
        }
    }
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|is| is == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn describe(declaration: &Declaration, types: &BTreeMap<String, Declaration>, page: &mut String) {
    writeln!(page, "\n## {}\n\n{}\n", declaration.name, declaration.words).expect("a string takes all");
    let row = |field: &Field, page: &mut String| {
        writeln!(page, "| `{}` | {} | {} |", field.name, kind(&field.of, types), field.words)
            .expect("a string takes all");
    };
    match &declaration.body {
        Body::Fields(fields) => {
            page.push_str("| field | type | meaning |\n|---|---|---|\n");
            fields.iter().for_each(|field| row(field, page));
        }
        Body::Newtype(of) => {
            writeln!(page, "It is written as {}.", kind(of, types)).expect("a string takes all");
        }
        Body::Variants { tag, variants } => {
            let what = tag.as_ref().map_or("One of these words".to_owned(), |tag| {
                format!("An object whose `{tag}` is one of these")
            });
            let others = if tag.is_some() { ", beside which stand its fields" } else { "" };
            writeln!(page, "{what}{others}:\n\n| word or field | type | meaning |\n|---|---|---|")
                .expect("a string takes all");
            for variant in variants {
                writeln!(page, "| **`{}`** | | {} |", variant.name, variant.words)
                    .expect("a string takes all");
                variant.fields.iter().for_each(|field| row(field, page));
            }
        }
    }
}

/// The types of ours that a type names.
fn named(of: &str, types: &BTreeMap<String, Declaration>) -> Vec<String> {
    let words = of.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    let own = words.filter(|word| types.contains_key(*word)).map(str::to_owned);
    own.flat_map(|name| match &types[&name].body {
        // What is written as another type has no table of its own.
        Body::Newtype(inner) => named(inner, types),
        Body::Fields(_) | Body::Variants { .. } => vec![name],
    })
    .collect()
}

/// A type as JSON has it.
fn kind(of: &str, types: &BTreeMap<String, Declaration>) -> String {
    let inner = |outer: &str| of.strip_prefix(outer).and_then(|rest| rest.strip_suffix('>'));
    if let Some(of) = inner("Option<") {
        return format!("{}, or null", kind(of, types));
    }
    if let Some(of) = inner("Vec<") {
        return format!("list of: {}", kind(of, types));
    }
    // Codes are words of which there are too many for a table.
    if let Some(of) = inner("Box<").or_else(|| inner("Word<")) {
        return if of.ends_with("Code") { "string".to_owned() } else { kind(of, types) };
    }
    if let Some(of) = inner("BTreeMap<") {
        let (_, value) = of.split_once(", ").expect("a map has keys and values");
        return format!("object, by name: {}", kind(value, types));
    }
    if let Some(items) = of.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let (item, count) = items.split_once("; ").expect("an array has a length");
        return format!("list of {count}: {}", kind(item, types));
    }
    match of {
        "bool" => "true or false".to_owned(),
        "f64" => "number".to_owned(),
        "(f64, f64)" => "list of 2: number".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" | "i32" => "integer".to_owned(),
        "String" | "&'static str" | "Uuid" => "string".to_owned(),
        name => {
            // A path is of the type that is its last part.
            let name = name.rsplit("::").next().unwrap_or(name);
            match types.get(name).map(|declaration| &declaration.body) {
                Some(Body::Newtype(inner)) => kind(inner, types),
                Some(_) => format!("[{name}](#{})", name.to_lowercase()),
                None => panic!("`{of}` stands in the report, and this page does not know how JSON has it"),
            }
        }
    }
}
