//! Packed files, unpacked no further than a file may be large.

use crate::bounds::MAX_FILE_BYTES;
use crate::problem::{Fault, FileProblem};
use flate2::read::MultiGzDecoder;
use std::io::Read;

const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Whether the bytes begin as a gzip file does.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
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
