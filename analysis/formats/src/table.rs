//! Tables of values: CSV with a header, and JSON lines with the same fields.
//!
//! One row is one value. Columns for benchmark, version, run, metric and unit are used where they exist; rows without a run
//! are runs of their own. Several value columns are several metrics, named as the columns. Fields are separated by commas,
//! semicolons, tabs or bars; where it is not by commas, a comma is a decimal mark.

use crate::{
    BLOCK, Collection, Columns, Fault, FileProblem, ImportCode, ImportWarning, Measurand, Name,
    NumberProblem, Options, SeriesName, SeriesUnit, WALL, bounds::MAX_COLUMNS, decimal, json, json::Json,
    json::Misfit, options::VALUE, saved, saved::take_nature, saved::take_remark, series::is_rate,
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
    let word = column.rsplit(BETWEEN).next()?;
    let unit = Name::new(word).ok()?;
    let is_amount = matches!(SeriesUnit::of_word(&unit).0, SeriesUnit::Seconds | SeriesUnit::Bytes);
    // The second of `items_per_second` is no unit of its values.
    if is_rate(word) || is_amount && !is_rate(column) {
        Some((column[..column.len() - word.len()].trim_end_matches(BETWEEN), unit))
    } else {
        None
    }
}

/// Which column says what runs have in common: the words of each column in each cell (benchmark, version and metric).
struct Units<'a> {
    /// The columns, coarsest first.
    columns: &'a [&'a str],
    cells: BTreeMap<[Option<Name>; 3], CellUnits>,
}

#[derive(Default)]
struct CellUnits {
    rows: usize,
    words: Vec<BTreeSet<Name>>,
}

/// What connects the runs of a table.
#[derive(Default)]
struct Connected<'a> {
    /// The column or field whose words stand in the place of the run.
    unit: Option<&'a str>,
    /// What the blocks are taken for, where there are any.
    blocks: Option<ImportCode>,
    /// The numbers of the runs by the words for them.
    runs: BTreeMap<Name, u64>,
}

impl<'a> Units<'a> {
    /// One more row of a cell, with its words in the columns, if it has any there.
    fn see(&mut self, columns: &Columns<'_>, word: impl Fn(&str) -> Option<Name>) {
        let cell = [columns.benchmark, columns.version, columns.metric].map(&word);
        let cell = self.cells.entry(cell).or_default();
        cell.rows += 1;
        cell.words.resize(self.columns.len(), BTreeSet::new());
        for (seen, column) in cell.words.iter_mut().zip(self.columns) {
            seen.extend(word(column));
        }
    }

    /// The first column that makes several units of some cell, and groups the rows of some or pairs the versions. One that has the
    /// same word all through every cell makes no units.
    fn connected(&self) -> Connected<'a> {
        let unit = (0..self.columns.len()).find(|column| {
            let units = || self.cells.values().map(|cell| (cell.words[*column].len(), cell.rows));
            let groups = || units().any(|(units, rows)| units > 0 && units < rows);
            units().any(|(units, _)| units > 1) && (groups() || self.pairs(*column))
        });
        let block = self.columns.iter().position(|column| *column == BLOCK);
        let has_words = |block: &usize| self.cells.values().any(|cell| !cell.words[*block].is_empty());
        let blocks = block.filter(has_words).map(|block| match unit {
            Some(unit) if unit != block => ImportCode::BlocksUnused,
            Some(_) if self.pairs(block) => ImportCode::BlocksPair,
            Some(_) => ImportCode::BlocksGroup,
            None => ImportCode::BlocksUnused,
        });
        Connected { unit: unit.map(|unit| self.columns[unit]), blocks, runs: BTreeMap::new() }
    }

    /// Whether the column is that of blocks, and some block has runs of two versions of a benchmark.
    fn pairs(&self, column: usize) -> bool {
        let mut seen: BTreeMap<_, BTreeSet<&Name>> = BTreeMap::new();
        let mut cells = self.cells.iter();
        self.columns[column] == BLOCK
            && cells.any(|([benchmark, _, metric], cell)| {
                let words = seen.entry((benchmark, metric)).or_default();
                cell.words[column].iter().any(|word| !words.insert(word))
            })
    }
}

