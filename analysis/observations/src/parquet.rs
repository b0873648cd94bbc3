//! Rows as Apache Parquet: typed columns, packed, with what the experiment is in the file's own metadata.
//!
//! Counts are unsigned, moments are in nanoseconds of UTC, an own metric is a list of doubles. What is not known is null.
//! Rows are held until a group of them is full, so that memory does not grow with their number.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::iter::repeat_n;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::column::writer::{
    ColumnCloseResult, ColumnWriter, get_column_writer, get_typed_column_writer_mut,
};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, SchemaDescPtr, SchemaDescriptor, Type, TypePtr};

use super::column::{Read, metric, own};
use super::column_set::{Of, Shown};
use super::row::Row;

/// Rows of a group: what a reader must at least unpack, and what is held in memory, some 1 kB each.
pub(super) const GROUP_ROWS: usize = 32_768;

/// Groups that are encoded while the next one fills: each holds some 50 MB.
const ENCODED_AHEAD: usize = 1;

/// Writes groups of rows as they are full. A group is encoded on a thread of its own, column by column, and written in its turn.
pub(super) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    schema: SchemaDescPtr,
    pages: Vec<ColumnPage>,
    rows: usize,
    encoding: VecDeque<JoinHandle<Result<Vec<EncodedColumn>, ParquetError>>>,
}

/// A column of a group as it is to be written, and what the file says about it.
type EncodedColumn = (Bytes, ColumnCloseResult);

/// Rows as columns.
pub(super) struct ColumnPage {
    columns: Vec<Buffer>,
    rows: usize,
}

/// The rows of a column: whether each is there, and the values of those that are.
struct Buffer {
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    Truth(Vec<bool>),
    Whole(Vec<i64>),
    Text(Vec<ByteArray>),
    /// With whether each value goes on with the list of the one before.
    List {
        values: Vec<f64>,
        repeats: Vec<i16>,
    },
}

/// Levels of a list: it is not there, it is empty, it has this value.
const NO_LIST: i16 = 0;
const EMPTY_LIST: i16 = 1;
const IN_LIST: i16 = 2;

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file.
    pub(super) fn new(columns: &[Shown], to: W) -> io::Result<Self> {
        let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
        let schema = Type::group_type_builder("observations").with_fields(fields).build();
        let schema = Arc::new(schema.map_err(io::Error::other)?);
        let file = SerializedFileWriter::new(to, schema.clone(), Arc::new(properties()));
        let file = file.map_err(io::Error::other)?;
        let schema = Arc::new(SchemaDescriptor::new(schema));
        Ok(Self { file, schema, pages: Vec::new(), rows: 0, encoding: VecDeque::new() })
    }

    /// Adds rows.
    pub(super) fn page(&mut self, mut page: ColumnPage) -> io::Result<()> {
        while self.rows + page.rows >= GROUP_ROWS {
            let rest = page.split_off(GROUP_ROWS - self.rows);
            self.pages.push(std::mem::replace(&mut page, rest));
            self.end_group().map_err(io::Error::other)?;
        }
        self.rows += page.rows;
        self.pages.push(page);
        Ok(())
    }

    /// Ends the file, with facts about all of it.
    pub(super) fn end(mut self, facts: impl IntoIterator<Item = (&'static str, String)>) -> io::Result<()> {
        if self.rows > 0 {
            self.end_group().map_err(io::Error::other)?;
        }
        while !self.encoding.is_empty() {
            self.write_group().map_err(io::Error::other)?;
        }
        for (name, fact) in facts {
            self.file.append_key_value_metadata(KeyValue::new(format!("speedup.{name}"), fact));
        }
        self.file.into_inner().map_err(io::Error::other)?.flush()
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        if self.encoding.len() >= ENCODED_AHEAD {
            self.write_group()?;
        }
        let pages = std::mem::take(&mut self.pages);
        let (schema, properties) = (self.schema.clone(), self.file.properties().clone());
        self.rows = 0;
        self.encoding.push_back(thread::spawn(move || encoded(pages, &schema, &properties)));
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let Some(encoding) = self.encoding.pop_front() else { return Ok(()) };
        let columns = encoding.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        let mut group = self.file.next_row_group()?;
        for (bytes, close) in columns {
            group.append_column(&bytes, close)?;
        }
        group.close().map(drop)
    }
}

/// Encodes pages column by column; what was encoded is dropped at once.
fn encoded(
    pages: Vec<ColumnPage>,
    schema: &SchemaDescriptor,
    properties: &WriterPropertiesPtr,
) -> Result<Vec<EncodedColumn>, ParquetError> {
    let mut pages: Vec<_> = pages.into_iter().map(|page| page.columns.into_iter()).collect();
    let column = |column: &ColumnDescPtr| {
        let mut bytes = TrackedWrite::new(Vec::new());
        let to = Box::new(SerializedPageWriter::new(&mut bytes));
        let mut writer = get_column_writer(column.clone(), properties.clone(), to);
        pages.iter_mut().filter_map(Iterator::next).try_for_each(|buffer| buffer.write(&mut writer))?;
        let close = writer.close()?;
        Ok((Bytes::from(bytes.into_inner()?), close))
    };
    schema.columns().iter().map(column).collect()
}

