//! A work order: all that an agent needs to execute one run. The agent chooses nothing; it only knows where its own
//! input directory lies, so [`WorkOrder::resolve`] fills the placeholders there, with the rules of [`crate::template`].

use std::collections::BTreeMap;

use crate::environment::{DirectoryLength, EnvSize, Environment};
use crate::experiment::{
    Benchmark, CommandLine, Expectation, Experiment, Metric, OutputChoice, OwnMetric, Policy, Rest, Setup,
};
use crate::id::RunIndex;
use crate::plan::Cell;
use crate::seed::below;
use crate::template::{TemplateError, expand};
use crate::time::Span;

/// All that an agent needs to execute one run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkOrder {
    /// What is executed; placeholders are still in place.
    pub command: CommandLine,
    /// Its environment, beside what the agent gives every run.
    pub env: BTreeMap<String, String>,
    /// Values of placeholders.
    pub vars: BTreeMap<String, String>,
    /// What a correct run looks like.
    pub expect: Expectation,
    /// A run that lasts longer has failed.
    pub timeout: Span,
    /// Executions before the clock starts.
    pub warmup: u32,
    /// Where the run stands; placeholders are still in place.
    pub directory: Option<String>,
    /// Done once on this host before the experiment's first run.
    pub setup: Option<Setup>,
    /// Done before each execution, outside the clock.
    pub prepare: Option<Setup>,
    /// Done after each execution, outside the clock.
    pub cleanup: Option<Setup>,
    /// Timed by itself after the run.
    pub canary: Option<Setup>,
    /// The environment of the timed execution.
    pub environment: Environment,
    /// The padding of the environment variables in bytes, where the plan has it drawn.
    pub env_padding: Option<u32>,
    /// By how much the name of the working directory is lengthened, in bytes, where the plan has it drawn.
    pub directory_padding: Option<u32>,
    /// What is measured.
    pub metrics: Vec<Metric>,
    /// What is read from the output.
    pub own_metrics: Vec<OwnMetric>,
    /// What becomes of the output.
    pub output: OutputChoice,
    /// What the host has to be like before anything is done, where the plan has it rest.
    pub rest: Option<Rest>,
}

/// A command with nothing left to fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The argument vector.
    pub argv: Vec<String>,
    /// The environment beside what the agent gives every run.
    pub env: BTreeMap<String, String>,
    /// Where it stands, unless in a new directory.
    pub directory: Option<String>,
}

/// The placeholder for the host's input directory.
pub const INPUT: &str = "input";
/// The placeholder for the version's name.
pub const VERSION: &str = "version";
/// The placeholder for the benchmark's name.
pub const BENCHMARK: &str = "benchmark";

impl WorkOrder {
    /// The work order of a run of a cell. What is random in it depends on the experiment's seed and the run, not on the
    /// attempt.
    pub fn new(experiment: &Experiment, cell: Cell, run: RunIndex) -> Self {
        let benchmark = &experiment.benchmarks[cell.benchmark.0 as usize];
        let version = &experiment.versions[cell.version.0 as usize];
        let mut env = benchmark.env.clone();
        env.extend(version.env.clone());
        let mut vars = version.vars.clone();
        vars.insert(VERSION.to_owned(), version.name.clone());
        vars.insert(BENCHMARK.to_owned(), benchmark.name.clone());
        let Benchmark { command, expect, timeout, warmup, directory, .. } = benchmark.clone();
        Self {
            command: version.command.clone().unwrap_or(command),
            env,
            vars,
            expect,
            timeout,
            warmup,
            directory,
            setup: experiment.setup.clone(),
            prepare: experiment.prepare.clone(),
            cleanup: experiment.cleanup.clone(),
            canary: experiment.canary.clone(),
            environment: experiment.environment.clone(),
            env_padding: env_padding(experiment, run),
            directory_padding: directory_padding(experiment, run),
            metrics: experiment.metrics.clone(),
            own_metrics: experiment.own_metrics.clone(),
            output: experiment.output,
            rest: (experiment.independence.policy == Policy::Rested).then_some(experiment.independence.rest),
        }
    }

