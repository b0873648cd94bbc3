//! A validated experiment: what is compared, on what, how often and under which independence. It is what a plan file
//! says, with every default filled in; [`Experiment::check`] is the door every experiment passes, whichever way it came.

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

/// One experiment, validated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub name: String,
    /// What it is about; may be empty.
    pub description: String,
    /// Words to find it by, or `key=value`; ascending, each once.
    pub tags: Vec<String>,
    /// By which options its benchmarks were chosen from those of its plan; empty where all were taken.
    pub selection: String,
    /// All randomness comes from here.
    pub seed: Seed,
    /// Where hosts are scarce, experiments of a higher priority go first.
    pub priority: i32,
    /// The versions under comparison; the baseline is the first, a control the last.
    pub versions: Vec<Version>,
    /// Whether the last version is a control: the baseline again, under a name that does not tell.
    pub baseline_again: bool,
    /// The benchmarks of the population, in the plan's order.
    pub benchmarks: Vec<Benchmark>,
    /// Files that runs need, in the plan's order.
    pub files: Vec<StagedFile>,
    /// How many benchmarks are drawn at random from the population; all are taken when absent.
    pub drawn: Option<u32>,
    /// Runs of each cell, on each boot of each host where levels are nested; [`Experiment::repetition`] reads both.
    pub runs: u32,
    pub levels: Levels,
    pub order: Order,
    /// How the number of runs is found.
    pub rule: Rule,
    pub metrics: Vec<Metric>,
    /// What is read from the output, in the plan's order.
    pub own_metrics: Vec<OwnMetric>,
    pub independence: Independence,
    pub analysis: AnalysisChoice,
    /// Done on each host before its first run.
    pub setup: Option<Setup>,
    /// Done before each execution, outside the clock.
    pub prepare: Option<Setup>,
    /// Done after each execution, outside the clock.
    pub cleanup: Option<Setup>,
    /// Timed after each run as it is, to watch the host over time.
    pub canary: Option<Setup>,
    pub environment: Environment,
    pub limits: Limits,
    pub output: OutputChoice,
}

/// One code version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub name: String,
    /// Added to the environment of its runs.
    pub env: BTreeMap<String, String>,
    /// Values for `{name}` in commands.
    pub vars: BTreeMap<String, String>,
    /// Executed instead of the benchmark's command.
    pub command: Option<CommandLine>,
    /// How it is built, where the experiment has it compiled.
    pub build: Option<Build>,
    /// The software of its runs and builds, where that is not the experiment's.
    #[serde(default)]
    pub software: Option<Software>,
    /// The commit that its source is of, where that came from Git.
    #[serde(default)]
    pub commit: Option<Commit>,
}

/// One program with one fixed input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    pub name: String,
    /// What is executed; placeholders are still in place.
    pub command: CommandLine,
    /// Added to the environment, before the version's.
    pub env: BTreeMap<String, String>,
    /// What a correct run looks like.
    pub expect: Expectation,
    /// A run that lasts longer has failed.
    pub timeout: Span,
    /// Executions before the clock starts, on the same host.
    pub warmup: u32,
    /// Where its runs stand; a new and empty directory for each when absent. Placeholders are still in place.
    pub directory: Option<String>,
    pub weight: Option<f64>,
    /// How its runs are spread over hosts; each is on one, and starts what it wants, when absent.
    #[serde(default)]
    pub gang: Option<Gang>,
}

/// How a command is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandLine {
    /// An argument vector, executed exactly.
    Exact(Vec<String>),
    /// A line for `/bin/sh -c`, because the plan asked for a shell.
    Shell(String),
}

impl CommandLine {
    /// Its words, in which placeholders may stand.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let words = match self {
            Self::Exact(argv) => argv.as_slice(),
            Self::Shell(line) => std::slice::from_ref(line),
        };
        words.iter().map(String::as_str)
    }
}

/// What a correct run looks like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    pub exit: u8,
    /// Other exit codes that count as well.
    pub accept: AcceptedExits,
    /// Expected BLAKE3 hash of the whole standard output.
    pub stdout_blake3: Option<[u8; 32]>,
}

/// Exit codes that count beside the expected one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AcceptedExits {
    #[default]
    None,
    These(BTreeSet<u8>),
    All,
}

impl Expectation {
    /// Whether a program that ends with this exit code has done what was expected.
    pub fn accepts(&self, code: u8) -> bool {
        code == self.exit
            || match &self.accept {
                AcceptedExits::None => false,
                AcceptedExits::These(codes) => codes.contains(&code),
                AcceptedExits::All => true,
            }
    }
}

