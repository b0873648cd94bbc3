//! Rows in the form that was asked for.

use std::{io, io::Write, sync::atomic::AtomicUsize, sync::atomic::Ordering};

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use speedup_core::value::foreign::{self, escaped};
use speedup_core::{machine::event::EndedAttempt, value::id::RunIndex};

use super::{
    arrow::ArrowWriter, arrow::Container, column::Value, column_page::ColumnPage, column_set::ExportColumn,
    column_set::columns, lines::Lines, lines::rfc3339, parquet::ParquetWriter, row::Row, row::settled_by,
    samples::Samples, samples::Tool, sheet::BuildAttempt, sheet::RunSheet, sheet::SettledRuns,
};

/// Rows of runs without attempts that are prepared at once.
const ROWS_AT_ONCE: usize = 512;

/// The next page of text is begun with room for the longest so far, and one part in so many more.
const ROOM: usize = 8;

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
    /// One JSON object per line, with the kept output of runs.
    Jsonl,
    /// Apache Parquet: typed, compressed columns, with the kept output.
    Parquet,
    /// Apache Arrow's IPC file (Feather 2), with the kept output.
    Arrow,
    /// Apache Arrow's IPC stream, with the kept output.
    ArrowStream,
    /// The sample as Go benchmark text, for benchstat.
    Go,
    /// The sample as hyperfine's JSON.
    Hyperfine,
    /// The sample as the JSON of hyperfine before version 2.
    Hyperfine1,
}

impl ExportForm {
    /// Whether what is written is no text.
    pub const fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow | Self::ArrowStream)
    }
}

/// How rows are brought into a form. It does not change, so that pages of rows may be prepared on any thread.
pub struct RowForm<'s> {
    sheet: &'s RunSheet<'s>,
    columns: Vec<ExportColumn>,
    format: ExportForm,
    /// Bytes of the longest page of text so far: pages are about as long.
    longest: AtomicUsize,
}

/// Why an export ended before its end.
#[derive(Debug)]
pub enum PagesError<E> {
    /// A page did not come, or is none.
    Page(E),
    /// Rows could not be brought into form, or written.
    Write(io::Error),
}

/// A page of rows in its form.
pub struct PreparedPage {
    content: Content,
    settled: Vec<RunIndex>,
    builds: Vec<BuildAttempt>,
}

impl PreparedPage {
    /// Notes what an attempt means for the end of the export.
    fn note(&mut self, sheet: &RunSheet<'_>, ended: &EndedAttempt) {
        if settled_by(ended).is_some() {
            self.settled.push(ended.lease.run);
        }
        self.builds.extend(sheet.build(ended));
    }
}

enum Content {
    Text(Vec<u8>),
    Columns(ColumnPage),
    /// What the sample is taken from.
    Attempts(Vec<EndedAttempt>),
}

/// Writes pages of rows as they come.
pub struct RowWriter<'s, W: Write + Send> {
    form: &'s RowForm<'s>,
    to: Destination<W>,
    settled: SettledRuns,
    builds: Vec<BuildAttempt>,
}

enum Destination<W: Write + Send> {
    Text(W),
    Parquet(Box<ParquetWriter<W>>),
    Arrow(Box<ArrowWriter<W>>),
    Tool(Tool, Samples, W),
}

impl<'s> RowForm<'s> {
    /// The form of a sheet's rows.
    pub fn new(format: ExportForm, sheet: &'s RunSheet<'s>) -> Self {
        let with_output = format == ExportForm::Jsonl || format.is_binary();
        let columns = columns(sheet.experiment(), sheet.rows_per(), with_output);
        Self { sheet, columns, format, longest: AtomicUsize::new(0) }
    }

