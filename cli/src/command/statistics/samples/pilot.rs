//! A pilot: samples of one benchmark that were measured already, from which more is planned.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use speedup_analysis::inquiry::{NamedSample, Suite};
use speedup_analysis::study::DesignKind;
use speedup_core::experiment::{Metric, metric::Unit};
use speedup_core::value::id::{ExperimentId, RunIndex};
use speedup_formats::{Columns, Format};
use speedup_statistics::ratio::TrimShare;
use std::collections::BTreeMap;

use crate::arguments::heading;
use crate::command::block_on;
use crate::connection::{Connection, SourceArguments, selector::Selector};
use crate::console::Console;
use crate::exit::failure::Failure;
use crate::plan::selection::listed;
use crate::results::attempts::{Attempts, MeasuredRun};
use crate::samples::compare::source::{Reading, Source};
use crate::samples::compare::versions::Versions;

/// Where the pilot is.
#[derive(Debug, Args)]
pub(in crate::command) struct PilotArguments {
    /// The pilot of the baseline, and of the candidate if there is one; - is standard input, track:NAME the reference of a track, and last
    /// or an id an experiment, of which the baseline and the first candidate are taken
    #[arg(value_name = "PILOT")]
    files: Vec<PathBuf>,
    /// The benchmark, if the pilot has several
    #[arg(long, value_name = "NAME", help_heading = heading::PILOT)]
    benchmark: Option<String>,
    /// The metric, if the pilot has several [default: wall]
    #[arg(long, value_name = "NAME", help_heading = heading::PILOT)]
    metric: Option<String>,
    /// The format of the input files [default: detected from their contents]
    #[arg(long, value_name = "FORMAT", help_heading = heading::FILES)]
    input_format: Option<Format>,
    /// The column of the values in tables and JSON lines [default: value]
    #[arg(long, value_name = "NAME", help_heading = heading::FILES)]
    column: Option<String>,
    /// The column that identifies a run: its values are grouped [default: run]
    #[arg(long, value_name = "NAME", help_heading = heading::FILES)]
    run_column: Option<String>,
    #[command(flatten)]
    source: SourceArguments,
}

/// The baseline's sample, and the candidate's.
#[derive(Debug)]
pub(in crate::command) struct Pilot {
    pub(in crate::command) benchmark: String,
    pub(in crate::command) baseline: NamedSample,
    pub(in crate::command) candidate: Option<NamedSample>,
    /// Whether the values are wall times in seconds.
    pub(in crate::command) is_in_seconds: bool,
    /// What trimmed means leave out: the plan's share of an experiment, else the usual one.
    pub(in crate::command) share: TrimShare,
}

/// What the pilot is taken from.
struct PilotSource {
    suites: Vec<Suite>,
    is_in_seconds: bool,
    share: TrimShare,
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
        let reading = Reading { format: self.input_format, columns, ..Reading::default() };
        let PilotSource { suites, is_in_seconds, share } = match self.experiment() {
            Some(selector) => block_on(self.measured(&selector))?,
            None => {
                let mut sources = Vec::new();
                for path in &self.files {
                    let source = Source::read(path, &reading, console)?;
                    source.tell(console);
                    sources.push(source);
                }
                let versions = Versions::new(&sources, self.metric.as_deref(), None);
                let suites = versions
                    .map_err(|error| Failure::refused(error).context("cannot plan from the pilot"))?
                    .suites;
                PilotSource { suites, is_in_seconds: false, share: TrimShare::USUAL }
            }
        };
        // Runs are planned for one comparison.
        if suites.len() > 2 {
            return Err(Failure::usage(anyhow!("the pilot has {} versions", suites.len()))
                .hint("give a baseline, or a baseline and a candidate"));
        }
        let mut suites = suites.into_iter();
        let Some(baseline) = suites.next() else {
            return Err(Failure::usage(anyhow!("the pilot has no values")));
        };
        let names: Vec<&str> = baseline.benchmarks.iter().map(|one| one.benchmark.as_str()).collect();
        let benchmark = match (&self.benchmark, names.as_slice()) {
            (Some(asked), names) if names.contains(&asked.as_str()) => asked.clone(),
            (None, [only]) => (*only).to_owned(),
            (Some(_) | None, names) => {
                return Err(Failure::usage(anyhow!("the pilot has the benchmarks {}", listed(names)))
                    .hint("choose one with --benchmark"));
            }
        };
        let find = |suite: Suite| suite.benchmarks.into_iter().find(|one| one.benchmark == benchmark);
        let missing = || Failure::usage(anyhow!("the candidate's pilot has no benchmark {benchmark:?}"));
        let candidate = suites.next().map(|suite| find(suite).ok_or_else(missing)).transpose()?;
        let baseline = find(baseline).ok_or_else(missing)?;
        Ok(Pilot { benchmark, baseline, candidate, is_in_seconds, share })
    }

    /// The experiment that is meant, where one is.
    fn experiment(&self) -> Option<Selector> {
        let [only] = self.files.as_slice() else { return None };
        match only.to_str()?.parse() {
            Ok(selector @ (Selector::Id(_) | Selector::Last)) => Some(selector),
            // The first digits of an id, as reports print it.
            Ok(Selector::Text(text)) if is_start_of_id(&text) && !only.exists() => Some(Selector::Text(text)),
            Ok(Selector::Text(_)) => None,
        }
    }

    async fn measured(&self, selector: &Selector) -> Result<PilotSource, Failure> {
        let (connection, experiment) = self.source.find(selector).await?;
        let source = source_of(&connection, experiment, self.metric.as_deref()).await;
        connection.close().await;
        source
    }
}

