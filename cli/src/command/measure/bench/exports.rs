//! The files that the times are written to.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Map, Value, json};
use speedup_formats::{Series, write_hyperfine_1_with};
use speedup_statistics::{inference::ConfidenceLevel, inference::Interval, sample::Sample};

use super::table::{self, Markup};
use super::timing::{TimeUnit, Timing, mean_interval, median_interval, unit_of};
use crate::{command::print, console::Console, exit::failure::Failure};

/// Standard output, where a file could be.
const HERE: &str = "-";

/// Which files; - is standard output.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(super) struct Exports {
    /// Write the times in hyperfine's first JSON format, which most tools read, with intervals; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    export_json: Option<PathBuf>,
    /// Write one line per command: mean, standard deviation, median, user, system, min and max, in seconds
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    export_csv: Option<PathBuf>,
    /// Write hyperfine's table as Markdown: mean ± standard deviation, and the time relative to the fastest
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    export_markdown: Option<PathBuf>,
    /// Write that table as AsciiDoc
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    export_asciidoc: Option<PathBuf>,
    /// Write that table for Emacs org-mode
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    export_orgmode: Option<PathBuf>,
}

impl Exports {
    /// Sees to it that the files can be written and have a place for these series, before anything is measured for them.
    /// What they hold stays until then.
    pub(super) fn claim(&self, series: &[Series], level: ConfidenceLevel) -> Result<(), Failure> {
        let Self { export_json, export_csv, export_markdown, export_asciidoc, export_orgmode } = self;
        if export_json.is_some() {
            hyperfine(series, level)?;
        }
        let all = [export_json, export_csv, export_markdown, export_asciidoc, export_orgmode];
        all.into_iter().flatten().filter(|path| *path != Path::new(HERE)).try_for_each(|path| claim(path))
    }

    pub(super) fn write(
        &self,
        series: &[Series],
        timings: &[&Timing],
        unit: Option<TimeUnit>,
        level: ConfidenceLevel,
        console: &Console,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.export_json {
            put(path, &hyperfine(series, level)?, console)?;
        }
        if let Some(path) = &self.export_csv {
            put(path, &table::csv(timings)?, console)?;
        }
        for (path, markup) in [
            (&self.export_markdown, Markup::Markdown),
            (&self.export_asciidoc, Markup::Asciidoc),
            (&self.export_orgmode, Markup::Orgmode),
        ] {
            if let Some(path) = path {
                put(path, &markup.table(timings, unit_of(timings, unit)), console)?;
            }
        }
        Ok(())
    }
}

fn hyperfine(series: &[Series], level: ConfidenceLevel) -> Result<String, Failure> {
    write_hyperfine_1_with(series, |wall| intervals(wall, level)).map_err(|error| {
        let hint = error.hint();
        Failure::usage(error).context("cannot write the times as hyperfine does").hint(hint)
    })
}

/// What hyperfine's JSON has no place for: the intervals of the mean and the median, in seconds. Where there are too few runs for one
/// its ends are null.
fn intervals(wall: &[f64], level: ConfidenceLevel) -> Map<String, Value> {
    let sample = Sample::new(wall.to_vec()).ok();
    let ends = |of: fn(&Sample, ConfidenceLevel) -> Option<Interval>| {
        let interval = sample.as_ref().and_then(|sample| of(sample, level));
        interval.map_or([None; 2], |interval| [Some(interval.lower), Some(interval.upper)])
    };
    let (mean, median) = (ends(mean_interval), ends(median_interval));
    [("confidence", json!(level.get())), ("mean_interval", json!(mean)), ("median_interval", json!(median))]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Sees to it that a file can be written. What it holds stays.
pub(super) fn claim(path: &Path) -> Result<(), Failure> {
    let opened = std::fs::File::options().create(true).append(true).open(path);
    let tried = || format!("cannot write {}", path.display());
    opened.map(drop).with_context(tried).map_err(Failure::usage)
}

fn put(path: &Path, text: &str, console: &Console) -> Result<(), Failure> {
    if path == Path::new(HERE) {
        // It was asked for, whatever the style is.
        return print(&Console { silent: false, ..console.clone() }, text);
    }
    let tried = || format!("cannot write {}", path.display());
    std::fs::write(path, text).with_context(tried).map_err(Failure::usage)
}
