//! Samples that were imported as Apache Parquet: a row for each value, under the usual names of columns.

use std::{io, io::Write, sync::Arc};

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::{errors::ParquetError, schema::types::Type, schema::types::TypePtr};
use speedup_formats::{BLOCK, Name, Series};

use super::parquet::{GROUP_ROWS, properties};

/// A value, of which series and which run of it.
type Value<'a> = (&'a Series, usize, f64);

/// Writes `benchmark`, `version` (null where there is none), `run`, `metric`, `unit`, `value` and, where runs have blocks, `block`
/// (null for a run of none).
///
/// # Errors
/// What `to` says of its bytes.
pub fn write_parquet<W: Write + Send>(series: &[Series], to: W) -> io::Result<()> {
    write(series, to).map_err(io::Error::other)
}

fn write<W: Write + Send>(series: &[Series], to: W) -> Result<(), ParquetError> {
    let required = Repetition::REQUIRED;
    let has_blocks = series.iter().any(|series| !series.runs.blocks().is_empty());
    let mut fields = vec![
        text_column("benchmark", required)?,
        text_column("version", Repetition::OPTIONAL)?,
        column("run", Physical::INT64, Some(LogicalType::integer(64, true)), required)?,
        text_column("metric", required)?,
        text_column("unit", required)?,
        column("value", Physical::DOUBLE, None, required)?,
    ];
    if has_blocks {
        fields.push(text_column(BLOCK, Repetition::OPTIONAL)?);
    }
    let schema = Arc::new(Type::group_type_builder("samples").with_fields(fields).build()?);
    let mut file = SerializedFileWriter::new(to, schema, Arc::new(properties().build()))?;
    let values: Vec<Value<'_>> = series.iter().flat_map(series_values).collect();
    for rows in values.chunks(GROUP_ROWS) {
        let mut group = file.next_row_group()?;
        // A group takes its columns one by one, in the order of the schema.
        texts(&mut group, rows, |(series, ..)| series.name.benchmark.to_string())?;
        optional(&mut group, rows, |(series, ..)| series.name.version.as_ref())?;
        let runs: Vec<i64> = rows.iter().map(|(_, run, _)| (*run as u64).cast_signed()).collect();
        if let Some(mut column) = group.next_column()? {
            column.typed::<Int64Type>().write_batch(&runs, None, None)?;
            column.close()?;
        }
        texts(&mut group, rows, |(series, ..)| series.name.metric.to_string())?;
        texts(&mut group, rows, |(series, ..)| series.unit.to_string())?;
        let values: Vec<f64> = rows.iter().map(|(_, _, value)| *value).collect();
        if let Some(mut column) = group.next_column()? {
            column.typed::<DoubleType>().write_batch(&values, None, None)?;
            column.close()?;
        }
        if has_blocks {
            optional(&mut group, rows, |(series, run, _)| series.runs.blocks().get(*run)?.as_ref())?;
        }
        group.close()?;
    }
    file.into_inner()?.flush().map_err(ParquetError::from)
}

fn series_values(series: &Series) -> impl Iterator<Item = Value<'_>> {
    let runs = series.runs.iter().enumerate();
    runs.flat_map(move |(run, values)| values.iter().map(move |value| (series, run, *value)))
}

fn text_column(name: &str, repetition: Repetition) -> Result<TypePtr, ParquetError> {
    column(name, Physical::BYTE_ARRAY, Some(LogicalType::String), repetition)
}

fn column(
    name: &str,
    physical: Physical,
    logical: Option<LogicalType>,
    repetition: Repetition,
) -> Result<TypePtr, ParquetError> {
    let builder = Type::primitive_type_builder(name, physical);
    Ok(Arc::new(builder.with_repetition(repetition).with_logical_type(logical).build()?))
}

fn texts<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Value<'_>],
    text: impl Fn(&Value<'_>) -> String,
) -> Result<(), ParquetError> {
    let texts: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(text(row).into_bytes())).collect();
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
    column.close()
}

fn optional<'s, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Value<'s>],
    name: impl Fn(&Value<'s>) -> Option<&'s Name>,
) -> Result<(), ParquetError> {
    let names = || rows.iter().map(&name);
    let levels: Vec<i16> = names().map(|name| name.is_some().into()).collect();
    let texts: Vec<ByteArray> =
        names().flatten().map(|name| ByteArray::from(name.to_string().into_bytes())).collect();
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
    use speedup_formats::{Name, Runs, SeriesName, SeriesUnit};

    use super::*;

    #[test]
    fn every_value_is_a_row_with_its_run_and_its_names() {
        let series = |version: Option<&str>, runs: &[Vec<f64>]| {
            let name = SeriesName {
                benchmark: Name::new("sort words").unwrap(),
                version: version.map(|name| Name::new(name).unwrap()),
                labels: BTreeMap::new(),
                metric: Name::new("wall").unwrap(),
            };
            Series::new(name, SeriesUnit::Seconds, Runs::new(runs).unwrap())
        };
        let all = [series(None, &[vec![1.5], vec![0.1, 0.2]]), series(Some("new"), &[vec![2.5]])];
        let mut file = tempfile::tempfile().unwrap();
        write_parquet(&all, &mut file).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        let row = |version: &str, run: u32, value: f64| {
            format!(
                "{{benchmark: \"sort words\", version: {version}, run: {run}, metric: \"wall\", unit: \"s\", value: {value:?}}}"
            )
        };
        let (none, new) = ("null", "\"new\"");
        assert_eq!(rows, [row(none, 0, 1.5), row(none, 1, 0.1), row(none, 1, 0.2), row(new, 0, 2.5)]);
    }
}
