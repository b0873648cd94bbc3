//! Experiments: what is compared, on what, how often and how independently. An experiment is a plan
//! file with every default filled in. [`Experiment::check`] validates it, wherever it comes from.

pub mod build;
mod check;
pub mod commit;
pub mod endpoint;
pub mod environment;
pub mod files;
pub mod gang;
pub mod metric;
pub mod prior;
mod problem;
pub mod software;
pub mod template;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    experiment::build::Build, experiment::commit::Commit, experiment::environment::Environment,
    experiment::files::StagedFile, experiment::gang::Gang, experiment::prior::LinePrior,
    experiment::software::Software, repetition::MAX_LINE, value::id::BenchmarkIndex, value::id::VersionIndex,
    value::seed::Seed, value::seed::below, value::time::Span,
};

pub use crate::experiment::endpoint::{Endpoint, EndpointSubject, Family, MetricVerdict};
pub use crate::experiment::metric::{Metric, OwnMetric};
pub use crate::independence::{Independence, Policy, Rest, Sameness, Scope};
pub use crate::repetition::{Bisection, Levels, Order, Repetition, Rule, Spending};
pub use problem::{ExperimentError, Fault, KeyPath, MAX_PROBLEMS, Problem};

/// Most runs of one experiment: its order has to fit one record of the journal.
pub const MAX_RUNS: u64 = 5_000_000;
/// Most benchmarks of one experiment.
pub const MAX_BENCHMARKS: usize = 100_000;
/// Most versions of one experiment that compares them; of a bisection, [`MAX_LINE`].
pub const MAX_VERSIONS: usize = 64;
/// Most attempts a run may be given.
pub(crate) const MAX_ATTEMPTS: u32 = 100;
/// Highest priority of an experiment; the lowest is as far below 0.
pub(crate) const MAX_PRIORITY: i32 = 100;
/// Most bytes of one stream of output a plan may have kept with an observation.
pub const MAX_OUTPUT_KEPT: u64 = 1 << 20;
/// Most bytes of one stream of output a plan may allow: it is held in memory until it is hashed.
pub(crate) const MAX_OUTPUT_LIMIT: u64 = 16 << 30;
/// Longest timeout of a run: a lease has to end some day.
pub(crate) const MAX_TIMEOUT: Span = Span::from_secs(30 * 24 * 3600);
/// Shortest timeout of a run: below it even an empty program may fail.
pub(crate) const MIN_TIMEOUT: Span = Span::from_millis(1);
/// Most warm-up executions before a run.
pub(crate) const MAX_WARMUP: u32 = 1_000;
/// Longest name of an experiment, a version or a benchmark: it becomes part of file names, which have 255 bytes.
pub const MAX_NAME_BYTES: usize = 128;
/// Longest description: it travels with every report.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 16 << 10;
/// Most tags: they stand on one line of a list.
pub const MAX_TAGS: usize = 16;
/// Longest tag, for the same reason.
pub(crate) const MAX_TAG_BYTES: usize = 64;
/// Longest command with its placeholders filled in: Linux takes no single argument of 128 KiB, and a shell line is one.
pub(crate) const MAX_ARGV_BYTES: usize = (128 << 10) - 1;
/// Largest environment that a version or a benchmark adds, for the same reason.
pub(crate) const MAX_ENV_BYTES: usize = (128 << 10) - 1;
/// Longest path of a directory, with its placeholders filled in: Linux takes no longer one.
pub const MAX_DIRECTORY_BYTES: usize = 4_096;
/// Longest value of a placeholder: it may be filled in many times.
pub const MAX_VAR_BYTES: usize = 16 << 10;
/// Assumed length of a host's input directory when the length of a command is checked. Where it is longer, a command
/// near the limit fails to execute, and says so.
pub(crate) const ASSUMED_INPUT_BYTES: usize = 256;

