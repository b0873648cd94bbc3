//! Bytes as text, unpacked no further than a file may be large, and text as lines with their numbers.

use crate::{bounds::MAX_FILE_BYTES, problem::Fault, problem::FileProblem};
use flate2::read::MultiGzDecoder;
use std::io::Read;

/// The text without a byte order mark; the first byte that is no UTF-8 is refused with its place.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, Fault> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let good = &bytes[..error.valid_up_to()];
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            let begin = good.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let column = String::from_utf8_lossy(&good[begin..]).chars().count() + 1;
            Err(Fault::at(line, column, FileProblem::NotUtf8))
        }
    }
}

/// The lines with their numbers from 1, without line ends (LF or CR LF).
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// The fields of a line between white space, each with its offset in bytes.
pub(crate) fn fields(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_whitespace().map(|field| (field.as_ptr() as usize - line.as_ptr() as usize, field))
}

/// The column of an offset: the number of its character, from 1. Counted only where it is reported, since lines can be long.
pub(crate) fn column(line: &str, offset: usize) -> usize {
    line[..offset].chars().count() + 1
}

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Whether the bytes begin as a gzip file does.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&GZIP_MAGIC)
}

/// The unpacked bytes. A few kilobytes can unpack to gigabytes, so unpacking stops one byte past the bound.
pub(crate) fn unpack(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(MAX_FILE_BYTES as u64 + 1)
        .read_to_end(&mut unpacked)
        .map_err(|_| Fault::of_file(FileProblem::DamagedGzip))?;
    if unpacked.len() > MAX_FILE_BYTES {
        Err(Fault::of_file(FileProblem::TooManyBytes))
    } else {
        Ok(unpacked)
    }
}
