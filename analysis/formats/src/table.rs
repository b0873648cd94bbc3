//! Tables of values: CSV with a header, and JSON lines with the same fields.
//!
//! One row is one value. Columns for benchmark, version, run, metric and unit are used where they exist; rows without a run
//! are runs of their own. Several value columns are several metrics, named as the columns. Fields are separated by commas,
//! semicolons, tabs or bars; where it is not by commas, a comma is a decimal mark.

use crate::{
    bounds::MAX_COLUMNS, collection::Collection, decimal, decimal::NumberProblem, imported::ImportCode,
    imported::ImportWarning, json::Json, json::Misfit, json::parse, name::Name, options::BLOCK,
    options::Columns, options::Options, options::VALUE, problem::Fault, problem::FileProblem,
    saved::take_nature, saved::take_remark, series::SeriesName, series::SeriesUnit, series::WALL,
    text::lines,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// One row of a table or one line's object, as the columns name its parts.
#[derive(Default)]
struct Parts {
    benchmark: Option<Name>,
    version: Option<Name>,
    metric: Option<Name>,
    unit: Option<Name>,
}

/// The runs of a file by the words for them.
#[derive(Default)]
struct RunNumbers(BTreeMap<Name, u64>);

impl RunNumbers {
    /// Equal words are equal numbers; without a word it is a number of its own, beyond those of the words.
    fn number(&mut self, run: Option<Name>, row: usize) -> u64 {
        const BEYOND_WORDS: u64 = 1 << 63;
        let next = self.0.len() as u64;
        run.map_or(BEYOND_WORDS + row as u64, |run| *self.0.entry(run).or_insert(next))
    }

    fn words(self) -> BTreeMap<u64, Name> {
        self.0.into_iter().map(|(word, number)| (number, word)).collect()
    }
}

impl Parts {
    fn new<E>(columns: &Columns<'_>, field: impl Fn(&str) -> Result<Option<Name>, E>) -> Result<Self, E> {
        Ok(Self {
            benchmark: field(columns.benchmark)?,
            version: field(columns.version)?,
            metric: field(columns.metric)?,
            unit: field(columns.unit)?,
        })
    }

    fn series(
        self,
        options: &Options<'_>,
        column: &str,
    ) -> Result<(SeriesName, SeriesUnit, i32), FileProblem> {
        let (stem, unit) = unit_in(column).unzip();
        let (unit, shift) = options.unit_of(self.unit.or(unit).as_ref());
        let is_wall = unit == SeriesUnit::Seconds && stem.is_some_and(|stem| WALL_COLUMNS.contains(&stem));
        let metric = if column == VALUE || is_wall { Name::of(WALL) } else { Name::new(column)? };
        let name = SeriesName {
            benchmark: self.benchmark.unwrap_or_else(|| options.unnamed_benchmark()),
            version: self.version,
            labels: BTreeMap::new(),
            metric: self.metric.unwrap_or(metric),
        };
        Ok((name, unit, shift))
    }
}

/// What stands before the unit in the names of columns of elapsed time.
const WALL_COLUMNS: [&str; 6] = ["", "time", "wall", "elapsed", "runtime", "duration"];

/// The unit of times or bytes that ends the name of a column, as in `seconds`, `time_ms` and `wall [ns]`, and what is before it.
pub(crate) fn unit_in(column: &str) -> Option<(&str, Name)> {
    const BETWEEN: [char; 6] = ['_', ' ', '(', ')', '[', ']'];
    let column = column.trim_end_matches(BETWEEN);
    let word = column.rsplit(BETWEEN).next()?;
    let unit = Name::new(word).ok()?;
    let is_known = matches!(SeriesUnit::of_word(&unit).0, SeriesUnit::Seconds | SeriesUnit::Bytes);
    is_known.then(|| (column[..column.len() - word.len()].trim_end_matches(BETWEEN), unit))
}

/// Which column says what runs have in common: the words of each column in each cell (benchmark, version and metric).
struct Units<'a> {
    /// The columns, coarsest first.
    columns: Vec<&'a str>,
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
}

