//! Tables of values: CSV with a header, and JSON lines with the same fields.
//!
//! One row is one value. Columns for benchmark, version, run, metric and unit are used where they exist; rows without a run
//! are runs of their own. Several value columns are several metrics, named as the columns. Fields are separated by commas,
//! semicolons, tabs or bars; where it is not by commas, a comma is a decimal mark.

use crate::{
    AtNode, BLOCK, Collection, Columns, Fault, FileProblem, ImportCode, ImportWarning, Json, Measurand, Name,
    NumberProblem, Options, SeriesName, SeriesUnit, WALL, bounds::MAX_COLUMNS, decimal, json, options::VALUE,
    series::is_rate,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What a value in a column measures; `field` reads the words of other columns of the row.
fn measurand<E>(
    column: &str,
    options: &Options<'_>,
    field: impl Fn(&str) -> Result<Option<Name>, E>,
    fault: impl Fn(FileProblem) -> E,
) -> Result<Measurand, E> {
    let columns = &options.columns;
    let benchmark = field(columns.benchmark)?.unwrap_or_else(|| options.unnamed_benchmark());
    let version = field(columns.version)?;
    let metric = field(columns.metric)?;
    let (stem, unit) = unit_in(column).unzip();
    let (unit, shift) = options.unit_of(field(columns.unit)?.or(unit).as_ref());
    let is_wall = unit == SeriesUnit::Seconds && stem.is_some_and(|stem| WALL_COLUMNS.contains(&stem));
    let usual = Name::new(if column == VALUE || is_wall { WALL } else { column });
    let usual = usual.map_err(|problem| fault(problem.into()))?;
    let name = SeriesName { version, ..SeriesName::new(benchmark, metric.unwrap_or(usual)) };
    Ok(name.in_unit((unit, shift)))
}

/// What stands before the unit in the names of columns of elapsed time.
const WALL_COLUMNS: [&str; 6] = ["", "time", "wall", "elapsed", "runtime", "duration"];

/// The unit that ends the name of a column, as in `seconds`, `time_ms`, `wall [ns]` and `bandwidth (MB/s)`, and what is before it.
pub(crate) fn unit_in(column: &str) -> Option<(&str, Name)> {
    const BETWEEN: [char; 6] = ['_', ' ', '(', ')', '[', ']'];
    let column = column.trim_end_matches(BETWEEN);
    let mut word = column.rsplit(BETWEEN).next()?;
    if !is_rate(word) {
        // A heading such as `time/ms` has its unit behind the slash.
        word = word.rsplit('/').next()?;
    }
    let unit = Name::new(word).ok()?;
    let is_amount = matches!(SeriesUnit::of_word(&unit).0, SeriesUnit::Seconds | SeriesUnit::Bytes);
    let stem = column[..column.len() - word.len()].trim_end_matches('/').trim_end_matches(BETWEEN);
    // The second of `items_per_second` is no unit of its values.
    let is_unit = is_rate(word) || is_amount && !is_rate(column);
    is_unit.then_some((stem, unit))
}

/// What all rows of a table say together.
struct Survey<'a> {
    options: &'a Options<'a>,
    /// What the rows have in the columns that may connect runs, by benchmark, version and metric.
    cells: BTreeMap<[Option<Name>; 3], Cell<'a>>,
    /// The columns, each with up to two of its words. Where none names the benchmark, one of words may: runs of several benchmarks
    /// would be taken for those of one.
    words: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Default)]
struct Cell<'a> {
    rows: usize,
    words: BTreeMap<&'a str, BTreeSet<Name>>,
}

/// What connects the runs of a table.
struct RunNumbering<'a> {
    /// The column or field whose words stand in the place of the run.
    unit: Option<&'a str>,
    /// What the blocks are taken for, where there are any.
    blocks: Option<ImportCode>,
    /// The numbers of the runs by the words for them.
    runs: BTreeMap<Name, u64>,
}

impl<'a> Survey<'a> {
    fn new(options: &'a Options<'a>) -> Self {
        Self { options, cells: BTreeMap::new(), words: BTreeMap::new() }
    }

    /// Adds a row to its cell, with its words in the columns that may connect runs.
    fn add_row(&mut self, word: impl Fn(&str) -> Option<Name>) {
        let columns = &self.options.columns;
        if columns.units.is_empty() {
            return;
        }
        let cell = [columns.benchmark, columns.version, columns.metric].map(&word);
        let cell = self.cells.entry(cell).or_default();
        cell.rows += 1;
        for column in columns.units {
            cell.words.entry(column).or_default().extend(word(column));
        }
    }

