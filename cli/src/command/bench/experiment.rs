//! The experiment of a comparison: one benchmark, a version a command, on one host.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use speedup_core::experiment::environment::Environment;
use speedup_core::experiment::{
    AcceptedExits, AnalysisChoice, Benchmark, CommandLine, Expectation, Experiment, Independence, KeepOutput,
    Levels, Limits, Metric, Order, OutputChoice, Setup, Version, Weights,
};
use speedup_core::value::seed::Seed;

use super::Arguments;
use super::bounds::Settled;
use super::shell::Shell;
use super::streams::Streams;
use super::variant::{OWN, Variant};
use crate::exit::failure::Failure;

/// What a command may write to each stream: it is held in memory.
const OUTPUT_LIMIT: u64 = 256 << 20;
/// What is kept of each stream of a failed run.
const OUTPUT_KEPT: u64 = 16 << 10;
/// The precision of the required number of benchmarks, which one benchmark does not have.
const PRECISION: f64 = 0.05;
/// The placeholders of what is executed before and after a command.
const PREPARE: &str = "bench_prepare";
const CONCLUDE: &str = "bench_conclude";
/// The placeholder of what the command is called; nothing refers to it but who reads the record.
const TITLE: &str = "bench_title";
/// The placeholder of the directory.
const DIRECTORY: &str = "bench_directory";
/// The only benchmark.
const BENCHMARK: &str = "command";

/// The exit codes of `--ignore-failure`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ignored(AcceptedExits);

impl FromStr for Ignored {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if ["all", "all-non-zero"].contains(&text) {
            return Ok(Self(AcceptedExits::All));
        }
        let codes: Result<BTreeSet<u8>, _> = text.split(',').map(str::parse).collect();
        codes
            .map(|codes| Self(AcceptedExits::These(codes)))
            .map_err(|_| "give exit codes from 0 to 255, such as 1,2".to_owned())
    }
}

/// What the experiment is made of beside the arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    /// The commands.
    pub(super) variants: &'a [Variant],
    /// Where they read from and write to.
    pub(super) streams: &'a [Streams],
    /// What they see of the environment.
    pub(super) environment: &'a BTreeMap<String, String>,
    /// Where they stand.
    pub(super) directory: &'a str,
    /// All randomness comes from here.
    pub(super) seed: Seed,
}

/// A command as the record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recorded {
    /// What it is called.
    pub(super) title: String,
    /// The values of its parameters.
    pub(super) parameters: BTreeMap<String, String>,
}

/// The experiment that the arguments describe, with so many runs.
pub(super) fn build(
    arguments: &Arguments,
    setting: Setting<'_>,
    settled: Settled,
) -> Result<Experiment, Failure> {
    let all = setting.variants.iter().zip(0..);
    let versions: Result<Vec<Version>, Failure> =
        all.map(|(_, at)| version(arguments, setting, at)).collect();
    let mut experiment = Experiment {
        name: "bench".to_owned(),
        description: String::new(),
        selection: String::new(),
        tags: arguments.tags.of(Vec::new()),
        seed: setting.seed,
        priority: 0,
        versions: versions?,
        benchmarks: vec![benchmark(arguments, setting)],
        baseline_again: false,
        drawn: None,
        runs: settled.runs,
        levels: Levels::default(),
        order: Order::Randomized,
        rule: settled.rule,
        metrics: vec![Metric::Wall, Metric::User, Metric::System, Metric::MaxRss],
        own_metrics: Vec::new(),
        files: Vec::new(),
        independence: Independence::of_any_host(),
        analysis: AnalysisChoice {
            confidence: arguments.confidence.get(),
            center: arguments.center,
            margin: arguments.margin,
            quantiles: arguments.quantile.clone(),
            verdicts: Vec::new(),
            weights: Weights::Equal,
            precision: PRECISION,
        },
        setup: None,
        prepare: around(arguments, &arguments.prepare, PREPARE),
        cleanup: around(arguments, &arguments.conclude, CONCLUDE),
        canary: None,
        environment: Environment::default(),
        limits: Limits::of_attempts(1),
        output: OutputChoice { limit: OUTPUT_LIMIT, keep: OUTPUT_KEPT, keep_of: KeepOutput::Failed },
    };
    if arguments.control {
        experiment.add_control();
    }
    experiment.check().map_err(|error| Failure::usage(error).context("these commands cannot be measured"))?;
    Ok(experiment)
}

