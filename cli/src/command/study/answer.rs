//! What a study found, in the form asked for.

use anyhow::{Context as _, Error};
use serde::Serialize;
use speedup_analysis::count::counted;
use speedup_core::value::seed::Seed;
use speedup_studies::{EstimatorRow, LawShape, StudyRow};

use super::options::Form;
use crate::command::{print, print_json};
use crate::console::Console;
use crate::console::render::table::{Column, table};
use crate::exit::Exit;
use crate::exit::failure::Failure;

/// The version of the JSON value; it changes when a field changes its name or meaning.
const SCHEMA_VERSION: u32 = 1;

/// The JSON value of a study.
#[derive(Debug, Serialize)]
struct Answer<'a, O, R> {
    schema_version: u32,
    study: &'static str,
    options: &'a O,
    rows: &'a [R],
}

/// How people are told of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading {
    /// The section's code.
    pub(super) section: &'static str,
    /// What its shares are, and of what.
    pub(super) sentence: &'static str,
    /// What its size counts.
    pub(super) size: &'static str,
    /// What its parameter is; empty where it has none.
    pub(super) parameter: &'static str,
}

/// Prints `rows` of `study`, made with `options`.
pub(super) fn show<O: Serialize>(
    study: &'static str,
    options: &O,
    rows: &[StudyRow],
    headings: &[Heading],
    (form, seed): (Form, Seed),
    console: &Console,
) -> Result<Exit, Failure> {
    match form {
        Form::Json => print_json(console, &Answer { schema_version: SCHEMA_VERSION, study, options, rows })?,
        Form::Csv => print(console, &csv(rows.iter().map(Flat::from))?)?,
        Form::Table => {
            let of = |heading: &Heading| section(heading, rows, seed, console);
            print(console, &headings.iter().filter_map(of).collect::<Vec<_>>().join("\n\n"))?;
        }
    }
    Ok(Exit::Done)
}

/// A row with the columns of CSV: `schema_version` stands in each, because nothing else stands in the file.
#[derive(Debug, Serialize)]
struct Flat<'a> {
    schema_version: u32,
    section: &'a str,
    distribution: Option<LawShape>,
    size: u64,
    parameter: Option<f64>,
    method: &'a str,
    /// Empty where no replicate had an answer.
    share: Option<f64>,
    standard_error: Option<f64>,
    expected: Option<f64>,
    replicates: Option<u64>,
    unanswered: u64,
}

impl<'a> From<&'a StudyRow> for Flat<'a> {
    fn from(row: &'a StudyRow) -> Self {
        let StudyRow { section, distribution, size, parameter, method, .. } = *row;
        let StudyRow { share, standard_error, expected, replicates, unanswered, .. } = *row;
        let schema_version = SCHEMA_VERSION;
        Self {
            schema_version,
            section,
            distribution,
            size,
            parameter,
            method,
            share: known(share),
            standard_error: known(standard_error),
            expected,
            replicates,
            unanswered,
        }
    }
}

/// A number, or none where it is not one.
fn known(share: f64) -> Option<f64> {
    Some(share).filter(|share| share.is_finite())
}

fn section(heading: &Heading, rows: &[StudyRow], seed: Seed, console: &Console) -> Option<String> {
    let rows: Vec<&StudyRow> = rows.iter().filter(|row| row.section == heading.section).collect();
    let replicates = rows.first()?.replicates;
    let drawn = replicates.map_or_else(
        || "computed exactly".to_owned(),
        |n| format!("{} per line, seed {seed}", counted(n, "replicate")),
    );
    let mut columns = vec![Column::Words("distribution"), Column::Number(heading.size)];
    if !heading.parameter.is_empty() {
        columns.push(Column::Number(heading.parameter));
    }
    columns.push(Column::Words("method"));
    columns.extend(["share", "std error", "expected", "no answer"].map(Column::Number));
    let number = |value: Option<f64>| value.map_or_else(String::new, shown);
    let lines = rows.iter().map(|row| {
        let mut line = vec![row.distribution.map_or("—", LawShape::code).to_owned(), row.size.to_string()];
        if !heading.parameter.is_empty() {
            line.push(row.parameter.map_or_else(String::new, |parameter| parameter.to_string()));
        }
        line.push(row.method.to_owned());
        line.extend([number(Some(row.share)), number(Some(row.standard_error)), number(row.expected)]);
        line.push(row.unanswered.to_string());
        line
    });
    let lines = table(&columns, lines, console.out);
    Some(format!("{} ({}; {drawn})\n\n{lines}", heading.sentence, heading.section))
}

/// A share to four digits; where no replicate had an answer there is none.
fn shown(share: f64) -> String {
    if share.is_nan() { "—".to_owned() } else { format!("{share:.4}") }
}

/// Prints the rows of the estimators.
pub(super) fn show_estimators<O: Serialize>(
    options: &O,
    rows: &[EstimatorRow],
    (form, seed): (Form, Seed),
    console: &Console,
) -> Result<Exit, Failure> {
    let (schema_version, study) = (SCHEMA_VERSION, "estimators");
    match form {
        Form::Json => print_json(console, &Answer { schema_version, study, options, rows })?,
        Form::Csv => print(console, &csv(rows)?)?,
        Form::Table => print(console, &estimators(rows, seed, console))?,
    }
    Ok(Exit::Done)
}

fn estimators(rows: &[EstimatorRow], seed: Seed, console: &Console) -> String {
    let words = ["metric", "quantity"].map(Column::Words);
    let numbers = ["versions", "runs", "min", "Q1", "median", "mean", "Q3", "max", "std error", "no fit"];
    let columns: Vec<Column> = words.into_iter().chain(numbers.map(Column::Number)).collect();
    let lines = rows.iter().map(|row| {
        let mut line = vec![row.metric.code().to_owned(), row.quantity.code().to_owned()];
        line.extend([row.versions, row.runs].map(|count| count.to_string()));
        let quantiles = [row.min, row.first_quartile, row.median, row.mean, row.third_quartile, row.max];
        line.extend(quantiles.map(|value| format!("{value:.4}")));
        line.extend([format!("{:.4}", row.standard_error), row.unanswered.to_string()]);
        line
    });
    let lines = table(&columns, lines, console.out);
    let of = rows.first().map_or_else(String::new, |row| {
        let [frameworks, replicates] = [(row.frameworks, "framework"), (row.replicates, "replicate")]
            .map(|(count, noun)| counted(count, noun));
        format!(" over {frameworks} of {replicates}, seed {seed}")
    });
    format!("Errors of the metrics of variability{of}, as shares of the metric's true value\n\n{lines}")
}

fn csv<R: Serialize>(rows: impl IntoIterator<Item = R>) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = || -> Result<String, Error> {
        for row in rows {
            writer.serialize(row)?;
        }
        let bytes = writer.into_inner().map_err(|error| Error::msg(error.to_string()))?;
        Ok(String::from_utf8(bytes)?.trim_end().to_owned())
    };
    written().context("cannot write CSV").map_err(Failure::infrastructure)
}
