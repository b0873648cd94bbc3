//! Rows as comma-separated values (RFC 4180). A row has a hundred fields, most of them empty or numbers, so they are appended as
//! they are, and only text is looked at for what needs quotes.

use std::{borrow::Cow, io, io::Write as _};

use itoa::Integer;
use speedup_core::value::{foreign, time::Timestamp};

use super::{
    column::Reader, column::metric, column::own, column_set::ExportColumn, column_set::Source, row::Row,
};

/// Bytes up to the second in a moment's text, `1970-01-01T00:00:00`.
const TO_THE_SECOND: usize = 19;
const SECOND_NS: u64 = 1_000_000_000;

/// The lines of rows.
#[derive(Default)]
pub(super) struct Lines {
    text: Vec<u8>,
    /// The second that was written last, and its text: neighbours often share it.
    second: Option<(u64, String)>,
}

impl Lines {
    /// None yet, to be appended to `text`.
    pub(super) fn new(text: Vec<u8>) -> Self {
        Self { text, second: None }
    }

    /// The first line of a file.
    pub(super) fn heading(columns: &[ExportColumn]) -> Vec<u8> {
        let mut lines = Self::default();
        for (place, column) in columns.iter().enumerate() {
            lines.begin(place);
            lines.text(&column.name);
        }
        lines.end();
        lines.into_text()
    }

    pub(super) fn row(&mut self, row: &Row<'_>, columns: &[ExportColumn]) -> io::Result<()> {
        for (place, column) in columns.iter().enumerate() {
            self.begin(place);
            match &column.source {
                Source::Run(Reader::Truth(read)) => {
                    read(row).iter().for_each(|truth| self.append(if *truth { b"true" } else { b"false" }));
                }
                Source::Run(Reader::Count(read)) => read(row).iter().for_each(|number| self.number(*number)),
                Source::Run(Reader::Signed(read)) => read(row).iter().for_each(|number| self.number(*number)),
                Source::Run(Reader::Moment(read)) => read(row).iter().for_each(|at| self.moment(*at)),
                Source::Run(Reader::Text(read)) => read(row).iter().for_each(|text| self.text(text)),
                Source::Run(Reader::Id(read)) => read(row).iter().for_each(|id| self.append(id.as_bytes())),
                Source::Metric(of) => metric(row, *of).iter().for_each(|number| self.number(*number)),
                Source::Own(name) => own(row, name).map_or(Ok(()), |values| self.series(values))?,
            }
        }
        self.end();
        Ok(())
    }

    pub(super) fn into_text(self) -> Vec<u8> {
        self.text
    }

    fn begin(&mut self, place: usize) {
        if place > 0 {
            self.text.push(b',');
        }
    }

    fn end(&mut self) {
        self.text.push(b'\n');
    }

    fn append(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    fn number(&mut self, number: impl Integer) {
        self.append(itoa::Buffer::new().format(number).as_bytes());
    }

    fn moment(&mut self, at: Timestamp) {
        let second = at.0 / SECOND_NS;
        let rest = at.0 % SECOND_NS;
        if self.second.as_ref().is_none_or(|(last, _)| *last != second) {
            let mut text = rfc3339(at);
            text.truncate(TO_THE_SECOND);
            self.second = Some((second, text));
        }
        let to_the_second = self.second.as_ref().map_or("", |(_, text)| text);
        self.text.extend_from_slice(to_the_second.as_bytes());
        // With all its nine digits behind a one, where the point comes.
        let begin = self.text.len();
        self.number(SECOND_NS + rest);
        self.text[begin] = b'.';
        self.text.push(b'Z');
    }

    fn text(&mut self, text: &str) {
        // All bytes, rather than to the first: many are compared at once.
        let is_plain = text
            .bytes()
            .fold(true, |all, byte| all & matches!(byte, b' '..=b'~') & !b",\"#:".contains(&byte));
        if is_plain {
            return self.append(text.as_bytes());
        }
        let text = foreign::lines(text);
        // In quotes, a field does not begin a line with a command to a runner of workflows.
        let is_quoted = text.contains([',', '"', '\n']) || text.trim_start().starts_with(':');
        let field = if is_quoted { Cow::from(format!("\"{}\"", text.replace('"', "\"\""))) } else { text };
        self.text.extend_from_slice(foreign::without_commands(&field).as_bytes());
    }

    fn series(&mut self, values: &[f64]) -> io::Result<()> {
        values
            .iter()
            .enumerate()
            .try_for_each(|(place, value)| write!(self.text, "{}{value}", if place > 0 { ";" } else { "" }))
    }
}

/// RFC 3339 in UTC, to the nanosecond.
pub fn rfc3339(moment: Timestamp) -> String {
    let at = jiff::Timestamp::from_nanosecond(i128::from(moment.0)).unwrap_or(jiff::Timestamp::MAX);
    format!("{at:.9}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_as_others_quote_it() {
        for text in ["", "plain", "a,b", "a\"b", "\"\"", "a\nb", " a ", "é;ü", "\t", "a:b", "a#b"] {
            let mut lines = Lines::default();
            lines.text(text);
            lines.begin(1);
            lines.number(-1_i64);
            lines.end();
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record([text, "-1"]).unwrap();
            assert_eq!(lines.into_text(), writer.into_inner().unwrap());
        }
    }

    #[test]
    fn text_begins_no_command_and_is_obeyed_by_nothing() {
        for (text, written) in [
            ("::error::x", "\"::error::x\"\n"),
            ("a\n::error::x", "\"a\n\u{fffd}::error::x\"\n"),
            ("##[error]", "#\u{fffd}#[error]\n"),
            ("\u{202e}a\r", "\u{fffd}a\u{fffd}\n"),
        ] {
            let mut lines = Lines::default();
            lines.text(text);
            lines.end();
            assert_eq!(String::from_utf8(lines.into_text()).unwrap(), written);
        }
    }

    #[test]
    fn a_moment_is_told_in_full_whichever_came_before() {
        let mut lines = Lines::default();
        let second = 1_700_000_000_000_000_000;
        for at in [0, 1, 999_999_999, SECOND_NS, second + 7, second + 999_999_999, 5, u64::MAX] {
            lines.moment(Timestamp(at));
            assert_eq!(std::mem::take(&mut lines.text), rfc3339(Timestamp(at)).into_bytes());
        }
    }

    #[test]
    fn machines_read_every_nanosecond() {
        assert_eq!(rfc3339(Timestamp(1_700_000_000_000_000_007)), "2023-11-14T22:13:20.000000007Z");
        assert_eq!(rfc3339(Timestamp(0)), "1970-01-01T00:00:00.000000000Z");
        assert!(rfc3339(Timestamp(u64::MAX)).starts_with("2554-"));
    }
}