impl Connected<'_> {
    /// Warns of what the runs are taken for.
    fn tell(&self, collection: &mut Collection) -> Result<(), Fault> {
        let unit = self.unit.filter(|unit| *unit != BLOCK);
        let of_unit = unit.map(|unit| ImportWarning::about(ImportCode::Units, &Name::beginning(unit)));
        for warning in of_unit.into_iter().chain(self.blocks.map(ImportWarning::from)) {
            collection.warn(warning).map_err(Fault::of_file)?;
        }
        Ok(())
    }

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

/// What connects the runs of a table.
fn connected_in_table<'a>(text: &str, columns: &Columns<'a>) -> Result<Connected<'a>, Fault> {
    let (header, table) = open(text)?;
    if columns.units.is_empty() {
        return Ok(Connected::default());
    }
    let mut units = Units { columns: columns.units, cells: BTreeMap::new() };
    for row in table {
        let row = header.row(row)?;
        units.see(columns, |name| header.word(&row, name).ok().flatten());
    }
    Ok(units.connected())
}

pub(crate) fn read_csv(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let columns = &options.columns;
    let mut connected = connected_in_table(text, columns)?;
    connected.tell(&mut collection)?;
    let (header, table) = open(text)?;
    let values = value_columns(text, &header, columns)?;
    let mut words = ColumnWords::default();
    for row in open(text)?.1 {
        let row = header.row(row)?;
        header.names().for_each(|(at, name)| words.see(name, row.field(at)));
    }
    words.check(options).map_err(|problem| header.0.fault(0, problem))?;
    // Between fields that commas separate, numbers have points.
    let mut mark = if separator(text) == b',' { Some('.') } else { None };
    for (index, row) in table.enumerate() {
        let row = header.row(row)?;
        let told = |name: &str| header.word(&row, name).ok().flatten();
        if take_remark(told, &mut collection).map_err(|problem| row.fault(0, problem))? {
            continue;
        }
        let run = connected.number(header.word(&row, connected.unit.unwrap_or(columns.run))?, index);
        for column in &values {
            let word = |name: &str| header.word(&row, name);
            let fault = |problem| row.fault(*column, problem);
            let series = measurand(header.0.field(*column), options, word, fault)?;
            take_nature(told, &series.name, &mut collection);
            let number = with_point(row.field(*column), &mut mark);
            let pushed = number.and_then(|number| collection.push_text(&series, run, &number));
            pushed.map_err(|problem| row.fault(*column, problem))?;
        }
    }
    connected.keep_blocks(&mut collection);
    Ok(collection)
}

/// The columns of the values. Where nobody named one and none is called `value`, it is the only one that holds numbers.
fn value_columns(text: &str, header: &Header, columns: &Columns<'_>) -> Result<Vec<usize>, Fault> {
    if columns.values != [VALUE] || header.optional(VALUE)?.is_some() {
        return columns.values.iter().map(|name| header.column(name)).collect();
    }
    let mut candidates: Vec<(usize, &str)> =
        header.names().filter(|(_, name)| !columns.names(name)).collect();
    for row in open(text)?.1 {
        let row = header.row(row)?;
        candidates.retain(|(column, _)| looks_like_number(row.field(*column)));
    }
    match candidates[..] {
        [] => Err(header.no_column(VALUE)),
        [(column, _)] => Ok(vec![column]),
        [(_, first), (_, second), ..] => {
            let [first, second] = [first, second].map(Name::beginning);
            Err(header.0.fault(0, FileProblem::SeveralColumns { first, second }))
        }
    }
}

/// Whether a field may stand in a column of values: a number, or a word for one that is not there.
pub(crate) fn looks_like_number(field: &str) -> bool {
    decimal::read(&field.replacen(',', ".", 1), 0) != Err(NumberProblem::NotANumber)
        || decimal::stands_for_none(field)
        || decimal::stands_for_failure(field)
}

/// The number with a decimal point. One with another mark than those before is refused: one of the two separates thousands.
fn with_point<'r>(number: &'r str, mark: &mut Option<char>) -> Result<Cow<'r, str>, FileProblem> {
    let Some(found) = number.chars().find(|c| matches!(c, '.' | ',')) else { return Ok(number.into()) };
    if decimal::read(&number.replacen(',', ".", 1), 0).is_err() {
        return Ok(number.into());
    }
    if *mark.get_or_insert(found) != found {
        let text = Name::beginning(number);
        return Err(FileProblem::Number { text, problem: NumberProblem::OtherMark });
    }
    Ok(if found == ',' { number.replace(',', ".").into() } else { number.into() })
}

