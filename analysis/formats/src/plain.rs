//! Numbers, one a line: the samples of the Speedup-Test.
//!
//! The original reads them with R's `scan`, which takes decimal numbers between white space and skips empty lines. So does
//! this reader; what `scan` would take too, but nobody means, is refused with its place: several numbers on a line,
//! hexadecimal numbers, `NA`, infinities. There are no comments, as there are none for `scan`.

use crate::{
    collection::Collection, decimal, options::Options, problem::Fault, problem::FileProblem,
    series::SeriesName, text::column, text::fields, text::lines,
};

/// Every number is a run of its own, of a unit that the file does not tell.
pub(crate) fn read(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let name = SeriesName::wall(options.unnamed_benchmark());
    let (unit, shift) = options.unit_of(None);
    for (line, content) in lines(text) {
        let mut fields = fields(content);
        let Some((offset, field)) = fields.next() else { continue };
        let pushed = collection.push_text(&name, &unit, line as u64, field, shift);
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
    !matches!(
        decimal::read(first.trim(), 0),
        Err(decimal::NumberProblem::NotANumber | decimal::NumberProblem::TooLong)
    )
}
