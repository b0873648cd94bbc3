//! Raw observations as rows (CSV, JSON lines, Parquet), and the sample as other tools write theirs (Go, hyperfine).
//!
//! Builds are no observations: a row names the one that its run used (`build`), and JSON lines end with all of them as
//! `builds`; Parquet has the same in its metadata.
//!
//! Every planned run appears, and exactly one row of it says what became of it (`run_state`): `measured` (the only rows
//! with `counts` = true), `failed`, `abandoned`, `cancelled`, or `open`. All other rows are attempts that were lost and
//! reports that came too late; each says in `why_not` why it does not count. Files of other tools have the sample alone.
//!
//! Of an experiment's own metrics CSV has the values of a run's iterations with `;` between, the others a list.
//!
//! In reading order: `row` (what a row is), `built` (what a build is), `column` (what it shows), `column_set` (which columns
//! there are), `sheet` (which rows there are), `parquet`, `samples` (the forms of other tools), `writer`.

mod built;
mod column;
mod column_set;
mod parquet;
mod row;
mod samples;
mod sheet;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use sheet::Sheet;
pub(crate) use writer::{Format, RowWriter};
