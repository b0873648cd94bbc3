//! Rows as columns: of each row whether a value is there, and the values that are, as Parquet and Arrow take them.

use std::{iter::repeat_n, ops::Range, ptr};

use super::{
    column::Reader, column::metric, column::own, column_set::ExportColumn, column_set::Source, row::Row,
};

pub(super) struct ColumnPage {
    pub(super) columns: Vec<Buffer>,
    pub(super) rows: usize,
    /// How many bytes its texts and lists take.
    pub(super) bytes: usize,
}

/// The rows of a column: whether each is there, and the values of those that are.
pub(super) struct Buffer {
    pub(super) levels: Levels,
    pub(super) values: Values,
}

/// Of each row of a column whether it has a value, as Parquet's levels say it.
pub(super) enum Levels {
    /// The level of all rows, and how many they are: mostly all have a value, or none.
    All(i16, usize),
    /// That of each.
    Each(Vec<i16>),
}

pub(super) enum Values {
    Truth(Vec<bool>),
    Whole(Vec<i64>),
    Text(Texts),
    /// With whether each value goes on with the list of the one before.
    List {
        values: Vec<f64>,
        repeats: Vec<i16>,
    },
}

/// The texts of a column, one after the other. Hosts, names and states repeat: a text that is like the one before it is not
/// kept twice.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) all: String,
    /// Where each is in it.
    pub(super) places: Vec<Range<usize>>,
}

/// Bytes of the longest ids and hashes: for so many in each row room is made at once, not for what a program printed.
const LONGEST_ID: usize = 64;

/// Levels of a list: it is not there, it is empty, it has this value.
pub(super) const NO_LIST: i16 = 0;
pub(super) const EMPTY_LIST: i16 = 1;
pub(super) const IN_LIST: i16 = 2;

