//! `speedup baseline`: the samples that are kept by name.

use std::path::{Path, PathBuf};

use anyhow::Error;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use speedup_formats::{
    BLOCK, GO_COMMANDS, Hyperfine2Header, Imported, Series, WriteHyperfineError, write_go, write_hyperfine_1,
    write_hyperfine_2,
};

use crate::command::{print, print_json};
use crate::{
    arguments::Form, arguments::FormArgument, console::Console, console::render::table::of_sheet, exit::Exit,
    exit::failure::Failure, results::draft, samples::compare::source::Reading,
    samples::compare::source::Source, samples::named::HYPERFINE, samples::named::NamedSamples,
    samples::named::SetName, samples::named::remarks,
};
use speedup_report::facts::{Sheet, SheetCell, number, words};

/// The version of the JSON that is printed.
const SCHEMA_VERSION: u32 = 1;

/// Lists, shows, exports and removes saved samples
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    List(ListArguments),
    Show(ShowArguments),
    Export(ExportArguments),
    Remove(RemoveArguments),
}

/// Lists the names of saved samples
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup baseline list")]
pub(crate) struct ListArguments {
    #[command(flatten)]
    output: FormArgument,
}

/// Shows the samples saved under a name
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup baseline show main")]
pub(crate) struct ShowArguments {
    /// The name
    #[arg(value_name = "NAME")]
    name: SetName,
    #[command(flatten)]
    output: FormArgument,
}

/// Writes saved samples in the format of another tool
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup baseline export main --format go | benchstat -\n  \
    speedup baseline export main --format hyperfine -o main.json")]
pub(crate) struct ExportArguments {
    /// The name
    #[arg(value_name = "NAME")]
    name: SetName,
    /// Write the samples in this form
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    format: ExportFormat,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// Removes saved samples
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  speedup baseline remove main")]
pub(crate) struct RemoveArguments {
    /// The name
    #[arg(value_name = "NAME")]
    name: SetName,
}

/// A format that samples are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object per value, as saved
    #[default]
    Jsonl,
    /// The same as comma-separated values with a header line
    Csv,
    /// Go benchmark text, for benchstat
    Go,
    /// hyperfine's JSON
    Hyperfine,
    /// The JSON of hyperfine before version 2
    Hyperfine1,
}

#[derive(Serialize)]
struct BaselineList {
    schema_version: u32,
    names: Vec<SetName>,
}

#[derive(Serialize)]
struct SavedSamples {
    schema_version: u32,
    name: SetName,
    samples: Vec<ShownSample>,
}

#[derive(Serialize)]
struct ShownSample {
    benchmark: String,
    version: Option<String>,
    metric: String,
    unit: String,
    runs: usize,
    values: usize,
    mean: f64,
}

pub(crate) fn execute(verb: &Verb, console: &Console) -> Result<Exit, Failure> {
    let kept = NamedSamples::open()?;
    match verb {
        Verb::List(arguments) => list(&kept, arguments, console)?,
        Verb::Show(arguments) => show(&kept, arguments, console)?,
        Verb::Export(ExportArguments { name, format, output }) => export(name, *format, output, console)?,
        Verb::Remove(RemoveArguments { name }) => kept.remove(name)?,
    }
    Ok(Exit::Done)
}

fn list(kept: &NamedSamples, arguments: &ListArguments, console: &Console) -> Result<(), Failure> {
    let names = kept.list()?;
    let rows = names.iter().map(|name| vec![SheetCell::text(name.to_string())]).collect();
    let sheet = Sheet { headings: vec![words("name", "name")], rows };
    match arguments.output.output {
        Form::Table => print(console, &of_sheet(&sheet, console.out)),
        Form::Csv => print(console, &sheet.csv()),
        Form::Json => print_json(console, &BaselineList { schema_version: SCHEMA_VERSION, names }),
    }
}

fn read(kept: &NamedSamples, name: &SetName, console: &Console) -> Result<Source, Failure> {
    kept.require(name)?;
    let source = Source::read(Path::new(&name.as_file()), &Reading::default(), console)?;
    source.tell(console);
    Ok(source)
}

fn show(kept: &NamedSamples, arguments: &ShowArguments, console: &Console) -> Result<(), Failure> {
    let source = read(kept, &arguments.name, console)?;
    let samples: Vec<ShownSample> = source.imported.series.iter().map(ShownSample::from).collect();
    match arguments.output.output {
        Form::Table => print(console, &of_sheet(&sheet(&samples), console.out)),
        Form::Csv => print(console, &sheet(&samples).csv()),
        Form::Json => {
            let name = arguments.name.clone();
            print_json(console, &SavedSamples { schema_version: SCHEMA_VERSION, name, samples })
        }
    }
}

fn sheet(samples: &[ShownSample]) -> Sheet {
    let headings = vec![
        words("benchmark", "benchmark"),
        words("version", "version"),
        words("metric", "metric"),
        number("runs", "runs"),
        number("values", "values"),
        number("mean", "mean"),
        words("unit", "unit"),
    ];
    let row = |sample: &ShownSample| {
        vec![
            SheetCell::text(&sample.benchmark),
            sample.version.as_ref().map_or(SheetCell::Absent, SheetCell::text),
            SheetCell::text(&sample.metric),
            SheetCell::Count(sample.runs as u64),
            SheetCell::Count(sample.values as u64),
            SheetCell::Number(sample.mean),
            SheetCell::text(&sample.unit),
        ]
    };
    Sheet { headings, rows: samples.iter().map(row).collect() }
}