/// Experiment with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub name: String,
    /// Free text; may be empty.
    pub description: String,
    /// Words or `key=value` pairs to find it by; ascending, each once.
    pub tags: Vec<String>,
    /// Options by which its benchmarks were selected from those of the plan file; empty if all were taken.
    pub selection: String,
    /// Source of all its randomness.
    pub seed: Seed,
    /// Experiments of a higher priority get hosts first.
    pub priority: i32,
    /// Versions under comparison; the baseline is the first, a control the last.
    pub versions: Vec<Version>,
    /// Whether the last version is a control: the baseline again, under a name that does not show it.
    pub baseline_again: bool,
    /// Benchmarks of the population, in the plan's order.
    pub benchmarks: Vec<Benchmark>,
    /// Staged files, in the plan's order.
    pub files: Vec<StagedFile>,
    /// Number of benchmarks drawn at random from the population; `None` takes all.
    pub drawn: Option<u32>,
    /// Runs of each cell; with nested levels, on each boot of each host. [`Experiment::repetition`] combines both.
    pub runs: u32,
    pub levels: Levels,
    pub order: Order,
    /// Rule that determines the number of runs.
    pub rule: Rule,
    pub metrics: Vec<Metric>,
    /// Metrics read from the output, in the plan's order.
    pub own_metrics: Vec<OwnMetric>,
    pub independence: Independence,
    pub analysis: AnalysisChoice,
    /// Executed on each host before its first run.
    pub setup: Option<Setup>,
    /// Executed before each execution, untimed.
    pub prepare: Option<Setup>,
    /// Executed after each execution, untimed.
    pub cleanup: Option<Setup>,
    /// Timed after each run, to watch the host over time.
    pub canary: Option<Setup>,
    pub environment: Environment,
    pub limits: Limits,
    pub output: OutputChoice,
}

/// One code version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub name: String,
    /// Environment variables of its runs.
    pub env: BTreeMap<String, String>,
    /// Values of placeholders `{name}` in commands.
    pub vars: BTreeMap<String, String>,
    /// Executed instead of the benchmark's command.
    pub command: Option<CommandLine>,
    /// How it is built, if the experiment builds it.
    pub build: Option<Build>,
    /// Software of its runs and builds, if it differs from the experiment's.
    #[serde(default)]
    pub software: Option<Software>,
    /// Commit of its source, if that came from Git.
    #[serde(default)]
    pub commit: Option<Commit>,
}

/// One program with one fixed input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    pub name: String,
    /// Command with its placeholders.
    pub command: CommandLine,
    /// Environment variables, which the version's override.
    pub env: BTreeMap<String, String>,
    pub expect: Expectation,
    /// A run that takes longer has failed.
    pub timeout: Span,
    /// Untimed executions before the timed one, on the same host.
    pub warmup: u32,
    /// Working directory with its placeholders; `None` is a new, empty directory for each run.
    pub directory: Option<String>,
    pub weight: Option<f64>,
    /// How its runs are spread over hosts; `None` executes each on one host.
    #[serde(default)]
    pub gang: Option<Gang>,
}

/// Command as the plan gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandLine {
    /// Argument vector, executed exactly.
    Exact(Vec<String>),
    /// Line for `/bin/sh -c`, because the plan asks for a shell.
    Shell(String),
}

impl CommandLine {
    /// Words of the command, with their placeholders.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let words = match self {
            Self::Exact(argv) => argv.as_slice(),
            Self::Shell(line) => std::slice::from_ref(line),
        };
        words.iter().map(String::as_str)
    }
}

/// Result that a correct run has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    pub exit: u8,
    /// Other exit codes that are accepted.
    pub accept: AcceptedExits,
    /// BLAKE3 hash of the whole standard output, if the plan expects one.
    pub stdout_blake3: Option<[u8; 32]>,
}

/// Exit codes that are accepted beside the expected one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AcceptedExits {
    #[default]
    None,
    These(BTreeSet<u8>),
    All,
}

impl Expectation {
    /// Whether an exit code is accepted.
    pub fn accepts(&self, code: u8) -> bool {
        code == self.exit
            || match &self.accept {
                AcceptedExits::None => false,
                AcceptedExits::These(codes) => codes.contains(&code),
                AcceptedExits::All => true,
            }
    }
}

/// Declared comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnalysisChoice {
    /// Confidence level, the papers' 1 − α.
    pub confidence: f64,
    /// Centre whose ratio the verdicts are on. Reading a plan fills it in; for older experiments see [`Experiment::center`].
    pub center: Option<Center>,
    /// Share of the runs that a trimmed mean leaves out at each end; `None` is 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<f64>,
    /// Versions whose ratio is shown to be within 1/(1 + margin) and 1 + margin count as the same; without a margin none do.
    pub margin: Option<f64>,
    /// Quantiles of the wall times that get verdicts of their own, in (0, 1).
    pub quantiles: Vec<f64>,
    pub verdicts: Vec<MetricVerdict>,
    /// Weights of the benchmarks in the suite.
    pub weights: Weights,
    /// Precision r for the required number of benchmarks.
    pub precision: f64,
    /// Prior of a bisection; without it all versions are equally likely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<LinePrior>,
}

