//! Tables of values: CSV with a header, and JSON lines with the same fields.
//!
//! One row is one value. Columns for benchmark, version, run, metric and unit are used where they exist; rows without a run
//! are runs of their own. Several value columns are several metrics, named as the columns.

use crate::{
    bounds::MAX_COLUMNS, collection::Collection, decimal, imported::ImportCode, imported::ImportWarning,
    json::Json, json::Misfit, json::parse, name::Name, options::BLOCK, options::Columns, options::Options,
    options::VALUE, problem::Fault, problem::FileProblem, saved::take_nature, saved::take_remark,
    series::SeriesName, series::SeriesUnit, series::WALL, text::lines,
};
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
    fn series(
        self,
        options: &Options<'_>,
        column: &str,
    ) -> Result<(SeriesName, SeriesUnit, i32), FileProblem> {
        let (unit, shift) = options.unit_of(self.unit.as_ref());
        let of_column = if column == VALUE { Name::of(WALL) } else { Name::new(column)? };
        let name = SeriesName {
            benchmark: self.benchmark.unwrap_or_else(|| options.unnamed_benchmark()),
            version: self.version,
            labels: BTreeMap::new(),
            metric: self.metric.unwrap_or(of_column),
        };
        Ok((name, unit, shift))
    }
}

/// Which column says what runs have in common: the words of each column in each cell (benchmark, version and metric).
struct Units<'a> {
    /// The columns, coarsest first.
    columns: Vec<&'a str>,
    cells: BTreeMap<[Option<String>; 3], CellUnits>,
}

#[derive(Default)]
struct CellUnits {
    rows: usize,
    words: Vec<BTreeSet<String>>,
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
    fn new(columns: Vec<&'a str>) -> Self {
        Self { columns, cells: BTreeMap::new() }
    }

    /// One more row of a cell, with its words in the columns, if it has any there.
    fn see<'w>(&mut self, cell: [Option<String>; 3], words: impl ExactSizeIterator<Item = Option<&'w str>>) {
        let cell = self.cells.entry(cell).or_default();
        cell.rows += 1;
        cell.words.resize(words.len(), BTreeSet::new());
        for (seen, word) in cell.words.iter_mut().zip(words) {
            if let Some(word) = word.filter(|word| !seen.contains(*word)) {
                seen.insert(word.to_owned());
            }
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
        let mut seen: BTreeMap<_, BTreeSet<&String>> = BTreeMap::new();
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

/// What connects the runs of a comma-separated table.
fn connected_in_table<'a>(text: &str, columns: &Columns<'a>) -> Result<Connected<'a>, Fault> {
    let mut table = rows(text)?;
    let header = Header::of(&mut table)?;
    let places = |names: &[&str]| -> Result<Vec<Option<usize>>, Fault> {
        names.iter().map(|name| header.optional(name)).collect()
    };
    let cell = places(&[columns.benchmark, columns.version, columns.metric])?;
    let units = places(columns.units)?.into_iter().zip(columns.units);
    let units: Vec<(usize, &str)> = units.filter_map(|(place, name)| Some((place?, *name))).collect();
    if units.is_empty() {
        return Ok(Connected::default());
    }
    let mut seen = Units::new(units.iter().map(|(_, name)| *name).collect());
    for row in table {
        let row = header.row(row)?;
        let word = |place: usize| Some(row.field(place)).filter(|word| !word.is_empty());
        let cell = std::array::from_fn(|at| cell[at].and_then(word).map(str::to_owned));
        seen.see(cell, units.iter().map(|(place, _)| word(*place)));
    }
    Ok(seen.connected())
}

