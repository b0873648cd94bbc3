//! A pilot: samples of one benchmark that were measured already, from which more is planned.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use speedup_analysis::inquiry::NamedSample;
use speedup_formats::{Columns, Format};

use crate::console::Console;
use crate::exit::failure::Failure;
use crate::samples::compare::source::{Reading, Source};
use crate::samples::compare::versions::Versions;

/// Where the pilot is.
#[derive(Debug, Args)]
pub(in crate::command) struct PilotArguments {
    /// The pilot of the baseline, and of the candidate if there is one; - is standard input, track:NAME the reference of a track
    #[arg(value_name = "PILOT")]
    files: Vec<PathBuf>,
    /// The benchmark, if the pilot has several
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// The metric, if the pilot has several [default: wall]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// The format of the input files [default: detected from their contents]
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<Format>,
    /// The column of the values in tables and JSON lines [default: value]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// The column that identifies a run: its values are grouped [default: run]
    #[arg(long, value_name = "NAME")]
    run_column: Option<String>,
}

/// The baseline's sample, and the candidate's.
#[derive(Debug)]
pub(in crate::command) struct Pilot {
    pub(in crate::command) benchmark: String,
    pub(in crate::command) baseline: NamedSample,
    pub(in crate::command) candidate: Option<NamedSample>,
}

impl PilotArguments {
    pub(in crate::command) fn is_given(&self) -> bool {
        !self.files.is_empty()
    }

    pub(in crate::command) fn read(&self, console: &Console) -> Result<Pilot, Failure> {
        let usual = Columns::default();
        let columns = Columns {
            run: self.run_column.as_deref().unwrap_or(usual.run),
            values: self.column.as_deref().map_or(usual.values, |column| vec![column]),
            ..Columns::default()
        };
        let reading = Reading { format: self.input_format, columns };
        let sources: Result<Vec<Source>, _> =
            self.files.iter().map(|path| Source::read(path, &reading, console)).collect();
        let versions = Versions::new(&sources?, self.metric.as_deref(), None)
            .map_err(|error| Failure::refused(error).context("cannot plan from the pilot"))?;
        if versions.suites.len() > 2 {
            return Err(Failure::usage(anyhow!("the pilot has {} versions", versions.suites.len()))
                .hint("give a baseline, or a baseline and a candidate"));
        }
        let mut suites = versions.suites.into_iter();
        let Some(baseline) = suites.next() else {
            return Err(Failure::usage(anyhow!("the pilot has no values")));
        };
        let names: Vec<&str> = baseline.benchmarks.iter().map(|one| one.benchmark.as_str()).collect();
        let benchmark = match (&self.benchmark, names.as_slice()) {
            (Some(asked), names) if names.contains(&asked.as_str()) => asked.clone(),
            (None, [only]) => (*only).to_owned(),
            (Some(_) | None, names) => {
                return Err(Failure::usage(anyhow!("the pilot has the benchmarks {}", names.join(", ")))
                    .hint("choose one with --benchmark"));
            }
        };
        let find = |suite: speedup_analysis::inquiry::Suite| {
            suite.benchmarks.into_iter().find(|one| one.benchmark == benchmark)
        };
        let missing = || Failure::usage(anyhow!("the candidate's pilot has no benchmark {benchmark:?}"));
        let candidate = suites.next().map(|suite| find(suite).ok_or_else(missing)).transpose()?;
        let baseline = find(baseline).ok_or_else(missing)?;
        Ok(Pilot { benchmark, baseline, candidate })
    }
}
