//! `speedup import`: samples of other tools, kept by a name.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use speedup_formats::WALL;

use crate::console::Console;
use crate::console::render::counted;
use crate::exit::Exit;
use crate::exit::failure::Failure;
use crate::samples::compare::source::{ReadingArguments, Source};
use crate::samples::compare::versions::{ResultNaming, VersionSeries, blocks, metrics, placed};
use crate::samples::named::{NamedSamples, NamedSeries, RemarkLine, Samples, SetName, remarks};

/// Saves samples that other tools measured under a name
///
/// You can then compare and export them by this name.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup import hyperfine.json --as main\n\
    \x20 speedup import before.txt after.txt --as locale\n\
    \x20 go test -bench . -count 20 | speedup import - --as main\n\n\
    Then use `speedup compare new.json --baseline main`, `speedup compare saved:locale`, or `speedup baseline export \
    main --format go`. docs/compare.md lists the formats that can be read.")]
pub(crate) struct Arguments {
    /// The files; if there are several, each is a version; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The name for the samples; earlier samples of this name are replaced
    #[arg(long = "as", value_name = "NAME")]
    name: SetName,
    #[command(flatten)]
    reading: ReadingArguments,
}

pub(crate) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let sources = arguments.reading.sources(&arguments.files, console)?;
    sources.iter().for_each(|source| source.tell(console));
    let samples = match &sources[..] {
        [only] => samples_of_file(only)?,
        several => samples_of_files(several, console)?,
    };
    let kept = NamedSamples::open()?;
    let replaced = kept.has(&arguments.name);
    kept.save(&arguments.name, &samples)?;
    console.talk(format_args!(
        "{}: {}{}",
        arguments.name,
        counted(samples.series.len() as u64, "sample"),
        if replaced { ", replacing earlier ones of this name" } else { "" }
    ));
    Ok(Exit::Done)
}

/// The series as they are, so that `compare` sees in them what it sees in the file.
fn samples_of_file(source: &Source) -> Result<Samples<'_>, Failure> {
    let all = source.imported.series.iter();
    let named = all.map(|series| {
        let version = series.name.version.as_ref().map(ToString::to_string);
        NamedSeries { version, series, blocks: blocks(series) }
    });
    let series: Vec<NamedSeries<'_>> = named.collect();
    if series.is_empty() {
        return Err(Failure::usage(anyhow!("{} has no values", source.name))
            .hint("the tool measured nothing; look at its output"));
    }
    let remarks = remarks(&source.imported.failures, &source.imported.warnings);
    Ok(Samples { series, are_commands: source.imported.are_commands, remarks })
}

/// Each file is a version, with the metrics that all of them have.
fn samples_of_files<'s>(sources: &'s [Source], console: &Console) -> Result<Samples<'s>, Failure> {
    let mut series = Vec::new();
    for metric in metrics(sources) {
        if let Some(lacks) = sources.iter().find(|source| !source.has_metric(&metric)) {
            console.warn(format_args!("{metric} is left out: {} has none of it", lacks.name));
            continue;
        }
        let placed = placed(sources, &metric)
            .map_err(|error| Failure::refused(error).context("cannot import the files"))?;
        let named = |one: VersionSeries<'s>| NamedSeries {
            version: Some(one.version),
            series: one.series,
            blocks: one.blocks,
        };
        series.extend(placed.into_iter().map(named));
    }
    if series.is_empty() {
        return Err(Failure::usage(anyhow!("the files have no metric in common"))
            .hint("import each of them under its own name"));
    }
    let mut all = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        all.extend(remarks(&[], &source.imported.warnings));
        let naming = ResultNaming::new(sources, number, WALL);
        for failure in &source.imported.failures {
            for (version, benchmark) in naming.places(failure) {
                let (version, benchmark) = (Some(version), Some(benchmark));
                all.push(RemarkLine { version, benchmark, ..RemarkLine::from(failure) });
            }
        }
    }
    Ok(Samples { series, are_commands: false, remarks: all })
}