    /// Adds what a row has in one of its columns.
    fn add_word(&mut self, column: &str, word: &str) {
        let Some(words) = self.words.get_mut(column) else {
            self.words.insert(column.to_owned(), BTreeSet::new());
            return self.add_word(column, word);
        };
        // Numbers may be other metrics, and what begins as one a date.
        let may_be_word = word.starts_with(|first: char| !first.is_ascii_digit()) && words.len() < 2;
        if may_be_word && !words.contains(word) && !looks_like_number(word) {
            words.insert(word.to_owned());
        }
    }

    /// Finds what connects the runs, and warns of it.
    fn finish(&self, collection: &mut Collection) -> Result<RunNumbering<'a>, FileProblem> {
        self.check_columns()?;
        let unit = self.options.columns.units.iter().copied().find(|column| self.makes_units(column));
        let mut cells = self.cells.values();
        let has_blocks = cells.any(|cell| cell.words.get(BLOCK).is_some_and(|words| !words.is_empty()));
        let blocks = match unit {
            _ if !has_blocks => None,
            Some(BLOCK) if self.has_pairs() => Some(ImportCode::BlocksPair),
            Some(BLOCK) => Some(ImportCode::BlocksGroup),
            Some(_) | None => Some(ImportCode::BlocksUnused),
        };
        if let Some(unit) = unit.filter(|unit| *unit != BLOCK) {
            collection.warn(ImportWarning::about(ImportCode::Units, &Name::beginning(unit)))?;
        }
        if let Some(code) = blocks {
            collection.warn(code)?;
        }
        Ok(RunNumbering { unit, blocks, runs: BTreeMap::new() })
    }

    /// Refuses a column that was named and is not there, and one that may name benchmarks.
    fn check_columns(&self) -> Result<(), FileProblem> {
        let columns = &self.options.columns;
        let usual = Columns::default();
        let asked = [columns.benchmark, columns.version, columns.run];
        for (asked, usual) in asked.into_iter().zip([usual.benchmark, usual.version, usual.run]) {
            if asked != usual && !self.words.contains_key(asked) {
                return Err(FileProblem::NoColumn { column: Name::beginning(asked) });
            }
        }
        if self.words.contains_key(columns.benchmark) {
            return Ok(());
        }
        for (name, words) in &self.words {
            let name = name.as_str();
            let is_used = columns.names(name)
                || columns.values.contains(&name)
                || self.options.ignored_labels.contains(&name);
            if words.len() > 1 && !is_used {
                return Err(FileProblem::UnusedColumn { column: Name::beginning(name) });
            }
        }
        Ok(())
    }

    /// Whether a column makes several units of some cell, and groups the rows of some or pairs the versions. One that has the same word
    /// all through every cell makes no units.
    fn makes_units(&self, column: &str) -> bool {
        let has_several = self.cells.values().any(|cell| cell.words[column].len() > 1);
        let has_groups = self.cells.values().any(|cell| (1..cell.rows).contains(&cell.words[column].len()));
        has_several && (has_groups || column == BLOCK && self.has_pairs())
    }

    /// Whether some block has runs of two versions of a benchmark.
    fn has_pairs(&self) -> bool {
        let mut seen = BTreeSet::new();
        for ([benchmark, _, metric], cell) in &self.cells {
            for block in &cell.words[BLOCK] {
                if !seen.insert((benchmark, metric, block)) {
                    return true;
                }
            }
        }
        false
    }
}

impl RunNumbering<'_> {
    /// The number of a run. Equal words are equal numbers; without a word it is a number of its own, beyond those of the words.
    fn number(&mut self, run: Option<Name>, row: usize) -> u64 {
        const BEYOND_WORDS: u64 = 1 << 63;
        let next = self.runs.len() as u64;
        run.map_or(BEYOND_WORDS + row as u64, |run| *self.runs.entry(run).or_insert(next))
    }

    /// Keeps the words of the runs, where they are blocks that make pairs.
    fn keep_blocks(self, collection: &mut Collection) {
        if self.blocks == Some(ImportCode::BlocksPair) {
            collection.blocks = Some(self.runs.into_iter().map(|(word, number)| (number, word)).collect());
        }
    }
}

