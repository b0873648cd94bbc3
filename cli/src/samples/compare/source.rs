//! Files into series.

mod suite;

use std::{fs::File, io, io::Read, path::Path, path::PathBuf};

use anyhow::{Context as _, Error, anyhow};
use clap::Args;
use speedup_formats::bounds::MAX_FILE_BYTES;
use speedup_formats::{
    BLOCK, Columns, Format, ImportCode, Imported, MissingKind, Name, Options, UNITS, detect, read,
};

use crate::arguments::heading;
use crate::console::Console;
use crate::exit::failure::Failure;
use crate::samples::named::{NamedSamples, SetName};
use crate::tracks::{self, TrackName, Tracks};

/// The name of standard input on a command line.
const STDIN: &str = "-";
/// What the benchmark of files is called that do not name it: one word for all, since that is why they are compared.
pub(crate) const UNNAMED: &str = "sample";

/// Whether a file is standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// What to do about a file that cannot be opened.
const NOT_THERE: &str = "names of files start from the working directory, and - is standard input";

/// How files are read, on a command line.
#[derive(Debug, Args)]
pub(crate) struct ReadingArguments {
    /// The format of the input files [default: detected from their contents]
    #[arg(long, value_name = "FORMAT", help_heading = heading::FILES)]
    input_format: Option<Format>,
    /// The column of the values in tables and JSON lines [default: value]
    #[arg(long, value_name = "NAME", help_heading = heading::FILES)]
    column: Option<String>,
    /// The column of the benchmark [default: benchmark]
    #[arg(long, value_name = "NAME", help_heading = heading::FILES)]
    benchmark_column: Option<String>,
    /// The column of the version, or the label that is the version, such as a key of Go's configuration [default: version]
    #[arg(long, value_name = "NAME", help_heading = heading::FILES)]
    version_column: Option<String>,
    /// The column that identifies an observation: its values are grouped [default: build, host or block if one of them
    /// groups the runs, else run]
    #[arg(long, value_name = "NAME", help_heading = heading::FILES)]
    run_column: Option<String>,
    /// The unit of values that have none in their file, such as ms or B
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
    /// A label that distinguishes nothing, such as a key of Go's configuration; its results are runs of one benchmark
    #[arg(long, value_name = "KEY")]
    ignore: Vec<String>,
}

impl ReadingArguments {
    /// The unit of values that have none in their file.
    pub(crate) fn unit(&self) -> Option<&str> {
        self.unit.as_deref()
    }

    pub(crate) fn sources(&self, files: &[PathBuf], console: &Console) -> Result<Vec<Source>, Failure> {
        let usual = Columns::default();
        let columns = Columns {
            benchmark: self.benchmark_column.as_deref().unwrap_or(usual.benchmark),
            version: self.version_column.as_deref().unwrap_or(usual.version),
            run: self.run_column.as_deref().unwrap_or(usual.run),
            values: self.column.as_deref().map_or(usual.values, |column| vec![column]),
            units: if self.run_column.is_none() { UNITS } else { &[] },
            ..Columns::default()
        };
        let reading = Reading {
            format: self.input_format,
            columns,
            unit: self.unit.as_deref(),
            ignored_labels: self.ignore.iter().map(String::as_str).collect(),
        };
        if files.iter().filter(|path| is_stdin(path)).count() > 1 {
            return Err(Failure::usage(anyhow!("standard input is given twice"))
                .hint("it is read once: give files, or one file that holds several versions"));
        }
        files.iter().map(|path| Source::read(path, &reading, console)).collect()
    }
}

/// How to read files.
#[derive(Debug, Default)]
pub(crate) struct Reading<'a> {
    /// The format, if it is not to be found out.
    pub(crate) format: Option<Format>,
    pub(crate) columns: Columns<'a>,
    /// The unit of values that have none in their file.
    pub(crate) unit: Option<&'a str>,
    /// The labels that distinguish nothing.
    pub(crate) ignored_labels: Vec<&'a str>,
}

impl Reading<'_> {
    /// Whether columns have other names than the usual ones.
    fn names_columns(&self) -> bool {
        Columns { units: &[], ..self.columns.clone() } != Columns::default()
    }
}

#[derive(Debug)]
pub(crate) struct Source {
    /// Its path, or that it is standard input.
    pub(crate) name: String,
    pub(crate) imported: Imported,
}