    /// The rows of attempts. Of a form of text each attempt is dropped before the next one is taken.
    ///
    /// # Errors
    /// What the attempts say, and what a row cannot be brought into form for.
    pub fn page<E>(
        &self,
        attempts: impl IntoIterator<Item = Result<EndedAttempt, E>>,
    ) -> Result<PreparedPage, PagesError<E>> {
        let mut page =
            PreparedPage { content: Content::Attempts(Vec::new()), settled: Vec::new(), builds: Vec::new() };
        page.content = match self.text() {
            Some(mut text) => {
                for ended in attempts {
                    // An attempt is large, and stays where it was read.
                    match ended {
                        Ok(ref ended) => {
                            page.note(self.sheet, ended);
                            for row in self.sheet.rows(ended) {
                                text.row(&row, &self.columns).map_err(PagesError::Write)?;
                            }
                        }
                        Err(error) => return Err(PagesError::Page(error)),
                    }
                }
                let text = text.into_bytes();
                self.longest.fetch_max(text.len(), Ordering::Relaxed);
                Content::Text(text)
            }
            None => {
                let ended = attempts.into_iter();
                // To collect results would begin without room.
                let mut attempts = Vec::with_capacity(ended.size_hint().0);
                for ended in ended {
                    attempts.push(ended.map_err(PagesError::Page)?);
                }
                attempts.iter().for_each(|ended| page.note(self.sheet, ended));
                self.columns_or_attempts(attempts)
            }
        };
        Ok(page)
    }

    /// The content of a page in a binary form, or the attempts for another tool's file.
    fn columns_or_attempts(&self, attempts: Vec<EndedAttempt>) -> Content {
        if !self.format.is_binary() {
            return Content::Attempts(attempts);
        }
        // Most attempts have one row; an iterator that does not know so would grow the list step by step.
        let mut rows = Vec::with_capacity(attempts.len());
        for ended in &attempts {
            self.sheet.rows(ended).for_each(|row| rows.push(row));
        }
        self.column_page(&rows)
    }

    /// The rows of runs without attempts.
    fn rows<'r>(&self, mut rows: impl Iterator<Item = Row<'r>>) -> io::Result<Content> {
        match self.text() {
            Some(mut text) => {
                rows.try_for_each(|row| text.row(&row, &self.columns))?;
                Ok(Content::Text(text.into_bytes()))
            }
            None if self.format.is_binary() => Ok(self.column_page(&rows.collect::<Vec<_>>())),
            // The samples of other tools are taken from attempts alone.
            None => {
                rows.for_each(drop);
                Ok(Content::Text(Vec::new()))
            }
        }
    }

    fn column_page(&self, rows: &[Row<'_>]) -> Content {
        Content::Columns(ColumnPage::new(&self.columns, rows))
    }

    /// What takes rows as text, of a form that has them so.
    fn text(&self) -> Option<Text> {
        let longest = self.longest.load(Ordering::Relaxed);
        let room = Vec::with_capacity(longest + longest / ROOM);
        match self.format {
            ExportForm::Csv => Some(Text::Lines(Lines::new(room))),
            ExportForm::Jsonl => Some(Text::Objects(room)),
            ExportForm::Parquet
            | ExportForm::Arrow
            | ExportForm::ArrowStream
            | ExportForm::Go
            | ExportForm::Hyperfine
            | ExportForm::Hyperfine1 => None,
        }
    }
}

enum Text {
    Lines(Lines),
    Objects(Vec<u8>),
}

impl Text {
    fn row(&mut self, row: &Row<'_>, columns: &[ExportColumn]) -> io::Result<()> {
        match self {
            Self::Lines(lines) => lines.row(row, columns),
            Self::Objects(text) => json_line(text, &Object(row, columns)),
        }
    }

    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Lines(lines) => lines.into_text(),
            Self::Objects(text) => text,
        }
    }
}

impl<'s, W: Write + Send> RowWriter<'s, W> {
    /// Begins an export.
    ///
    /// # Errors
    /// What `to` says of its bytes, and what a form has no place for.
    pub fn new(form: &'s RowForm<'s>, mut to: W) -> io::Result<Self> {
        let to = match form.format {
            ExportForm::Csv => {
                to.write_all(&Lines::heading(&form.columns))?;
                Destination::Text(to)
            }
            ExportForm::Jsonl => Destination::Text(to),
            ExportForm::Parquet => Destination::Parquet(Box::new(ParquetWriter::new(&form.columns, to)?)),
            ExportForm::Arrow => Destination::arrow(Container::File, form, to)?,
            ExportForm::ArrowStream => Destination::arrow(Container::Stream, form, to)?,
            ExportForm::Go => Destination::tool(Tool::Go, form, to)?,
            ExportForm::Hyperfine => Destination::tool(Tool::Hyperfine2, form, to)?,
            ExportForm::Hyperfine1 => Destination::tool(Tool::Hyperfine1, form, to)?,
        };
        Ok(Self { form, to, settled: SettledRuns::none_of(form.sheet), builds: Vec::new() })
    }

