//! Rows as CSV and as JSON lines.

use std::io::{self, Write};

use clap::ValueEnum;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use speedup_core::event::EndedAttempt;
use speedup_core::experiment::Metric;

use super::column::{COLUMNS, KEPT, Value, metric};
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
}

enum Form<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Jsonl(W),
}

impl<W: Write> RowWriter<W> {
    /// Begins an export.
    pub(crate) fn new(format: Format, to: W) -> io::Result<Self> {
        let form = match format {
            Format::Jsonl => Form::Jsonl(to),
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(to);
                let metrics = Metric::ALL.map(Metric::column);
                writer.write_record(COLUMNS.iter().map(|column| column.name).chain(metrics))?;
                Form::Csv(Box::new(writer))
            }
        };
        Ok(Self { form })
    }

    /// Writes the rows of an attempt.
    pub(crate) fn attempt(&mut self, sheet: &mut Sheet<'_>, ended: &EndedAttempt) -> io::Result<()> {
        sheet.rows(ended).iter().try_for_each(|row| self.row(row))
    }

    /// Writes the rows of the runs that no attempt settled, and ends.
    pub(crate) fn end(mut self, sheet: &Sheet<'_>) -> io::Result<()> {
        sheet.unsettled().try_for_each(|row| self.row(&row))?;
        match self.form {
            Form::Csv(mut writer) => writer.flush(),
            Form::Jsonl(mut to) => to.flush(),
        }
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        match &mut self.form {
            Form::Csv(writer) => Ok(writer.write_record(common(row).map(|(_, value)| field(value)))?),
            Form::Jsonl(to) => {
                serde_json::to_writer(&mut *to, &Object(row))?;
                to.write_all(b"\n")
            }
        }
    }
}

/// What both forms have of a row.
fn common<'r>(row: &'r Row<'_>) -> impl Iterator<Item = (&'static str, Value)> + 'r {
    let columns = COLUMNS.iter().map(|column| (column.name, (column.value)(row)));
    columns.chain(Metric::ALL.into_iter().map(|one| (one.column(), metric(row, one))))
}

fn field(value: Value) -> String {
    match value {
        Value::Absent => String::new(),
        Value::Truth(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Signed(number) => number.to_string(),
        Value::Text(text) => text,
    }
}

/// A row as a JSON object: every column, null where nothing stands in it.
struct Object<'r, 'a>(&'r Row<'a>);

impl Serialize for Object<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        let kept = KEPT.iter().map(|column| (column.name, (column.value)(self.0)));
        for (name, value) in common(self.0).chain(kept) {
            match value {
                Value::Absent => object.serialize_entry(name, &()),
                Value::Truth(truth) => object.serialize_entry(name, &truth),
                Value::Number(number) => object.serialize_entry(name, &number),
                Value::Signed(number) => object.serialize_entry(name, &number),
                Value::Text(text) => object.serialize_entry(name, &text),
            }?;
        }
        object.end()
    }
}
