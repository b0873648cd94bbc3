//! What Google Benchmark prints: a table of fixed columns, each line `name time unit cpu unit iterations counters…`.

use super::{CPU_TIME, aggregates, refuse_aggregates, shift_of};
use crate::text::{column, fields, lines};
use crate::{Collection, Fault, ImportCode, MissingKind, Name, SeriesName, SeriesUnit, WALL, decimal};

/// What stands in the place of the numbers of a benchmark without a result.
const FAILED: &str = "ERROR OCCURRED: ";
const SKIPPED: &str = "SKIPPED: ";
/// The width of the first number with the space before it, by which the header tells that of the names.
const TIME_WIDTH: usize = 14;

/// Whether a line is the header of the table.
pub(crate) fn is_header(line: &str) -> bool {
    line.split_whitespace().take(4).eq(["Benchmark", "Time", "CPU", "Iterations"])
}

pub(crate) fn read(text: &str) -> Result<Collection, Fault> {
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
    // Only all names together tell which of them are aggregates.
    let names: Vec<&str> = table.iter().map(|(_, _, (name, _))| *name).collect();
    let aggregates = aggregates(&names);
    for (line, content, (name, rest)) in &table {
        if !aggregates.contains(name) {
            repetition(*line, content, rest, &mut collection)?;
        }
    }
    refuse_aggregates(&aggregates, &collection)?;
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
        are_times && decimal::are_digits(iterations)
    })?;
    words.get(times.checked_sub(1)?).copied()
}

fn repetition(line: usize, content: &str, rest: &str, collection: &mut Collection) -> Result<(), Fault> {
    let begin = content.len() - rest.len();
    let benchmark = Name::new(content[..begin].trim_end()).map_err(|problem| Fault::at(line, 1, problem))?;
    for (marker, kind) in [(FAILED, MissingKind::Failed), (SKIPPED, MissingKind::Skipped)] {
        if let Some(message) = rest.trim_start().strip_prefix(marker) {
            let message = Some(Name::beginning(message.trim_matches('\'')));
            return collection.miss(benchmark, kind, message).map_err(|problem| Fault::at(line, 1, problem));
        }
    }
    let mut fields = fields(rest);
    for metric in [WALL, CPU_TIME] {
        let (at, text) = fields.next().unwrap_or((rest.len(), ""));
        let (at_unit, unit) = fields.next().unwrap_or((rest.len(), ""));
        let shift = shift_of(unit);
        let shift = shift.map_err(|problem| Fault::at(line, column(content, begin + at_unit), problem))?;
        let series = SeriesName::new(benchmark.clone(), Name::of(metric));
        let pushed = collection.push_text(&series.in_unit((SeriesUnit::Seconds, shift)), 0, text);
        pushed.map_err(|problem| Fault::at(line, column(content, begin + at), problem))?;
    }
    Ok(())
}
