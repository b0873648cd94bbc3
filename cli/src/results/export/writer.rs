//! Rows in the form that was asked for.

use std::borrow::Cow;
use std::io::{self, Write};

use clap::ValueEnum;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use speedup_core::experiment::Experiment;
use speedup_core::machine::event::EndedAttempt;

use super::built::Built;
use super::column::Value;
use super::column_set::{Shown, columns};
use super::parquet::ParquetWriter;
use super::row::Row;
use super::samples::{Samples, Tool};
use super::sheet::Sheet;
use crate::console::moment;
use crate::console::render::json::escaped;

/// The form of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values with a header line (RFC 4180)
    #[default]
    Csv,
    /// One JSON object per line, with the kept output of runs
    Jsonl,
    /// Apache Parquet: typed, compressed columns, with the kept output
    Parquet,
    /// The sample as Go benchmark text, for benchstat
    Go,
    /// The sample as hyperfine's JSON
    Hyperfine,
    /// The sample as the JSON of hyperfine before version 2
    Hyperfine1,
}

impl Format {
    /// Whether what is written is no text.
    pub(crate) fn is_binary(self) -> bool {
        self == Self::Parquet
    }
}

/// Writes rows as they come.
pub(crate) struct RowWriter<W: Write + Send> {
    form: Form<W>,
    builds: Vec<Built>,
}

enum Form<W: Write + Send> {
    Csv(Vec<Shown>, Box<csv::Writer<W>>),
    Jsonl(Vec<Shown>, W),
    Parquet(Box<ParquetWriter<W>>),
    Tool(Tool, Samples, W),
}

impl<W: Write + Send> RowWriter<W> {
    /// Begins an export.
    pub(crate) fn new(format: Format, experiment: &Experiment, to: W) -> io::Result<Self> {
        let of_tool = |tool, to| Ok::<_, io::Error>(Form::Tool(tool, Samples::new(experiment, tool)?, to));
        let form = match format {
            Format::Csv => {
                let columns = columns(experiment, false);
                let mut writer = csv::Writer::from_writer(to);
                writer.write_record(columns.iter().map(|column| &column.name))?;
                Form::Csv(columns, Box::new(writer))
            }
            Format::Jsonl => Form::Jsonl(columns(experiment, true), to),
            Format::Parquet => Form::Parquet(Box::new(ParquetWriter::new(columns(experiment, true), to)?)),
            Format::Go => of_tool(Tool::Go, to)?,
            Format::Hyperfine => of_tool(Tool::Hyperfine2, to)?,
            Format::Hyperfine1 => of_tool(Tool::Hyperfine1, to)?,
        };
        Ok(Self { form, builds: Vec::new() })
    }

    /// Writes the rows of an attempt.
    pub(crate) fn attempt(&mut self, sheet: &mut Sheet<'_>, ended: &EndedAttempt) -> io::Result<()> {
        self.builds.extend(sheet.build(ended));
        sheet.rows(ended).iter().try_for_each(|row| self.row(row))
    }

    /// Writes the rows of the runs that no attempt settled, after them the builds where the form has a place for them, and
    /// ends.
    pub(crate) fn end(mut self, sheet: &Sheet<'_>) -> io::Result<()> {
        sheet.unsettled().try_for_each(|row| self.row(&row))?;
        match self.form {
            Form::Csv(_, mut writer) => writer.flush(),
            Form::Jsonl(_, mut to) => {
                if !self.builds.is_empty() {
                    json_line(&mut to, &serde_json::json!({ "builds": self.builds }))?;
                }
                to.flush()
            }
            Form::Parquet(writer) => {
                let builds =
                    if self.builds.is_empty() { None } else { Some(serde_json::to_string(&self.builds)?) };
                writer.end(sheet.facts().into_iter().chain(builds.map(|builds| ("builds", builds))))
            }
            Form::Tool(tool, samples, mut to) => {
                let text = samples.text(tool)?;
                let text = match tool {
                    Tool::Go => text.into(),
                    Tool::Hyperfine1 | Tool::Hyperfine2 => escaped(&text),
                };
                to.write_all(text.as_bytes())?;
                to.flush()
            }
        }
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        match &mut self.form {
            Form::Csv(columns, writer) => {
                let fields =
                    columns.iter().map(|column| column.of.read(row).map_or(Cow::Borrowed(""), field));
                fields.map(Cow::into_owned).try_for_each(|field| writer.write_field(field))?;
                Ok(writer.write_record(None::<&[u8]>)?)
            }
            Form::Jsonl(columns, to) => json_line(to, &Object(row, columns)),
            Form::Parquet(writer) => writer.row(row),
            Form::Tool(_, samples, _) => {
                samples.row(row);
                Ok(())
            }
        }
    }
}

fn json_line(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    to.write_all(escaped(&serde_json::to_string(value)?).as_bytes())?;
    to.write_all(b"\n")
}

fn field(value: Value<'_>) -> Cow<'_, str> {
    match value {
        Value::Truth(truth) => Cow::Borrowed(if truth { "true" } else { "false" }),
        Value::Count(number) => number.to_string().into(),
        Value::Signed(number) => number.to_string().into(),
        Value::Moment(at) => moment::rfc3339(at).into(),
        Value::Text(text) => text,
        Value::Series(values) => values.iter().map(f64::to_string).collect::<Vec<_>>().join(";").into(),
    }
}

/// A row as a JSON object: every column, null where nothing stands in it.
struct Object<'r, 'a>(&'r Row<'a>, &'r [Shown]);

impl Serialize for Object<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for Shown { name, of } in self.1 {
            match of.read(self.0) {
                None => object.serialize_entry(name, &()),
                Some(Value::Truth(truth)) => object.serialize_entry(name, &truth),
                Some(Value::Count(number)) => object.serialize_entry(name, &number),
                Some(Value::Signed(number)) => object.serialize_entry(name, &number),
                Some(Value::Moment(at)) => object.serialize_entry(name, &moment::rfc3339(at)),
                Some(Value::Text(text)) => object.serialize_entry(name, &text),
                Some(Value::Series(values)) => object.serialize_entry(name, values),
            }?;
        }
        object.end()
    }
}
