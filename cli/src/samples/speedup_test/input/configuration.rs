//! The configuration: a CSV file with one benchmark a line (Touati 2010 §6.2.1).

use std::io::{self, Read};

use speedup_analysis::inquiry::configured::{ConfigurationEntry, ConfiguredLevel};
use speedup_statistics::{inference::ConfidenceLevel, sample::LARGEST_OBSERVATION};
use thiserror::Error;

/// The columns, which may stand in any order.
const COLUMNS: [&str; 5] = ["Name", "Sample1", "Sample2", "ConfLevel", "Coef"];
/// No configuration of people is longer: a file that is (a sample, a binary) was named by mistake.
pub(crate) const MAX_CONFIGURATION_BYTES: u64 = 16 << 20;
/// Most benchmarks: more than were ever published together, and few enough to look at one by one.
pub(crate) const MAX_BENCHMARKS: usize = 10_000;
/// How the file says that there is no value; nothing says it too.
const NOT_AVAILABLE: &str = "NA";
/// How much of a text that was refused is shown.
const SHOWN: usize = 40;

/// The benchmarks in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) entries: Vec<ConfigurationEntry>,
}

/// Why a text is no configuration.
#[derive(Debug, Error)]
pub(crate) enum ConfigurationError {
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    #[error("it has more than the {MAX_CONFIGURATION_BYTES} bytes that are read")]
    TooLarge,
    #[error("it is empty")]
    Empty,
    #[error("line {line}: it is not UTF-8 text")]
    NotText { line: u64 },
    #[error("line {line}: there is no column {column}")]
    MissingColumn { line: u64, column: &'static str },
    #[error("line {line}: the column {column:?} is not known")]
    UnknownColumn { line: u64, column: String },
    #[error("line {line}: the column {column} occurs twice")]
    DoubledColumn { line: u64, column: &'static str },
    #[error("line {line}: there are {found} fields instead of {}", COLUMNS.len())]
    FieldCount { line: u64, found: usize },
    #[error("line {line}: {column} is empty")]
    EmptyField { line: u64, column: &'static str },
    #[error("line {line}: {column} is {text:?}, which is not a number")]
    NotNumber { line: u64, column: &'static str, text: String },
    #[error("line {line}: Coef is {value:e}, too large or too small to weigh with")]
    Coefficient { line: u64, value: f64 },
    #[error("it has more than {MAX_BENCHMARKS} benchmarks")]
    TooMany,
    #[error("it has a heading and no benchmarks")]
    NoBenchmarks,
}

speedup_core::hints! { ConfigurationError:
    Self::TooLarge | Self::TooMany => "name the configuration, not a file of samples",
    Self::Empty | Self::MissingColumn { .. } | Self::UnknownColumn { .. } =>
        "the first line is Name,Sample1,Sample2,ConfLevel,Coef, with commas between",
    Self::NotText { .. } => "save the file as UTF-8",
    Self::DoubledColumn { .. } => "leave one of the two out",
    Self::FieldCount { .. } =>
        "an empty field keeps its comma, as in \"a benchmark\",\"a.1\",\"a.2\",, and a field with a comma is quoted",
    Self::EmptyField { .. } => "only ConfLevel and Coef may be left empty",
    Self::NotNumber { .. } => "write a number with a decimal point, NA, or nothing",
    Self::Coefficient { .. } => "coefficients count by their ratios: divide all of them by one number",
    Self::NoBenchmarks => "add one line per benchmark",
}

impl Configuration {
    /// Reads all of `from`, which ends in refusal beyond [`MAX_CONFIGURATION_BYTES`].
    pub(crate) fn read(from: impl Read) -> Result<Self, ConfigurationError> {
        let mut bytes = Vec::new();
        let limited = from.take(MAX_CONFIGURATION_BYTES + 1).read_to_end(&mut bytes);
        limited.map_err(ConfigurationError::Unreadable)?;
        if bytes.len() as u64 > MAX_CONFIGURATION_BYTES {
            return Err(ConfigurationError::TooLarge);
        }
        let text = std::str::from_utf8(&bytes).map_err(|error| ConfigurationError::NotText {
            line: 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() as u64,
        })?;
        Self::parse(text)
    }

    fn parse(text: &str) -> Result<Self, ConfigurationError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut records = reader.records().filter_map(|record| {
            // The bytes are UTF-8 and of any number of fields, so a record cannot fail.
            let record = record.ok()?;
            let line = record.position().map_or(0, |position| first_line(text, position));
            let fields: Vec<String> = record.iter().map(field).collect();
            (!matches!(fields.as_slice(), [only] if only.is_empty())).then_some((line, fields))
        });
        let (line, heading) = records.next().ok_or(ConfigurationError::Empty)?;
        let places = places(line, &heading)?;
        let mut entries = Vec::new();
        for (line, fields) in records {
            if entries.len() == MAX_BENCHMARKS {
                return Err(ConfigurationError::TooMany);
            }
            if fields.len() != COLUMNS.len() {
                return Err(ConfigurationError::FieldCount { line, found: fields.len() });
            }
            entries.push(entry(line, places.map(|at| fields[at].as_str()))?);
        }
        if entries.is_empty() { Err(ConfigurationError::NoBenchmarks) } else { Ok(Self { entries }) }
    }
}

/// The line on which a record begins. Its position may lie before empty lines, or before the second half of a line end.
fn first_line(text: &str, position: &csv::Position) -> u64 {
    let from = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let before = text.as_bytes().get(from..).unwrap_or_default();
    let ends = before.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|byte| **byte == b'\n');
    position.line() + ends.count() as u64
}

/// A field without the blanks around it. A quote after a blank is one to people, though not to CSV.
fn field(raw: &str) -> String {
    let text = raw.trim();
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match quoted {
        Some(inner) if raw.starts_with([' ', '\t']) => inner.replace("\"\"", "\""),
        Some(_) | None => text.to_owned(),
    }
}

fn places(line: u64, heading: &[String]) -> Result<[usize; 5], ConfigurationError> {
    if let Some(column) = heading.iter().find(|column| !COLUMNS.contains(&column.as_str())) {
        return Err(ConfigurationError::UnknownColumn { line, column: shown(column) });
    }
    let mut places = [0; 5];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let mut found = (0..heading.len()).filter(|at| heading[*at] == column);
        *place = found.next().ok_or(ConfigurationError::MissingColumn { line, column })?;
        if found.next().is_some() {
            return Err(ConfigurationError::DoubledColumn { line, column });
        }
    }
    Ok(places)
}

fn entry(line: u64, fields: [&str; 5]) -> Result<ConfigurationEntry, ConfigurationError> {
    let [name, first, second, level, coefficient] = fields;
    for (column, text) in COLUMNS.into_iter().zip([name, first, second]) {
        if text.is_empty() {
            return Err(ConfigurationError::EmptyField { line, column });
        }
    }
    let level = match number(line, COLUMNS[3], level)? {
        None => ConfiguredLevel::Omitted,
        Some(value) => {
            ConfidenceLevel::new(value).map_or(ConfiguredLevel::OutOfRange(value), ConfiguredLevel::Given)
        }
    };
    let coefficient = number(line, COLUMNS[4], coefficient)?;
    let weighs =
        |value: f64| value == 0.0 || (1.0 / LARGEST_OBSERVATION..=LARGEST_OBSERVATION).contains(&value.abs());
    if let Some(value) = coefficient.filter(|value| !weighs(*value)) {
        return Err(ConfigurationError::Coefficient { line, value });
    }
    Ok(ConfigurationEntry {
        line,
        name: name.to_owned(),
        files: [first.to_owned(), second.to_owned()],
        level,
        coefficient,
    })
}

/// A finite number, or none where the field is empty or `NA`.
fn number(line: u64, column: &'static str, text: &str) -> Result<Option<f64>, ConfigurationError> {
    if text.is_empty() || text == NOT_AVAILABLE {
        return Ok(None);
    }
    let value = text.parse().ok().filter(|value: &f64| value.is_finite());
    value.map(Some).ok_or_else(|| ConfigurationError::NotNumber { line, column, text: shown(text) })
}

/// As much of `text` as a message has room for.
pub(super) fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain(std::iter::once('…')).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::damage::damaged, *};

    const EXAMPLE: &[u8] = include_bytes!("../../../../../examples/speedup-test/bench.cfg");

    const HEADING: &str = "Name,Sample1,Sample2,ConfLevel,Coef\n";

    fn parse(rows: &str) -> Result<Configuration, ConfigurationError> {
        Configuration::read(format!("{HEADING}{rows}").as_bytes())
    }

    #[test]
    fn the_papers_files_are_read() {
        // Touati 2010 §6.2.1, both.
        let first = parse("\"First benchmark\",\"bench/bench1.1\",\"bench/bench1.2\",0.9,2\n").unwrap();
        let level = ConfiguredLevel::Given(ConfidenceLevel::new(0.9).unwrap());
        let entry = ConfigurationEntry {
            line: 2,
            name: "First benchmark".to_owned(),
            files: ["bench/bench1.1".to_owned(), "bench/bench1.2".to_owned()],
            level,
            coefficient: Some(2.0),
        };
        assert_eq!(first.entries, [entry]);
        let second =
            parse("\"a\",\"a.1\",\"a.2\",NA,\n\"b\",\"b.1\",\"b.2\",,\n\"c\",\"c.1\",\"c.2\",0.95,\n");
        let levels: Vec<ConfiguredLevel> = second.unwrap().entries.iter().map(|entry| entry.level).collect();
        assert_eq!(
            levels,
            [
                ConfiguredLevel::Omitted,
                ConfiguredLevel::Omitted,
                ConfiguredLevel::Given(ConfidenceLevel::USUAL)
            ]
        );
    }

    #[test]
    fn marks_line_ends_blanks_and_the_order_of_columns_do_not_matter() {
        let plain = parse("a,\"x,1\",x2,0.9,1.5\n").unwrap();
        let text =
            "\u{feff}Coef,\"Name\", \"Sample1\" ,Sample2,ConfLevel\r\n\r\n 1.5 ,a,\"x,1\", x2 ,0.9\r\n";
        let other = Configuration::read(text.as_bytes()).unwrap();
        assert_eq!(ConfigurationEntry { line: 2, ..other.entries[0].clone() }, plain.entries[0]);
        assert_eq!(parse("a, \"x1\", \"x2\", NA, NA\n").unwrap().entries[0].files, ["x1", "x2"]);
    }

    #[test]
    fn refusals_name_the_line_and_the_column() {
        for (text, expected) in [
            ("", "NoBenchmarks"),
            ("a,x,y,,\nb,x,y\n", "FieldCount { line: 3, found: 3 }"),
            ("a,x,y,,,\n", "FieldCount { line: 2, found: 6 }"),
            ("a,,y,,\n", "EmptyField { line: 2, column: \"Sample1\" }"),
            ("\r\n\r\na,x,y,,\r\n  \r\n\r\nb,,y,,\r\n", "EmptyField { line: 7, column: \"Sample1\" }"),
            ("a,x,y,high,\n", "NotNumber { line: 2, column: \"ConfLevel\", text: \"high\" }"),
            ("a,x,y,,inf\n", "NotNumber { line: 2, column: \"Coef\", text: \"inf\" }"),
            ("a,x,y,,NaN\n", "NotNumber { line: 2, column: \"Coef\", text: \"NaN\" }"),
            ("\"a\nb\",x,y,,\nc,x,y,,1e300\n", "Coefficient { line: 4, value: 1e300 }"),
        ] {
            assert_eq!(format!("{:?}", parse(text).unwrap_err()), expected, "{text}");
        }
    }

    #[test]
    fn refusals_of_the_heading_and_of_what_is_no_text() {
        for (bytes, expected) in [
            (&b""[..], "Empty"),
            (b"\r\n\n", "Empty"),
            (b"Name,Sample1,Sample2,ConfLevel\n", "MissingColumn { line: 1, column: \"Coef\" }"),
            (b"Name,Sample1,Sample2,Coef,ConfLevel,Host\n", "UnknownColumn { line: 1, column: \"Host\" }"),
            (b"Name,Name,Sample1,Sample2,ConfLevel,Coef\n", "DoubledColumn { line: 1, column: \"Name\" }"),
            (b"Name;Sample1;Sample2;ConfLevel;Coef\n", "UnknownColumn { line: 1, column: \"Name;Sample1;"),
            (b"Name\n\xff\n", "NotText { line: 2 }"),
        ] {
            let error = format!("{:?}", Configuration::read(bytes).unwrap_err());
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_level_out_of_range_is_kept_as_such() {
        let parsed = parse("a,x,y,95,\nb,x,y,1,\nc,x,y,0,\n").unwrap();
        let levels: Vec<ConfiguredLevel> = parsed.entries.iter().map(|entry| entry.level).collect();
        assert_eq!(levels, [95.0, 1.0, 0.0].map(ConfiguredLevel::OutOfRange));
    }

    fn check(configuration: &Configuration) -> Result<(), TestCaseError> {
        prop_assert!(!configuration.entries.is_empty());
        for entry in &configuration.entries {
            prop_assert!(entry.line >= 2 && !entry.name.is_empty());
            prop_assert!(entry.files.iter().all(|name| !name.is_empty()));
            prop_assert!(entry.coefficient.is_none_or(f64::is_finite));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_there_is_an_answer(bytes: Vec<u8>, rows: String) {
            if let Ok(configuration) = Configuration::read(bytes.as_slice()) {
                prop_assert!(!configuration.entries.is_empty());
            }
            if let Ok(configuration) = parse(&rows) {
                check(&configuration)?;
            }
        }

        #[test]
        fn a_damaged_configuration_is_read_or_refused(bytes in damaged(EXAMPLE)) {
            match Configuration::read(bytes.as_slice()) {
                Ok(configuration) => check(&configuration)?,
                Err(refused) => {
                    let said = refused.to_string();
                    prop_assert!(said.len() < 1000 && !said.chars().any(char::is_control), "{said:?}");
                }
            }
        }

        #[test]
        fn what_a_writer_of_csv_writes_is_read_as_it_was(
            names in prop::collection::vec("[a-z][ -~\n]{0,20}[a-z]", 1..9),
            level in 0.001_f64..0.999,
            coefficient in 1e-9_f64..1e9,
        ) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(COLUMNS).unwrap();
            for name in &names {
                let (level, coefficient) = (level.to_string(), coefficient.to_string());
                writer.write_record([name, "x", "y", &level, &coefficient]).unwrap();
            }
            let text = writer.into_inner().unwrap();
            let configuration = Configuration::read(text.as_slice()).unwrap();
            let mut line = 2;
            for (entry, name) in configuration.entries.iter().zip(&names) {
                let expected = ConfigurationEntry {
                    line,
                    name: name.clone(),
                    files: ["x".to_owned(), "y".to_owned()],
                    level: ConfiguredLevel::Given(ConfidenceLevel::new(level).unwrap()),
                    coefficient: Some(coefficient),
                };
                prop_assert_eq!(entry, &expected);
                line += 1 + name.matches('\n').count() as u64;
            }
            prop_assert_eq!(configuration.entries.len(), names.len());
        }
    }
}
