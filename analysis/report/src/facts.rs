//! Rows that are printed as a table or as CSV: the same facts, in the table with the digits that they bear.

use speedup_analysis::{conclusion::EndpointVerdict, conclusion::Verdict, count};
use speedup_core::value::foreign;
use speedup_statistics::inference::LEAST_TOLD;

use crate::document::{Align, Column, Field, Table, TableRow, Tone};
use crate::markdown;

/// What stands above a column of the table, and how it is aligned.
#[derive(Clone, Copy, Debug)]
pub enum Label {
    /// Words begin at the left.
    Words(&'static str),
    /// Numbers end at the right.
    Number(&'static str),
}

impl Label {
    /// What stands above the column.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Words(heading) | Self::Number(heading) => heading,
        }
    }

    /// Whether the column holds numbers.
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Number(_))
    }
}

/// A column: what it is called in CSV, and how it is headed in the table, if it stands there.
#[derive(Clone, Copy, Debug)]
pub struct Heading {
    /// In CSV; empty for what only the table has.
    pub name: &'static str,
    pub column: Option<Label>,
}

/// What stands in a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SheetCell {
    Words(String),
    /// The words of a verdict, with what they mean.
    Verdict(&'static str, Tone),
    /// A number: all its digits in CSV, four in the table.
    Number(f64),
    Count(u64),
    /// A number that the table shows otherwise.
    Shown(f64, String),
    /// Numbers, of which some may be absent: all their digits in CSV with a semicolon between them, so many in the table.
    List(Vec<Option<f64>>, usize),
    #[default]
    Absent,
}

/// What stands in a cell of the table without a value.
pub const ABSENT: &str = "—";

/// What stands between the members of a list in a cell of CSV; an absent member is empty there.
const SEPARATOR: &str = ";";

/// A column of a sheet of like rows: its heading, and what stands in it.
pub type SheetColumn<T> = (Heading, fn(&T) -> SheetCell);

/// A table of facts.
#[derive(Debug)]
pub struct Sheet {
    pub headings: Vec<Heading>,
    /// The rows, each as long as the headings.
    pub rows: Vec<Vec<SheetCell>>,
}

/// A column of words in both.
pub const fn words(name: &'static str, heading: &'static str) -> Heading {
    Heading { name, column: Some(Label::Words(heading)) }
}

/// A column of numbers in both.
pub const fn number(name: &'static str, heading: &'static str) -> Heading {
    Heading { name, column: Some(Label::Number(heading)) }
}

/// A column of CSV alone.
pub const fn hidden(name: &'static str) -> Heading {
    Heading { name, column: None }
}

impl SheetCell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Words(text.into())
    }

    /// Code names, each once; nothing where there are none.
    pub fn codes<'a>(codes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut once: Vec<&str> = Vec::new();
        codes.into_iter().for_each(|code| {
            if !once.contains(&code) {
                once.push(code);
            }
        });
        if once.is_empty() { Self::Absent } else { Self::Words(once.join(SEPARATOR)) }
    }

    /// A number that may be absent.
    pub fn optional(number: Option<f64>) -> Self {
        number.map_or(Self::Absent, Self::Number)
    }

    /// A speedup, in the table with its interval.
    pub fn speedup(speedup: Option<f64>, ends: Option<(f64, f64)>) -> Self {
        speedup.map_or(Self::Absent, |speedup| Self::Shown(speedup, count::ratio(speedup, ends)))
    }

    /// A confidence level, which is never certainty.
    pub fn percent(share: Option<f64>) -> Self {
        share.map_or(Self::Absent, |share| Self::Shown(share, level(share)))
    }

    /// A share, which may be all.
    pub fn share(share: f64) -> Self {
        Self::Shown(share, count::percent(share))
    }

    /// A p-value; of those too small to be told, in words that they are.
    pub fn p_value(p: Option<f64>) -> Self {
        match p {
            Some(p) if p > LEAST_TOLD => Self::Shown(p, significant(p, 2)),
            Some(p) => Self::Shown(p, format!("< {LEAST_TOLD:e}")),
            None => Self::Absent,
        }
    }

    fn in_table(&self) -> String {
        match self {
            Self::Words(text) | Self::Shown(_, text) => text.clone(),
            Self::Verdict(words, _) => (*words).to_owned(),
            Self::Number(number) => significant(*number, 4),
            Self::Count(count) => count::grouped(*count),
            Self::List(numbers, digits) => {
                listed(numbers, |number| significant(number, *digits), ABSENT, " ")
            }
            Self::Absent => ABSENT.to_owned(),
        }
    }

    fn in_csv(&self) -> String {
        match self {
            Self::Words(text) => text.clone(),
            Self::Verdict(words, _) => (*words).to_owned(),
            // The shortest text that is this double; very large and small ones with an exponent.
            Self::Number(number) | Self::Shown(number, _) => exact(*number),
            Self::Count(count) => count.to_string(),
            Self::List(numbers, _) => listed(numbers, exact, "", SEPARATOR),
            Self::Absent => String::new(),
        }
    }
}