/// The columns of a table, each with up to two of its words. Where none names the benchmark, one of words may: runs of several
/// benchmarks would be taken for those of one.
#[derive(Default)]
struct ColumnWords(BTreeMap<String, BTreeSet<String>>);

impl ColumnWords {
    fn see(&mut self, column: &str, word: &str) {
        if !self.0.contains_key(column) {
            self.0.insert(column.to_owned(), BTreeSet::new());
        }
        // Numbers may be other metrics, and what begins as one a date.
        let is_word = word.starts_with(|first: char| !first.is_ascii_digit()) && !looks_like_number(word);
        if let Some(words) = self.0.get_mut(column).filter(|words| is_word && words.len() < 2) {
            words.insert(word.to_owned());
        }
    }

    /// Refuses a column that was named and is not there, and one that may name benchmarks.
    fn check(&self, options: &Options<'_>) -> Result<(), FileProblem> {
        let columns = &options.columns;
        let usual = Columns::default();
        let asked = [columns.benchmark, columns.version, columns.run];
        for (asked, usual) in asked.into_iter().zip([usual.benchmark, usual.version, usual.run]) {
            if asked != usual && !self.0.contains_key(asked) {
                return Err(FileProblem::NoColumn { column: Name::beginning(asked) });
            }
        }
        let used = [&columns.values[..], &options.ignored_labels[..], &saved::COLUMNS].concat();
        let is_unused = |name: &str| !columns.names(name) && !used.contains(&name);
        let of_words = self.0.iter().find(|(name, words)| words.len() > 1 && is_unused(name));
        match of_words {
            Some((name, _)) if !self.0.contains_key(columns.benchmark) => {
                Err(FileProblem::UnusedColumn { column: Name::beginning(name) })
            }
            Some(_) | None => Ok(()),
        }
    }
}

pub(crate) fn read_lines(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let mut connected = connected_in_lines(text, &options.columns)?;
    connected.tell(&mut collection)?;
    let mut words = ColumnWords::default();
    json::read_lines(text, |_, object| {
        object.members().for_each(|(name, value)| words.see(name, value.text().unwrap_or_default()));
        Ok(())
    })?;
    words.check(options).map_err(Fault::of_file)?;
    json::read_lines(text, |line, object| read_line(object, line, options, &mut connected, &mut collection))?;
    connected.keep_blocks(&mut collection);
    Ok(collection)
}

/// What connects the runs of JSON lines.
fn connected_in_lines<'a>(text: &str, columns: &Columns<'a>) -> Result<Connected<'a>, Fault> {
    if columns.units.is_empty() {
        return Ok(Connected::default());
    }
    let mut units = Units { columns: columns.units, cells: BTreeMap::new() };
    json::read_lines(text, |_, object| {
        units.see(columns, |field| told(object, field));
        Ok(())
    })?;
    Ok(units.connected())
}

/// What a field says, if it can be shown.
fn told(object: &Json<'_>, field: &str) -> Option<Name> {
    object.get(field)?.word().ok()
}

fn read_line(
    object: &Json<'_>,
    line: usize,
    options: &Options<'_>,
    connected: &mut Connected<'_>,
    collection: &mut Collection,
) -> Result<(), Misfit> {
    if take_remark(|field| told(object, field), collection).map_err(|problem| object.misfit(problem))? {
        return Ok(());
    }
    let columns = &options.columns;
    let run = match connected.unit {
        Some(unit) => told(object, unit),
        None => object.optional_word(columns.run)?,
    };
    let run = connected.number(run, line);
    for column in &columns.values {
        let found = object.members().find(|(field, _)| field == column);
        let no_column = || object.misfit(FileProblem::NoColumn { column: Name::beginning(column) });
        let (_, value) = found.ok_or_else(no_column)?;
        let word = |field: &str| object.optional_word(field);
        let series = measurand(column, options, word, |problem| object.misfit(problem))?;
        take_nature(|field| told(object, field), &series.name, collection);
        collection.push_json(&series, run, value)?;
    }
    Ok(())
}

/// What separates the fields of a table: what its header has most of, or commas.
fn separator(text: &str) -> u8 {
    let header =
        text.lines().find(|line| !line.trim().is_empty() && !line.starts_with(COMMENT)).unwrap_or_default();
    let known = b"|\t;,".iter().copied();
    known.max_by_key(|separator| header.bytes().filter(|byte| byte == separator).count()).unwrap_or(b',')
}