pub(crate) fn read_csv(text: &str, options: &Options<'_>) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let columns = &options.columns;
    let connected = connected_in_table(text, columns)?;
    connected.tell(&mut collection)?;
    let mut table = rows(text)?;
    let header = Header::of(&mut table)?;
    let unit_of_runs = connected.unit.map(|unit| header.column(unit)).transpose()?;
    let values: Vec<usize> =
        columns.values.iter().map(|name| header.column(name)).collect::<Result<_, _>>()?;
    let [benchmark, version, run, metric, unit] =
        [columns.benchmark, columns.version, columns.run, columns.metric, columns.unit]
            .map(|name| header.optional(name));
    let (benchmark, version, run, metric, unit) = (benchmark?, version?, run?, metric?, unit?);
    let mut numbers = RunNumbers::default();
    for (index, row) in table.enumerate() {
        let row = header.row(row)?;
        // An empty field says nothing.
        let part = |column: Option<usize>| {
            let column = column.filter(|column| !row.field(*column).is_empty());
            column.map(|column| row.name(column)).transpose()
        };
        let told = |name: &str| {
            let at = header.optional(name).ok()??;
            row.name(at).ok().filter(|word| !word.as_str().is_empty())
        };
        if take_remark(told, &mut collection).map_err(|problem| row.fault(0, problem))? {
            continue;
        }
        let of_run = if unit_of_runs.is_some() { unit_of_runs } else { run };
        let run_number = numbers.number(part(of_run)?, index);
        for column in &values {
            let parts = Parts {
                benchmark: part(benchmark)?,
                version: part(version)?,
                metric: part(metric)?,
                unit: part(unit)?,
            };
            let series = parts.series(options, &header.0[*column]);
            let (name, unit, shift) = series.map_err(|problem| row.fault(*column, problem))?;
            take_nature(told, &name, &mut collection);
            let pushed = collection.push_text(&name, &unit, run_number, row.field(*column), shift);
            pushed.map_err(|problem| row.fault(*column, problem))?;
        }
    }
    connected.keep_blocks(numbers, &mut collection);
    Ok(collection)
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
    if columns.units.is_empty() {
        return Ok(Connected::default());
    }
    let mut seen = Units::new(columns.units.to_vec());
    for (line, content) in lines(text).filter(|(_, content)| !content.trim().is_empty()) {
        let object = parse(content, line)?;
        let word = |field: &str| object.get(field).and_then(|value| value.word().ok());
        let cell = [columns.benchmark, columns.version, columns.metric].map(word);
        let words: Vec<Option<Name>> = columns.units.iter().map(|field| word(field)).collect();
        seen.see(
            cell.map(|name| name.map(|name| name.as_str().to_owned())),
            words.iter().map(|name| name.as_ref().map(Name::as_str)),
        );
    }
    Ok(seen.connected())
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
        let parts = Parts {
            benchmark: object.optional_word(columns.benchmark)?,
            version: object.optional_word(columns.version)?,
            metric: object.optional_word(columns.metric)?,
            unit: object.optional_word(columns.unit)?,
        };
        let (name, unit, shift) = parts.series(options, column).map_err(|problem| object.misfit(problem))?;
        take_nature(told, &name, collection);
        collection.push_json(&name, &unit, run, value, shift)?;
    }
    Ok(())
}

/// The rows of a comma-separated table, the header first.
pub(crate) fn rows(text: &str) -> Result<Rows<'_>, Fault> {
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    Ok(reader.into_records())
}

type Rows<'a> = csv::StringRecordsIntoIter<&'a [u8]>;

/// The names of the columns.
pub(crate) struct Header(Vec<String>);

impl Header {
    /// The first row of a table.
    pub(crate) fn of(table: &mut Rows<'_>) -> Result<Self, Fault> {
        let first = table.next().ok_or_else(|| Fault::of_file(FileProblem::NoValues))?;
        let first = first.map_err(|_| Fault::of_file(FileProblem::NotUtf8))?;
        if first.len() > MAX_COLUMNS {
            return Err(Fault::at(1, 1, FileProblem::TooManyColumns));
        }
        Ok(Self(first.iter().map(str::to_owned).collect()))
    }

    /// All columns, each with its name.
    pub(crate) fn names(&self) -> impl Iterator<Item = (usize, &str)> {
        self.0.iter().map(String::as_str).enumerate()
    }

    pub(crate) fn column(&self, name: &str) -> Result<usize, Fault> {
        self.optional(name)?.ok_or_else(|| no_column(name))
    }

    /// The column of this name, if there is one; two are refused.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<usize>, Fault> {
        let mut places = self.0.iter().enumerate().filter(|(_, column)| *column == name).map(|(at, _)| at);
        match (places.next(), places.next()) {
            (_, Some(_)) => Err(no_column(name)),
            (place, None) => Ok(place),
        }
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
        let is_shorter = row.record.len() < self.0.len();
        if row.record.len() == self.0.len() || is_shorter && may_be_shorter(&row) {
            return Ok(row);
        }
        let problem = FileProblem::RowLength { fields: row.record.len(), header: self.0.len() };
        Err(row.fault(row.record.len().saturating_sub(1), problem))
    }
}

fn no_column(name: &str) -> Fault {
    Fault::at(1, 1, FileProblem::NoColumn { column: Name::beginning(name) })
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
