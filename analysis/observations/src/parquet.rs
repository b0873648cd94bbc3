//! Rows as Apache Parquet: typed columns, packed, with what the experiment is in the file's own metadata.
//!
//! Whole numbers are signed, moments are in nanoseconds of UTC, an own metric is a list of doubles. What is not known is null.
//! Rows are held until a group of them is full, so that memory does not grow with their number.

use std::{
    collections::VecDeque, io, io::Write, panic::resume_unwind, sync::Arc, thread, thread::JoinHandle,
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::schema::types::{ColumnPath, SchemaDescPtr, SchemaDescriptor, Type, TypePtr};
use parquet::{
    column::writer::ColumnCloseResult, column::writer::ColumnWriter, column::writer::get_column_writer,
    column::writer::get_typed_column_writer_mut, data_type::BoolType, data_type::ByteArray,
    data_type::ByteArrayType, data_type::DoubleType, data_type::Int64Type, errors::ParquetError,
    file::metadata::KeyValue, file::properties::DEFAULT_CREATED_BY, file::properties::EnabledStatistics,
    file::properties::WriterProperties, file::properties::WriterPropertiesBuilder,
    file::properties::WriterPropertiesPtr, file::writer::SerializedFileWriter,
    file::writer::SerializedPageWriter, file::writer::TrackedWrite,
};

use super::column_page::{Buffer, ColumnPage, Texts, Values};
use super::{arrow::schema_message, column::ColumnKind, column_set::ExportColumn};

/// Rows of a group: what a reader must at least unpack, and what is held in memory, some 1 kB each.
pub(super) const GROUP_ROWS: usize = 32_768;

/// Bytes of texts and lists in a group, where runs kept long outputs: it ends with the page that reaches them.
const GROUP_BYTES: usize = 128 << 20;

/// The key under which readers look for the columns as Arrow declares them.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// Groups that are encoded while the next one fills: each holds some 50 MB.
const ENCODED_AHEAD: usize = 1;

/// Writes groups of rows as they are full. A group is encoded on a thread of its own, column by column, and written in its turn.
pub(super) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    schema: SchemaDescPtr,
    pages: Vec<ColumnPage>,
    rows: usize,
    bytes: usize,
    encoding: VecDeque<JoinHandle<Result<Vec<EncodedColumn>, ParquetError>>>,
}

/// A column of a group as it is to be written, and what the file says about it.
type EncodedColumn = (Bytes, ColumnCloseResult);

impl<W: Write + Send> ParquetWriter<W> {
    pub(super) fn new(columns: &[ExportColumn], to: W) -> io::Result<Self> {
        let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
        let schema = Type::group_type_builder("observations").with_fields(fields).build();
        let schema = Arc::new(schema.map_err(io::Error::other)?);
        let file = SerializedFileWriter::new(to, schema.clone(), Arc::new(packed(columns)));
        let mut file = file.map_err(io::Error::other)?;
        let described = BASE64_STANDARD.encode(schema_message(columns)?);
        file.append_key_value_metadata(KeyValue::new(ARROW_SCHEMA.to_owned(), described));
        let schema = Arc::new(SchemaDescriptor::new(schema));
        Ok(Self { file, schema, pages: Vec::new(), rows: 0, bytes: 0, encoding: VecDeque::new() })
    }

    pub(super) fn page(&mut self, mut page: ColumnPage) -> io::Result<()> {
        while self.rows + page.rows >= GROUP_ROWS {
            let rest = page.split_off(GROUP_ROWS - self.rows);
            self.pages.push(std::mem::replace(&mut page, rest));
            self.end_group().map_err(io::Error::other)?;
        }
        self.rows += page.rows;
        self.bytes += page.bytes;
        self.pages.push(page);
        if self.bytes >= GROUP_BYTES { self.end_group().map_err(io::Error::other) } else { Ok(()) }
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
        self.rows = 0;
        self.bytes = 0;
        let schema = self.schema.clone();
        let properties = self.file.properties().clone();
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
    let mut room = Vec::new();
    let mut encoded = Vec::with_capacity(schema.num_columns());
    for column in schema.columns() {
        let mut bytes = TrackedWrite::new(Vec::new());
        let to = Box::new(SerializedPageWriter::new(&mut bytes));
        let mut writer = get_column_writer(column.clone(), properties.clone(), to);
        // The next buffer of each page is that of this column.
        for buffer in pages.iter_mut().filter_map(Iterator::next) {
            write(buffer, &mut room, &mut writer)?;
        }
        let close = writer.close()?;
        encoded.push((Bytes::from(bytes.into_inner()?), close));
    }
    Ok(encoded)
}

/// Writes what a page has of a column.
fn write(buffer: Buffer, room: &mut Vec<i16>, to: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
    let levels = Some(buffer.levels.as_slice(room));
    let written = match buffer.values {
        Values::Truth(values) => {
            get_typed_column_writer_mut::<BoolType>(to).write_batch(&values, levels, None)
        }
        Values::Whole(values) => {
            get_typed_column_writer_mut::<Int64Type>(to).write_batch(&values, levels, None)
        }
        Values::Text(Texts { all, places }) => {
            let all = Bytes::from(all);
            let values: Vec<ByteArray> = places.into_iter().map(|place| all.slice(place).into()).collect();
            get_typed_column_writer_mut::<ByteArrayType>(to).write_batch(&values, levels, None)
        }
        Values::List { values, repeats } => {
            get_typed_column_writer_mut::<DoubleType>(to).write_batch(&values, levels, Some(&repeats))
        }
    };
    written.map(drop)
}

/// Who wrote a file, and how it is packed. Readers tell releases apart by `NAME version RELEASE (build BUILD)`; what may matter
/// to them of the build is the library that encodes.
pub(super) fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(format!(
            "speedup version {} (build {})",
            env!("CARGO_PKG_VERSION"),
            DEFAULT_CREATED_BY.replace(" version", "")
        ))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
}

/// The same, with whole numbers as their differences from one row to the next: moments, epochs and times hardly repeat, and a
/// dictionary of them would be larger than they are. Texts have no least and greatest: hosts and versions are mixed, so a reader could
/// pass over no group for them.
fn packed(columns: &[ExportColumn]) -> WriterProperties {
    let mut properties = properties();
    for column in columns {
        let path = ColumnPath::from(column.name.as_str());
        properties = match column.source.kind() {
            ColumnKind::Count | ColumnKind::Signed | ColumnKind::Moment => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            ColumnKind::Text => properties.set_column_statistics_enabled(path, EnabledStatistics::None),
            ColumnKind::Truth | ColumnKind::Series => properties,
        };
    }
    properties.build()
}

/// The column as Parquet declares it.
fn field(column: &ExportColumn) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.source.kind() {
        ColumnKind::Truth => (Physical::BOOLEAN, None),
        ColumnKind::Count | ColumnKind::Signed => (Physical::INT64, Some(LogicalType::integer(64, true))),
        ColumnKind::Moment => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
        ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Series => return list(&column.name),
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
