//! What is wrong with an experiment: a place, named as in the plan file, and a fault with what can be done about it.

use std::fmt;

use thiserror::Error;

use super::{MAX_NAME_BYTES, MAX_RUNS, MAX_TAG_BYTES};
use crate::experiment::build::{self, MAX_PRODUCT_PATH_BYTES};
use crate::experiment::files::MAX_SHARED_PATH_BYTES;
use crate::experiment::metric::OwnMetricError;
use crate::experiment::template::doubling_hint;
use crate::value::excerpt::{excerpt, quoted};
use crate::value::hint::with_hint;

/// Most problems that are told at once: nobody reads more, and a plan may have a hundred thousand benchmarks.
pub const MAX_PROBLEMS: usize = 20;

/// Why an experiment is refused: all that is wrong with it, as far as it is told.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ExperimentError {
    /// At least one, at most [`MAX_PROBLEMS`].
    problems: Vec<Problem>,
    untold: usize,
}

impl ExperimentError {
    /// What is wrong, at least one problem.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many problems there are beside those told.
    pub fn untold(&self) -> usize {
        self.untold
    }
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            let line_break = if number == 0 { "" } else { "\n" };
            write!(f, "{line_break}{problem}")?;
        }
        match self.untold {
            0 => Ok(()),
            untold => write!(f, "\nand {untold} more"),
        }
    }
}

/// Gathers problems while an experiment is checked.
#[derive(Debug, Default)]
pub(super) struct Problems {
    told: Vec<Problem>,
    untold: usize,
}

impl Problems {
    pub(super) fn refuse(&mut self, place: impl Into<KeyPath>, fault: Fault) {
        if self.told.len() < MAX_PROBLEMS {
            self.told.push(Problem { place: place.into(), fault });
        } else {
            self.untold += 1;
        }
    }

    pub(super) fn into_result(self) -> Result<(), ExperimentError> {
        if self.told.is_empty() {
            return Ok(());
        }
        Err(ExperimentError { problems: self.told, untold: self.untold })
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub place: KeyPath,
    pub fault: Fault,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&with_hint(format_args!("{}: {}", self.place, self.fault), Some(&self.fault.hint())))
    }
}

/// A place in an experiment, by the keys of the plan file that lead there; a word of a command by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPath(pub Vec<String>);

impl<const N: usize> From<[&str; N]> for KeyPath {
    fn from(keys: [&str; N]) -> Self {
        Self(keys.map(str::to_owned).into())
    }
}

