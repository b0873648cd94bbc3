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
//! there are), `sheet` (which rows there are), `parquet`, `samples` (the forms of other tools), `writer`, `pages` (all of them, on several threads); `imported` (samples without runs
//! on hosts, as Parquet).

mod built;
mod column;
mod column_set;
mod imported;
mod pages;
mod parquet;
mod row;
mod samples;
mod sheet;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use imported::write_parquet;
pub(crate) use pages::write_rows;
pub(crate) use sheet::Sheet;
pub(crate) use writer::{Format, RowForm, RowWriter};

/// A column as the reference shows it: its name, its type, what it means.
#[cfg(test)]
pub(crate) type Described = (&'static str, &'static str, String);

/// The columns by chapter, each with its type and what it means.
#[cfg(test)]
pub(crate) fn column_reference() -> Vec<(&'static str, Vec<Described>)> {
    use speedup_core::experiment::metric::Metric;
    let of = |column: &column::Column| (column.name, column.read.kind(), column.meaning.to_owned());
    // The schema of a plan has the words of each metric.
    let schema = speedup_core::plan::file::schema();
    let words =
        schema["properties"]["metrics"]["properties"]["collect"]["items"]["oneOf"].as_array().unwrap();
    let metric = |metric: &Metric| {
        let words = words.iter().find(|words| words["const"] == metric.name()).unwrap();
        (metric.column(), "count", words["description"].as_str().unwrap().to_owned())
    };
    vec![
        ("Of every run", column::COLUMNS.iter().map(of).collect()),
        ("Metrics", Metric::ALL.iter().map(metric).collect()),
        ("The output that was kept, not in CSV", column::KEPT.iter().map(of).collect()),
    ]
}