fn listed(numbers: &[Option<f64>], shown: impl Fn(f64) -> String, absent: &str, between: &str) -> String {
    let texts = numbers.iter().map(|number| number.map_or_else(|| absent.to_owned(), &shown));
    texts.collect::<Vec<_>>().join(between)
}

/// A level in percent, with the digits that tell it from certainty.
pub fn level(share: f64) -> String {
    if share > 0.9999 { "> 99.99\u{a0}%".to_owned() } else { count::percent(share) }
}

/// A number with so many significant digits, with an exponent where it would be long without one.
pub fn significant(number: f64, digits: usize) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let magnitude = number.abs().log10().floor();
    if !(-4.0..=6.0).contains(&magnitude) {
        return format!("{number:.*e}", digits - 1);
    }
    let decimals = (digits as f64 - 1.0 - magnitude).max(0.0) as usize;
    format!("{number:.decimals$}")
}

/// All its digits, with an exponent where that is much shorter.
pub fn exact(number: f64) -> String {
    let plain = number.to_string();
    let exponential = format!("{number:e}");
    if exponential.len() + 4 < plain.len() { exponential } else { plain }
}

impl From<Verdict> for SheetCell {
    fn from(verdict: Verdict) -> Self {
        Self::Verdict(verdict.words(), verdict.into())
    }
}

impl From<EndpointVerdict> for SheetCell {
    fn from(verdict: EndpointVerdict) -> Self {
        Self::Verdict(verdict.words(), verdict.into())
    }
}

impl Sheet {
    /// A row for each of `things`, column by column.
    pub fn from_columns<T>(things: &[T], columns: &[SheetColumn<T>]) -> Self {
        let mut rows = Vec::with_capacity(things.len());
        for thing in things {
            rows.push(columns.iter().map(|(_, cell)| cell(thing)).collect());
        }
        Self { headings: columns.iter().map(|(heading, _)| *heading).collect(), rows }
    }

    /// The columns that people see.
    pub fn columns(&self) -> Vec<Label> {
        self.headings.iter().filter_map(|heading| heading.column).collect()
    }

    /// What they see in them.
    pub fn shown_rows(&self) -> impl Iterator<Item = Vec<String>> {
        self.rows.iter().map(|row| {
            let cells = row.iter().zip(&self.headings).filter(|(_, heading)| heading.column.is_some());
            cells.map(|(cell, _)| cell.in_table()).collect()
        })
    }

    /// The columns that people see, as a table of a document.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::default();
        for label in self.columns() {
            let align = if label.is_number() { Align::Right } else { Align::Left };
            table.columns.push(Column::new(label.heading(), align, 0));
        }
        for row in &self.rows {
            let shown = row.iter().zip(&self.headings).filter(|(_, heading)| heading.column.is_some());
            let fields: Vec<Field> = shown.map(|(cell, _)| Field::from(cell)).collect();
            table.rows.push(TableRow::from(fields));
        }
        table
    }

    /// The same for forges and wikis.
    pub fn markdown(&self) -> String {
        markdown::table(&self.table()).trim_end().to_owned()
    }

    /// For programs (RFC 4180).
    pub fn csv(&self) -> String {
        let headings = self.headings.iter().map(|heading| heading.name.to_owned()).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(SheetCell::in_csv).collect());
        csv_text(headings, rows)
    }
}

impl From<&SheetCell> for Field {
    fn from(cell: &SheetCell) -> Self {
        let tone = if let SheetCell::Verdict(_, tone) = cell { *tone } else { Tone::Plain };
        Self { tone, ..cell.in_table().into() }
    }
}

/// Comma-separated values, in which no text of others is obeyed.
pub(crate) fn csv_text(headings: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in std::iter::once(headings).chain(rows) {
        // Writing into memory does not fail, and rows are as long as their heading.
        let _ = writer.write_record(record);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    foreign::without_commands(&foreign::lines(&text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_that_are_asked_for() {
        assert_eq!(significant(1234.56, 4), "1235");
        assert_eq!(significant(0.001_234_56, 4), "0.001235");
        assert_eq!(significant(1.2e-9, 4), "1.200e-9");
        assert_eq!(significant(0.0, 4), "0");
        assert_eq!(exact(1e-300), "1e-300");
        assert_eq!(exact(0.1), "0.1");
    }

    #[test]
    fn a_table_leaves_out_what_is_for_programs() {
        let sheet = Sheet {
            headings: vec![words("verdict", "verdict"), hidden("lower"), number("n", "runs")],
            rows: vec![vec![SheetCell::text("faster"), SheetCell::Number(1.5), SheetCell::Count(3)]],
        };
        let list = SheetCell::List(vec![Some(0.123_456), None], 2);
        assert_eq!((list.in_table(), list.in_csv()), ("0.12 —".to_owned(), "0.123456;".to_owned()));
        assert_eq!(sheet.markdown(), "| verdict | runs |\n| --- | ---: |\n| faster | 3 |");
        assert_eq!(sheet.csv(), "verdict,lower,n\nfaster,1.5,3\n");
    }
}