impl ColumnPage {
    /// The columns of rows, one after the other: what a column reads is chosen once, not for each row.
    pub(super) fn new(columns: &[ExportColumn], rows: &[Row<'_>]) -> Self {
        let columns: Vec<Buffer> = columns.iter().map(|column| Buffer::new(&column.source, rows)).collect();
        let bytes = columns.iter().map(Buffer::bytes).sum();
        Self { columns, rows: rows.len(), bytes }
    }

    /// Takes off the rows from this one on.
    pub(super) fn split_off(&mut self, row: usize) -> Self {
        let columns: Vec<Buffer> = self.columns.iter_mut().map(|column| column.split_off(row)).collect();
        let bytes = columns.iter().map(Buffer::bytes).sum();
        let rest = Self { columns, rows: self.rows - row, bytes };
        self.rows = row;
        self.bytes = self.bytes.saturating_sub(bytes);
        rest
    }
}

impl Buffer {
    fn new(source: &Source, rows: &[Row<'_>]) -> Self {
        let mut levels = Levels::none_yet();
        let values = match source {
            Source::Run(Reader::Truth(read)) => Values::Truth(there(rows, read, &mut levels)),
            Source::Run(Reader::Count(read)) => {
                Values::Whole(there(rows, |row| read(row).map(signed), &mut levels))
            }
            Source::Run(Reader::Signed(read)) => Values::Whole(there(rows, read, &mut levels)),
            Source::Run(Reader::Moment(read)) => {
                Values::Whole(there(rows, |row| read(row).map(|at| signed(at.0)), &mut levels))
            }
            Source::Metric(of) => Values::Whole(there(rows, |row| metric(row, *of).map(signed), &mut levels)),
            Source::Run(Reader::Text(read)) => {
                Values::Text(Texts::from_rows(rows.iter().map(read), &mut levels))
            }
            Source::Run(Reader::Id(read)) => {
                Values::Text(Texts::from_rows(rows.iter().map(read), &mut levels))
            }
            Source::Own(name) => {
                return Self::new_lists(name, rows);
            }
        };
        Self { levels, values }
    }

    /// The lists of an own metric.
    fn new_lists(name: &str, rows: &[Row<'_>]) -> Self {
        let mut levels = Vec::new();
        let mut values = Vec::new();
        let mut repeats = Vec::new();
        for row in rows {
            let list = own(row, name);
            let members = list.map_or(0, <[f64]>::len);
            match list {
                None => levels.push(NO_LIST),
                Some([]) => levels.push(EMPTY_LIST),
                Some(_) => levels.extend(repeat_n(IN_LIST, members)),
            }
            // A list that has no members takes one place, too.
            repeats.push(0);
            repeats.extend(repeat_n(1, members.saturating_sub(1)));
            values.extend(list.unwrap_or_default());
        }
        Self { levels: Levels::Each(levels), values: Values::List { values, repeats } }
    }

    /// What its texts and lists take where each is written out, as Arrow does; all else is small.
    fn bytes(&self) -> usize {
        match &self.values {
            Values::Truth(_) | Values::Whole(_) => 0,
            Values::Text(texts) => texts.iter().map(str::len).sum(),
            Values::List { values, .. } => size_of_val(values.as_slice()),
        }
    }

    /// Takes off the rows from this one on.
    fn split_off(&mut self, row: usize) -> Self {
        // A list takes as many levels as it has members, but at least one; a new one begins where nothing repeats.
        let level = match &self.values {
            Values::List { repeats, .. } => {
                let mut begins =
                    (0..).zip(repeats).filter(|(_, repeat)| **repeat == 0).map(|(place, _)| place);
                begins.nth(row).unwrap_or(self.levels.len())
            }
            Values::Truth(_) | Values::Whole(_) | Values::Text(_) => row,
        };
        let there = if matches!(self.values, Values::List { .. }) { IN_LIST } else { 1 };
        let value = self.levels.iter().take(level).filter(|one| *one == there).count();
        let values = match &mut self.values {
            Values::Truth(values) => Values::Truth(values.split_off(value)),
            Values::Whole(values) => Values::Whole(values.split_off(value)),
            Values::Text(texts) => Values::Text(texts.split_off(value)),
            Values::List { values, repeats } => {
                Values::List { values: values.split_off(value), repeats: repeats.split_off(level) }
            }
        };
        Self { levels: self.levels.split_off(level), values }
    }
}

impl Levels {
    const fn none_yet() -> Self {
        Self::All(0, 0)
    }

    #[inline]
    fn push(&mut self, is_there: bool) {
        let next = i16::from(is_there);
        match self {
            Self::All(level, rows) if *level == next || *rows == 0 => (*level, *rows) = (next, *rows + 1),
            Self::All(level, rows) => {
                let mut each = vec![*level; *rows];
                each.push(next);
                *self = Self::Each(each);
            }
            Self::Each(each) => each.push(next),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::All(_, rows) => *rows,
            Self::Each(each) => each.len(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = i16> {
        let (level, rows, each) = match self {
            Self::All(level, rows) => (*level, *rows, &[][..]),
            Self::Each(each) => (0, 0, &each[..]),
        };
        repeat_n(level, rows).chain(each.iter().copied())
    }

    /// Each of them, written into `room` where all are alike.
    pub(super) fn as_slice<'a>(&'a self, room: &'a mut Vec<i16>) -> &'a [i16] {
        match self {
            Self::All(level, rows) => {
                room.clear();
                room.resize(*rows, *level);
                room
            }
            Self::Each(each) => each,
        }
    }

    /// Takes off those from this one on.
    fn split_off(&mut self, at: usize) -> Self {
        match self {
            Self::All(level, rows) => Self::All(*level, std::mem::replace(rows, at) - at),
            Self::Each(each) => Self::Each(each.split_off(at)),
        }
    }
}

impl Texts {
    /// The texts that are there, and of each row whether it has one.
    fn from_rows<S: AsRef<str>>(rows: impl ExactSizeIterator<Item = Option<S>>, levels: &mut Levels) -> Self {
        let count = rows.len();
        let mut texts = Self::default();
        let mut before = None;
        for (row, text) in rows.enumerate() {
            levels.push(text.is_some());
            let Some(text) = text else { continue };
            if texts.places.is_empty() {
                texts.places.reserve_exact(count - row);
            }
            // Many are not only like the one before, but the very same.
            let is_same = before.as_ref().is_some_and(|before: &S| ptr::eq(before.as_ref(), text.as_ref()));
            texts.push(text.as_ref(), is_same);
            before = Some(text);
        }
        texts
    }

    fn push(&mut self, text: &str, is_same: bool) {
        let place = match self.places.last() {
            Some(last) if is_same || self.all[last.clone()] == *text => last.clone(),
            last => {
                // Where one differs from the one before, most do.
                if last.is_some() && self.all.capacity() - self.all.len() < text.len() {
                    let left = self.places.capacity() - self.places.len();
                    self.all.reserve(text.len().min(LONGEST_ID) * left);
                }
                let begin = self.all.len();
                self.all.push_str(text);
                begin..self.all.len()
            }
        };
        self.places.push(place);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| &self.all[place.clone()])
    }

    /// Takes off the texts from this one on.
    fn split_off(&mut self, text: usize) -> Self {
        let mut places = self.places.split_off(text);
        let begin = places.first().map_or(self.all.len(), |first| first.start);
        let all = self.all[begin..].to_owned();
        places.iter_mut().for_each(|place| *place = place.start - begin..place.end - begin);
        // The last may be like the first of the others.
        self.all.truncate(self.places.last().map_or(0, |last| last.end));
        Self { all, places }
    }
}

/// The values that are there, and of each row whether it has one. Most columns have a value in every row or in none.
fn there<'r, 'a: 'r, T>(
    rows: &'r [Row<'a>],
    mut read: impl FnMut(&'r Row<'a>) -> Option<T>,
    levels: &mut Levels,
) -> Vec<T> {
    let mut values = Vec::new();
    for row in rows {
        let value = read(row);
        levels.push(value.is_some());
        if value.is_some() && values.is_empty() {
            values.reserve_exact(rows.len());
        }
        values.extend(value);
    }
    values
}

/// A count as a signed number: differences of unsigned ones overflow in what reads them. None that is measured is as
/// large as the limit.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_that_were_pushed_however_they_are_kept() {
        for (rows, bits) in (0..6).flat_map(|rows| (0..1_u32 << rows).map(move |bits| (rows, bits))) {
            let pushed = |place: usize| bits >> place & 1 == 1;
            let expected: Vec<i16> = (0..rows).map(|place| pushed(place).into()).collect();
            for at in 0..=rows {
                let mut levels = Levels::none_yet();
                (0..rows).for_each(|place| levels.push(pushed(place)));
                assert_eq!(
                    matches!(levels, Levels::All(..)),
                    expected.windows(2).all(|two| two[0] == two[1])
                );
                assert_eq!(levels.as_slice(&mut Vec::new()), expected);
                let rest = levels.split_off(at);
                assert_eq!((levels.len(), rest.len()), (at, rows - at));
                assert_eq!(levels.iter().chain(rest.iter()).collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn texts_are_kept_once_where_they_are_like_the_one_before() {
        let (one, long) = ("one".to_owned(), "x".repeat(1 << 20));
        let rows =
            [Some(&*one), Some(&*one), None, Some("one"), Some(""), Some(""), Some(&long), Some("two")];
        let mut levels = Levels::none_yet();
        let mut texts = Texts::from_rows(rows.iter().copied(), &mut levels);
        let there: Vec<&str> = rows.iter().flatten().copied().collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), there);
        assert_eq!(levels.iter().collect::<Vec<_>>(), [1, 1, 0, 1, 1, 1, 1, 1]);
        assert_eq!(texts.all.len(), "one".len() + long.len() + "two".len());
        assert!(texts.all.capacity() < 3 * long.len(), "room for what is rare");
        let rest = texts.split_off(4);
        assert_eq!(texts.iter().chain(rest.iter()).collect::<Vec<_>>(), there);
    }
}