    /// Writes a page.
    ///
    /// # Errors
    /// What `to` says of its bytes.
    pub fn page(&mut self, page: PreparedPage) -> io::Result<()> {
        let PreparedPage { content, settled, builds } = page;
        settled.into_iter().for_each(|run| self.settled.mark(run));
        self.builds.extend(builds);
        self.to.write(self.form, content)
    }

    /// Writes the rows of the runs that no attempt settled, after them the builds where the form has a place for them, and
    /// ends.
    ///
    /// # Errors
    /// What `to` says of its bytes, and what a form has no place for.
    pub fn end(mut self) -> io::Result<()> {
        // Only now is it known which runs no attempt settled.
        let mut unsettled = self.form.sheet.unsettled(&self.settled).peekable();
        while unsettled.peek().is_some() {
            self.to.write(self.form, self.form.rows(unsettled.by_ref().take(ROWS_AT_ONCE))?)?;
        }
        drop(unsettled);
        let builds = &self.builds;
        match self.to {
            Destination::Text(mut to) => {
                if self.form.format == ExportForm::Jsonl && !builds.is_empty() {
                    json_line(&mut to, &serde_json::json!({ "builds": builds }))?;
                }
                to.flush()
            }
            Destination::Parquet(writer) => {
                let builds = if builds.is_empty() { None } else { Some(serde_json::to_string(builds)?) };
                let builds = builds.map(|builds| ("builds", builds));
                writer.end(self.form.sheet.facts().into_iter().chain(builds))
            }
            Destination::Arrow(writer) => writer.end(),
            Destination::Tool(tool, samples, mut to) => {
                let text = samples.text(tool)?;
                let text = match tool {
                    Tool::Go => foreign::without_commands(&foreign::lines(&text)).into_owned(),
                    Tool::Hyperfine1 | Tool::Hyperfine2 => escaped(&text).into_owned(),
                };
                to.write_all(text.as_bytes())?;
                to.flush()
            }
        }
    }
}

impl<W: Write + Send> Destination<W> {
    fn arrow(container: Container, form: &RowForm<'_>, to: W) -> io::Result<Self> {
        let writer = ArrowWriter::new(container, &form.columns, form.sheet.facts(), to)?;
        Ok(Self::Arrow(Box::new(writer)))
    }

    fn tool(tool: Tool, form: &RowForm<'_>, to: W) -> io::Result<Self> {
        Ok(Self::Tool(tool, Samples::new(form.sheet.experiment(), tool)?, to))
    }

    fn write(&mut self, form: &RowForm<'_>, content: Content) -> io::Result<()> {
        match (self, content) {
            (Self::Text(to), Content::Text(text)) => to.write_all(&text),
            (Self::Parquet(writer), Content::Columns(page)) => writer.page(page),
            (Self::Arrow(writer), Content::Columns(page)) => writer.page(page),
            (Self::Tool(_, samples, _), Content::Attempts(attempts)) => {
                attempts.iter().flat_map(|ended| form.sheet.rows(ended)).for_each(|row| samples.row(&row));
                Ok(())
            }
            // Runs without attempts are no sample.
            (Self::Tool(..), Content::Text(_)) => Ok(()),
            (_, _) => Err(io::Error::other("a page is of another form than the file")),
        }
    }
}

fn json_line(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    to.write_all(escaped(&serde_json::to_string(value)?).as_bytes())?;
    to.write_all(b"\n")
}

/// A row as a JSON object: every column, null where nothing stands in it.
struct Object<'r, 'a>(&'r Row<'a>, &'r [ExportColumn]);

impl Serialize for Object<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for ExportColumn { name, source, .. } in self.1 {
            match source.read(self.0) {
                None => object.serialize_entry(name, &()),
                Some(Value::Truth(truth)) => object.serialize_entry(name, &truth),
                Some(Value::Count(number)) => object.serialize_entry(name, &number),
                Some(Value::Signed(number)) => object.serialize_entry(name, &number),
                Some(Value::Moment(at)) => object.serialize_entry(name, &rfc3339(at)),
                Some(Value::Text(text)) => object.serialize_entry(name, &text),
                Some(Value::Id(text)) => object.serialize_entry(name, text.as_str()),
                Some(Value::Series(values)) => object.serialize_entry(name, values),
            }?;
        }
        object.end()
    }
}