impl<'a> Units<'a> {
    fn new(columns: &Columns<'a>) -> Self {
        Self { columns: columns.units.to_vec(), cells: BTreeMap::new() }
    }

    /// One more row of a cell, with its words in the columns, if it has any there.
    fn see(&mut self, columns: &Columns<'_>, word: impl Fn(&str) -> Option<Name>) {
        let cell = [columns.benchmark, columns.version, columns.metric].map(&word);
        let cell = self.cells.entry(cell).or_default();
        cell.rows += 1;
        cell.words.resize(self.columns.len(), BTreeSet::new());
        for (seen, column) in cell.words.iter_mut().zip(&self.columns) {
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
        Connected { unit: unit.map(|unit| self.columns[unit]), blocks }
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
        if let Some(unit) = self.unit.filter(|unit| *unit != BLOCK) {
            let warning = ImportWarning::about(ImportCode::Units, &Name::beginning(unit));
            collection.warn(warning).map_err(Fault::of_file)?;
        }
        if let Some(blocks) = self.blocks {
            collection.warn(blocks).map_err(Fault::of_file)?;
        }
        Ok(())
    }

    /// Keeps the words of the runs, where they are blocks that make pairs.
    fn keep_blocks(&self, numbers: RunNumbers, collection: &mut Collection) {
        if self.blocks == Some(ImportCode::BlocksPair) {
            collection.name_blocks(numbers.words());
        }
    }
}

/// What connects the runs of a table.
fn connected_in_table<'a>(text: &str, columns: &Columns<'a>) -> Result<Connected<'a>, Fault> {
    let mut units = Units::new(columns);
    let mut table = rows(text);
    let header = Header::of(&mut table)?;
    if columns.units.is_empty() {
        return Ok(units.connected());
    }
    for row in table {
        let row = header.row(row)?;
        units.see(columns, |name| header.word(&row, name).ok().flatten());
    }
    Ok(units.connected())
}

pub(crate) fn read_csv(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let columns = &options.columns;
    let connected = connected_in_table(text, columns)?;
    connected.tell(&mut collection)?;
    let mut table = rows(text);
    let header = Header::of(&mut table)?;
    let values = value_columns(text, &header, columns)?;
    // Between fields that commas separate, numbers have points.
    let mut mark = if separator(text) == b',' { Some('.') } else { None };
    let mut numbers = RunNumbers::default();
    for (index, row) in table.enumerate() {
        let row = header.row(row)?;
        let told = |name: &str| header.word(&row, name).ok().flatten();
        if take_remark(told, &mut collection).map_err(|problem| row.fault(0, problem))? {
            continue;
        }
        let run = numbers.number(header.word(&row, connected.unit.unwrap_or(columns.run))?, index);
        for column in &values {
            let parts = Parts::new(columns, |name| header.word(&row, name))?;
            let series = parts.series(options, header.0.field(*column));
            let (name, unit, shift) = series.map_err(|problem| row.fault(*column, problem))?;
            take_nature(told, &name, &mut collection);
            let number = with_point(row.field(*column), &mut mark);
            let pushed = collection.push_text(&name, &unit, run, &number, shift);
            pushed.map_err(|problem| row.fault(*column, problem))?;
        }
    }
    connected.keep_blocks(numbers, &mut collection);
    Ok(collection)
}

