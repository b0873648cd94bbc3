//! Numbers, one a line: the samples of the Speedup-Test.
//!
//! The original reads them with R's `scan`, which takes decimal numbers between white space and skips empty lines. So does
//! this reader; what `scan` would take too, but nobody means, is refused with its place: several numbers on a line,
//! hexadecimal numbers, `NA`, infinities. There are no comments, as there are none for `scan`.

use crate::text::{column, fields, lines};
use crate::{Collection, Fault, FileProblem, NumberProblem, Options, SeriesName, decimal};

/// Every number is a run of its own, of a unit that the file does not tell.
pub(crate) fn read(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let series = SeriesName::wall(options.unnamed_benchmark()).in_unit(options.unit_of(None));
    for (line, content) in lines(text) {
        let mut fields = fields(content);
        let Some((offset, field)) = fields.next() else { continue };
        let pushed = collection.push_text(&series, line as u64, field);
        pushed.map_err(|problem| Fault::at(line, column(content, offset), problem))?;
        if let Some((offset, _)) = fields.next() {
            return Err(Fault::at(line, column(content, offset), FileProblem::SecondNumber));
        }
    }
    Ok(collection)
}

/// Whether the first line with anything on it is one number.
pub(crate) fn looks_plain(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let read = decimal::read(first.trim(), 0);
    !matches!(read, Err(NumberProblem::NotANumber | NumberProblem::Failed | NumberProblem::TooLong))
}
