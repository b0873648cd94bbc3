//! The pages of the reference that are made from the code: `docs/reference/`. A test fails when a page in the repository is
//! not what the code says; `SPEEDUP_REFERENCE_PAGES=write cargo test -p speedup-cli reference` writes it anew.

mod columns;
mod command_line;
mod plan_file;

use std::path::Path;

/// The page `name` of the repository is `text`, or becomes it where that is asked.
fn meet(name: &str, text: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference").join(name);
    if std::env::var_os("SPEEDUP_REFERENCE_PAGES").is_some_and(|wanted| wanted == "write") {
        std::fs::write(&page, text).unwrap();
    }
    let there = std::fs::read_to_string(&page).unwrap_or_default();
    let line = there.lines().zip(text.lines()).position(|(there, made)| there != made);
    assert!(
        there == text,
        "docs/reference/{name} is stale from line {} on; \
         SPEEDUP_REFERENCE_PAGES=write cargo test -p speedup-cli reference writes it anew",
        line.unwrap_or_else(|| there.lines().count().min(text.lines().count())) + 1
    );
}

/// What stands in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|").replace('<', "&lt;")
}