pub(crate) fn read_csv(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let columns = &options.columns;
    let (header, table) = open(text)?;
    let mut survey = Survey::new(options);
    let mut numeric: Vec<(usize, &str)> = header.names().filter(|(_, name)| !columns.names(name)).collect();
    if header.tells_values(columns)? {
        numeric.clear();
    }
    for row in table {
        let row = header.row(row)?;
        survey.add_row(|name| header.showable_word(&row, name));
        for (column, name) in header.names() {
            survey.add_word(name, row.field(column));
        }
        numeric.retain(|(column, _)| looks_like_number(row.field(*column)));
    }
    let values = header.value_columns(columns, &numeric)?;
    let mut collection = Collection::default();
    let connected = survey.finish(&mut collection);
    let mut connected = connected.map_err(|problem| header.0.fault(0, problem))?;
    // Between fields that commas separate, numbers have points.
    let mut mark = if separator(text) == b',' { Some('.') } else { None };
    for (index, row) in open(text)?.1.enumerate() {
        let row = header.row(row)?;
        let remark = collection.take_remark(|name| header.showable_word(&row, name));
        if remark.map_err(|problem| row.fault(0, problem))? {
            continue;
        }
        let run = connected.number(header.word(&row, connected.unit.unwrap_or(columns.run))?, index);
        for column in &values {
            let series = measurand(
                header.0.field(*column),
                options,
                |name| header.word(&row, name),
                |problem| row.fault(*column, problem),
            )?;
            collection.take_nature(&series.name, |name| header.showable_word(&row, name));
            let number = with_point(row.field(*column), &mut mark);
            let pushed = number.and_then(|number| collection.push_text(&series, run, &number));
            pushed.map_err(|problem| row.fault(*column, problem))?;
        }
    }
    connected.keep_blocks(&mut collection);
    Ok(collection)
}

/// Whether a field may stand in a column of values: a number, or a word for one that is not there.
pub(crate) fn looks_like_number(field: &str) -> bool {
    decimal::read(&field.replacen(',', ".", 1), 0) != Err(NumberProblem::NotANumber)
}

/// The number with a decimal point. One with another mark than those before is refused: one of the two separates thousands.
fn with_point<'r>(number: &'r str, mark: &mut Option<char>) -> Result<Cow<'r, str>, FileProblem> {
    let Some(found) = number.chars().find(|c| matches!(c, '.' | ',')) else { return Ok(number.into()) };
    // What is no number is told by its reader.
    let is_new = *mark != Some(found);
    if is_new && decimal::read(&number.replacen(',', ".", 1), 0).is_err() {
        return Ok(number.into());
    }
    if *mark.get_or_insert(found) != found {
        return Err(FileProblem::number(number, NumberProblem::OtherMark));
    }
    Ok(if found == ',' { number.replace(',', ".").into() } else { number.into() })
}

pub(crate) fn read_lines(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let columns = &options.columns;
    let mut survey = Survey::new(options);
    // Only all lines together tell what connects the runs, so they are read twice.
    json::read_lines(text, |_, object| {
        survey.add_row(|field| showable_word(object, field));
        for (name, value) in object.members() {
            survey.add_word(name, value.text().unwrap_or_default());
        }
        Ok(())
    })?;
    let mut collection = Collection::default();
    let mut connected = survey.finish(&mut collection).map_err(Fault::of_file)?;
    json::read_lines(text, |line, object| {
        if collection.take_remark(|field| showable_word(object, field)).at_node(object)? {
            return Ok(());
        }
        let run = match connected.unit {
            Some(unit) => showable_word(object, unit),
            None => object.optional_word(columns.run)?,
        };
        let run = connected.number(run, line);
        for column in &columns.values {
            let Some((_, value)) = object.members().find(|(field, _)| field == column) else {
                return Err(object.misfit(FileProblem::NoColumn { column: Name::beginning(column) }));
            };
            let series = measurand(
                column,
                options,
                |field| object.optional_word(field),
                |problem| object.misfit(problem),
            )?;
            collection.take_nature(&series.name, |field| showable_word(object, field));
            collection.push_json(&series, run, value)?;
        }
        Ok(())
    })?;
    connected.keep_blocks(&mut collection);
    Ok(collection)
}

/// The word in a field, if it can be shown.
fn showable_word(object: &Json<'_>, field: &str) -> Option<Name> {
    object.get(field)?.word().ok()
}

/// What separates the fields of a table: what its header has most of, or commas.
fn separator(text: &str) -> u8 {
    let header =
        text.lines().find(|line| !line.trim().is_empty() && !line.starts_with(COMMENT)).unwrap_or_default();
    let known = b"|\t;,".iter().copied();
    known.max_by_key(|separator| header.bytes().filter(|byte| byte == separator).count()).unwrap_or(b',')
}

/// The header of a table, and the rows below it.
pub(crate) fn open(text: &str) -> Result<(Header, impl Iterator<Item = Result<Row, Fault>>), Fault> {
    let reader = csv::ReaderBuilder::new()
        .delimiter(separator(text))
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut rows = reader.into_records().map(|record| match record {
        Ok(record) => Ok(in_its_line(record, text)),
        Err(_) => Err(Fault::of_file(FileProblem::NotUtf8)),
    });
    for row in rows.by_ref() {
        let row = row?;
        if !row.field(0).starts_with(COMMENT) {
            return Ok((Header::new(row)?, rows));
        }
    }
    Err(Fault::of_file(FileProblem::NoValues))
}