impl KeyPath {
    /// The place one key further down.
    #[must_use]
    pub fn at(&self, key: &(impl ToString + ?Sized)) -> Self {
        let mut keys = self.0.clone();
        keys.push(key.to_string());
        Self(keys)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, key) in self.0.iter().enumerate() {
            let dot = if number == 0 { "" } else { "." };
            let is_short = (1..=MAX_NAME_BYTES).contains(&key.len());
            let bare = is_short && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
            if bare {
                write!(f, "{dot}{key}")?;
            } else {
                write!(f, "{dot}\"{}\"", excerpt(key))?;
            }
        }
        Ok(())
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("{} is not a valid name", quoted(.0))]
    Name(String),
    #[error("{} is no tag", quoted(.0))]
    Tag(String),
    #[error("the name {} occurs twice", quoted(.0))]
    SameName(String),
    #[error("{value} is out of range")]
    OutOfRange { value: String, allowed: String },
    #[error("{0} version(s): there is nothing to compare")]
    TooFewVersions(usize),
    #[error("there is no benchmark")]
    NoBenchmark,
    #[error("{count} {what}, but at most {most} are allowed")]
    TooMany { what: &'static str, count: usize, most: usize },
    #[error("{drawn} benchmarks cannot be drawn from {benchmarks}")]
    DrawnTooMany { drawn: u32, benchmarks: usize },
    #[error("the experiment has {0} runs, but at most {MAX_RUNS} are allowed")]
    TooManyRuns(u64),
    /// A host that serves several runs by design cannot be in a new allocation for each.
    #[error("a host that serves several runs by design cannot be reallocated between them")]
    SharedReallocated,
    #[error("looks cannot be taken at nested levels: their boundaries suppose independent runs")]
    LooksAtLevels,
    /// A rule appends visits and takes them for independent, and what is independent of a version that is built several
    /// times is its builds.
    #[error(
        "the rule may ask for {visits} visits, and a version is built {builds} times: visits that share a build are not \
         independent, and builds cannot be added later"
    )]
    RuleOfBuilds {
        builds: u32,
        /// What the rule's maximum allows of each cell.
        visits: u32,
    },
    #[error("a bisection cannot be made like this: {0}")]
    Bisection(&'static str),
    #[error("this is no prior of the experiment: {0}")]
    Prior(&'static str),
    #[error("a benchmark runs on hosts of its own number, and {0}")]
    Gang(&'static str),
    #[error("the policy is of sets of hosts that serve a run of a benchmark together, and {0}")]
    Sets(&'static str),
    #[error("{{rank}} is filled in where the ranks of a run are timed, and these are not")]
    RankUnknown,
    #[error("time_ranks needs what starts the ranks")]
    NoRanks,
    #[error("the command is empty")]
    EmptyCommand,
    /// A character that no argument and no environment can hold, or that would upset a terminal.
    #[error("the control character {0:?} is not possible here")]
    ControlCharacter(char),
    #[error("{what} may have {bytes} bytes with its placeholders filled in, but at most {most} are allowed")]
    TooLong {
        what: &'static str,
        /// How long it may get.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    #[error("{} is not a valid name of an environment variable", quoted(.0))]
    EnvName(String),
    #[error("{} is not a valid name for a placeholder", quoted(.0))]
    VarName(String),
    #[error("the placeholder `{{{0}}}` has a meaning already")]
    VarTaken(String),
    #[error("unknown placeholder `{{{}}}`", excerpt(name))]
    UnknownPlaceholder {
        /// The name between the braces.
        name: String,
        known: Vec<String>,
    },
    #[error("the placeholder `{{{}}}` has no value in version {}", excerpt(name), quoted(version))]
    PlaceholderLacks {
        /// The name between the braces.
        name: String,
        /// A version without a value for it.
        version: String,
    },
    /// A directory that would be another one on each host.
    #[error("{} is not an absolute path", quoted(.0))]
    RelativeDirectory(String),
    /// The path of a directory of the plan's own has the length that it has.
    #[error("the directory is the plan's own, so its path cannot be given a length")]
    LengthOfOwnDirectory,
    #[error("{} is not a valid name for a file", quoted(.0))]
    FileName(String),
    #[error("the build has no products")]
    NoProducts,
    /// What a build makes has a name that cannot stand in a placeholder.
    #[error("{} is not a valid name for a product of a build", quoted(.0))]
    ProductName(String),
    /// A product that would not lie in the working directory of its build.
    #[error("{} is no path within the build's working directory", quoted(.0))]
    ProductPath(String),
    /// A path of a shared file that would be another one on each host, or that no host takes.
    #[error("{} is no path of a shared file", quoted(.0))]
    SharedPath(String),
    /// What no Git says of a commit.
    #[error("the commit of the version is none: id {}", quoted(.0))]
    Commit(String),
    /// A file, or all of them, hold more than hosts and coordinator are asked to.
    #[error("{what} {bytes} bytes, but at most {most} are allowed")]
    TooManyBytes { what: &'static str, bytes: u64, most: u64 },
    /// Weights are the plan's, and one is not given.
    #[error("a weight is missing")]
    WeightMissing,
    /// Wall time is not among the metrics.
    #[error("the metric `wall` is missing")]
    WallMissing,
    #[error("the metric `{0}` occurs twice")]
    SameMetric(&'static str),
    /// An own metric is called as one that is known anyway.
    #[error("{} is a metric that every agent knows", quoted(.0))]
    MetricTaken(String),
    /// The values of an own metric cannot be found like this.
    #[error(transparent)]
    Pattern(OwnMetricError),
    /// A share to leave out where nothing is left out.
    #[error("nothing is left out of a mean or a median: the share is of a trimmed mean")]
    TrimOfOtherCenter,
    /// A verdict on a metric that is not measured.
    #[error("{} is not measured, so there can be no verdict on it", quoted(.0))]
    VerdictOnUnmeasured(String),
    /// The version that should be the baseline again is another.
    #[error("{} should be the baseline again, and differs from it", quoted(.0))]
    ControlDiffers(String),
    /// A verdict on the wall time, which has one.
    #[error("the wall time has its verdict already")]
    VerdictOnWall,
}

impl Fault {
    /// A share outside (0, 1).
    pub(super) fn outside_unit(value: f64) -> Self {
        Self::OutOfRange { value: value.to_string(), allowed: "more than 0 and less than 1".to_owned() }
    }

    /// What the user can do about it.
    #[rustfmt::skip]
    pub fn hint(&self) -> String {
        // One variant a line, so that a missing or doubled text is seen.
        let fixed = match self {
            Self::Name(_) => return format!("a name has 1 to {MAX_NAME_BYTES} bytes: letters, digits and . _ + -, and begins with a letter, a digit or _"),
            Self::Tag(_) => return format!("a tag is a word or KEY=VALUE of at most {MAX_TAG_BYTES} bytes: letters, digits and . _ + - / : @ #"),
            // Texts with values return; all others are fixed.
            Self::SameName(_) => "give each version and each benchmark its own name",
            Self::OutOfRange { allowed, .. } => return format!("possible is {allowed}"),
            Self::TooFewVersions(_) => "name at least two: [versions.before] with baseline = true, and [versions.after]",
            Self::NoBenchmark => "add one: [benchmarks.NAME] with command = [\"…\"]",
            Self::TooMany { .. } => "split the experiment",
            Self::DrawnTooMany { .. } => "draw fewer, or leave [population] out to take all benchmarks",
            Self::TooManyRuns(_) => "runs = benchmarks × versions × [repetitions] runs: lower one of them",
            Self::TrimOfOtherCenter => "take the centre `trimmed`, or no share",
            Self::SharedReallocated => "an engine gives whichever host is free: use policy \"distinct\" or \"rebooted\"",
            Self::RuleOfBuilds { visits, .. } => return format!("give each visit a build of its own (builds = {visits}, or a lower `maximum`), leave `builds` at \
                    1, or use `runs` or a `budget` instead of the rule"),
            Self::LooksAtLevels => "remove `hosts` and `boots`, or use a pilot with `precision`",
            Self::Bisection(_) => "a bisection has one benchmark, two or more versions that are built once, blocks of at least 3 runs, and \
                at most one metric with a verdict, whose steps it looks for",
            Self::Prior(_) => "`speedup bisect --prior PATH=WEIGHT` makes one from the commits of its range",
            Self::Gang(_) => "give the benchmarks with `hosts` a plan of their own, in the randomized or interleaved order",
            Self::Sets(_) => "give a benchmark `hosts`, and the scope \"benchmark\" or \"cell\", or use the policy \"distinct\"",
            Self::RankUnknown => "write time_ranks = true, or read the rank from what the launcher puts into the environment",
            Self::NoRanks => "write launcher = \"openmpi\", \"mpich\" or \"srun\", or the words of your own: launch = [...]",
            Self::EmptyCommand => "write the program and its arguments: command = [\"sort\", \"{input}/words.txt\"]",
            Self::ControlCharacter(_) => "remove it",
            Self::TooLong { .. } => "put the text into a file that [setup] writes to {input}",
            Self::EnvName(_) => "such a name is not empty and has no `=`, no NUL, no control character",
            Self::VarName(_) => "use lower-case letters, digits and _, beginning with a letter or _",
            Self::VarTaken(_) => "take another name",
            Self::UnknownPlaceholder { name, known } => {
                let known: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
                return format!("known here: {}; {}", known.join(" "), doubling_hint(&excerpt(name)));
            }
            Self::PlaceholderLacks { name, version } => return hint_of_lacking(&excerpt(name), &excerpt(version)),
            Self::RelativeDirectory(_) => "begin it with / for a directory of every host, or with {input} for what [setup] made",
            Self::LengthOfOwnDirectory => "leave out `directory`, or `directory_bytes` and `directory_bytes_random` in [environment]",
            Self::FileName(_) => "use lower-case letters, digits and _, beginning with a letter or _: commands say {file.NAME}",
            Self::NoProducts => "name what it makes: products = { prog = \"out/prog\" }; commands say {build.prog}",
            Self::ProductName(_) => "use lower-case letters, digits and _, beginning with a letter or _: commands say {build.NAME}",
            Self::ProductPath(_) => return format!("write a relative path without `.` and `..` to a file that the build makes, at most \
                 {MAX_PRODUCT_PATH_BYTES} bytes"),
            Self::SharedPath(_) => return format!("write the absolute path that the file has on every host, at most {MAX_SHARED_PATH_BYTES} bytes; for a file \
                 of this machine alone write `path`"),
            Self::Commit(_) => "its id has 40 or 64 lower-case hexadecimal digits; revision and subject are lines of at most 256 bytes",
            Self::TooManyBytes { .. } => "put large files on a file system that all hosts share, and name them with `shared`",
            Self::WeightMissing => "give every benchmark a weight, or use [analysis] weights = \"equal\"",
            Self::WallMissing => "wall time is always measured; add it",
            Self::SameMetric(_) => "name each metric once",
            Self::MetricTaken(name) => return format!("use another name, or collect = [\"{}\"] in [metrics]", excerpt(name)),
            Self::Pattern(error) => error.hint(),
            Self::VerdictOnUnmeasured(name) =>
                return format!("name it in [metrics] collect, or say in [metrics.output.{}] how it is read", excerpt(name)),
            Self::ControlDiffers(_) => "give it the baseline's variables, command and build, or say that it is no control",
            Self::VerdictOnWall => "its margin is `margin` in [analysis], and verdicts on its tails are `quantiles`",
        };
        fixed.to_owned()
    }
}

fn hint_of_lacking(name: &str, version: &str) -> String {
    match name.strip_prefix(build::PREFIX) {
        Some(product) => format!(
            "build it in [versions.{version}]: products = {{ {product} = \"PATH\" }}, or give that version a command of its own"
        ),
        None => format!("give it one in [versions.{version}] vars, or double the braces: `{{{{{name}}}}}`"),
    }
}