impl From<&Series> for ShownSample {
    fn from(series: &Series) -> Self {
        let values = series.runs.values();
        Self {
            benchmark: series.name.benchmark.to_string(),
            version: series.name.version.as_ref().map(ToString::to_string),
            metric: series.name.metric.to_string(),
            unit: series.unit.to_string(),
            runs: series.runs.count(),
            values: values.len(),
            mean: values.iter().sum::<f64>() / values.len() as f64,
        }
    }
}

/// Writes samples that are kept by a name.
pub(crate) fn export(
    name: &SetName,
    format: ExportFormat,
    output: &Path,
    console: &Console,
) -> Result<(), Failure> {
    let text = text(name, format, console)?;
    if output == Path::new("-") {
        return print(console, &text);
    }
    draft::replace(output, &text)
}

/// Samples that are kept by a name.
pub(crate) fn series(name: &SetName, console: &Console) -> Result<Vec<Series>, Failure> {
    Ok(read(&NamedSamples::open()?, name, console)?.imported.series)
}

fn text(name: &SetName, format: ExportFormat, console: &Console) -> Result<String, Failure> {
    let kept = NamedSamples::open()?;
    let refused = |error: Error, hint: &str| {
        Failure::usage(error.context("the format has no place for the samples")).hint(hint)
    };
    let refused_by_hyperfine = |error: WriteHyperfineError| {
        let hint = error.hint();
        refused(Error::new(error), hint)
    };
    let imported = read(&kept, name, console)?.imported;
    let series = &imported.series;
    match format {
        ExportFormat::Csv => Ok(values(&imported).csv()),
        ExportFormat::Jsonl => {
            let path = kept.path(name);
            let read = std::fs::read_to_string(&path);
            read.map_err(|error| {
                Failure::usage(Error::new(error).context(format!("cannot read {}", path.display())))
            })
        }
        ExportFormat::Go => {
            let text = write_go(series).map_err(|error| {
                let hint = error.hint();
                refused(Error::new(error), hint)
            })?;
            Ok(if imported.are_commands { format!("{GO_COMMANDS}\n{text}") } else { text })
        }
        ExportFormat::Hyperfine1 => write_hyperfine_1(series).map_err(refused_by_hyperfine),
        ExportFormat::Hyperfine => {
            let header = Hyperfine2Header {
                writer: concat!("speedup ", env!("CARGO_PKG_VERSION")),
                start_time: None,
                operating_system: None,
                architecture: None,
            };
            write_hyperfine_2(series, &header).map_err(refused_by_hyperfine)
        }
    }
}

/// The word of one of a few things, as JSON has it.
fn word_of(thing: Option<impl Serialize>) -> Option<String> {
    serde_json::to_value(thing?).ok()?.as_str().map(str::to_owned)
}

/// One row a value and one a remark, under the usual names of columns, by which `compare` and `import` read them back.
fn values(imported: &Imported) -> Sheet {
    let has_blocks = imported.series.iter().any(|series| !series.runs.blocks().is_empty());
    let remarks = remarks(&imported.failures, &imported.warnings);
    let mut names = vec!["benchmark", "version", "run", "metric", "unit", "value", "better", "value_of"];
    if has_blocks {
        names.push(BLOCK);
    }
    if imported.are_commands {
        names.push("tool");
    }
    let values = names.len();
    if !remarks.is_empty() {
        names.extend(["remark", "count", "runs", "message"]);
    }
    let optional = |text: Option<String>| text.map_or(SheetCell::Absent, SheetCell::text);
    let mut rows = Vec::new();
    for series in &imported.series {
        let version = series.name.version.as_ref().map(ToString::to_string);
        for (run, values) in series.runs.iter().enumerate() {
            for value in values {
                let mut row = vec![
                    SheetCell::text(series.name.benchmark.to_string()),
                    optional(version.clone()),
                    SheetCell::Count(run as u64),
                    SheetCell::text(series.name.metric.to_string()),
                    SheetCell::text(series.unit.to_string()),
                    SheetCell::Number(*value),
                    optional(word_of(series.better)),
                    optional(word_of(series.value_of)),
                ];
                if has_blocks {
                    let block = series.runs.blocks().get(run).cloned().flatten();
                    row.push(optional(block.map(|block| block.to_string())));
                }
                if imported.are_commands {
                    row.push(SheetCell::text(HYPERFINE));
                }
                row.resize(names.len(), SheetCell::Absent);
                rows.push(row);
            }
        }
    }
    for remark in remarks {
        let mut row = vec![optional(remark.benchmark), optional(remark.version)];
        row.resize(values, SheetCell::Absent);
        row.push(SheetCell::text(remark.remark));
        row.extend(
            [remark.count, remark.runs].map(|count| count.map_or(SheetCell::Absent, SheetCell::Count)),
        );
        row.push(optional(remark.message));
        rows.push(row);
    }
    let headings = names.into_iter().map(|name| words(name, name)).collect();
    Sheet { headings, rows }
}
