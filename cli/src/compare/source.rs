//! Files into series.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context as _, Error, anyhow};
use speedup_formats::bounds::MAX_FILE_BYTES;
use speedup_formats::{Columns, Format, Imported, Name, Options, detect, read};

use crate::console::Console;
use crate::failure::Failure;

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

/// How to read files.
#[derive(Debug, Default)]
pub(crate) struct Reading<'a> {
    /// The format, if it is not to be found out.
    pub(crate) format: Option<Format>,
    /// The columns of tables.
    pub(crate) columns: Columns<'a>,
}

/// A file and what it holds.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its path, or that it is standard input.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) imported: Imported,
}

impl Source {
    /// The file at `path`; what its reader must know is told on standard error.
    pub(crate) fn read(path: &Path, reading: &Reading<'_>, console: &Console) -> Result<Self, Failure> {
        let is_stdin = is_stdin(path);
        let name = if is_stdin { "standard input".to_owned() } else { shown(path) };
        let tried = || format!("cannot read {name}");
        let bytes = if is_stdin { bounded(io::stdin().lock()) } else { File::open(path).and_then(bounded) };
        let bytes = bytes.with_context(tried).map_err(|error| Failure::usage(error).hint(NOT_THERE))?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Failure::usage(anyhow!("it is empty").context(tried()))
                .hint("a file of samples has one number a line, or is one that a benchmark tool wrote"));
        }
        let format = match reading.format {
            Some(format) => format,
            None => detected(&bytes, reading).map_err(|error| {
                let hint = format!("{}; force it with --format", error.hint());
                Failure::usage(Error::new(error).context(tried())).hint(hint)
            })?,
        };
        let path = path.to_string_lossy();
        let options = Options {
            path: Some(&path),
            // criterion's folders say what the benchmark is; other files that do not are compared as one.
            benchmark: if format == Format::CriterionSample { None } else { Name::new(UNNAMED).ok() },
            columns: reading.columns.clone(),
            ..Options::default()
        };
        let imported = read(&bytes, format, &options).map_err(|error| {
            let hint = error.hint();
            Failure::usage(Error::new(error).context(tried())).hint_if(hint)
        })?;
        let source = Self { name, imported };
        source.tell(console);
        Ok(source)
    }

    fn tell(&self, console: &Console) {
        for warning in &self.imported.warnings {
            console.warn(format_args!("{}: {warning}", self.name));
        }
        for failure in &self.imported.failures {
            let message = failure.message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
            console.warn(format_args!("{}: {} has no result{message}", self.name, failure.benchmark));
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
        Err(_) | Ok(Format::Plain) if reading.columns != Columns::default() => {
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
