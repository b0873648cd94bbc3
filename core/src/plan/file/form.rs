//! The plan file as serde and schemars see it: the mirror of its text, with the defaults. The comments here are the
//! descriptions in the published JSON Schema and the hints of error messages, so they speak to the author of a plan.

mod environment;
mod sampling;
mod software;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::gang::ScalingLaw;
use crate::experiment::metric::{Better, Metric, Stream};
use crate::experiment::{Center, Family, KeepOutput, Weights};

pub(super) use environment::{EnvironmentForm, ResourceLimitsForm};
pub(super) use sampling::{DesignForm, IndependenceForm, LimitsForm, RepetitionsForm, RestForm};
pub(super) use software::{ContainerForm, LauncherForm, SoftwareForm};

/// An experiment for Speedup: which code versions are compared, on which benchmarks, how often, and how independent
/// the runs are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Speedup plan file")]
pub(super) struct Form {
    /// What the experiment is called.
    pub(super) experiment: ExperimentForm,
    /// The code versions under comparison, each a table with its name; exactly one is the baseline.
    pub(super) versions: BTreeMap<String, VersionForm>,
    /// The benchmarks, each a table with its name: one program with one fixed input.
    pub(super) benchmarks: BTreeMap<String, BenchmarkForm>,
    /// Files that runs need, each a table with its name; commands, directories and environment variables say {file.NAME}
    /// for the path at which it lies on the host. Exactly one of path and shared.
    #[serde(default)]
    pub(super) files: BTreeMap<String, FileForm>,
    /// Draws benchmarks at random instead of taking all; only then is the proportion's interval valid.
    #[serde(default)]
    pub(super) population: PopulationForm,
    /// How often each benchmark is run in each version.
    #[serde(default)]
    pub(super) repetitions: RepetitionsForm,
    /// What is measured.
    #[serde(default)]
    pub(super) metrics: MetricsForm,
    /// The order of the runs.
    #[serde(default)]
    pub(super) design: DesignForm,
    /// When a host may take a run.
    #[serde(default)]
    pub(super) independence: IndependenceForm,
    /// The comparison to be made.
    #[serde(default)]
    pub(super) analysis: AnalysisForm,
    /// Comparisons of which the answer is known.
    #[serde(default)]
    pub(super) controls: ControlsForm,
    /// Done once on each host before its first run, in the input directory that commands know as {input}; exactly one of
    /// command and shell.
    pub(super) setup: Option<SetupForm>,
    /// Done before each execution, warm-ups included, in its working directory and outside the clock; where it fails the
    /// run is not executed. Exactly one of command and shell.
    pub(super) prepare: Option<AroundForm>,
    /// Done after each execution, warm-ups included, in its working directory and outside the clock; where it fails the
    /// run is marked. Exactly one of command and shell.
    pub(super) cleanup: Option<AroundForm>,
    /// Timed after each run, as it is, to watch each host over time: a short program that does the same everywhere. Exactly
    /// one of command and shell.
    pub(super) canary: Option<SetupForm>,
    /// Where and how the timed program executes; everything left out stays as the host is.
    #[serde(default)]
    pub(super) environment: EnvironmentForm,
    /// Bounds of the experiment.
    #[serde(default)]
    pub(super) limits: LimitsForm,
    /// What becomes of the output of a run.
    #[serde(default)]
    pub(super) output: OutputForm,
}

/// What the experiment is called.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExperimentForm {
    /// The experiment's name: letters, digits and . _ + -, beginning with a letter, a digit or _.
    pub(super) name: String,
    /// What the experiment is about.
    #[serde(default)]
    pub(super) description: String,
    /// Words to find the experiment by, or key=value: letters, digits and . _ + - / : @ #.
    #[serde(default)]
    pub(super) tags: Vec<String>,
    /// All randomness comes from here, a whole number from 0; drawn and recorded when absent.
    pub(super) seed: Option<u64>,
    /// Where hosts are scarce, experiments of a higher priority go first; -100 to 100.
    #[serde(default)]
    pub(super) priority: i32,
}

/// One code version.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct VersionForm {
    /// Whether the others are compared with this version; true for exactly one.
    pub(super) baseline: bool,
    /// Environment variables of its runs, stronger than the benchmark's; values may hold {placeholders}.
    pub(super) env: BTreeMap<String, String>,
    /// Values for {placeholders} in commands, e.g. { level = "O2" } for {level}.
    pub(super) vars: BTreeMap<String, String>,
    /// Executed instead of the benchmark's command: an argument vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<Vec<String>>,
    /// The same as a line for /bin/sh -c.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shell: Option<String>,
    /// A revision of a Git repository, e.g. "HEAD", "v1.2" or "main~3": the version is built from the files of this commit,
    /// which are in the directory of its build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) git: Option<String>,
    /// The directory of the repository, relative to the plan file; that of the plan file when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repository: Option<String>,
    /// Builds the version on a host before all runs, in a new and empty directory: an argument vector; {input}, {version},
    /// the version's vars and {file.NAME} are filled in. At most one of build and build_shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) build: Option<Vec<String>>,
    /// The same as a line for /bin/sh -c.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) build_shell: Option<String>,
    /// How often the version is built, each time anew; its runs use the builds in turn. 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) builds: Option<u32>,
    /// What a build makes: names with paths relative to its directory, e.g. { prog = "out/prog" }; commands, directories
    /// and environment variables of runs say {build.prog} for the path at which it lies on the host.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) products: BTreeMap<String, String>,
    /// A build that lasts longer has failed, e.g. "1h"; 10 minutes when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) build_timeout: Option<String>,
    /// The software of this version's runs and builds. What is left out is that of [environment].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) environment: Option<SoftwareForm>,
}

