//! `speedup export`: the raw observations.

use std::{io, io::BufWriter, io::IsTerminal as _, io::Write, iter, path::Path, path::PathBuf};

use anyhow::{Error, anyhow};
use clap::Args;
use speedup_core::value::id::ExperimentId;
use speedup_observations::{ExportForm, PagesError, RowForm, RowsPer, RunSheet, write_parquet, write_rows};
use tokio::task::spawn_blocking;

use crate::command::statistics::baseline::{self, ExportFormat};
use crate::{
    arguments::words::Words, arguments::words::words, connection::Connection, connection::SourceArguments,
    connection::selector::Selector, console::Console, console::Reader, console::StandardOutput, exit::Exit,
    exit::failure::Failure, results::attempts::Attempts, results::attempts::Page, results::draft::Draft,
    samples::named::SetName,
};

/// Bytes gathered before they are written.
const BUFFER: usize = 256 << 10;

/// Writes the raw observations, one row per attempt
///
/// Every planned run has at least one row.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup export last -o observations.csv\n\
    \x20 speedup export last --format jsonl | jq 'select(.counts)'\n\
    \x20 speedup export last --format parquet -o observations.parquet\n\
    \x20 speedup export last --format go | benchstat -col version -\n\n\
    Exactly one row of each run has a `run_state`: measured, failed, abandoned, cancelled, or open. Rows with \
    `counts` = true are the sample; in every other row, `why_not` says why it does not count. The formats of other \
    tools hold only the sample.")]
pub(crate) struct Arguments {
    /// The experiment: its id or the first digits of it, its name, or last; or saved:NAME for imported samples
    #[arg(value_name = "ID")]
    experiment: Selector,
    #[command(flatten)]
    source: SourceArguments,
    /// Write the rows in this form
    #[arg(long, value_name = "FORM", default_value = "csv", value_parser = forms())]
    format: ExportForm,
    /// What else has a row, where several hosts served a run
    #[arg(long, value_name = "WHAT", default_value = "attempt", value_parser = row_units())]
    per: RowsPer,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// The forms of an export.
fn forms() -> Words<ExportForm> {
    words([
        ("csv", ExportForm::Csv, "Comma-separated values with a header line (RFC 4180)"),
        ("jsonl", ExportForm::Jsonl, "One JSON object per line, with the kept output of runs"),
        ("parquet", ExportForm::Parquet, "Apache Parquet: typed, compressed columns, with the kept output"),
        ("arrow", ExportForm::Arrow, "Apache Arrow (an IPC file, also called Feather), with the kept output"),
        ("arrow-stream", ExportForm::ArrowStream, "The same as an IPC stream, for pipes"),
        ("go", ExportForm::Go, "The sample as Go benchmark text, for benchstat"),
        ("hyperfine", ExportForm::Hyperfine, "The sample as hyperfine's JSON"),
        ("hyperfine1", ExportForm::Hyperfine1, "The sample as the JSON of hyperfine before version 2"),
    ])
}

/// What a row is of.
fn row_units() -> Words<RowsPer> {
    words([
        ("attempt", RowsPer::Attempt, "The attempt, as the host reported it that started the program"),
        ("host", RowsPer::Host, "That, and each other host"),
        ("rank", RowsPer::Rank, "Those, and each rank, where the plan times ranks"),
    ])
}

pub(crate) async fn execute(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    if let Some(name) = SetName::from_selector(&arguments.experiment) {
        return export_samples(&name?, &arguments, console);
    }
    let (connection, experiment) = arguments.source.find(&arguments.experiment).await?;
    let written = write_to(&connection, experiment, &arguments).await;
    connection.close().await;
    written.map(|()| Exit::Done)
}

/// Samples that were imported are values without runs on hosts, and so have fewer columns.
fn export_samples(name: &SetName, arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let format = match arguments.format {
        ExportForm::Csv => ExportFormat::Csv,
        ExportForm::Jsonl => ExportFormat::Jsonl,
        ExportForm::Go => ExportFormat::Go,
        ExportForm::Hyperfine => ExportFormat::Hyperfine,
        ExportForm::Hyperfine1 => ExportFormat::Hyperfine1,
        ExportForm::Parquet => return parquet_of_samples(name, &arguments.output, console),
        ExportForm::Arrow | ExportForm::ArrowStream => {
            return Err(Failure::usage(anyhow!("imported samples have no form in Arrow"))
                .hint("use --format parquet, which the same programs read"));
        }
    };
    baseline::export(name, format, &arguments.output, console)?;
    Ok(Exit::Done)
}

fn parquet_of_samples(name: &SetName, path: &Path, console: &Console) -> Result<Exit, Failure> {
    let series = baseline::series(name, console)?;
    let failed = |result: io::Result<()>| result.map_err(unwritten).map(|()| Exit::Done);
    if path == Path::new("-") {
        refuse_terminal()?;
        return failed(write_parquet(&series, BufWriter::with_capacity(BUFFER, StandardOutput::default())));
    }
    let (file, draft) = Draft::begin(path)?;
    draft.end(failed(write_parquet(&series, BufWriter::with_capacity(BUFFER, file))).map(|_| ()))?;
    Ok(Exit::Done)
}

fn unwritten(error: io::Error) -> Failure {
    Failure::infrastructure(Error::new(error).context("cannot write the export"))
}

/// What is no text is not for eyes.
fn refuse_terminal() -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return Err(Failure::usage(anyhow!("this form is not text for a terminal"))
            .hint("name a file with -o, or pipe it to a program"));
    }
    Ok(())
}

async fn write_to(
    connection: &Connection,
    experiment: ExperimentId,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let per = arguments.per;
    let attempts = match per {
        RowsPer::Attempt => Attempts::open(connection, experiment).await?,
        RowsPer::Host | RowsPer::Rank => Attempts::open_with_all_hosts(connection, experiment).await?,
    };
    let (path, form) = (arguments.output.as_path(), arguments.format);
    if path == Path::new("-") {
        if form.is_binary() {
            refuse_terminal()?;
        }
        let out = StandardOutput::default();
        let reader = out.reader();
        return write(attempts, form, per, BufWriter::with_capacity(BUFFER, out), reader).await;
    }
    let (file, draft) = Draft::begin(path)?;
    let written = write(attempts, form, per, BufWriter::with_capacity(BUFFER, file), Reader::default()).await;
    draft.end(written)
}

/// Where other tasks do not wait for it: it computes.
async fn write(
    attempts: Attempts,
    form: ExportForm,
    per: RowsPer,
    to: impl Write + Send + 'static,
    reader: Reader,
) -> Result<(), Failure> {
    let written = spawn_blocking(move || {
        let Attempts { status, plan, mut pages } = attempts;
        let sheet = RunSheet::new(&status, &plan).per(per);
        let form = RowForm::new(form, &sheet);
        let pages = iter::from_fn(|| pages.blocking_recv());
        let attempts = |page: Result<Page, Failure>| page.and_then(Page::read);
        write_rows(&form, pages, attempts, to, || !reader.is_gone()).map_err(|error| match error {
            PagesError::Page(failure) => failure,
            PagesError::Write(error) => unwritten(error),
        })
    });
    written
        .await
        .unwrap_or_else(|error| Err(Failure::infrastructure(error).context("cannot write the export")))
}