impl ColumnPage {
    /// The columns of rows, one after the other: what a column reads is chosen once, not for each row.
    pub(super) fn new(columns: &[Shown], rows: &[Row<'_>]) -> Self {
        Self {
            columns: columns.iter().map(|column| Buffer::new(&column.of, rows)).collect(),
            rows: rows.len(),
        }
    }

    /// Takes off the rows from this one on.
    fn split_off(&mut self, row: usize) -> Self {
        let columns = self.columns.iter_mut().map(|column| column.split_off(row)).collect();
        let rest = Self { columns, rows: self.rows - row };
        self.rows = row;
        rest
    }
}

impl Buffer {
    fn new(of: &Of, rows: &[Row<'_>]) -> Self {
        let mut levels = Vec::with_capacity(rows.len());
        // Parquet keeps unsigned numbers in the bits of signed ones.
        let values = match of {
            Of::Run(Read::Truth(read)) => Values::Truth(there(rows, read, &mut levels)),
            Of::Run(Read::Count(read)) => {
                Values::Whole(there(rows, |row| read(row).map(u64::cast_signed), &mut levels))
            }
            Of::Run(Read::Signed(read)) => Values::Whole(there(rows, read, &mut levels)),
            Of::Run(Read::Moment(read)) => {
                Values::Whole(there(rows, |row| read(row).map(|at| at.0.cast_signed()), &mut levels))
            }
            Of::Metric(of) => {
                Values::Whole(there(rows, |row| metric(row, *of).map(u64::cast_signed), &mut levels))
            }
            Of::Run(Read::Text(read)) => {
                let mut last: Option<ByteArray> = None;
                let text = |row| {
                    let text = read(row)?;
                    // Hosts, names and states repeat; a copy of the last one shares its bytes.
                    let same = last.take().filter(|last| last.data() == text.as_bytes());
                    last = Some(same.unwrap_or_else(|| ByteArray::from(text.into_owned().into_bytes())));
                    last.clone()
                };
                Values::Text(there(rows, text, &mut levels))
            }
            Of::Own(name) => {
                let (mut values, mut repeats) = (Vec::new(), Vec::new());
                for list in rows.iter().map(|row| own(row, name)) {
                    let members = list.map_or(0, <[f64]>::len);
                    match list {
                        None => levels.push(NO_LIST),
                        Some([]) => levels.push(EMPTY_LIST),
                        Some(_) => levels.extend(repeat_n(IN_LIST, members)),
                    }
                    repeats.push(0);
                    repeats.extend(repeat_n(1, members.saturating_sub(1)));
                    values.extend(list.unwrap_or_default());
                }
                Values::List { values, repeats }
            }
        };
        Self { levels, values }
    }

    /// Takes off the rows from this one on.
    fn split_off(&mut self, row: usize) -> Self {
        // A list takes as many levels as it has members, but at least one; a new one begins where nothing repeats.
        let level = match &self.values {
            Values::List { repeats, .. } => {
                let mut begins =
                    (0..).zip(repeats).filter(|(_, repeat)| **repeat == 0).map(|(place, _)| place);
                begins.nth(row).unwrap_or(self.levels.len())
            }
            Values::Truth(_) | Values::Whole(_) | Values::Text(_) => row,
        };
        let there = if matches!(self.values, Values::List { .. }) { IN_LIST } else { 1 };
        let value = self.levels[..level].iter().filter(|one| **one == there).count();
        let values = match &mut self.values {
            Values::Truth(values) => Values::Truth(values.split_off(value)),
            Values::Whole(values) => Values::Whole(values.split_off(value)),
            Values::Text(values) => Values::Text(values.split_off(value)),
            Values::List { values, repeats } => {
                Values::List { values: values.split_off(value), repeats: repeats.split_off(level) }
            }
        };
        Self { levels: self.levels.split_off(level), values }
    }

    fn write(&self, to: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = Some(self.levels.as_slice());
        let written = match &self.values {
            Values::Truth(values) => {
                get_typed_column_writer_mut::<BoolType>(to).write_batch(values, levels, None)
            }
            Values::Whole(values) => {
                get_typed_column_writer_mut::<Int64Type>(to).write_batch(values, levels, None)
            }
            Values::Text(values) => {
                get_typed_column_writer_mut::<ByteArrayType>(to).write_batch(values, levels, None)
            }
            Values::List { values, repeats } => {
                get_typed_column_writer_mut::<DoubleType>(to).write_batch(values, levels, Some(repeats))
            }
        };
        written.map(drop)
    }
}

/// The values that are there, and of each row whether it has one.
fn there<'r, 'a: 'r, T>(
    rows: &'r [Row<'a>],
    mut read: impl FnMut(&'r Row<'a>) -> Option<T>,
    levels: &mut Vec<i16>,
) -> Vec<T> {
    let value = |row| {
        let value = read(row);
        levels.push(value.is_some().into());
        value
    };
    rows.iter().filter_map(value).collect()
}

/// Who wrote a file, and how it is packed.
pub(super) fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by(concat!("speedup ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build()
}

/// The column as Parquet declares it.
fn field(column: &Shown) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.of {
        Of::Run(Read::Truth(_)) => (Physical::BOOLEAN, None),
        Of::Run(Read::Count(_)) | Of::Metric(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Of::Run(Read::Signed(_)) => (Physical::INT64, Some(LogicalType::integer(64, true))),
        Of::Run(Read::Moment(_)) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
        Of::Run(Read::Text(_)) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Of::Own(_) => return list(&column.name),
    };
    let builder = Type::primitive_type_builder(&column.name, physical);
    Ok(Arc::new(builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?))
}

/// A list of doubles, in the three levels of Parquet's specification.
fn list(name: &str) -> Result<TypePtr, ParquetError> {
    let element = Type::primitive_type_builder("element", Physical::DOUBLE);
    let element = element.with_repetition(Repetition::REQUIRED).build()?;
    let members = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
    let members = members.with_fields(vec![Arc::new(element)]).build()?;
    let list = Type::group_type_builder(name).with_repetition(Repetition::OPTIONAL);
    let list = list.with_logical_type(Some(LogicalType::List)).with_fields(vec![Arc::new(members)]);
    Ok(Arc::new(list.build()?))
}
