//! ReBench: the data file that it appends to.
//!
//! Lines that begin with `#` are metadata; the header names the columns; a row is one value of one criterion. An invocation
//! is one process, so it is a run, and its iterations are the values of the run. The row of the criterion `total` closes a
//! data point: values behind the last one belong to a data point that was never finished and are left out.

use crate::{
    Collection, Fault, FileProblem, ImportCode, ImportWarning, MachineFacts, Measurand, Name, SeriesName,
    SeriesUnit, WALL, json::parse, table::Header, table::Row, table::between_tabs, text::lines,
};
use std::collections::{BTreeMap, BTreeSet};

/// The criterion that closes a data point.
const TOTAL: &str = "total";

/// What a row always has; the columns behind them describe what was run.
const LEADING: [&str; 6] = ["invocation", "iteration", "value", "unit", "criterion", "benchmark"];

/// The columns of files before ReBench 1.2, which do not name them.
const UNNAMED: &str = "invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\texecutor\tsuite\textraArgs\tcores\tinputSize\tvarValue";

/// ReBench's versions under comparison.
const EXECUTOR: &str = "executor";

/// The number of a run in the file: it differs between files and says nothing.
const RUN_ID: &str = "runId";

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
    let mut reader = Reader::default();
    let mut header = Header::new(between_tabs(1, UNNAMED))?;
    for (line, content) in lines(text) {
        if let Some(comment) = content.strip_prefix('#') {
            reader.comment(comment.trim_start(), line)?;
        } else if content.starts_with("invocation\t") {
            header = Header::new(between_tabs(line, content))?;
        } else if !content.trim().is_empty() {
            let row = header.row(Ok(between_tabs(line, content)))?;
            reader.read_row(&row, &header, line)?;
        }
    }
    for (described, point) in std::mem::take(&mut reader.open) {
        reader.leave_out(described.benchmark, &point).map_err(Fault::of_file)?;
    }
    Ok(reader.collection)
}

/// Whether a line is one that a data file has above its rows.
pub(crate) fn begins_data(line: &str) -> bool {
    line.starts_with("# Execution Start: ") || line.starts_with("invocation\titeration\t")
}

#[derive(Default)]
struct Reader {
    collection: Collection,
    /// The values of data points that are not closed, by the run's description.
    open: BTreeMap<SeriesName, Point>,
    /// The data points that are closed.
    closed: BTreeMap<SeriesName, BTreeSet<(u64, u64)>>,
}

/// The values of one data point so far.
struct Point {
    run: u64,
    iteration: u64,
    values: Vec<(Measurand, f64)>,
}

impl Reader {
    /// The machine stands in a comment of JSON; other comments describe the experiment.
    fn comment(&mut self, comment: &str, line: usize) -> Result<(), Fault> {
        let Some(text) = comment.strip_prefix("Environment:") else { return Ok(()) };
        let mut machine = MachineFacts::default();
        machine.complete(&parse(text.trim(), line)?, ["hostName", "osType", "", "cpu", ""]);
        let before = std::mem::replace(&mut self.collection.machine, machine);
        if before.host_name.is_some() && before.host_name != self.collection.machine.host_name {
            self.collection.warn(ImportCode::SeveralHosts).map_err(|problem| Fault::at(line, 1, problem))?;
        }
        Ok(())
    }

    fn read_row(&mut self, row: &Row, header: &Header, line: usize) -> Result<(), Fault> {
        let [invocation, iteration, value, unit, criterion, _] = LEADING;
        let run = count(row, header.column(invocation)?)?;
        let iteration = count(row, header.column(iteration)?)?;
        let unit = SeriesUnit::of_word(&row.name(header.column(unit)?)?);
        let value = row.number(header.column(value)?, unit.1)?;
        let criterion = row.name(header.column(criterion)?)?;
        let closes = criterion.as_str() == TOTAL;
        let described = describe(row, header)?;
        let metric = if closes { Name::of(WALL) } else { criterion };
        let values = vec![(described.with_metric(metric).in_unit(unit), value)];
        let placed = self.place(described, Point { run, iteration, values }, closes);
        placed.map_err(|problem| Fault::at(line, 1, problem))
    }

    /// Adds a value to its data point, and the data point to the series if it is closed.
    fn place(&mut self, described: SeriesName, mut point: Point, closes: bool) -> Result<(), FileProblem> {
        let at = (point.run, point.iteration);
        if let Some(open) = self.open.remove(&described) {
            if (open.run, open.iteration) == at {
                let value = std::mem::replace(&mut point.values, open.values);
                point.values.extend(value);
            } else {
                self.leave_out(described.benchmark.clone(), &open)?;
            }
        }
        if !closes {
            self.open.insert(described, point);
            return Ok(());
        }
        if !self.closed.entry(described.clone()).or_default().insert(at) {
            let Point { run, iteration, .. } = point;
            return Err(FileProblem::RepeatedDataPoint { run, iteration, series: Name::shown(&described) });
        }
        for (series, value) in &point.values {
            self.collection.push(series, point.run, *value)?;
        }
        Ok(())
    }

    fn leave_out(&mut self, benchmark: Name, point: &Point) -> Result<(), FileProblem> {
        let count = point.values.len() as u64;
        self.collection.warn(ImportWarning { code: ImportCode::Unfinished, subject: Some(benchmark), count })
    }
}

fn count(row: &Row, column: usize) -> Result<u64, Fault> {
    let count = row.field(column).parse();
    count.map_err(|_| row.fault(column, FileProblem::Expected { expected: "a number counted from 1" }))
}

/// What was run: the benchmark, the executor as its version, and every other column that says something.
fn describe(row: &Row, header: &Header) -> Result<SeriesName, Fault> {
    let mut name = SeriesName::wall(row.name(header.column(LEADING[5])?)?);
    for (at, column) in header.names() {
        if LEADING.contains(&column) || column == RUN_ID || row.field(at).is_empty() {
            continue;
        }
        let value = row.name(at)?;
        if column == EXECUTOR {
            name.version = Some(value);
        } else {
            let key = Name::new(column).map_err(|problem| row.fault(at, problem))?;
            name.labels.insert(key, value);
        }
    }
    Ok(name)
}