fn is_start_of_id(text: &str) -> bool {
    text.len() >= FEWEST_DIGITS && text.chars().all(|digit| digit.is_ascii_hexdigit() || digit == '-')
}

/// Fewer digits are rather the name of a file.
const FEWEST_DIGITS: usize = 8;
/// Nanoseconds of a second, in which times are planned.
const NANOSECONDS: f64 = 1e9;

/// The measured runs of the baseline and of the first candidate, in run order; of blocked versions the means of their visits.
async fn source_of(
    connection: &Connection,
    experiment: ExperimentId,
    metric: Option<&str>,
) -> Result<PilotSource, Failure> {
    let mut attempts = Attempts::open(connection, experiment).await?;
    let measured = attempts.measured().await?;
    let plan = &attempts.plan;
    let is_paired = match DesignKind::of(plan) {
        None => false,
        Some(DesignKind::Pairs) => true,
        Some(DesignKind::Levels | DesignKind::Classes | DesignKind::Builds) => {
            return Err(Failure::usage(anyhow!(
                "the experiment compares means of hosts, boots or builds, or runs within classes of hosts"
            ))
            .hint("plan from an experiment with independent runs or blocks"));
        }
    };
    let asked = metric.unwrap_or(Metric::Wall.name());
    let built_in = Metric::ALL.into_iter().find(|metric| metric.name() == asked);
    let mut suites: Vec<Suite> = Vec::new();
    for (version, named) in plan.experiment.versions.iter().enumerate().take(2) {
        let mut suite = Suite::new(named.name.clone(), Vec::new());
        for (benchmark, named) in plan.experiment.benchmarks.iter().enumerate() {
            let mut units: BTreeMap<RunIndex, Vec<f64>> = BTreeMap::new();
            // The visits of a blocked version to one host are one observation, which is their mean.
            for (run, measured) in measured.get(&(benchmark as u32, version as u32)).into_iter().flatten() {
                let values = values(measured, asked, built_in);
                if !values.is_empty() {
                    let unit = if is_paired { plan.place(*run).group } else { *run };
                    units.entry(unit).or_default().extend(values);
                }
            }
            if units.is_empty() {
                continue;
            }
            let blocks = match is_paired {
                true => units.keys().map(|visit| Some(visit.0.to_string())).collect(),
                false => Vec::new(),
            };
            let sample = NamedSample::new(named.name.clone(), units.into_values().collect());
            suite.benchmarks.push(NamedSample { blocks, ..sample });
        }
        if !suite.benchmarks.is_empty() {
            suites.push(suite);
        } else if version == 0 {
            return Err(Failure::usage(anyhow!(
                "the experiment has no measured run of its baseline with the metric {asked}"
            )));
        }
    }
    let share = plan.experiment.analysis.trim.and_then(|share| TrimShare::new(share).ok());
    let is_in_seconds = built_in == Some(Metric::Wall);
    Ok(PilotSource { suites, is_in_seconds, share: share.unwrap_or(TrimShare::USUAL) })
}

/// The values of a run: times in seconds, and of an own metric one an iteration.
fn values(run: &MeasuredRun, asked: &str, built_in: Option<Metric>) -> Vec<f64> {
    let Some(metric) = built_in else { return run.series.get(asked).cloned().unwrap_or_default() };
    let scale = if metric.unit() == Unit::Nanoseconds { NANOSECONDS } else { 1.0 };
    run.metrics.get(&metric).map(|value| *value as f64 / scale).into_iter().collect()
}