/// The header of a table, and the rows below it.
pub(crate) fn open(text: &str) -> Result<(Header, Rows<'_>), Fault> {
    let mut table = rows(text);
    for record in table.by_ref() {
        let record = record.map_err(|_| Fault::of_file(FileProblem::NotUtf8))?;
        if !record.get(0).unwrap_or_default().starts_with(COMMENT) {
            return Ok((Header::new(record)?, table));
        }
    }
    Err(Fault::of_file(FileProblem::NoValues))
}

/// The rows of a table, the header first, but for comments above it.
fn rows(text: &str) -> Rows<'_> {
    let reader = csv::ReaderBuilder::new()
        .delimiter(separator(text))
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    Rows { records: reader.into_records(), text }
}

/// The fields of a line between tabs, in which quotes mean nothing.
pub(crate) fn between_tabs(line: usize, content: &str) -> csv::StringRecord {
    let fields: Vec<&str> = content.split('\t').take(MAX_COLUMNS + 1).collect();
    let mut record = csv::StringRecord::from(fields);
    let mut position = csv::Position::new();
    position.set_line(line as u64);
    record.set_position(Some(position));
    record
}

/// The rows of a table, each with the number of its line.
pub(crate) struct Rows<'a> {
    records: csv::StringRecordsIntoIter<&'a [u8]>,
    text: &'a str,
}

impl Iterator for Rows<'_> {
    type Item = csv::Result<csv::StringRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = self.records.next()?;
        if let Ok(record) = &mut record
            && let Some(mut position) = record.position().cloned()
        {
            // Its position is that of the blank lines before it.
            let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
            let rest = self.text.as_bytes().get(start..).unwrap_or_default();
            let blank = rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r'));
            let lines = blank.filter(|byte| **byte == b'\n').count() as u64;
            position.set_line(position.line() + lines);
            record.set_position(Some(position));
        }
        Some(record)
    }
}

/// How comments above a table begin.
const COMMENT: char = '#';

/// The names of the columns.
pub(crate) struct Header(Row);

impl Header {
    pub(crate) fn new(record: csv::StringRecord) -> Result<Self, Fault> {
        let row = Row { record };
        if row.record.len() > MAX_COLUMNS {
            return Err(row.fault(0, FileProblem::TooManyColumns));
        }
        Ok(Self(row))
    }

    /// All columns, each with its name.
    pub(crate) fn names(&self) -> impl Iterator<Item = (usize, &str)> {
        self.0.record.iter().enumerate()
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

    /// A row as long as the header.
    pub(crate) fn row(&self, record: csv::Result<csv::StringRecord>) -> Result<Row, Fault> {
        self.row_unless(record, |_| false)
    }

    /// The same, but for rows that may be shorter: what they lack is empty.
    pub(crate) fn row_unless(
        &self,
        record: csv::Result<csv::StringRecord>,
        may_be_shorter: impl Fn(&Row) -> bool,
    ) -> Result<Row, Fault> {
        let record = record.map_err(|_| Fault::of_file(FileProblem::NotUtf8))?;
        let row = Row { record };
        let is_shorter = row.record.len() < self.0.record.len();
        if row.record.len() == self.0.record.len() || is_shorter && may_be_shorter(&row) {
            return Ok(row);
        }
        let problem = FileProblem::RowLength { fields: row.record.len(), header: self.0.record.len() };
        Err(row.fault(row.record.len().saturating_sub(1), problem))
    }

    fn no_column(&self, name: &str) -> Fault {
        self.0.fault(0, FileProblem::NoColumn { column: Name::beginning(name) })
    }
}

/// One row; the column of its faults is the number of the field.
pub(crate) struct Row {
    record: csv::StringRecord,
}

impl Row {
    pub(crate) fn field(&self, column: usize) -> &str {
        self.record.get(column).unwrap_or_default()
    }

    pub(crate) fn name(&self, column: usize) -> Result<Name, Fault> {
        Name::new(self.field(column)).map_err(|problem| self.fault(column, problem))
    }

    pub(crate) fn number(&self, column: usize, shift: i32) -> Result<f64, Fault> {
        let text = self.field(column);
        decimal::read(text, shift).map_err(|problem| {
            self.fault(column, FileProblem::Number { text: Name::beginning(text), problem })
        })
    }

    pub(crate) fn fault(&self, column: usize, problem: impl Into<FileProblem>) -> Fault {
        let line = self.record.position().map_or(1, csv::Position::line);
        Fault::at(usize::try_from(line).unwrap_or(usize::MAX), column + 1, problem)
    }
}
