//! Arrow, read back by its own readers: the rows of CSV in types.

use std::io::Cursor;

use ::arrow_array::types::{Float64Type, Int64Type, TimestampNanosecondType};
use ::arrow_array::{Array, RecordBatch, cast::AsArray as _};
use ::arrow_ipc::reader::{FileReader, StreamReader};
use ::arrow_schema::{DataType, SchemaRef};

use super::*;

fn batches(form: ExportForm, bytes: Vec<u8>) -> (SchemaRef, Vec<RecordBatch>) {
    if form == ExportForm::ArrowStream {
        let reader = StreamReader::try_new(Cursor::new(bytes), None).unwrap();
        (reader.schema(), reader.map(Result::unwrap).collect())
    } else {
        let reader = FileReader::try_new(Cursor::new(bytes), None).unwrap();
        (reader.schema(), reader.map(Result::unwrap).collect())
    }
}

fn as_csv(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return String::new();
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Timestamp(..) => {
            let at = array.as_primitive::<TimestampNanosecondType>().value(row);
            rfc3339(Timestamp(u64::try_from(at).unwrap()))
        }
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::List(_) => {
            let list = array.as_list::<i32>().value(row);
            let values = list.as_primitive::<Float64Type>().values().iter().map(f64::to_string);
            values.collect::<Vec<_>>().join(";")
        }
        other => panic!("a type that no column has: {other}"),
    }
}

#[test]
fn it_has_the_rows_of_csv_in_types_as_a_file_and_as_a_stream() {
    let csv = csv_rows(&exported(ExportForm::Csv, StatusPhase::Running));
    for form in [ExportForm::Arrow, ExportForm::ArrowStream] {
        let (schema, batches) = batches(form, written(form, &plan(), &status(), &attempts(&plan())));
        assert_eq!(schema.metadata()["speedup.experiment"], status().experiment.to_string());
        let rows = || batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
        assert_eq!(rows().count(), csv.len());
        for ((batch, row), csv) in rows().zip(&csv) {
            for (name, text) in csv {
                assert_eq!(as_csv(batch.column_by_name(name).unwrap(), row), *text, "{form:?} {name}");
            }
        }
        let (batch, row) = rows().nth(1).unwrap();
        assert_eq!(as_csv(batch.column_by_name("stderr_kept").unwrap(), row), "no\u{fffd}");
        assert_eq!(schema.field_with_name("wall_ns").unwrap().data_type(), &DataType::Int64);
    }
}

/// Rows are held until there are enough of them, wherever a page of them ends.
#[test]
fn a_long_one_has_every_row_in_a_few_batches() {
    const ATTEMPTS: u32 = 40_000;
    let plan = plan();
    let lost = ended(&plan, 0, 1, lost(AfterLoss::Again(Attempt(2)), None));
    let attempts = vec![lost; ATTEMPTS as usize];
    let bytes = in_pages(ExportForm::ArrowStream, &plan, &status(), attempts.chunks(1_000));
    let (_, batches) = batches(ExportForm::ArrowStream, bytes);
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, ATTEMPTS as usize + 6);
    assert!(batches.len() < 8, "{} batches", batches.len());
}

#[test]
fn lists_are_empty_or_absent_as_they_were() {
    let plan = plan();
    let empty = Record { series: [("wall_ns".to_owned(), vec![])].into(), ..record(Outcome::Measured) };
    let without = Record { series: BTreeMap::new(), ..record(Outcome::Measured) };
    let attempts = [record(Outcome::Measured), empty, without, record(Outcome::Measured)];
    let attempts: Vec<_> =
        (0..).zip(attempts).map(|(run, record)| ended(&plan, run, 1, AttemptEnd::reported(record))).collect();
    let bytes = written(ExportForm::Arrow, &plan, &status(), &attempts);
    let (_, batches) = batches(ExportForm::Arrow, bytes);
    let lists = batches[0].column_by_name("output.wall_ns").unwrap().as_list::<i32>();
    let lengths: Vec<_> = (0..4).map(|row| lists.is_valid(row).then(|| lists.value(row).len())).collect();
    assert_eq!(lengths, [Some(3), Some(0), None, Some(3)]);
}

/// A page keeps equal texts once; a batch has each of them.
#[test]
fn equal_outputs_end_a_batch_as_others_do() {
    const MIB: usize = 1 << 20;
    let plan = plan();
    let kept = Output { bytes: MIB as u64, blake3: [7; 32], kept: vec![b'x'; MIB] };
    let record = Record { stdout: kept, ..record(Outcome::Measured) };
    let attempts = vec![ended(&plan, 0, 1, AttemptEnd::reported(record)); 80];
    let bytes = in_pages(ExportForm::ArrowStream, &plan, &status(), attempts.chunks(8));
    let (_, batches) = batches(ExportForm::ArrowStream, bytes);
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 80 + 5);
    assert_eq!(batches[0].num_rows(), 64, "it ends with the page that reaches 64 MiB");
}
