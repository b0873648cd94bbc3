//! The pages of the reference that are made from the code: `docs/reference/`. A test fails when a page in the repository is
//! not what the code says; `SPEEDUP_REFERENCE_PAGES=write cargo test -p speedup-cli reference` writes it anew.

mod plan_file;

use std::{fmt::Write as _, path::Path};

use clap::Command;
use speedup_observations::{DescribedColumn, column_reference};

use super::command_line;

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

#[test]
fn the_page_of_the_columns_is_that_of_the_code() {
    let mut page = String::from(
        "# Columns of an export\n\nMade from the code. Every row of `speedup export` (CSV, JSON lines, Parquet) has these, in this \
         order; then come the\nmetrics that the plan collects, each under the column's name that stands below, then its own metrics as \
         `output.NAME`.\nWhat is not known or does not apply is empty (null).\n\nA *count* is a whole number from 0, a *signed* one may be \
         less, a *moment* is UTC to the nanosecond. A unit is the last\nword of a name: `ns`, `us`, `uj` (microjoules), `mc` \
         (thousandths of a degree Celsius), `khz`, `percent`, `bytes`.\n",
    );
    for (title, rows) in column_reference() {
        page.push_str(&format!("\n## {title}\n\n| column | type | meaning |\n|---|---|---|\n"));
        for DescribedColumn { name, kind, meaning } in rows {
            assert!(!meaning.is_empty(), "the column {name} has no words in column.rs");
            page.push_str(&format!("| `{name}` | {kind} | {} |\n", cell(meaning.trim())));
        }
    }
    meet("export-columns.md", &page);
}

/// Width of the help's lines on the page.
const WIDTH: usize = 80;

#[test]
fn the_page_of_the_command_line_is_that_of_the_code() {
    let mut page = String::from(
        "# Command line\n\nMade from the code: what `speedup VERB --help` prints. A value in brackets after `env:` names the \
         environment variable\nthat stands for the flag.\n",
    );
    let mut command = command_line::command()
        .disable_help_subcommand(true)
        .term_width(WIDTH)
        .mut_args(|arg| arg.hide_env_values(true));
    command.build();
    describe(&mut command, "speedup", 2, &mut page);
    meet("cli.md", &page);
}

fn describe(command: &mut Command, name: &str, depth: usize, page: &mut String) {
    let help = command.clone().mut_args(|arg| arg.hide_env_values(true)).render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    writeln!(page, "\n{} {name}\n\n```text\n{}\n```", "#".repeat(depth), help.join("\n").trim_end()).unwrap();
    for verb in command.get_subcommands_mut().filter(|verb| !verb.is_hide_set()) {
        let name = format!("{name} {}", verb.get_name());
        describe(verb, &name, (depth + 1).min(4), page);
    }
}