/// The comparison to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnalysisChoice {
    /// Confidence level, the papers' 1 − α.
    pub confidence: f64,
    /// Whose ratio the verdicts are on. Reading a plan fills it in; see [`Experiment::center`] for experiments from before that.
    pub center: Option<Center>,
    /// The share of the runs that a trimmed mean leaves out at each end; 0.1 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<f64>,
    /// Versions whose ratio is shown to be within 1/(1 + margin) and 1 + margin are the same; without it none are.
    pub margin: Option<f64>,
    /// Quantiles of the wall times with verdicts of their own, more than 0 and less than 1.
    pub quantiles: Vec<f64>,
    pub verdicts: Vec<MetricVerdict>,
    /// How benchmarks weigh in the suite.
    pub weights: Weights,
    /// Precision r for the required number of benchmarks.
    pub precision: f64,
    /// Which versions of a bisection are likelier than others beforehand; without it none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<LinePrior>,
}

/// The largest share of the runs that a trimmed mean leaves out at each end: with it half of the runs are left.
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
    /// If it lasts longer it has failed.
    pub timeout: Span,
}

/// Bounds of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Attempts a run may have before it is abandoned.
    pub attempts: u32,
    /// Attempts that all runs may have together.
    pub all_attempts: Option<u64>,
    /// Time on hosts that all attempts may take together.
    pub host_time: Option<Span>,
}

impl Limits {
    /// So many attempts a run, and no other bound.
    pub const fn of_attempts(attempts: u32) -> Self {
        Self { attempts, all_attempts: None, host_time: None }
    }
}

/// What becomes of the output of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputChoice {
    /// Bytes a stream may have; a program that writes more has failed.
    pub limit: u64,
    /// Bytes of each stream that are kept with the observation.
    pub keep: u64,
    /// Of which runs output is kept.
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
    /// How often each cell is repeated before the rule asks for more.
    pub fn repetition(&self) -> Repetition {
        if self.levels.are_nested() {
            Repetition::Nested { hosts: self.levels.hosts(), boots: self.levels.boots(), runs: self.runs }
        } else {
            Repetition::Runs(self.runs)
        }
    }

    /// Has each cell visited so often before the rule asks for more.
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

    /// What is independent of each cell by the plan: its builds, where a version has several; else its hosts; the boots of a
    /// single host; or its runs. Before the rule asks for more.
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

    /// What [`Experiment::units_of_a_cell`] counts: `build`, `visit` of a blocked order, `host`, `boot` or `run`.
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

    /// The centre that the verdicts are on: the declared one. Experiments from before trimmed means were the default may have none; they
    /// keep the rule of then: the median, or the mean where the plan has too few independent units for an interval of a median at
    /// its level. So it is known before there are data.
    pub fn center(&self) -> Center {
        // All n units lie on one side of the median with probability 2^(1 - n).
        let fewest = (1.0 - (1.0 - self.analysis.confidence).log2()).ceil();
        self.analysis.center.unwrap_or(match self.units_of_a_cell() as f64 >= fewest {
            true => Center::Median,
            false => Center::Mean,
        })
    }

    /// Builds of all versions.
    pub fn builds(&self) -> u64 {
        self.versions
            .iter()
            .filter_map(|version| version.build.as_ref())
            .map(|build| u64::from(build.builds))
            .sum()
    }

    /// How it bisects, if it does.
    pub fn bisection(&self) -> Option<Bisection> {
        match self.rule {
            Rule::Bisection(bisection) => Some(bisection),
            Rule::Fixed | Rule::Pilot { .. } | Rule::Sequential { .. } | Rule::Budget { .. } => None,
        }
    }

    /// Whether it can go on without a version that cannot be built: one between the ends of a bisection.
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

    /// The versions that are compared: all but a control.
    pub fn compared(&self) -> &[Version] {
        let controls = usize::from(self.baseline_again);
        &self.versions[..self.versions.len().saturating_sub(controls)]
    }

    /// The software of a version's runs and builds.
    pub(crate) fn software_of<'e>(&'e self, version: &'e Version) -> &'e Software {
        version.software.as_ref().unwrap_or(&self.environment.software)
    }

    /// The software of setup and canary, which are the same for all versions: that of `[environment]`, as far as it is the same as well.
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

    /// Has the baseline measured again, as a version under a name that is drawn from the seed and does not tell.
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

    /// What commands know a version as: a control is its baseline to them.
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