    /// The command of the run, on a host whose input directory is `input`.
    pub fn resolve(&self, input: &str) -> Result<Resolved, TemplateError> {
        let value = |name: &str| match name {
            INPUT => Some(input),
            name => self.vars.get(name).map(String::as_str),
        };
        let directory = self.directory.as_ref().map(|directory| expand(directory, value)).transpose()?;
        Ok(Resolved { directory, ..resolve(&self.command, &self.env, &self.vars, input)? })
    }

    /// The command of the setup, if there is one.
    pub fn resolve_setup(&self, input: &str) -> Result<Option<Resolved>, TemplateError> {
        resolve_of_host(self.setup.as_ref(), input)
    }

    /// The command of the preparation, if there is one.
    pub fn resolve_prepare(&self, input: &str) -> Result<Option<Resolved>, TemplateError> {
        self.prepare.as_ref().map(|prepare| self.resolve_line(&prepare.command, input)).transpose()
    }

    /// The command of the cleanup, if there is one.
    pub fn resolve_cleanup(&self, input: &str) -> Result<Option<Resolved>, TemplateError> {
        self.cleanup.as_ref().map(|cleanup| self.resolve_line(&cleanup.command, input)).transpose()
    }

    /// The command of the canary, if there is one. It is the same for all cells.
    pub fn resolve_canary(&self, input: &str) -> Result<Option<Resolved>, TemplateError> {
        resolve_of_host(self.canary.as_ref(), input)
    }

    fn resolve_line(&self, line: &CommandLine, input: &str) -> Result<Resolved, TemplateError> {
        resolve(line, &self.env, &self.vars, input)
    }
}

/// The padding of a run's environment, each size from 0 to the plan's most equally likely.
fn env_padding(experiment: &Experiment, run: RunIndex) -> Option<u32> {
    match experiment.environment.env_size {
        EnvSize::AsIs | EnvSize::Total(_) => None,
        EnvSize::Random(most) => {
            let random = &mut experiment.seed.child(&format!("environment size of run {run}"));
            Some(below(u64::from(most) + 1, random) as u32)
        }
    }
}

/// The lengthening of a run's working directory, each from 0 to the plan's most equally likely.
fn directory_padding(experiment: &Experiment, run: RunIndex) -> Option<u32> {
    match experiment.environment.directory_length {
        DirectoryLength::AsIs | DirectoryLength::Total(_) => None,
        DirectoryLength::Random(most) => {
            let random = &mut experiment.seed.child(&format!("directory length of run {run}"));
            Some(below(u64::from(most) + 1, random) as u32)
        }
    }
}

/// A command that knows nothing of benchmarks and versions.
fn resolve_of_host(setup: Option<&Setup>, input: &str) -> Result<Option<Resolved>, TemplateError> {
    let nothing = BTreeMap::new();
    setup.map(|setup| resolve(&setup.command, &nothing, &nothing, input)).transpose()
}

fn resolve(
    line: &CommandLine,
    env: &BTreeMap<String, String>,
    vars: &BTreeMap<String, String>,
    input: &str,
) -> Result<Resolved, TemplateError> {
    let value = |name: &str| if name == INPUT { Some(input) } else { vars.get(name).map(String::as_str) };
    let argv = match line {
        CommandLine::Exact(argv) => argv.iter().map(|word| expand(word, value)).collect::<Result<_, _>>()?,
        CommandLine::Shell(line) => vec!["/bin/sh".to_owned(), "-c".to_owned(), expand(line, value)?],
    };
    let env = env
        .iter()
        .map(|(name, text)| Ok((name.clone(), expand(text, value)?)))
        .collect::<Result<_, TemplateError>>()?;
    Ok(Resolved { argv, env, directory: None })
}
