//! A file of samples: one positive number a line, in run order.

use std::{fs::File, io, io::BufRead, io::BufReader, io::Read as _, path::Path};

use speedup_statistics::sample::{LARGEST_OBSERVATION, Sample, SampleError};
use thiserror::Error;

use super::configuration::shown;

/// Most values of all files together: they are held in memory, twice, 16 bytes each.
pub(crate) const MAX_VALUES: usize = 64 << 20;
/// No number is written with more bytes on its line.
const MAX_LINE_BYTES: u64 = 4 << 10;
/// The least time that is taken for one: the ratio of two times must still be a double.
const LEAST_OBSERVATION: f64 = 1.0 / LARGEST_OBSERVATION;

#[derive(Debug, Error)]
pub(crate) enum SampleFileError {
    /// The published program passes such a benchmark over.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    #[error("it has no numbers")]
    Empty,
    #[error("line {line}: it is not UTF-8 text")]
    NotText { line: u64 },
    #[error("line {line}: {text:?} is not a number")]
    NotNumber { line: u64, text: String },
    #[error("line {line}: {text:?} is not a finite number")]
    NotFinite { line: u64, text: String },
    #[error("line {line}: {value} is not a positive time")]
    NotPositive { line: u64, value: f64 },
    #[error("line {line}: {value:e} is too large or too small to compute with")]
    OutOfRange { line: u64, value: f64 },
    #[error("its times differ by {range:.1e} at most, too little to compute with")]
    TooClose { range: f64 },
    #[error("line {line}: it is longer than {MAX_LINE_BYTES} bytes, so it is not one number")]
    LongLine { line: u64 },
    #[error("line {line}: there are more than {MAX_VALUES} lines in all files together")]
    TooMany { line: u64 },
}

speedup_core::hints! { SampleFileError:
    Self::Empty | Self::NotNumber { .. } | Self::LongLine { .. } =>
        "a file of samples has one number per line, with a decimal point, and no heading",
    Self::NotText { .. } => "save the file as UTF-8, one number per line",
    Self::NotFinite { .. } => "leave out the runs that have no time, and say so where you publish",
    Self::NotPositive { .. } => "a speedup is a ratio of positive times",
    Self::OutOfRange { .. } | Self::TooClose { .. } => "give the times in another unit",
    Self::TooMany { .. } => "test fewer benchmarks at a time",
}

/// Reads the sample in the file `path`, of at most `room` values.
pub(crate) fn read(path: &Path, room: usize) -> Result<Sample, SampleFileError> {
    let file = File::open(path).map_err(SampleFileError::Unreadable)?;
    if file.metadata().is_ok_and(|facts| facts.is_dir()) {
        return Err(SampleFileError::Unreadable(io::ErrorKind::IsADirectory.into()));
    }
    parse(BufReader::new(file), room)
}

fn parse(mut from: impl BufRead, room: usize) -> Result<Sample, SampleFileError> {
    let mut values = Vec::new();
    let mut bytes = Vec::new();
    let mut line = 0;
    loop {
        bytes.clear();
        let read = from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes);
        if read.map_err(SampleFileError::Unreadable)? == 0 {
            break;
        }
        line += 1;
        if bytes.len() as u64 == MAX_LINE_BYTES && !bytes.ends_with(b"\n") {
            return Err(SampleFileError::LongLine { line });
        }
        let start = if line == 1 { bytes.strip_prefix("\u{feff}".as_bytes()) } else { None };
        let text = std::str::from_utf8(start.unwrap_or(&bytes));
        let text = text.map_err(|_| SampleFileError::NotText { line })?;
        let text = text.trim();
        if !text.is_empty() {
            values.push(value(line, text)?);
        }
        if values.len() > room || line > MAX_VALUES as u64 {
            return Err(SampleFileError::TooMany { line });
        }
    }
    // Every value was found finite and in range, so what is refused otherwise has none.
    Sample::new(values).map_err(|error| match error {
        SampleError::TooClose { range } => SampleFileError::TooClose { range },
        SampleError::Empty | SampleError::NotFinite { .. } | SampleError::TooLarge { .. } => {
            SampleFileError::Empty
        }
    })
}

