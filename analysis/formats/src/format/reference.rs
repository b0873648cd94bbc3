//! The table of what is read, in `docs/compare.md`, is made from the list of formats and from the golden files, whose names have the
//! versions. The test fails when the page says something else; `SPEEDUP_REFERENCE_PAGES=write cargo test -p speedup-formats
//! reference` writes the table anew.

#![expect(clippy::disallowed_methods, reason = "the page and the golden files are on the disk")]

use crate::{detect, format::Format};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const BEGIN: &str = "<!-- made from the list of formats: begin -->\n";
const END: &str = "<!-- made from the list of formats: end -->\n";

/// The versions of each format's tool that a golden file is of: the first part of the file's name that begins with a digit.
fn versions(folder: &Path) -> BTreeMap<Format, BTreeSet<String>> {
    let mut versions: BTreeMap<Format, BTreeSet<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().trim_end_matches(".json").to_owned();
        let version = stem.split('-').find(|part| part.starts_with(|c: char| c.is_ascii_digit()));
        let version = version.unwrap_or_else(|| panic!("{stem} has no version in its name"));
        let source = if stem.ends_with("-from-source") { " (from its source)" } else { "" };
        let format = detect(&std::fs::read(&path).unwrap()).unwrap_or_else(|error| panic!("{stem}: {error}"));
        versions.entry(format).or_default().insert(format!("{version}{source}"));
    }
    versions
}

#[test]
fn the_table_of_the_guide_is_that_of_the_code() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let versions = versions(&here.join("tests/golden"));
    let mut table = String::from(
        "| tool and format | versions tried | what it is | what is not read |\n|---|---|---|---|\n",
    );
    for format in Format::ALL {
        let tried = versions.get(&format).map(|tried| Vec::from_iter(tried.clone()).join(", "));
        let tried = tried.unwrap_or_default();
        let about = format.about().trim();
        table.push_str(&format!(
            "| {format} (`{}`) | {tried} | {about} | {} |\n",
            format.word(),
            format.leaves_out()
        ));
    }
    let path = here.join("../../docs/compare.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (there, after) = rest.split_once(END).unwrap();
    if std::env::var_os("SPEEDUP_REFERENCE_PAGES").is_some_and(|asked| asked == "write") {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(
            there, table,
            "SPEEDUP_REFERENCE_PAGES=write cargo test -p speedup-formats reference writes it"
        );
    }
}
