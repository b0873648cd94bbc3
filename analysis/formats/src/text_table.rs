//! Tables that programs for clusters print: a line that names the columns, and rows of words and numbers.
//!
//! One reader for all of them: a tool is a [`Layout`]. A process prints a line by which it is told from the one before, perhaps
//! its settings, and one or more tables, whose values are all of one run. A row that does not fit its header is a result that
//! cannot be read, and so is the first one behind a header that is not known.

use crate::{
    Collection, Fault, FileProblem, Format, MissingKind, Name, SeriesName, SeriesUnit, bounds::MAX_COLUMNS,
    decimal, text::lines,
};
use std::collections::BTreeMap;

/// How a tool prints its results.
pub(crate) struct Layout {
    pub(crate) format: Format,
    /// How the line begins by which a process is told from the one before.
    process: &'static str,
    /// How the first words of rows begin; where there are none, rows begin with numbers.
    rows: &'static [&'static str],
    /// The columns: `label`, `benchmark`, `ignored`, `right` with the words for results that are right, or a metric and its unit.
    columns: &'static str,
}

pub(crate) const LAYOUTS: [Layout; 4] = [
    Layout {
        format: Format::Hpl,
        process: "HPLinpack ",
        rows: &["WR", "WC"],
        columns: "T/V: label; N: label; NB: label; P: label; Q: label; Time: wall s; Gflops: rate Gflop/s",
    },
    Layout {
        format: Format::Ior,
        process: "IOR-",
        rows: &["write", "read"],
        columns: "access: benchmark; bw(MiB/s): bandwidth MiB/s; IOPS: IOPS operations/s; Latency(s): latency s; \
                  block(KiB): label; xfer(KiB): label; open(s): open s; wr/rd(s): transfer s; close(s): close s; \
                  total(s): wall s; iter: ignored",
    },
    Layout {
        format: Format::Nccl,
        process: "# nThread ",
        rows: &[],
        columns: "size: label; count: ignored; type: label; redop: label; root: label; time: wall us; \
                  cputime: cputime us; algbw: algbw GB/s; busbw: busbw GB/s; #wrong: right 0 N/A; error: ignored",
    },
    // Extremes over the processes of a job are no results of their own.
    Layout {
        format: Format::Osu,
        process: "# OSU ",
        rows: &[],
        columns: "Size: label; Latency (us): wall us; Avg Latency(us): wall us; Min Latency(us): ignored; \
                  Max Latency(us): ignored; Iterations: ignored; Bandwidth (MB/s): bandwidth MB/s; \
                  MB/s: bandwidth MB/s; Messages/s: message rate messages/s; Overall(us): wall us; \
                  Compute(us): compute us; Coll. Init(us): initialization us; MPI_Test(us): test us; \
                  MPI_Wait(us): wait us; Pure Comm.(us): communication us; Overlap(%): ignored; Validation: right Pass",
    },
];

/// What stands before the name of a benchmark where a line of its own names it; ` v` and a version may follow.
const TITLES: [&str; 2] = ["# Collective test starting: ", "# OSU "];
/// The settings of a process that are labels.
const SETTINGS: &str =
    "Datatype;Synchronization;Window creation;access;api;clients;nodes;ordering in a file;tasks";
/// How IOR announces the table that sums up the one above.
const SUMMARY: &str = "Summary of all tests";
/// How the line ends by which HPL tells that the solution above is wrong.
const WRONG: &str = "...... FAILED";
/// What stands in the place of a number that was not measured.
const ABSENT: [&str; 3] = ["-", "N/A", "NA"];

/// The columns of a table, each with its meaning.
type Header = Vec<(&'static str, &'static str)>;

impl Layout {
    /// Whether a text is of this tool: one line alone does not tell it.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let has_process = text.lines().any(|line| line.starts_with(self.process));
        has_process && text.lines().any(|line| self.header(line).is_some())
    }

    /// The columns that a line names, if it names nothing else and one of them is measured.
    fn header(&self, line: &str) -> Option<Header> {
        let mut rest = line.trim_start_matches(['#', ' ']).trim_end();
        let mut header = Header::new();
        while !rest.is_empty() && header.len() < MAX_COLUMNS {
            let mut columns = self.columns.split("; ").filter_map(|column| column.split_once(": "));
            let column = columns.find(|(name, _)| {
                let behind = rest.strip_prefix(name);
                behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(' '))
            })?;
            rest = rest[column.0.len()..].trim_start();
            header.push(column);
        }
        header.iter().any(|(_, meaning)| metric(meaning).is_some()).then_some(header)
    }

    fn begins_row(&self, line: &str) -> bool {
        let first = line.split_whitespace().next().unwrap_or_default();
        let is_number = self.rows.is_empty() && decimal::read(first, 0).is_ok();
        is_number || self.rows.iter().any(|begin| first.starts_with(begin))
    }
}

