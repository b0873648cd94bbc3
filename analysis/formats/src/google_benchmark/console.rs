//! What Google Benchmark prints: a table of fixed columns, each line `name time unit cpu unit iterations counters…`.

use super::{CPU_TIME, aggregates, shift_of};
use crate::imported::{ImportCode, MissingKind};
use crate::series::{SeriesName, SeriesUnit};
use crate::text::{column, fields, lines};
use crate::{collection::Collection, decimal, name::Name, problem::Fault, problem::FileProblem};

/// What stands in the place of the numbers of a benchmark without a result.
const FAILED: &str = "ERROR OCCURRED: ";
const SKIPPED: &str = "SKIPPED: ";
/// The width of the first number with the space before it, by which the header tells that of the names.
const TIME_WIDTH: usize = 14;

/// Whether a line is the header of the table.
fn is_header(line: &str) -> bool {
    line.split_whitespace().take(4).eq(["Benchmark", "Time", "CPU", "Iterations"])
}

pub(crate) fn looks_like_console(text: &str) -> bool {
    text.lines().any(is_header)
}

pub(crate) fn read_console(text: &str) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let mut width = None;
    let mut table = Vec::new();
    for (line, content) in lines(text) {
        if is_header(content) {
            width = content.find("Time").map(|at| (at + "Time".len()).saturating_sub(TIME_WIDTH));
        } else if let Some(processors) = processors_of(content) {
            collection.machine.processors = Some(Name::beginning(processors));
        } else if let Some(entry) = width.and_then(|width| entry(content, width)) {
            table.push((line, content, entry));
        } else if let Some(name) = width.and_then(|_| name_of_split_result(content)) {
            let message = Some(Name::beginning(&format!("line {line}")));
            let missed = collection.miss(Name::beginning(name), MissingKind::Unreadable, message);
            missed.map_err(|problem| Fault::at(line, 1, problem))?;
        }
    }
    let names: Vec<&str> = table.iter().map(|(_, _, (name, _))| *name).collect();
    let aggregates = aggregates(&names);
    for (line, content, (name, rest)) in &table {
        if !aggregates.contains(name) {
            repetition(Line { number: *line, content }, name, rest, &mut collection)?;
        }
    }
    if collection.has_no_values() && !aggregates.is_empty() {
        let what = "aggregates without their repetitions";
        return Err(Fault::of_file(FileProblem::SummaryOnly { what }));
    }
    collection.warn(ImportCode::Rounded).map_err(Fault::of_file)?;
    Ok(collection)
}

/// The count in `Run on (2 X 2600 MHz CPU s)`.
pub(super) fn processors_of(line: &str) -> Option<&str> {
    line.strip_prefix("Run on (")?.split_once(" X ").map(|(count, _)| count)
}

/// The name on a line of the table, and what stands behind it. Rules, blank lines and talk have none.
fn entry(line: &str, width: usize) -> Option<(&str, &str)> {
    let (name, rest) = line.split_at_checked(width)?;
    let name = name.trim_end();
    let is_separated = rest.starts_with(' ');
    (is_separated && !name.is_empty() && !name.starts_with("---")).then_some((name, rest))
}

/// The name before the times of a result whose line began with something that the program printed.
fn name_of_split_result(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let times = words.windows(5).position(|of| {
        let [time, unit, cpu, cpu_unit, iterations] = of else { return false };
        let are_times = [time, cpu].iter().all(|number| decimal::read(number, 0).is_ok())
            && [unit, cpu_unit].iter().all(|unit| !unit.is_empty() && shift_of(unit).is_ok());
        are_times && iterations.bytes().all(|byte| byte.is_ascii_digit())
    })?;
    words.get(times.checked_sub(1)?).copied()
}

/// A line of the file, for the place of what is wrong with it.
#[derive(Clone, Copy)]
struct Line<'t> {
    number: usize,
    content: &'t str,
}

impl Line<'_> {
    fn fault(&self, offset: usize, problem: impl Into<FileProblem>) -> Fault {
        Fault::at(self.number, column(self.content, offset), problem)
    }
}

fn repetition(line: Line<'_>, name: &str, rest: &str, collection: &mut Collection) -> Result<(), Fault> {
    let benchmark = Name::new(name).map_err(|problem| line.fault(0, problem))?;
    for (marker, kind) in [(FAILED, MissingKind::Failed), (SKIPPED, MissingKind::Skipped)] {
        if let Some(message) = rest.trim_start().strip_prefix(marker) {
            let message = Some(Name::beginning(message.trim_matches('\'')));
            return collection.miss(benchmark, kind, message).map_err(|problem| line.fault(0, problem));
        }
    }
    let begin = line.content.len() - rest.len();
    let mut fields = fields(rest);
    let name = SeriesName::wall(benchmark);
    for series in [name.clone(), name.with_metric(Name::of(CPU_TIME))] {
        let [(at, text), (at_unit, unit)] = [(); 2].map(|()| fields.next().unwrap_or((rest.len(), "")));
        let [at, at_unit] = [at, at_unit].map(|at| begin + at);
        let shift = shift_of(unit).map_err(|problem| line.fault(at_unit, problem))?;
        let pushed = collection.push_text(&series, &SeriesUnit::Seconds, 0, text, shift);
        pushed.map_err(|problem| line.fault(at, problem))?;
    }
    Ok(())
}