/// Largest share of the runs that a trimmed mean leaves out at each end: with it half of the runs are left.
pub(crate) const MAX_TRIM: f64 = 0.25;

crate::words! {
    /// What of the times of a version is compared: declared before there are any, and never chosen by them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Center {
        /// Half of the runs take less: the time of a usual run. Its interval takes more runs, and is too short where about half of the runs
        /// of a version lie close together.
        Median = "median",
        /// What all runs take together. Its interval needs times without rare large ones, or many runs.
        Mean = "mean",
        /// What the runs take together without the tenth at either end, on the scale of ratios: nearly as sharp as the mean, and rare
        /// stalls do not move it.
        #[default]
        Trimmed = "trimmed mean",
    }
    fn name;
}

/// How benchmarks weigh in the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// All alike.
    Equal,
    /// By the weights that the plan gives.
    Custom,
    /// By the baseline's share of the time.
    Fraction,
}

/// A command outside the clock: the setup, once on each host in the experiment's input directory before its first run;
/// the preparation and the cleanup, in the working directory before and after each execution, warm-ups included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    pub command: CommandLine,
    /// A command that takes longer has failed.
    pub timeout: Span,
}

/// Limits on the attempts of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Attempts of one run before it is abandoned.
    pub attempts: u32,
    /// Attempts of all runs together.
    pub all_attempts: Option<u64>,
    /// Host time of all attempts together.
    pub host_time: Option<Span>,
}

impl Limits {
    /// Limits only the attempts of each run.
    pub const fn of_attempts(attempts: u32) -> Self {
        Self { attempts, all_attempts: None, host_time: None }
    }
}

/// What becomes of the output of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputChoice {
    /// Most bytes of a stream; a program that writes more has failed.
    pub limit: u64,
    /// Bytes of each stream that are stored with the observation.
    pub keep: u64,
    /// Runs of which output is stored.
    pub keep_of: KeepOutput,
}

/// Of which runs output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeepOutput {
    /// Of failed runs only.
    Failed,
    /// Of all runs.
    All,
}

impl Experiment {
    /// Repetitions of each cell before the rule asks for more.
    pub fn repetition(&self) -> Repetition {
        if self.levels.are_nested() {
            Repetition::Nested { hosts: self.levels.hosts(), boots: self.levels.boots(), runs: self.runs }
        } else {
            Repetition::Runs(self.runs)
        }
    }

    /// Sets the number of visits of each cell before the rule asks for more.
    pub(crate) fn set_visits(&mut self, visits: u32) {
        match self.repetition() {
            Repetition::Runs(_) => self.runs = visits,
            Repetition::Nested { .. } => self.levels.hosts = Some(visits),
        }
    }

    /// Runs of each cell before the rule asks for more, over all its levels.
    pub fn runs_of_a_cell(&self) -> u64 {
        self.repetition().runs()
    }

    /// Number of independent units of each cell before the rule asks for more: builds, if a version has several; otherwise hosts, the
    /// boots of a single host, or runs.
    pub fn units_of_a_cell(&self) -> u64 {
        let visits = match self.repetition() {
            Repetition::Runs(runs) => runs,
            Repetition::Nested { hosts, .. } if hosts > 1 => hosts,
            Repetition::Nested { boots, .. } => boots,
        };
        let built = self.versions.iter().filter_map(|version| version.build.as_ref());
        let builds = built.map(|build| build.builds).filter(|builds| *builds > 1);
        u64::from(builds.chain([visits]).min().unwrap_or(visits))
    }

