//! Raw observations as rows (CSV, JSON lines, Parquet, Arrow), and the sample as other tools write theirs (Go, hyperfine).
//!
//! Builds are no observations: a row names the one that its run used (`build`), and JSON lines end with all of them as
//! `builds`; Parquet has the same in its metadata, Arrow, which says that before its rows, has none.
//!
//! Every planned run appears, and exactly one row of it says what became of it (`run_state`): `measured` (the only rows
//! with `counts` = true), `failed`, `abandoned`, `cancelled`, or `open`. All other rows are attempts that were lost and
//! reports that came too late; each says in `why_not` why it does not count. Files of other tools have the sample alone.
//!
//! Of an experiment's own metrics CSV has the values of a run's iterations with `;` between, the others a list.
//!
//! In reading order: `row` (what a row is), `column` (what it shows), `column_set` (which columns
//! there are), `sheet` (which rows there are, and what a build is), `lines` (rows as CSV, and how times are spelled), `column_page` (rows as columns), `parquet`, `arrow`, `samples`
//! (the forms of other tools), `writer`, `pages` (all of them, on several threads); `imported` (samples without runs on
//! hosts, as Parquet). There is no clock, file or socket here: bytes go where the caller says.

mod arrow;
mod column;
mod column_page;
mod column_set;
mod imported;
mod lines;
mod pages;
mod parquet;
mod row;
mod samples;
mod sheet;
mod writer;

#[cfg(test)]
mod tests;

pub use column_set::{DescribedColumn, column_reference};
pub use imported::write_parquet;
pub use lines::rfc3339;
pub use pages::write_rows;
pub use sheet::{RowsPer, RunSheet};
pub use writer::{ExportForm, PagesError, PreparedPage, RowForm, RowWriter};
