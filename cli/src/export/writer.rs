//! Rows as CSV and as JSON lines.

use std::io::{self, Write};

use clap::ValueEnum;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use speedup_core::event::EndedAttempt;
use speedup_core::experiment::Experiment;
use speedup_core::metric::Metric;

use super::built::Built;
use super::column::{COLUMNS, KEPT, Value, metric, own};
use super::row::Row;
use super::sheet::Sheet;

/// The form of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values with a header line (RFC 4180).
    #[default]
    Csv,
    /// One JSON object a line, with the kept output.
    Jsonl,
}

/// Writes rows as they come.
pub(crate) struct RowWriter<W: Write> {
    form: Form<W>,
    measured: Measured,
    builds: Vec<Built>,
}

/// The columns that one experiment has and another may not: its metrics, and its own with their columns. Those are named
/// by the way to them in the plan, `output.NAME`, so that no name of the user's meets one of ours.
struct Measured {
    metrics: Vec<Metric>,
    own: Vec<(String, String)>,
}

enum Form<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Jsonl(W),
}

impl<W: Write> RowWriter<W> {
    /// Begins an export.
    pub(crate) fn new(format: Format, experiment: &Experiment, to: W) -> io::Result<Self> {
        let own = experiment.own_metrics.iter().map(|own| (format!("output.{}", own.name), own.name.clone()));
        let measured = Measured { metrics: experiment.metrics.clone(), own: own.collect() };
        let form = match format {
            Format::Jsonl => Form::Jsonl(to),
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(to);
                writer.write_record(COLUMNS.iter().map(|column| column.name).chain(measured.columns()))?;
                Form::Csv(Box::new(writer))
            }
        };
        Ok(Self { form, measured, builds: Vec::new() })
    }

    /// Writes the rows of an attempt.
    pub(crate) fn attempt(&mut self, sheet: &mut Sheet<'_>, ended: &EndedAttempt) -> io::Result<()> {
        self.builds.extend(sheet.build(ended));
        sheet.rows(ended).iter().try_for_each(|row| self.row(row))
    }

    /// Writes the rows of the runs that no attempt settled, after them in JSON the builds if there are any, and ends.
    pub(crate) fn end(mut self, sheet: &Sheet<'_>) -> io::Result<()> {
        sheet.unsettled().try_for_each(|row| self.row(&row))?;
        match self.form {
            Form::Csv(mut writer) => writer.flush(),
            Form::Jsonl(mut to) => {
                if !self.builds.is_empty() {
                    serde_json::to_writer(&mut to, &serde_json::json!({ "builds": self.builds }))?;
                    to.write_all(b"\n")?;
                }
                to.flush()
            }
        }
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        match &mut self.form {
            Form::Csv(writer) => {
                Ok(writer.write_record(common(row, &self.measured).map(|(_, value)| field(value)))?)
            }
            Form::Jsonl(to) => {
                serde_json::to_writer(&mut *to, &Object(row, &self.measured))?;
                to.write_all(b"\n")
            }
        }
    }
}

impl Measured {
    fn columns(&self) -> impl Iterator<Item = &str> {
        let known = self.metrics.iter().map(|metric| metric.column());
        known.chain(self.own.iter().map(|(column, _)| column.as_str()))
    }
}

/// What both forms have of a row.
fn common<'r>(row: &'r Row<'_>, measured: &'r Measured) -> impl Iterator<Item = (&'r str, Value)> + 'r {
    let columns = COLUMNS.iter().map(|column| (column.name, (column.value)(row)));
    let metrics = measured.metrics.iter().map(|one| (one.column(), metric(row, *one)));
    let series = measured.own.iter().map(|(column, name)| (column.as_str(), own(row, name)));
    columns.chain(metrics).chain(series)
}

fn field(value: Value) -> String {
    match value {
        Value::Absent => String::new(),
        Value::Truth(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Signed(number) => number.to_string(),
        Value::Text(text) => text,
        Value::Series(values) => values.iter().map(f64::to_string).collect::<Vec<_>>().join(";"),
    }
}

/// A row as a JSON object: every column, null where nothing stands in it.
struct Object<'r, 'a>(&'r Row<'a>, &'r Measured);

impl Serialize for Object<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        let kept = KEPT.iter().map(|column| (column.name, (column.value)(self.0)));
        for (name, value) in common(self.0, self.1).chain(kept) {
            match value {
                Value::Absent => object.serialize_entry(name, &()),
                Value::Truth(truth) => object.serialize_entry(name, &truth),
                Value::Number(number) => object.serialize_entry(name, &number),
                Value::Signed(number) => object.serialize_entry(name, &number),
                Value::Text(text) => object.serialize_entry(name, &text),
                Value::Series(values) => object.serialize_entry(name, &values),
            }?;
        }
        object.end()
    }
}
