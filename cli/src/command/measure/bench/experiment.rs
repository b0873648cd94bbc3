//! The experiment of a comparison, on one host: of commands one benchmark, each command a version; of commits a benchmark a command,
//! each commit a version.

use std::{collections::BTreeMap, collections::BTreeSet, str::FromStr};

use anyhow::anyhow;
use speedup_core::experiment::environment::Environment;
use speedup_core::experiment::{
    AcceptedExits, AnalysisChoice, Benchmark, CommandLine, Expectation, Experiment, Independence, KeepOutput,
    Levels, Limits, Metric, Order, OutputChoice, Setup, Version, Weights,
};
use speedup_core::value::seed::Seed;

use super::{
    Arguments, bounds::RunCount, checkout::Checkout, shell::Shell, streams::Streams, variant::OWN,
    variant::Variant,
};
use crate::exit::failure::Failure;

/// What a command may write to each stream: it is held in memory.
const OUTPUT_LIMIT: u64 = 256 << 20;
/// Attempts at a run, as many as a plan has by default: a run that the end of its command cut off is executed anew.
const ATTEMPTS: u32 = 3;
/// What is kept of each stream of a failed run.
const OUTPUT_KEPT: u64 = 16 << 10;
/// The precision of the required number of benchmarks, which one benchmark does not have.
const PRECISION: f64 = 0.05;
/// The placeholders of what is executed before and after a command.
const PREPARE: &str = "bench_prepare";
const CONCLUDE: &str = "bench_conclude";
/// The placeholders of what a command is called and of its parameters; nothing refers to them but who reads the record.
const TITLE: &str = "bench_title";
const PARAMETER: &str = "bench_parameter";
const DIRECTORY: &str = "bench_directory";
/// The only benchmark, where commands are compared.
const BENCHMARK: &str = "command";

/// The exit codes of `--ignore-failure`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IgnoredExits(AcceptedExits);

impl FromStr for IgnoredExits {
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
    pub(super) variants: &'a [Variant],
    /// Where they read from and write to.
    pub(super) streams: &'a [Streams],
    /// What they see of the environment.
    pub(super) environment: &'a BTreeMap<String, String>,
    /// Where they stand, unless that is where a commit is.
    pub(super) directory: &'a str,
    /// The commits that are compared; none where commands are.
    pub(super) checkouts: &'a [Checkout],
    /// All randomness comes from here.
    pub(super) seed: Seed,
}

/// A command as the record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedCommand {
    pub(super) title: String,
    pub(super) parameters: BTreeMap<String, String>,
}

/// The experiment that the arguments describe, with so many runs.
pub(super) fn build(
    arguments: &Arguments,
    setting: Setting<'_>,
    settled: RunCount,
) -> Result<Experiment, Failure> {
    let versions: Result<Vec<Version>, Failure> = match setting.checkouts {
        [] => (0..setting.variants.len()).map(|at| command_version(arguments, setting, at)).collect(),
        checkouts => checkouts.iter().map(|one| commit_version(arguments, setting, one)).collect(),
    };
    let mut experiment = Experiment {
        name: "bench".to_owned(),
        description: String::new(),
        selection: String::new(),
        tags: arguments.tags.added_to(Vec::new()),
        seed: setting.seed,
        priority: 0,
        versions: versions?,
        benchmarks: benchmarks(arguments, setting)?,
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
            center: Some(arguments.center.unwrap_or_default()),
            trim: arguments.trim,
            margin: arguments.margin,
            quantiles: arguments.quantile.clone(),
            verdicts: Vec::new(),
            weights: Weights::Equal,
            precision: PRECISION,
            prior: None,
        },
        setup: None,
        prepare: around(arguments, &arguments.prepare, PREPARE),
        cleanup: around(arguments, &arguments.conclude, CONCLUDE),
        canary: None,
        environment: Environment::default(),
        limits: Limits::of_attempts(ATTEMPTS),
        output: OutputChoice { limit: OUTPUT_LIMIT, keep: OUTPUT_KEPT, keep_of: KeepOutput::Failed },
    };
    if arguments.control {
        experiment.add_control();
    }
    experiment.check().map_err(|error| Failure::usage(error).context("these commands cannot be measured"))?;
    Ok(experiment)
}

/// The only benchmark, where each version has a command of its own; else one for each command.
fn benchmarks(arguments: &Arguments, setting: Setting<'_>) -> Result<Vec<Benchmark>, Failure> {
    if setting.checkouts.is_empty() {
        return Ok(vec![benchmark(arguments, setting, BENCHMARK, vec![placeholder(&word(0))])]);
    }
    let of = |(at, variant): (usize, &Variant)| {
        let words = arguments.shell().argv(&variant.command, &setting.streams[at])?.len();
        let argv = (0..words).map(|number| placeholder(&variant_placeholder(at, &word(number)))).collect();
        Ok(benchmark(arguments, setting, &variant.name, argv))
    };
    setting.variants.iter().enumerate().map(of).collect()
}

fn benchmark(arguments: &Arguments, setting: Setting<'_>, name: &str, argv: Vec<String>) -> Benchmark {
    let accept = arguments.ignore_failure.clone().map_or(AcceptedExits::None, |IgnoredExits(codes)| codes);
    let slots = setting.environment.keys().zip(0..);
    Benchmark {
        name: name.to_owned(),
        command: CommandLine::Exact(argv),
        env: slots.map(|(name, number)| (name.clone(), placeholder(&slot(number)))).collect(),
        expect: Expectation { exit: 0, accept, stdout_blake3: None },
        timeout: arguments.timeout,
        warmup: 0,
        directory: Some(placeholder(DIRECTORY)),
        weight: None,
        gang: None,
    }
}