/// One program with one fixed input; exactly one of command and shell.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BenchmarkForm {
    /// The argument vector, executed exactly; {input}, {version}, {benchmark} and the version's vars are filled in.
    pub(super) command: Option<Vec<String>>,
    /// A line for /bin/sh -c, with the same placeholders; {{name}} is the literal {name}.
    pub(super) shell: Option<String>,
    /// Environment variables of its runs.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// What a correct run looks like.
    #[serde(default)]
    pub(super) expect: ExpectForm,
    /// A run that lasts longer has failed, e.g. "60s", "1h 30m" or "500ms".
    #[serde(default = "ten_minutes")]
    pub(super) timeout: String,
    /// Executions before the clock starts, on the same host.
    #[serde(default)]
    pub(super) warmup: u32,
    /// Where its runs stand, an absolute path that exists on every host, or one below {input}; a new and empty directory
    /// for each run when absent.
    pub(super) directory: Option<String>,
    /// The weight in the suite, for [analysis] weights = "custom".
    pub(super) weight: Option<f64>,
    /// On how many hosts each run is executed at once, e.g. 4, as a program with MPI is; [1, 2, 4] makes a benchmark of each
    /// number. One host, and no launcher, when absent.
    pub(super) hosts: Option<HostsForm>,
    /// How many ranks each host has; 1 when absent.
    pub(super) ranks_per_host: Option<u32>,
    /// What starts the ranks, on the first host: "openmpi" (mpirun), "mpich" (mpiexec.hydra), or "srun", where all hosts of a
    /// run are in one job of Slurm. Without it and `launch` the command itself does.
    pub(super) launcher: Option<GangLauncherForm>,
    /// The words of any other launcher, after which those of the program follow; {hosts}, {ranks}, {ranks_per_host},
    /// {hostfile} and {job} (Slurm's number of it) are filled in, there and in the command.
    pub(super) launch: Option<Vec<String>>,
    /// Whether each rank is timed as well, where it runs: {rank} in the command is its number then.
    pub(super) time_ranks: Option<bool>,
    /// What stays the same where `hosts` has several numbers: "strong", the work, or "weak", the work of each host.
    pub(super) scaling: Option<ScalingLaw>,
}

/// What a correct run looks like.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExpectForm {
    /// The exit code, 0 to 255.
    pub(super) exit: u8,
    /// Other exit codes that count as well, each 0 to 255.
    pub(super) accept: Vec<u8>,
    /// Whether every exit code counts; one by a signal never does.
    pub(super) accept_all: bool,
    /// The BLAKE3 hash of the whole standard output, 64 hexadecimal digits as b3sum prints them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stdout_blake3: Option<String>,
}

/// Which benchmarks take part.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PopulationForm {
    /// How many benchmarks are drawn at random; all are taken when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sample: Option<u32>,
}

/// What is measured.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MetricsForm {
    /// The metrics of each run; wall is always among them.
    pub(super) collect: Vec<Metric>,
    /// Metrics of your own, read from the output of each run, each a table with its name; exactly one of regex, pointer,
    /// google_benchmark and go. A run without a value has failed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) output: BTreeMap<String, OwnMetricForm>,
}

/// A metric of your own: exactly one of regex, pointer, google_benchmark and go. Every match is the value of one
/// iteration.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnMetricForm {
    /// A regular expression with one capture group around the number, or with two, (?<value>…) and (?<unit>…); ^ and $ match at
    /// every line.
    pub(super) regex: Option<String>,
    /// A JSON pointer such as "/results/0/times" to a number or an array of numbers; it is read in every JSON document of the output
    /// that has it.
    pub(super) pointer: Option<String>,
    /// A benchmark of a Google Benchmark report in JSON: "BM_name" for its real time, or "BM_name:counter"; times are read
    /// as seconds an iteration.
    pub(super) google_benchmark: Option<String>,
    /// A benchmark of a report in Go's benchmark text: "BenchmarkName" for its ns/op, or "BenchmarkName:unit"; values are
    /// read as they are written.
    pub(super) go: Option<String>,
    /// Where the values stand: "stdout" or "stderr".
    #[serde(default)]
    pub(super) from: Stream,
    /// The unit of the values, as reports shall show it; values that are written in another are converted.
    #[serde(default)]
    pub(super) unit: String,
    /// Which values are good: "lower" or "higher".
    #[serde(default)]
    pub(super) better: Better,
}

