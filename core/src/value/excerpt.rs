//! What is shown of a log and of what programs write: text within bounds, whatever the bytes are.

use std::io::{self, Read, Seek, SeekFrom};

use super::foreign::is_obeyed;

/// Longest run of bytes that are escaped one by one; more are the hole of a file, or no text at all, and are counted.
const MAX_ESCAPED: usize = 16;

/// The last `lines` lines with something in them among the last `bytes` bytes of a log, as [`legible`] text. The first is whole,
/// unless no line is.
///
/// # Errors
/// Those of the log.
pub fn last_lines(mut log: impl Read + Seek, bytes: u64, lines: usize) -> io::Result<Vec<String>> {
    let begin = log.seek(SeekFrom::End(0))?.saturating_sub(bytes);
    log.seek(SeekFrom::Start(begin))?;
    let mut end = Vec::new();
    log.take(bytes).read_to_end(&mut end)?;
    let mut whole_lines = &end[..];
    // Within the log, the first line most likely lacks its beginning.
    if begin > 0
        && let Some(at) = end.iter().position(|byte| *byte == b'\n')
    {
        whole_lines = &end[at + 1..];
    }
    let text = legible(whole_lines);
    let mut last: Vec<String> =
        text.lines().rev().filter(|line| !line.trim().is_empty()).take(lines).map(str::to_owned).collect();
    last.reverse();
    Ok(last)
}

/// Bytes as text in lines. What a terminal obeys but tabs and line ends, and what is no UTF-8, are escaped as in Rust's literals; a
/// longer run of them is counted.
pub fn legible(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut run = Vec::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_obeyed(character) && !matches!(character, '\n' | '\r' | '\t') {
                run.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            escape(&mut text, &mut run);
            // Who shows progress goes back to the beginning of the line.
            text.push(if character == '\r' { '\n' } else { character });
        }
        run.extend_from_slice(chunk.invalid());
    }
    escape(&mut text, &mut run);
    text
}

/// Appends a run of bytes that are no text, and empties it.
fn escape(text: &mut String, run: &mut Vec<u8>) {
    if run.len() > MAX_ESCAPED {
        text.push_str(&format!("[{} bytes of binary data]", run.len()));
    } else {
        text.push_str(&run.escape_ascii().to_string());
    }
    run.clear();
}

/// A text of the user as it can stand in a message: short, without line breaks and control characters.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    let mut shown: String =
        text.chars().take(MOST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

/// The [`excerpt`] of a text, in quotation marks.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", excerpt(text))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn last(log: &[u8], bytes: u64, lines: usize) -> Vec<String> {
        last_lines(Cursor::new(log), bytes, lines).unwrap()
    }

    #[test]
    fn the_last_whole_lines_are_shown() {
        assert_eq!(last(b"", 100, 3), [""; 0]);
        assert_eq!(last(b"\n \n", 100, 3), [""; 0]);
        assert_eq!(last(b"one\ntwo", 100, 3), ["one", "two"]);
        assert_eq!(last(b"one\n\ntwo\r\nthree\n", 100, 2), ["two", "three"]);
        assert_eq!(last(b"a long line\nshort\n", 10, 3), ["short"]);
        assert_eq!(last(b"a long line without an end", 10, 3), ["out an end"]);
    }

    #[test]
    fn a_hole_is_counted_and_not_shown() {
        let log = [&[0; 1_000][..], b" INFO it starts\nerror: no\n"].concat();
        let shown = last(&log, 2_000, 20);
        assert_eq!(shown, ["[1000 bytes of binary data] INFO it starts", "error: no"]);
        assert_eq!(last(&log, 500, 20), ["error: no"], "a line without its beginning is left out");
        assert_eq!(legible(&[0xff; 17]), "[17 bytes of binary data]");
    }

    #[test]
    fn what_moves_a_terminal_and_what_is_no_text_is_escaped() {
        assert_eq!(legible(b"\x1b[31mred\x00\x07\tend"), "\\x1b[31mred\\x00\\x07\tend");
        assert_eq!(legible("größer\u{9b}31m".as_bytes()), "größer\\xc2\\x9b31m");
        assert_eq!(legible("a\u{202e}b".as_bytes()), "a\\xe2\\x80\\xaeb");
        assert_eq!(legible(b"half \xe2\x82"), "half \\xe2\\x82");
        assert_eq!(legible(b"1 %\r2 %\r\n"), "1 %\n2 %\n\n");
    }

    #[test]
    fn no_bytes_make_more_than_four_times_as_many() {
        let bytes: Vec<u8> = (0..10_000_u32).map(|number| ((number * 7_919) >> 3) as u8).collect();
        let text = legible(&bytes);
        assert!(text.len() <= 4 * bytes.len(), "{}", text.len());
        assert!(text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')));
    }
}