fn value(line: u64, text: &str) -> Result<f64, SampleFileError> {
    let value: f64 = text.parse().map_err(|_| SampleFileError::NotNumber { line, text: shown(text) })?;
    if !value.is_finite() {
        return Err(SampleFileError::NotFinite { line, text: shown(text) });
    }
    if value <= 0.0 {
        return Err(SampleFileError::NotPositive { line, value });
    }
    if (LEAST_OBSERVATION..=LARGEST_OBSERVATION).contains(&value) {
        Ok(value)
    } else {
        Err(SampleFileError::OutOfRange { line, value })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::damage::damaged, *};

    const EXAMPLE: &[u8] = include_bytes!("../../../../../examples/speedup-test/bench3.data.1");

    fn refusal(text: &[u8]) -> String {
        format!("{:?}", parse(text, 5).unwrap_err())
    }

    #[test]
    fn one_number_a_line_in_run_order() {
        let sample = parse("\u{feff}2.5\r\n\n  1e-3 \n+3\n.5\n4.".as_bytes(), 5).unwrap();
        assert_eq!(sample.in_run_order(), [2.5, 1e-3, 3.0, 0.5, 4.0]);
    }

    #[test]
    fn refusals_name_the_line() {
        for (text, expected) in [
            (&b""[..], "Empty"),
            (b"\n \n", "Empty"),
            (b"1e-149\n3e-149\n", "TooClose"),
            (b"1\n\ntime\n", "NotNumber { line: 3, text: \"time\" }"),
            (b"1,5\n", "NotNumber { line: 1, text: \"1,5\" }"),
            (b"1 2\n", "NotNumber { line: 1, text: \"1 2\" }"),
            (b"1\nNA\n", "NotNumber { line: 2, text: \"NA\" }"),
            (b"1\nNaN\n", "NotFinite { line: 2, text: \"NaN\" }"),
            (b"inf\n", "NotFinite { line: 1, text: \"inf\" }"),
            (b"1e999\n", "NotFinite { line: 1, text: \"1e999\" }"),
            (b"1\n\xff\xfe1\0\n", "NotText { line: 2 }"),
            (b"1\n0\n", "NotPositive { line: 2, value: 0.0 }"),
            (b"-0.5\n", "NotPositive { line: 1, value: -0.5 }"),
            (b"1e200\n", "OutOfRange { line: 1, value: 1e200 }"),
            (b"1e-200\n", "OutOfRange { line: 1, value: 1e-200 }"),
            (b"1\n1\n1\n1\n1\n1\n", "TooMany { line: 6 }"),
        ] {
            assert!(refusal(text).starts_with(expected), "{}", refusal(text));
        }
    }

    #[test]
    fn a_line_without_end_is_not_read_to_its_end() {
        let long = "1".repeat(1 << 20);
        assert_eq!(refusal(long.as_bytes()), "LongLine { line: 1 }");
        // Nor is it taken for two.
        let apart = format!("1{}2\n", " ".repeat(5000));
        assert_eq!(refusal(apart.as_bytes()), "LongLine { line: 1 }");
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_there_is_an_answer(bytes: Vec<u8>, text: String) {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                if let Ok(sample) = parse(bytes, 99) {
                    prop_assert!(sample.min() >= LEAST_OBSERVATION && sample.max() <= LARGEST_OBSERVATION);
                }
            }
        }

        #[test]
        fn a_damaged_sample_is_read_or_refused(bytes in damaged(EXAMPLE)) {
            match parse(bytes.as_slice(), 99) {
                Ok(sample) => {
                    prop_assert!(sample.min() >= LEAST_OBSERVATION && sample.max() <= LARGEST_OBSERVATION);
                    // No value comes from nothing: a value takes a digit and, but for the last, a line end.
                    prop_assert!(2 * sample.len() <= bytes.len() + 1);
                }
                Err(refused) => {
                    let said = refused.to_string();
                    prop_assert!(said.len() < 1000 && !said.chars().any(char::is_control), "{said:?}");
                }
            }
        }

        #[test]
        fn times_are_read_as_they_were_written(
            times in prop::collection::vec(1e-9_f64..1e9, 1..50),
            end in prop::sample::select(vec!["\n", "\r\n", "\n\n", " \n\t"]),
        ) {
            let text: String = times.iter().map(|time| format!("{time}{end}")).collect();
            let sample = parse(text.as_bytes(), 50).unwrap();
            prop_assert_eq!(sample.in_run_order(), times);
        }
    }
}
