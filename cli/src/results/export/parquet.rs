//! Rows as Apache Parquet: typed columns, packed, with what the experiment is in the file's own metadata.
//!
//! Counts are unsigned, moments are in nanoseconds of UTC, an own metric is a list of doubles. What is not known is null.
//! Rows are held until a group of them is full, so that memory does not grow with their number.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::column::{Read, Value};
use super::column_set::{Of, Shown};
use super::row::Row;

/// Rows of a group: what a reader must at least unpack, and what is held in memory, some 1 kB each.
pub(super) const GROUP_ROWS: usize = 32_768;

/// Writes groups of rows as they are full.
pub(super) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<(Of, Buffer)>,
    rows: usize,
}

/// The rows of a column that are not written yet: whether each is there, and the values of those that are.
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
    pub(super) fn new(columns: Vec<Shown>, to: W) -> io::Result<Self> {
        let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
        let schema = Type::group_type_builder("observations").with_fields(fields).build();
        let schema = Arc::new(schema.map_err(io::Error::other)?);
        let file = SerializedFileWriter::new(to, schema, Arc::new(properties())).map_err(io::Error::other)?;
        let columns = columns.into_iter().map(|column| {
            let values = Values::of(&column.of);
            (column.of, Buffer { levels: Vec::new(), values })
        });
        Ok(Self { file, columns: columns.collect(), rows: 0 })
    }

    /// Adds a row.
    pub(super) fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.columns.iter_mut().for_each(|(of, buffer)| buffer.push(of.read(row)));
        self.rows += 1;
        if self.rows < GROUP_ROWS { Ok(()) } else { self.write_group().map_err(io::Error::other) }
    }

    /// Ends the file, with facts about all of it.
    pub(super) fn end(mut self, facts: impl IntoIterator<Item = (&'static str, String)>) -> io::Result<()> {
        self.write_group().map_err(io::Error::other)?;
        for (name, fact) in facts {
            self.file.append_key_value_metadata(KeyValue::new(format!("speedup.{name}"), fact));
        }
        self.file.into_inner().map_err(io::Error::other)?.flush()
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for (_, buffer) in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            buffer.write(&mut column)?;
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl Values {
    fn of(of: &Of) -> Self {
        match of {
            Of::Run(Read::Truth(_)) => Self::Truth(Vec::new()),
            Of::Run(Read::Count(_) | Read::Signed(_) | Read::Moment(_)) | Of::Metric(_) => {
                Self::Whole(Vec::new())
            }
            Of::Run(Read::Text(_)) => Self::Text(Vec::new()),
            Of::Own(_) => Self::List { values: Vec::new(), repeats: Vec::new() },
        }
    }
}

impl Buffer {
    fn push(&mut self, value: Option<Value<'_>>) {
        if let Values::List { values, repeats } = &mut self.values {
            let list = value.as_ref().map(|value| if let Value::Series(list) = value { *list } else { &[] });
            let members = list.map_or(0, <[f64]>::len);
            self.levels.extend(match list {
                None => vec![NO_LIST],
                Some([]) => vec![EMPTY_LIST],
                Some(_) => vec![IN_LIST; members],
            });
            repeats.push(0);
            repeats.extend(std::iter::repeat_n(1, members.saturating_sub(1)));
            values.extend(list.unwrap_or_default());
            return;
        }
        self.levels.push(value.is_some().into());
        match (&mut self.values, value) {
            (Values::Truth(values), Some(Value::Truth(truth))) => values.push(truth),
            // Parquet keeps unsigned numbers in the bits of signed ones.
            (Values::Whole(values), Some(Value::Count(count))) => values.push(count.cast_signed()),
            (Values::Whole(values), Some(Value::Signed(number))) => values.push(number),
            (Values::Whole(values), Some(Value::Moment(at))) => values.push(at.0.cast_signed()),
            (Values::Text(values), Some(Value::Text(text))) => {
                // Hosts, names and states repeat; a copy of the last one shares its bytes.
                let last = values.last().filter(|last| last.data() == text.as_bytes()).cloned();
                values.push(last.unwrap_or_else(|| ByteArray::from(text.into_owned().into_bytes())));
            }
            (_, value) => debug_assert_eq!(value, None, "a column has values of its own type"),
        }
    }

    fn write(&mut self, to: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = Some(self.levels.as_slice());
        match &mut self.values {
            Values::Truth(values) => {
                to.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Whole(values) => {
                to.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Text(values) => {
                to.typed::<ByteArrayType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::List { values, repeats } => {
                to.typed::<DoubleType>().write_batch(values, levels, Some(repeats))?;
                values.clear();
                repeats.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }
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
