//! The experiment of a comparison: one benchmark, a version a command, on one host.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use anyhow::anyhow;
use speedup_core::experiment::environment::Environment;
use speedup_core::experiment::{
    AcceptedExits, AnalysisChoice, Benchmark, CommandLine, Expectation, Experiment, Independence, KeepOutput,
    Levels, Limits, Metric, Order, OutputChoice, Rule, Setup, Version, Weights,
};
use speedup_core::value::seed::Seed;

use super::Arguments;
use super::variant::Variant;
use crate::exit::failure::Failure;
use crate::plan::source::drawn_seed;

/// What the commands see of this shell's environment.
const INHERITED: [&str; 6] = ["HOME", "PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH"];
/// What a command may write to each stream: it is held in memory.
const OUTPUT_LIMIT: u64 = 256 << 20;
/// What is kept of each stream of a failed run.
const OUTPUT_KEPT: u64 = 16 << 10;
/// The precision of the required number of benchmarks, which one benchmark does not have.
const PRECISION: f64 = 0.05;
/// What our own placeholders begin with; the user's parameters do not.
pub(super) const OWN: &str = "bench_";
/// The placeholder of a command.
const COMMAND: &str = "bench_command";
/// The placeholders of what is executed before and after it.
const PREPARE: &str = "bench_prepare";
const CONCLUDE: &str = "bench_conclude";
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
            .map_err(|_| "give exit codes from 0 to 255, as 1,2".to_owned())
    }
}

/// The experiment that the arguments describe.
pub(super) fn build(
    arguments: &Arguments,
    variants: &[Variant],
    directory: &Path,
) -> Result<Experiment, Failure> {
    let environment = environment(&arguments.env)?;
    let versions: Result<Vec<Version>, Failure> =
        variants.iter().map(|variant| version(variant, &environment, arguments)).collect();
    // A path that is not UTF-8 cannot travel in a plan.
    let directory =
        directory.to_str().ok_or_else(|| Failure::usage(anyhow!("this directory's path is not UTF-8")))?;
    let timeout = arguments.timeout;
    let around = |name: &str| Setup { command: CommandLine::Shell(format!("{{{name}}}")), timeout };
    let accept = arguments.ignore_failure.clone().map_or(AcceptedExits::None, |Ignored(codes)| codes);
    let benchmark = Benchmark {
        name: BENCHMARK.to_owned(),
        command: CommandLine::Shell(format!("{{{COMMAND}}}")),
        env: environment
            .iter()
            .zip(0..)
            .map(|((name, _), number)| (name.clone(), format!("{{{}}}", slot(number))))
            .collect(),
        expect: Expectation { exit: 0, accept, stdout_blake3: None },
        timeout,
        warmup: 0,
        directory: Some(format!("{{{DIRECTORY}}}")),
        weight: None,
    };
    let mut versions = versions?;
    for version in &mut versions {
        version.vars.insert(DIRECTORY.to_owned(), directory.to_owned());
    }
    let experiment = Experiment {
        name: "bench".to_owned(),
        description: String::new(),
        seed: arguments.seed.map_or_else(drawn_seed, Seed),
        priority: 0,
        versions,
        benchmarks: vec![benchmark],
        baseline_again: false,
        drawn: None,
        runs: arguments.runs,
        levels: Levels::default(),
        order: Order::Randomized,
        rule: Rule::Fixed,
        metrics: vec![Metric::Wall, Metric::User, Metric::System, Metric::MaxRss],
        own_metrics: Vec::new(),
        files: Vec::new(),
        independence: Independence::of_any_host(),
        analysis: AnalysisChoice {
            confidence: arguments.confidence.get(),
            center: arguments.center.map(Into::into),
            margin: arguments.margin,
            quantiles: Vec::new(),
            verdicts: Vec::new(),
            weights: Weights::Equal,
            precision: PRECISION,
        },
        setup: None,
        prepare: arguments.prepare.as_ref().map(|_| around(PREPARE)),
        cleanup: arguments.conclude.as_ref().map(|_| around(CONCLUDE)),
        canary: None,
        environment: Environment::default(),
        limits: Limits::of_attempts(1),
        output: OutputChoice { limit: OUTPUT_LIMIT, keep: OUTPUT_KEPT, keep_of: KeepOutput::Failed },
    };
    experiment.check().map_err(|error| Failure::usage(error).context("these commands cannot be compared"))?;
    Ok(experiment)
}

/// A version: the texts of the user are values of placeholders, so that no brace in them is taken for one.
fn version(
    variant: &Variant,
    environment: &BTreeMap<String, String>,
    arguments: &Arguments,
) -> Result<Version, Failure> {
    let mut vars = variant.parameters.clone();
    vars.insert(COMMAND.to_owned(), variant.command.clone());
    for (name, line) in [(PREPARE, &arguments.prepare), (CONCLUDE, &arguments.conclude)] {
        vars.extend(line.as_ref().map(|line| (name.to_owned(), variant.filled(line))));
    }
    vars.extend(environment.values().zip(0..).map(|(value, number)| (slot(number), value.clone())));
    let command = if arguments.no_shell {
        let words = shlex::split(&variant.command).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| {
            Failure::usage(anyhow!("{:?} has no words, or a quote that is not closed", variant.command))
        })?;
        let names: Vec<String> = (0..words.len()).map(|number| format!("{OWN}word_{number}")).collect();
        let argv = names.iter().map(|name| format!("{{{name}}}")).collect();
        vars.extend(names.into_iter().zip(words));
        Some(CommandLine::Exact(argv))
    } else {
        None
    };
    Ok(Version { name: variant.name.clone(), env: BTreeMap::new(), vars, command, build: None })
}

fn slot(number: usize) -> String {
    format!("{OWN}env_{number}")
}

/// What the commands see: what is inherited, and what the user names.
fn environment(named: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let own = |name: &str| std::env::var(name).ok();
    let mut environment: BTreeMap<String, String> =
        INHERITED.iter().filter_map(|name| Some(((*name).to_owned(), own(name)?))).collect();
    for text in named {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => {
                let value = own(text).ok_or_else(|| {
                    Failure::usage(anyhow!("this shell has no variable {text}, or its value is not UTF-8"))
                        .hint("give the value: --env NAME=VALUE")
                })?;
                (text.as_str(), value)
            }
        };
        environment.insert(name.to_owned(), value);
    }
    Ok(environment)
}