/// What is executed before or after each run, if anything is: the shell's words, and a line of each version's own.
fn around(arguments: &Arguments, lines: &[String], line: &str) -> Option<Setup> {
    let words = (0..arguments.shell().words().len()).map(|number| placeholder(&shell_word(number)));
    let argv = words.chain([Shell::option().to_owned(), placeholder(line)]).collect();
    let timeout = arguments.timeout;
    (!lines.is_empty()).then_some(Setup { command: CommandLine::Exact(argv), timeout })
}

/// What every version has: the texts of the user are values of placeholders, so that no brace in them is taken for one.
fn common(arguments: &Arguments, setting: Setting<'_>, directory: &str) -> BTreeMap<String, String> {
    let mut vars = BTreeMap::from([(DIRECTORY.to_owned(), directory.to_owned())]);
    vars.extend(setting.environment.values().zip(0..).map(|(value, number)| (slot(number), value.clone())));
    vars.extend(
        arguments.shell().words().into_iter().zip(0..).map(|(value, number)| (shell_word(number), value)),
    );
    vars
}

/// The lines around a command, by their placeholders.
fn lines_around(
    arguments: &Arguments,
    setting: Setting<'_>,
    at: usize,
) -> Result<BTreeMap<String, String>, Failure> {
    let variant = &setting.variants[at];
    let mut lines = BTreeMap::new();
    for (name, flag, given) in
        [(PREPARE, "--prepare", &arguments.prepare), (CONCLUDE, "--conclude", &arguments.conclude)]
    {
        let line = variant.own(at, setting.variants, given, flag)?;
        lines.extend(line.map(|line| (name.to_owned(), variant.filled(line))));
    }
    Ok(lines)
}

/// A version that is a command.
fn command_version(arguments: &Arguments, setting: Setting<'_>, at: usize) -> Result<Version, Failure> {
    let variant = &setting.variants[at];
    let mut vars = variant.parameters.clone();
    vars.extend(common(arguments, setting, setting.directory));
    vars.extend(lines_around(arguments, setting, at)?);
    vars.insert(TITLE.to_owned(), variant.title.clone());
    let words = arguments.shell().argv(&variant.command, &setting.streams[at])?;
    let argv = (0..words.len()).map(|number| placeholder(&word(number))).collect();
    vars.extend(words.into_iter().zip(0..).map(|(value, number)| (word(number), value)));
    let (name, command) = (variant.name.clone(), Some(CommandLine::Exact(argv)));
    Ok(Version { name, env: BTreeMap::new(), vars, command, build: None, software: None, commit: None })
}

/// A version that is a commit: it knows the words of every command.
fn commit_version(arguments: &Arguments, setting: Setting<'_>, of: &Checkout) -> Result<Version, Failure> {
    let mut vars = common(arguments, setting, &of.directory);
    let around = lines_around(arguments, setting, 0)?;
    for (at, variant) in setting.variants.iter().enumerate() {
        if lines_around(arguments, setting, at)? != around {
            return Err(Failure::usage(anyhow!(
                "with --git, what is executed around the runs is the same for all commands"
            ))
            .hint("give --prepare and --conclude once, without parameters"));
        }
        let words = arguments.shell().argv(&variant.command, &setting.streams[at])?;
        vars.extend(
            words.into_iter().zip(0..).map(|(value, number)| (variant_placeholder(at, &word(number)), value)),
        );
        vars.insert(variant_placeholder(at, TITLE), variant.title.clone());
        let parameters = variant.parameters.iter();
        let parameter = |(name, value): (&String, &String)| {
            (format!("{}_{name}", variant_placeholder(at, PARAMETER)), value.clone())
        };
        vars.extend(parameters.map(parameter));
    }
    vars.extend(around);
    let (name, commit) = (of.name.clone(), Some(of.commit.clone()));
    Ok(Version { name, env: BTreeMap::new(), vars, command: None, build: None, software: None, commit })
}

/// The commands of an experiment by benchmark and version; none unless it is one of this verb.
pub(super) fn recorded(experiment: &Experiment) -> Option<BTreeMap<(u32, u32), RecordedCommand>> {
    let versions = || (0..).zip(experiment.compared());
    let of_commands = versions().map(|(number, version)| {
        let title = version.vars.get(TITLE)?.clone();
        let own = version.vars.iter().filter(|(name, _)| !name.starts_with(OWN));
        let parameters = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        Some(((0, number), RecordedCommand { title, parameters }))
    });
    let of_commits = || {
        let cells = (0..experiment.benchmarks.len()).flat_map(|at| versions().map(move |of| (at, of)));
        let cell = |(at, (number, version)): (usize, (u32, &Version))| {
            let title = format!("{} ({})", version.vars.get(&variant_placeholder(at, TITLE))?, version.name);
            let before = format!("{}_", variant_placeholder(at, PARAMETER));
            let own =
                version.vars.iter().filter_map(|(name, value)| Some((name.strip_prefix(&before)?, value)));
            let parameters = own.map(|(name, value)| (name.to_owned(), value.clone())).collect();
            Some(((u32::try_from(at).ok()?, number), RecordedCommand { title, parameters }))
        };
        cells.map(cell).collect()
    };
    of_commands.collect::<Option<_>>().or_else(of_commits)
}

/// A placeholder of one of the commands, where each version knows all.
fn variant_placeholder(at: usize, name: &str) -> String {
    format!("{name}_of_{at}")
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
