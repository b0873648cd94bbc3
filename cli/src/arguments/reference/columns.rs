//! `export-columns.md`: the columns of an export.

use speedup_observations::{DescribedColumn, column_reference};

use super::cell;

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
    super::meet("export-columns.md", &page);
}
