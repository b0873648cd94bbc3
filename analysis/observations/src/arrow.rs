//! Rows as Apache Arrow, in its file (Feather 2) or as its stream: the same columns and types as in Parquet.
//!
//! Rows are held until a batch of them is full, so that memory does not grow with their number.

use std::{collections::BTreeMap, io, io::Write, sync::Arc};

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, TimestampNanosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::{CompressionType, writer::FileWriter, writer::IpcWriteOptions, writer::StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};

use super::column_page::{Buffer, ColumnPage, EMPTY_LIST, IN_LIST, NO_LIST, Values};
use super::{column::ColumnKind, column_set::ExportColumn};

/// Rows of a batch: readers take them one by one.
const BATCH_ROWS: usize = 16_384;
/// Bytes of texts and lists in a batch, where runs kept long outputs: it ends with the page that reaches them, far from the
/// two gigabytes that offsets of texts can reach.
const BATCH_BYTES: usize = 64 << 20;
/// What a field says of its column, in its metadata.
const DESCRIPTION: &str = "description";
const UNIT: &str = "unit";
/// The time zone of moments.
const UTC: &str = "UTC";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    /// With an index at its end, for random access.
    File,
    Stream,
}

/// Writes batches of rows as they are full.
pub(super) struct ArrowWriter<W: Write> {
    to: IpcWriter<W>,
    schema: SchemaRef,
    kinds: Vec<ColumnKind>,
    pages: Vec<ColumnPage>,
    rows: usize,
    bytes: usize,
}

enum IpcWriter<W: Write> {
    File(Box<FileWriter<W>>),
    Stream(Box<StreamWriter<W>>),
}

impl<W: Write> ArrowWriter<W> {
    /// Begins, with facts about all of it.
    pub(super) fn new(
        container: Container,
        columns: &[ExportColumn],
        facts: impl IntoIterator<Item = (&'static str, String)>,
        to: W,
    ) -> io::Result<Self> {
        let facts: BTreeMap<String, String> =
            facts.into_iter().map(|(name, fact)| (format!("speedup.{name}"), fact)).collect();
        let fields: Vec<Field> = columns.iter().map(field).collect();
        let schema = Schema::new_with_metadata(fields, facts);
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD));
        let options = options.map_err(io_error)?;
        let to = match container {
            Container::File => FileWriter::try_new_with_options(to, &schema, options)
                .map(|file| IpcWriter::File(Box::new(file))),
            Container::Stream => StreamWriter::try_new_with_options(to, &schema, options)
                .map(|stream| IpcWriter::Stream(Box::new(stream))),
        };
        Ok(Self {
            to: to.map_err(io_error)?,
            schema: Arc::new(schema),
            kinds: columns.iter().map(|column| column.source.kind()).collect(),
            pages: Vec::new(),
            rows: 0,
            bytes: 0,
        })
    }

    pub(super) fn page(&mut self, page: ColumnPage) -> io::Result<()> {
        self.rows += page.rows;
        self.bytes += page.bytes;
        self.pages.push(page);
        if self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES { self.end_batch() } else { Ok(()) }
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.end_batch()?;
        }
        let to = match self.to {
            IpcWriter::File(mut file) => file.finish().and_then(|()| file.into_inner()),
            IpcWriter::Stream(mut stream) => stream.finish().and_then(|()| stream.into_inner()),
        };
        to.map_err(io_error)?.flush()
    }

    fn end_batch(&mut self) -> io::Result<()> {
        let pages = std::mem::take(&mut self.pages);
        self.rows = 0;
        self.bytes = 0;
        let mut pages: Vec<_> = pages.into_iter().map(|page| page.columns.into_iter()).collect();
        // What was taken over is dropped at once.
        let columns = self.kinds.iter().map(|kind| array(*kind, pages.iter_mut().filter_map(Iterator::next)));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(io_error)?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(io_error)?;
        match &mut self.to {
            IpcWriter::File(file) => file.write(&batch),
            IpcWriter::Stream(stream) => stream.write(&batch),
        }
        .map_err(io_error)
    }
}

/// The bytes of the destination failed, or a bug is in here.
fn io_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