/// The comparison to be made.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AnalysisForm {
    /// The confidence level, more than 0 and less than 1.
    pub(super) confidence: f64,
    /// Whose ratio the verdicts are on: "trimmed", what the runs take together without the tenth at either end, "median", the time of a
    /// usual run, or "mean", what all runs take together. Without it "trimmed".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) center: Option<Center>,
    /// The share of the runs that a trimmed mean leaves out at each end, from 0 to 0.25; without it 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trim: Option<f64>,
    /// Within what the times of two versions count as the same, e.g. "1%"; without it no verdict says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) margin: Option<String>,
    /// Quantiles of the wall times that get verdicts of their own, e.g. [0.9, 0.99] for the tails; each more than 0 and less
    /// than 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) quantiles: Vec<f64>,
    /// Verdicts on other metrics than the wall time, each a table with the metric's name, of [metrics] collect or output.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) verdicts: BTreeMap<String, MetricVerdictForm>,
    /// How benchmarks weigh in the suite: "equal", "custom" (by their weight) or "fraction" (by the baseline's time).
    pub(super) weights: Weights,
    /// The precision for the required number of benchmarks, more than 0 and less than 1.
    pub(super) precision: f64,
}

/// Comparisons of which the answer is known: what the experiment says where nothing differs.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ControlsForm {
    /// Whether the baseline is run a second time, at its own random places and under a drawn name; reports compare it with the
    /// baseline, and say how often the experiment found a difference that is none.
    pub(super) baseline_again: bool,
}

/// A verdict on a metric: of the ratio of its declared centre.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MetricVerdictForm {
    /// Within what two versions count as the same in this metric, e.g. "2%"; without it no verdict says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) margin: Option<String>,
    /// With which verdicts it shares the risk of a wrong one: "common", those on the wall times, or "own".
    pub(super) family: Family,
}

/// Done once on each host before its first run; exactly one of command and shell.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetupForm {
    /// The argument vector, executed exactly; {input} is filled in.
    pub(super) command: Option<Vec<String>>,
    /// A line for /bin/sh -c; {input} is filled in, and {{name}} is the literal {name}.
    pub(super) shell: Option<String>,
    /// A setup that lasts longer has failed, e.g. "10m".
    #[serde(default = "ten_minutes")]
    pub(super) timeout: String,
}

/// Done before or after each execution; exactly one of command and shell.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AroundForm {
    /// The argument vector, executed exactly; {input}, {version}, {benchmark} and the version's vars are filled in.
    pub(super) command: Option<Vec<String>>,
    /// A line for /bin/sh -c, with the same placeholders; {{name}} is the literal {name}.
    pub(super) shell: Option<String>,
    /// If it lasts longer it has failed, e.g. "10m".
    #[serde(default = "ten_minutes")]
    pub(super) timeout: String,
}

/// What becomes of the output of a run.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OutputForm {
    /// Bytes that standard output and standard error may each have, e.g. "64MiB"; a program that writes more has failed.
    pub(super) limit: String,
    /// Bytes of each that are kept with the observation, e.g. "16KiB".
    pub(super) keep: String,
    /// Of which runs output is kept: "failed" or "all".
    pub(super) keep_of: KeepOutput,
}

/// Long enough for a benchmark that nobody thought about, short enough that a hanging one does not hold its host all day.
pub(super) fn ten_minutes() -> String {
    "10m".to_owned()
}

impl Default for MetricsForm {
    fn default() -> Self {
        let collect = vec![Metric::Wall, Metric::User, Metric::System, Metric::MaxRss];
        Self { collect, output: BTreeMap::new() }
    }
}

impl Default for AnalysisForm {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            center: None,
            trim: None,
            margin: None,
            quantiles: Vec::new(),
            verdicts: BTreeMap::new(),
            weights: Weights::Equal,
            precision: 0.05,
        }
    }
}

impl Default for OutputForm {
    fn default() -> Self {
        Self { limit: "64MiB".to_owned(), keep: "16KiB".to_owned(), keep_of: KeepOutput::Failed }
    }
}

/// A file that runs need: exactly one of path and shared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileForm {
    /// A regular file of this machine, relative to the plan file; its content is sent to the hosts.
    pub(super) path: Option<String>,
    /// Whether a file given by path may be executed.
    #[serde(default)]
    pub(super) executable: bool,
    /// The absolute path of a file on a file system that all hosts share; used in place, once its hash is verified.
    pub(super) shared: Option<String>,
    /// The BLAKE3 hash of a shared file, 64 hexadecimal digits as b3sum prints them; computed from the file as this
    /// machine sees it when absent.
    pub(super) blake3: Option<String>,
}

/// One number of hosts, or several.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum HostsForm {
    /// Each run is on so many.
    One(u32),
    /// There is a benchmark of each number.
    Several(Vec<u32>),
}

/// A launcher of MPI programs that is known.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum GangLauncherForm {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `mpiexec.hydra` of MPICH.
    Mpich,
    /// `srun` of Slurm.
    Srun,
}
