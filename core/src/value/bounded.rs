//! Reading with a bound: what is larger is refused, never cut.

use std::io::{self, ErrorKind, Read};

/// Everything that comes, at most `most` bytes of it.
///
/// # Errors
/// Those of the reader, and one of [`ErrorKind::FileTooLarge`] where more comes.
pub fn read_at_most(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// As of [`read_at_most`], and one of [`ErrorKind::InvalidData`] where it is no UTF-8.
pub fn read_text_at_most(from: impl Read, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read_at_most(from, most)?);
    text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_read_whole_and_one_byte_more_is_refused() {
        assert_eq!(read_at_most(&b"1234"[..], 4).unwrap(), b"1234");
        assert_eq!(read_text_at_most(&b""[..], 0).unwrap(), "");
        let refused = read_text_at_most(&b"12345"[..], 4).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        assert_eq!(refused.to_string(), "it has more than 4 bytes");
        assert_eq!(read_text_at_most(&b"\xff"[..], 4).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