/// The metric and the unit of a column that is measured.
fn metric(meaning: &'static str) -> Option<(&'static str, &'static str)> {
    if meaning.starts_with("right ") { None } else { meaning.rsplit_once(' ') }
}

pub(crate) fn read(text: &str, format: Format) -> Result<Collection, Fault> {
    let mut collection = Collection::default();
    let Some(layout) = LAYOUTS.iter().find(|layout| layout.format == format) else { return Ok(collection) };
    let described = SeriesName::wall(Name::of(format.word()));
    let header = Some(Header::new());
    let mut process = Process { layout, run: 0, last: described.clone(), described, header };
    for (line, content) in lines(text) {
        process.read_line(content, &mut collection).map_err(|problem| Fault::at(line, 1, problem))?;
    }
    Ok(collection)
}

/// What was read so far of the output of a process.
struct Process {
    layout: &'static Layout,
    run: u64,
    /// Its benchmark, with its settings as labels.
    described: SeriesName,
    /// The last row, with its labels.
    last: SeriesName,
    /// The columns; empty before they are named, absent where rows are no results.
    header: Option<Header>,
}

impl Process {
    fn read_line(&mut self, line: &str, collection: &mut Collection) -> Result<(), FileProblem> {
        if let Some(title) = TITLES.iter().find_map(|title| line.strip_prefix(title)) {
            let (name, version) = title.rsplit_once(" v").unwrap_or((title, ""));
            self.described.benchmark = Name::new(name.trim())?;
            collection.tool_version = Some(Name::beginning(version));
        }
        if line.starts_with(self.layout.process) {
            self.run += 1;
            self.header = Some(Header::new());
            self.described.labels = BTreeMap::new();
        } else if line.starts_with(SUMMARY) {
            self.header = None;
        } else if line.ends_with(WRONG) {
            collection.miss_series(&self.last, MissingKind::Failed, Some(Name::beginning(line)))?;
        } else if self.layout.begins_row(line) {
            self.read_row(line, collection)?;
        } else if let Some(header) = self.layout.header(line) {
            self.header = Some(header);
        } else if let Some((key, value)) = line.trim_start_matches('#').split_once([':', '='])
            && let Some(setting) = SETTINGS.split(';').find(|setting| *setting == key.trim())
        {
            self.described.labels.insert(Name::of(setting), Name::new(value.trim())?);
        }
        Ok(())
    }

    fn read_row(&mut self, line: &str, collection: &mut Collection) -> Result<(), FileProblem> {
        let Some(header) = self.header.clone() else { return Ok(()) };
        let fields: Vec<&str> = line.split_whitespace().take(header.len() + 1).collect();
        let mut is_readable = fields.len() == header.len();
        let mut is_right = true;
        self.last = self.described.clone();
        for ((column, meaning), field) in header.iter().zip(&fields) {
            if *meaning == "benchmark" {
                self.last.benchmark = Name::new(*field)?;
            } else if *meaning == "label" {
                self.last.labels.insert(Name::of(column), Name::new(*field)?);
            } else if let Some(words) = meaning.strip_prefix("right ") {
                is_right &= words.split(' ').any(|word| word == *field);
            } else if metric(meaning).is_some() {
                is_readable &= ABSENT.contains(field) || decimal::read(field, 0).is_ok();
            }
        }
        if !is_readable || !is_right {
            // One report is enough of a table that cannot be read.
            self.header = Some(header).filter(|header| !header.is_empty());
            let kind = if is_readable { MissingKind::Failed } else { MissingKind::Unreadable };
            return collection.miss_series(&self.last, kind, Some(Name::beginning(line)));
        }
        for (at, (column, meaning)) in header.iter().enumerate() {
            let Some((metric, unit)) = metric(meaning) else { continue };
            if ABSENT.contains(&fields[at]) {
                continue;
            }
            let mut series = self.last.with_metric(Name::of(metric));
            // The NCCL tests measure twice, the second time with one buffer for input and output.
            if header[..at].iter().any(|(before, _)| before == column) {
                series.labels.insert(Name::of("place"), Name::of("in-place"));
            }
            let series = series.in_unit(SeriesUnit::of_word(&Name::of(unit)));
            collection.push_text(&series, self.run, fields[at])?;
        }
        Ok(())
    }
}
