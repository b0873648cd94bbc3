//! Bytes as text, unpacked no further than a file may be large, and text as lines with their numbers.

use crate::{Fault, FileProblem};
use flate2::read::MultiGzDecoder;
use std::{borrow::Cow, io::Read};

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

/// The first bytes of a file, unpacked: as much of damaged gzip data as there is.
pub(crate) fn beginning(bytes: &[u8], most: usize) -> Cow<'_, [u8]> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Cow::Borrowed(&bytes[..bytes.len().min(most)]);
    }
    let mut unpacked = Vec::new();
    // Damage behind the beginning is found where the file is read.
    let _ = MultiGzDecoder::new(bytes).take(most as u64).read_to_end(&mut unpacked);
    Cow::Owned(unpacked)
}

/// Unpacks a gzip file. A few kilobytes can unpack to gigabytes, so unpacking stops one byte past `most`.
pub(crate) fn unpacked(bytes: &[u8], most: usize) -> Result<Cow<'_, [u8]>, Fault> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(most as u64 + 1).read_to_end(&mut unpacked);
    read.map_err(|_| Fault::of_file(FileProblem::DamagedGzip))?;
    if unpacked.len() > most {
        return Err(Fault::of_file(FileProblem::TooManyBytes));
    }
    Ok(Cow::Owned(unpacked))
}

/// Removes the escape sequences by which programs color what they print, for those who redirected it all the same.
pub(crate) fn without_colors(text: &str) -> Cow<'_, str> {
    let mut parts = text.split("\u{1b}[");
    let Some(first) = parts.next().filter(|first| first.len() < text.len()) else {
        return Cow::Borrowed(text);
    };
    let mut plain = first.to_owned();
    for part in parts {
        let parameters = part.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b'?')).count();
        let is_sequence = part[parameters..].starts_with(|end: char| end.is_ascii_alphabetic());
        plain.push_str(if is_sequence { &part[parameters + 1..] } else { part });
    }
    Cow::Owned(plain)
}
