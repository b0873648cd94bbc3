//! Raw observations as rows, for CSV and JSON lines.
//!
//! Builds are no observations: a row names the one that its run used (`build`), and JSON lines end with all of them as `builds`.
//!
//! Every planned run appears, and exactly one row of it says what became of it (`run_state`): `measured` (the only rows
//! with `counts` = true), `failed`, `abandoned`, `cancelled`, or `open`. All other rows are attempts that were lost and
//! reports that came too late; each says in `why_not` why it does not count.
//!
//! Of an experiment's own metrics CSV has the values of a run's iterations with `;` between, JSON lines an array.
//!
//! In reading order: `row` (what a row is), `built` (what a build is), `column` (what it shows), `sheet` (which rows there are), `writer`.

mod built;
mod column;
mod row;
mod sheet;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use sheet::Sheet;
pub(crate) use writer::{Format, RowWriter};
