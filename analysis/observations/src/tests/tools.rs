//! Forms that are not text of ours: Parquet, and files of other tools, read back by other code.

use std::io::Write as _;

use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
use ::parquet::record::{Field, Row};
use speedup_formats::{Imported, Options, SeriesUnit, detect, read};

use super::*;

fn parquet_rows(bytes: &[u8]) -> (Vec<Row>, BTreeMap<String, String>) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let facts = reader.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    let facts = facts.map(|fact| (fact.key.clone(), fact.value.clone().unwrap_or_default())).collect();
    (reader.get_row_iter(None).unwrap().map(Result::unwrap).collect(), facts)
}

fn as_csv(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Bool(truth) => truth.to_string(),
        Field::Long(number) => number.to_string(),
        Field::Str(text) => text.clone(),
        Field::ListInternal(list) => list.elements().iter().map(as_csv).collect::<Vec<_>>().join(";"),
        Field::Double(value) => value.to_string(),
        other => panic!("a type that no column has: {other:?}"),
    }
}

#[test]
fn parquet_has_the_rows_of_csv_in_types() {
    let csv = csv_rows(&exported(ExportForm::Csv, StatusPhase::Running));
    let (rows, facts) = parquet_rows(&written(ExportForm::Parquet, &plan(), &status(), &attempts(&plan())));
    assert_eq!(rows.len(), csv.len());
    for (row, csv) in rows.iter().zip(&csv) {
        let fields: BTreeMap<&str, String> =
            row.get_column_iter().map(|(name, field)| (name.as_str(), as_csv(field))).collect();
        for (name, text) in csv {
            // Moments are numbers of nanoseconds here.
            let expected = csv.get(&format!("{name}_ns")).unwrap_or(text);
            assert_eq!(fields[name.as_str()], *expected, "{name}");
        }
    }
    let kept = |row: &Row| row.get_column_iter().find(|(name, _)| *name == "stderr_kept").unwrap().1.clone();
    assert_eq!(kept(&rows[1]), Field::Str("no\u{fffd}".to_owned()));
    assert_eq!(kept(&rows[8]), Field::Null);
    assert_eq!(facts["speedup.name"], "locale");
    assert_eq!(facts["speedup.seed"], "42");
    assert_eq!(facts["speedup.experiment"], status().experiment.to_string());
}

/// The rows that are held are written whenever there are enough of them, wherever a page of them ends.
#[test]
fn parquet_of_many_groups_has_every_row() {
    const ATTEMPTS: u64 = 70_000;
    let plan = plan();
    let lost = ended(&plan, 0, 1, lost(AfterLoss::Again(Attempt(2)), None));
    // Lists that are not there, that are empty, and of up to two values.
    let list =
        |number: u64| (!number.is_multiple_of(4)).then(|| vec![number as f64; (number % 4 - 1) as usize]);
    let attempts: Vec<_> = (0..ATTEMPTS)
        .map(|number| {
            let measured = |list| {
                let series = [("wall_ns".to_owned(), list)].into();
                AttemptEnd::reported(Record { series, ..record(Outcome::Measured) })
            };
            let end = list(number).map_or_else(|| lost.end.clone(), measured);
            EndedAttempt { ended: Timestamp(number), end, ..lost.clone() }
        })
        .collect();
    let (rows, _) = parquet_rows(&in_pages(ExportForm::Parquet, &plan, &status(), attempts.chunks(1_000)));
    assert_eq!(rows.len() as u64, ATTEMPTS + 5);
    let field = |row: &Row, of: &str| row.get_column_iter().find(|(name, _)| *name == of).unwrap().1.clone();
    for (number, row) in (0..ATTEMPTS).zip(&rows) {
        assert_eq!(field(row, "ended_ns"), Field::Long(number.cast_signed()));
        let expected = list(number).map(|list| list.iter().map(f64::to_string).collect::<Vec<_>>().join(";"));
        assert_eq!(as_csv(&field(row, "output.wall_ns")), expected.unwrap_or_default(), "run {number}");
        assert_eq!(
            field(row, "outcome"),
            Field::Str(if number % 4 > 0 { "measured" } else { "lost" }.to_owned())
        );
    }
}

#[test]
fn parquet_names_the_builds() {
    let (plan, attempts) = with_builds();
    let (_, facts) = parquet_rows(&written(ExportForm::Parquet, &plan, &status(), &attempts));
    let builds: Json = serde_json::from_str(&facts["speedup.builds"]).unwrap();
    assert_eq!((builds.as_array().unwrap().len(), &builds[0]["run"]), (2, &0.into()));
}

fn sample(format: ExportForm) -> Imported {
    let text = exported(format, StatusPhase::Running);
    let found = detect(text.as_bytes()).unwrap();
    read(text.as_bytes(), found, &Options::default()).unwrap()
}

/// The values of each series, in words.
fn series(imported: &Imported) -> BTreeMap<String, Vec<f64>> {
    imported.series.iter().map(|series| (series.name.to_string(), series.runs.values().to_vec())).collect()
}

#[test]
fn the_sample_goes_to_other_tools_and_back() {
    // Of six runs two were measured; each kept its wall time and its memory.
    for format in [ExportForm::Go, ExportForm::Hyperfine, ExportForm::Hyperfine1] {
        let imported = sample(format);
        let found = series(&imported);
        let of = |metric: &str| -> Vec<f64> {
            let ending = format!("({metric})");
            found
                .iter()
                .filter(|(name, _)| name.ends_with(&ending))
                .flat_map(|(_, values)| values.clone())
                .collect()
        };
        assert_eq!(of("wall"), [0.001_234_567; 2], "{format:?}: {found:?}");
        assert_eq!(of("max_rss"), [4_096.0; 2], "{format:?}: {found:?}");
        assert!(imported.series.iter().all(|series| series.name.benchmark.as_str() == "sort"));
        assert!(imported.series.iter().all(|series| series.name.version.is_some()), "{format:?}: {found:?}");
        assert!(imported.series.iter().any(|series| series.unit == SeriesUnit::Seconds));
    }
}

#[test]
fn own_metrics_go_where_runs_may_have_several_values() {
    let found = series(&sample(ExportForm::Go));
    let own: Vec<_> = found.iter().filter(|(name, _)| name.ends_with("(wall_ns)")).collect();
    assert!(own.iter().all(|(_, values)| **values == [1.5, -0.1, 1e300]), "{found:?}");
    assert!(!own.is_empty(), "{found:?}");
    assert!(series(&sample(ExportForm::Hyperfine)).keys().all(|name| !name.ends_with("(wall_ns)")));
}

#[test]
fn an_experiment_without_a_sample_gives_an_empty_file() {
    for format in [ExportForm::Go, ExportForm::Hyperfine, ExportForm::Hyperfine1] {
        let text = written(format, &plan(), &status(), &[]);
        assert!(!text.contains(&b'7'), "{}", String::from_utf8_lossy(&text));
    }
    let (rows, _) = parquet_rows(&written(ExportForm::Parquet, &plan(), &status(), &[]));
    assert_eq!(rows.len(), 6, "every planned run");
}