/// The columns of the values. Where nobody named one and none is called `value`, it is the only one that holds numbers.
fn value_columns(text: &str, header: &Header, columns: &Columns<'_>) -> Result<Vec<usize>, Fault> {
    if columns.values != [VALUE] || header.optional(VALUE)?.is_some() {
        return columns.values.iter().map(|name| header.column(name)).collect();
    }
    let mut candidates: Vec<(usize, &str)> =
        header.names().filter(|(_, name)| !columns.names(name)).collect();
    let mut table = rows(text);
    Header::of(&mut table)?;
    for row in table {
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

pub(crate) fn looks_like_number(field: &str) -> bool {
    decimal::read(&field.replacen(',', ".", 1), 0) != Err(NumberProblem::NotANumber)
}

/// The number with a decimal point. One with another mark than those before is given a comma, which no number has: one of the
/// two separates thousands.
fn with_point<'r>(number: &'r str, mark: &mut Option<char>) -> Cow<'r, str> {
    match number.chars().find(|c| matches!(c, '.' | ',')) {
        Some(found) if *mark.get_or_insert(found) != found => number.replace(found, ",").into(),
        Some(',') => number.replace(',', ".").into(),
        Some(_) | None => number.into(),
    }
}

pub(crate) fn read_lines(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let mut numbers = RunNumbers::default();
    let connected = connected_in_lines(text, &options.columns)?;
    connected.tell(&mut collection)?;
    for (line, content) in lines(text).filter(|(_, content)| !content.trim().is_empty()) {
        let object = parse(content, line)?;
        read_line(&object, line, options, connected.unit, &mut numbers, &mut collection)
            .map_err(|misfit| object.locate(misfit, Some(line)))?;
    }
    connected.keep_blocks(numbers, &mut collection);
    Ok(collection)
}

/// What connects the runs of JSON lines.
fn connected_in_lines<'a>(text: &str, columns: &Columns<'a>) -> Result<Connected<'a>, Fault> {
    let mut units = Units::new(columns);
    if columns.units.is_empty() {
        return Ok(units.connected());
    }
    for (line, content) in lines(text).filter(|(_, content)| !content.trim().is_empty()) {
        let object = parse(content, line)?;
        units.see(columns, |field| object.fact(field));
    }
    Ok(units.connected())
}

fn read_line<'j, 'a>(
    object: &'j Json<'a>,
    line: usize,
    options: &Options<'_>,
    unit: Option<&str>,
    numbers: &mut RunNumbers,
    collection: &mut Collection,
) -> Result<(), Misfit<'j, 'a>> {
    let told = |field: &str| object.fact(field);
    if take_remark(told, collection).map_err(|problem| object.misfit(problem))? {
        return Ok(());
    }
    let columns = &options.columns;
    let run = match unit {
        Some(unit) => object.get(unit).and_then(|value| value.word().ok()),
        None => object.optional_word(columns.run)?,
    };
    let run = numbers.number(run, line);
    for column in &columns.values {
        let value = object
            .get(column)
            .ok_or_else(|| object.misfit(FileProblem::NoColumn { column: Name::beginning(column) }))?;
        let parts = Parts::new(columns, |field| object.optional_word(field))?;
        let (name, unit, shift) = parts.series(options, column).map_err(|problem| object.misfit(problem))?;
        take_nature(told, &name, collection);
        collection.push_json(&name, &unit, run, value, shift)?;
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

/// The rows of a table, the header first, but for comments above it.
pub(crate) fn rows(text: &str) -> Rows<'_> {
    let reader = csv::ReaderBuilder::new()
        .delimiter(separator(text))
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    reader.into_records()
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

type Rows<'a> = csv::StringRecordsIntoIter<&'a [u8]>;

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

    /// The first row of a table that is no comment.
    pub(crate) fn of(table: &mut Rows<'_>) -> Result<Self, Fault> {
        for record in table {
            let record = record.map_err(|_| Fault::of_file(FileProblem::NotUtf8))?;
            if !record.get(0).unwrap_or_default().starts_with(COMMENT) {
                return Self::new(record);
            }
        }
        Err(Fault::of_file(FileProblem::NoValues))
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
    fn word(&self, row: &Row, name: &str) -> Result<Option<Name>, Fault> {
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