/// The only benchmark: each version has a command of its own.
fn benchmark(arguments: &Arguments, setting: Setting<'_>) -> Benchmark {
    let accept = arguments.ignore_failure.clone().map_or(AcceptedExits::None, |Ignored(codes)| codes);
    let slots = setting.environment.keys().zip(0..);
    Benchmark {
        name: BENCHMARK.to_owned(),
        command: CommandLine::Exact(vec![placeholder(&word(0))]),
        env: slots.map(|(name, number)| (name.clone(), placeholder(&slot(number)))).collect(),
        expect: Expectation { exit: 0, accept, stdout_blake3: None },
        timeout: arguments.timeout,
        warmup: 0,
        directory: Some(placeholder(DIRECTORY)),
        weight: None,
    }
}

/// What is executed before or after each run, if anything is: the shell's words, and a line of each version's own.
fn around(arguments: &Arguments, lines: &[String], line: &str) -> Option<Setup> {
    let words = (0..arguments.shell().words().len()).map(|number| placeholder(&shell_word(number)));
    let argv = words.chain([Shell::option().to_owned(), placeholder(line)]).collect();
    let timeout = arguments.timeout;
    (!lines.is_empty()).then_some(Setup { command: CommandLine::Exact(argv), timeout })
}

/// A version: the texts of the user are values of placeholders, so that no brace in them is taken for one.
fn version(arguments: &Arguments, setting: Setting<'_>, at: usize) -> Result<Version, Failure> {
    let Setting { variants, streams, environment, directory, seed: _ } = setting;
    let variant = &variants[at];
    let mut vars = variant.parameters.clone();
    vars.insert(DIRECTORY.to_owned(), directory.to_owned());
    vars.insert(TITLE.to_owned(), variant.title.clone());
    for (name, flag, lines) in
        [(PREPARE, "--prepare", &arguments.prepare), (CONCLUDE, "--conclude", &arguments.conclude)]
    {
        let line = variant.own(at, variants, lines, flag)?;
        vars.extend(line.map(|line| (name.to_owned(), variant.filled(line))));
    }
    vars.extend(environment.values().zip(0..).map(|(value, number)| (slot(number), value.clone())));
    vars.extend(
        arguments.shell().words().into_iter().zip(0..).map(|(value, number)| (shell_word(number), value)),
    );
    let words = arguments.shell().argv(&variant.command, &streams[at])?;
    let argv = (0..words.len()).map(|number| placeholder(&word(number))).collect();
    vars.extend(words.into_iter().zip(0..).map(|(value, number)| (word(number), value)));
    let (name, command) = (variant.name.clone(), Some(CommandLine::Exact(argv)));
    Ok(Version { name, env: BTreeMap::new(), vars, command, build: None, software: None })
}

/// The commands of an experiment; none unless it is one of this verb.
pub(super) fn recorded(experiment: &Experiment) -> Option<Vec<Recorded>> {
    let command = |version: &Version| {
        let title = version.vars.get(TITLE)?.clone();
        let own = version.vars.iter().filter(|(name, _)| !name.starts_with(OWN));
        Some(Recorded { title, parameters: own.map(|(name, value)| (name.clone(), value.clone())).collect() })
    };
    experiment.compared().iter().map(command).collect()
}

fn placeholder(name: &str) -> String {
    format!("{{{name}}}")
}

fn slot(number: usize) -> String {
    format!("{OWN}env_{number}")
}

fn word(number: usize) -> String {
    format!("{OWN}word_{number}")
}

fn shell_word(number: usize) -> String {
    format!("{OWN}shell_{number}")
}