/// The column as Arrow declares it.
fn field(column: &ExportColumn) -> Field {
    let of = match column.source.kind() {
        ColumnKind::Truth => DataType::Boolean,
        ColumnKind::Count | ColumnKind::Signed => DataType::Int64,
        ColumnKind::Moment => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        ColumnKind::Text => DataType::Utf8,
        ColumnKind::Series => DataType::List(Arc::new(element())),
    };
    let description = (DESCRIPTION.to_owned(), column.meaning.clone());
    let unit = column.unit.iter().map(|unit| (UNIT.to_owned(), unit.clone()));
    let metadata: BTreeMap<String, String> = unit.chain([description]).collect();
    Field::new(&column.name, of, true).with_metadata(metadata)
}

/// The columns as a message of Arrow's stream, as Parquet has it in its metadata: who reads that knows what a column means.
pub(super) fn schema_message(columns: &[ExportColumn]) -> io::Result<Vec<u8>> {
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let begun = StreamWriter::try_new(Vec::new(), &schema).map_err(io_error)?;
    Ok(begun.get_ref().clone())
}

/// A member of a list.
fn element() -> Field {
    Field::new("element", DataType::Float64, false)
}

/// What pages have of one column.
fn array(kind: ColumnKind, buffers: impl Iterator<Item = Buffer>) -> Result<ArrayRef, ArrowError> {
    // Pages are made for the columns of the file, so values of another kind are a bug, not bad data.
    Ok(match kind {
        ColumnKind::Truth => {
            let mut array = BooleanBuilder::new();
            for Buffer { levels, values } in buffers {
                let Values::Truth(values) = values else { return Err(other_kind()) };
                let mut values = values.into_iter();
                levels.iter().for_each(|level| array.append_option(there(level, &mut values)));
            }
            Arc::new(array.finish())
        }
        ColumnKind::Count | ColumnKind::Signed => {
            let mut array = Int64Builder::new();
            whole(buffers, |value| array.append_option(value))?;
            Arc::new(array.finish())
        }
        ColumnKind::Moment => {
            let mut array = TimestampNanosecondBuilder::new().with_timezone(UTC);
            whole(buffers, |value| array.append_option(value))?;
            Arc::new(array.finish())
        }
        ColumnKind::Text => {
            let mut array = StringBuilder::new();
            for Buffer { levels, values } in buffers {
                let Values::Text(values) = values else { return Err(other_kind()) };
                let mut values = values.iter();
                levels.iter().for_each(|level| array.append_option(there(level, &mut values)));
            }
            Arc::new(array.finish())
        }
        ColumnKind::Series => lists(buffers)?,
    })
}

fn whole(
    buffers: impl Iterator<Item = Buffer>,
    mut append: impl FnMut(Option<i64>),
) -> Result<(), ArrowError> {
    for Buffer { levels, values } in buffers {
        let Values::Whole(values) = values else { return Err(other_kind()) };
        let mut values = values.into_iter();
        levels.iter().for_each(|level| append(there(level, &mut values)));
    }
    Ok(())
}

fn lists(buffers: impl Iterator<Item = Buffer>) -> Result<ArrayRef, ArrowError> {
    let mut array = ListBuilder::new(Float64Builder::new()).with_field(element());
    for Buffer { levels, values } in buffers {
        let Values::List { values, repeats } = values else { return Err(other_kind()) };
        let mut values = values.into_iter();
        let mut begun = None;
        for (level, repeat) in levels.iter().zip(repeats) {
            if repeat == 0
                && let Some(is_there) = begun.replace(level != NO_LIST)
            {
                array.append(is_there);
            }
            match level {
                IN_LIST => array.values().append_option(values.next()),
                NO_LIST | EMPTY_LIST => {}
                _ => return Err(other_kind()),
            }
        }
        if let Some(is_there) = begun {
            array.append(is_there);
        }
    }
    Ok(Arc::new(array.finish()))
}

/// The next value, where the level says that there is one.
fn there<T>(level: i16, values: &mut impl Iterator<Item = T>) -> Option<T> {
    if level > 0 { values.next() } else { None }
}

fn other_kind() -> ArrowError {
    ArrowError::InvalidArgumentError("a page has a column of another type than the file".to_owned())
}