impl Source {
    /// The file at `path`, or the samples that it names.
    pub(crate) fn read(path: &Path, reading: &Reading<'_>, console: &Console) -> Result<Self, Failure> {
        if let Some(set) = SetName::from_path(path) {
            return Self::saved(&set?, reading.unit);
        }
        if let Some(name) = path.to_str().and_then(tracks::name_in) {
            return Self::tracked(&name.map_err(|refusal| Failure::usage(anyhow!(refusal)))?);
        }
        if path.is_dir() {
            return suite::read_suite(path);
        }
        let is_stdin = is_stdin(path);
        let name = if is_stdin { "standard input".to_owned() } else { shown(path) };
        let tried = || format!("cannot read {name}");
        let bytes = if is_stdin { bounded(io::stdin().lock()) } else { File::open(path).and_then(bounded) };
        let bytes = bytes.with_context(tried).map_err(|error| Failure::usage(error).hint(NOT_THERE))?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Failure::usage(anyhow!("it is empty").context(tried()))
                .hint("a file of samples has one number per line, or is one that a benchmark tool wrote"));
        }
        let format = match reading.format {
            Some(format) => format,
            None => detected(&bytes, reading).map_err(|error| {
                let hint = format!("{}; force it with --input-format", error.hint());
                Failure::usage(Error::new(error).context(tried())).hint(hint)
            })?,
        };
        let path = path.to_string_lossy();
        let options = Options {
            path: Some(&path),
            // criterion's folders say what the benchmark is; other files that do not are compared as one.
            benchmark: if format == Format::CriterionSample { None } else { Name::new(UNNAMED).ok() },
            columns: reading.columns.clone(),
            unit: reading.unit,
            ignored_labels: reading.ignored_labels.clone(),
            ..Options::default()
        };
        let imported = read(&bytes, format, &options).map_err(|error| {
            let hint = error.hint();
            Failure::usage(Error::new(error).context(tried())).hint_if(hint)
        })?;
        if reading.format.is_none() {
            console.talk(format_args!("{name}: read as {format}"));
        }
        Ok(Self { name, imported })
    }

    /// The samples that are kept by a name. They are tables with the usual columns, whatever the files beside them are.
    pub(crate) fn saved(name: &SetName, unit: Option<&str>) -> Result<Self, Failure> {
        let path = NamedSamples::open()?.require(name)?;
        let tried = || format!("cannot read the samples {name}, {}", path.display());
        let bytes = File::open(&path).and_then(bounded).with_context(tried).map_err(Failure::usage)?;
        let columns = Columns { units: &[BLOCK], ..Columns::default() };
        let read = read(&bytes, Format::JsonLines, &Options { columns, unit, ..Options::default() });
        let imported = read.map_err(|error| {
            let hint = format!(
                "the file is damaged: use `speedup baseline remove {name}`, then measure or import the samples again"
            );
            Failure::usage(Error::new(error).context(tried())).hint(hint)
        })?;
        Ok(Self { name: name.as_file(), imported })
    }

    /// The runs of the reference of a track.
    fn tracked(name: &TrackName) -> Result<Self, Failure> {
        let runs = Tracks::open()?.require(name)?.reference_runs()?;
        let shown = format!("the track {name}");
        let tried = || format!("cannot read the runs of {shown}");
        if runs.is_empty() {
            return Err(Failure::usage(anyhow!("it has none yet").context(tried()))
                .hint(format!("`speedup track run {name}` measures what is due")));
        }
        let read = read(runs.as_bytes(), Format::JsonLines, &Options::default());
        let imported = read.map_err(|error| Failure::infrastructure(Error::new(error).context(tried())))?;
        Ok(Self { name: shown, imported })
    }

    /// Whether it has values of a metric.
    pub(crate) fn has_metric(&self, metric: &str) -> bool {
        self.imported.series.iter().any(|series| series.name.metric.as_str() == metric)
    }

    /// Tells on standard error how runs were grouped, by which a comparison may surprise.
    pub(crate) fn tell_grouping(&self, console: &Console) {
        for warning in &self.imported.warnings {
            let hint = match warning.code {
                ImportCode::Units => "; --run-column run takes each run as one, if nothing connects them",
                ImportCode::BlocksPair => {
                    "; --run-column run takes each run as one, if blocks have nothing in common"
                }
                ImportCode::BlocksGroup => {
                    " (put versions that share blocks into one table); --run-column run takes each run as one, if nothing \
                     connects them"
                }
                ImportCode::BlocksUnused => "; versions that share blocks are in one table",
                _ => continue,
            };
            console.warn(format_args!("{}: {warning}{hint}", self.name));
        }
    }

    /// Tells on standard error all that a reader of its results has to know, where no answer does.
    pub(crate) fn tell(&self, console: &Console) {
        self.tell_grouping(console);
        for warning in self.imported.warnings.iter().filter(|warning| !warning.code.is_of_grouping()) {
            console.warn(format_args!("{}: {warning}", self.name));
        }
        for failure in &self.imported.failures {
            let message = failure.message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
            let what = match failure.kind {
                MissingKind::Failed => "failed".to_owned(),
                MissingKind::Skipped => "was skipped".to_owned(),
                MissingKind::Unreadable => "has no result that can be read".to_owned(),
                MissingKind::FailedRuns { failed, runs } => {
                    format!("failed in {failed} of {runs} runs, which are left out")
                }
            };
            console.warn(format_args!("{}: {} {what}{message}", self.name, failure.benchmark));
        }
    }
}

/// What others called a file must not move the cursor.
fn shown(path: &Path) -> String {
    path.display().to_string().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Columns that are named are those of a table, whatever else the file looks like.
fn detected(bytes: &[u8], reading: &Reading<'_>) -> Result<Format, speedup_formats::DetectError> {
    match detect(bytes) {
        Err(_) | Ok(Format::Plain) if reading.names_columns() => {
            let is_object = bytes.trim_ascii_start().starts_with(b"{");
            Ok(if is_object { Format::JsonLines } else { Format::Csv })
        }
        found => found,
    }
}

/// At most as many bytes as a file may have, and one that shows that there are more.
fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