/// A row with the number of its line: a reader of CSV gives the position of the blank lines before it.
fn in_its_line(mut record: csv::StringRecord, text: &str) -> Row {
    if let Some(mut position) = record.position().cloned() {
        let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
        let rest = text.as_bytes().get(start..).unwrap_or_default();
        let blank = rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r'));
        let lines = blank.filter(|byte| **byte == b'\n').count() as u64;
        position.set_line(position.line() + lines);
        record.set_position(Some(position));
    }
    Row(record)
}

/// The fields of a line between tabs, in which quotes mean nothing.
pub(crate) fn between_tabs(line: usize, content: &str) -> Row {
    let fields: Vec<&str> = content.split('\t').take(MAX_COLUMNS + 1).collect();
    let mut record = csv::StringRecord::from(fields);
    let mut position = csv::Position::new();
    position.set_line(line as u64);
    record.set_position(Some(position));
    Row(record)
}

/// How comments above a table begin.
const COMMENT: char = '#';

/// The names of the columns.
pub(crate) struct Header(Row);

impl Header {
    pub(crate) fn new(row: Row) -> Result<Self, Fault> {
        if row.0.len() > MAX_COLUMNS {
            return Err(row.fault(0, FileProblem::TooManyColumns));
        }
        Ok(Self(row))
    }

    /// All columns, each with its name.
    pub(crate) fn names(&self) -> impl Iterator<Item = (usize, &str)> {
        self.0.0.iter().enumerate()
    }

    pub(crate) fn column(&self, name: &str) -> Result<usize, Fault> {
        self.optional(name)?.ok_or_else(|| self.no_column(name))
    }

    /// The column of this name, if there is one; two are refused.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<usize>, Fault> {
        let mut places = self.names().filter(|(_, column)| *column == name).map(|(at, _)| at);
        match (places.next(), places.next()) {
            (_, Some(_)) => Err(self.no_column(name)),
            (place, None) => Ok(place),
        }
    }

    /// What a row has in the column of this name. An empty field says nothing.
    pub(crate) fn word(&self, row: &Row, name: &str) -> Result<Option<Name>, Fault> {
        let column = self.optional(name)?.filter(|column| !row.field(*column).is_empty());
        column.map(|column| row.name(column)).transpose()
    }

    /// The same, where what cannot be shown is no word.
    fn showable_word(&self, row: &Row, name: &str) -> Option<Name> {
        self.word(row, name).ok().flatten()
    }

    /// A row, which has to be as long as the header.
    pub(crate) fn row(&self, row: Result<Row, Fault>) -> Result<Row, Fault> {
        let row = row?;
        let fields = row.0.len();
        let header = self.0.0.len();
        if fields == header {
            return Ok(row);
        }
        Err(row.fault(fields.saturating_sub(1), FileProblem::RowLength { fields, header }))
    }

    /// The columns of the values. Where nobody named one and none is called `value`, it is the only one that holds numbers.
    fn value_columns(&self, columns: &Columns<'_>, numeric: &[(usize, &str)]) -> Result<Vec<usize>, Fault> {
        if self.tells_values(columns)? {
            return columns.values.iter().map(|name| self.column(name)).collect();
        }
        match *numeric {
            [] => Err(self.no_column(VALUE)),
            [(column, _)] => Ok(vec![column]),
            [(_, first), (_, second), ..] => {
                let [first, second] = [first, second].map(Name::beginning);
                Err(self.0.fault(0, FileProblem::SeveralColumns { first, second }))
            }
        }
    }

    /// Whether the columns of the values are known by their names.
    fn tells_values(&self, columns: &Columns<'_>) -> Result<bool, Fault> {
        Ok(columns.values != [VALUE] || self.optional(VALUE)?.is_some())
    }

    fn no_column(&self, name: &str) -> Fault {
        self.0.fault(0, FileProblem::NoColumn { column: Name::beginning(name) })
    }
}

/// One row; the column of its faults is the number of the field.
pub(crate) struct Row(pub(crate) csv::StringRecord);

impl Row {
    pub(crate) fn field(&self, column: usize) -> &str {
        self.0.get(column).unwrap_or_default()
    }

    pub(crate) fn name(&self, column: usize) -> Result<Name, Fault> {
        Name::new(self.field(column)).map_err(|problem| self.fault(column, problem))
    }

    pub(crate) fn number(&self, column: usize, shift: i32) -> Result<f64, Fault> {
        let text = self.field(column);
        decimal::read(text, shift).map_err(|problem| self.fault(column, FileProblem::number(text, problem)))
    }

    pub(crate) fn fault(&self, column: usize, problem: impl Into<FileProblem>) -> Fault {
        let line = self.0.position().map_or(1, csv::Position::line);
        Fault::at(usize::try_from(line).unwrap_or(usize::MAX), column + 1, problem)
    }
}