    /// Name of the units that [`Experiment::units_of_a_cell`] counts: `build`, `visit` of a blocked order, `host`, `boot` or `run`.
    pub fn unit_of_a_cell(&self) -> &'static str {
        let built = self.versions.iter().filter_map(|version| version.build.as_ref());
        match self.repetition() {
            _ if built.into_iter().any(|build| build.builds > 1) => "build",
            _ if self.order == Order::Blocked && self.versions.len() > 1 => "visit",
            Repetition::Runs(_) => "run",
            Repetition::Nested { hosts, .. } if hosts > 1 => "host",
            Repetition::Nested { .. } => "boot",
        }
    }

    /// Centre that the verdicts are on. Experiments from before trimmed means were the default may declare none; for these it is the
    /// median, or the mean if the plan has too few independent units for an interval of a median at its level. So it never
    /// depends on the data.
    pub fn center(&self) -> Center {
        // All n units lie on one side of the median with probability 2^(1 - n).
        let fewest = (1.0 - (1.0 - self.analysis.confidence).log2()).ceil();
        self.analysis.center.unwrap_or(match self.units_of_a_cell() as f64 >= fewest {
            true => Center::Median,
            false => Center::Mean,
        })
    }

    /// Number of builds of all versions.
    pub fn builds(&self) -> u64 {
        self.versions
            .iter()
            .filter_map(|version| version.build.as_ref())
            .map(|build| u64::from(build.builds))
            .sum()
    }

    /// Its bisection, if it is one.
    pub fn bisection(&self) -> Option<Bisection> {
        match self.rule {
            Rule::Bisection(bisection) => Some(bisection),
            Rule::Fixed | Rule::Pilot { .. } | Rule::Sequential { .. } | Rule::Budget { .. } => None,
        }
    }

    /// Whether it continues without a version that cannot be built, as a bisection does between its ends.
    pub(crate) fn can_do_without(&self, version: VersionIndex) -> bool {
        let is_end = version.0 == 0 || version.0 as usize + 1 >= self.versions.len();
        self.bisection().is_some() && !is_end
    }

    /// Most versions that it may have.
    pub(crate) fn most_versions(&self) -> usize {
        if self.bisection().is_some() { MAX_LINE } else { MAX_VERSIONS }
    }

    /// A benchmark by its index, if there is one.
    pub fn benchmark(&self, index: BenchmarkIndex) -> Option<&Benchmark> {
        self.benchmarks.get(index.0 as usize)
    }

    /// Versions that are compared: all but a control.
    pub fn compared(&self) -> &[Version] {
        let controls = usize::from(self.baseline_again);
        &self.versions[..self.versions.len().saturating_sub(controls)]
    }

    /// Software of a version's runs and builds.
    pub(crate) fn software_of<'e>(&'e self, version: &'e Version) -> &'e Software {
        version.software.as_ref().unwrap_or(&self.environment.software)
    }

    /// Software of setup and canary, which all versions share: the part of `[environment]` that is the same for all.
    pub fn common_software(&self) -> Option<Software> {
        if self.setup.is_none() && self.canary.is_none() {
            return None;
        }
        self.environment.software.common()
    }

    /// The control, if there is one.
    pub fn control(&self) -> Option<(VersionIndex, &Version)> {
        if !self.baseline_again {
            return None;
        }
        let last = self.versions.len().checked_sub(1)?;
        Some((VersionIndex(last as u32), &self.versions[last]))
    }

    /// Adds the baseline as a control, under a name that is drawn from the seed and does not show it.
    ///
    /// # Panics
    /// When there is no version.
    pub fn add_control(&mut self) {
        const LETTERS: &[u8] = b"bcdfghjkmnpqrstvwxz";
        let mut random = self.seed.child("the name of the control");
        let name = loop {
            let mut name = String::new();
            for _ in 0..6 {
                name.push(char::from(LETTERS[below(LETTERS.len() as u64, &mut random) as usize]));
            }
            if self.versions.iter().all(|version| version.name != name) {
                break name;
            }
        };
        self.versions.push(Version { name, ..self.versions[0].clone() });
        self.baseline_again = true;
    }

    /// Name of a version in commands, which know a control as its baseline.
    pub(crate) fn name_in_commands(&self, index: VersionIndex) -> &str {
        let is_control = self.control().is_some_and(|(control, _)| control == index);
        let shown = if is_control { 0 } else { index.0 as usize };
        &self.versions[shown].name
    }

    /// A version by its index, if there is one.
    pub fn version(&self, index: VersionIndex) -> Option<&Version> {
        self.versions.get(index.0 as usize)
    }
}
