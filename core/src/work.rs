//! A work order: all that an agent needs to execute one run. The agent chooses nothing; it only knows where its own
//! input directory lies, so [`WorkOrder::resolve`] fills the placeholders there, with the rules of [`crate::template`].

use std::collections::BTreeMap;

use crate::experiment::{
    Benchmark, CommandLine, Expectation, Experiment, Metric, OutputChoice, OwnMetric, Setup,
};
use crate::plan::Cell;
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
    /// Done once on this host before the experiment's first run.
    pub setup: Option<Setup>,
    /// What is measured.
    pub metrics: Vec<Metric>,
    /// What is read from the output.
    pub own_metrics: Vec<OwnMetric>,
    /// What becomes of the output.
    pub output: OutputChoice,
}

/// A command with nothing left to fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The argument vector.
    pub argv: Vec<String>,
    /// The environment beside what the agent gives every run.
    pub env: BTreeMap<String, String>,
}

/// The placeholder for the host's input directory.
pub const INPUT: &str = "input";
/// The placeholder for the version's name.
pub const VERSION: &str = "version";
/// The placeholder for the benchmark's name.
pub const BENCHMARK: &str = "benchmark";

impl WorkOrder {
    /// The work order of a cell.
    pub fn new(experiment: &Experiment, cell: Cell) -> Self {
        let benchmark = &experiment.benchmarks[cell.benchmark.0 as usize];
        let version = &experiment.versions[cell.version.0 as usize];
        let mut env = benchmark.env.clone();
        env.extend(version.env.clone());
        let mut vars = version.vars.clone();
        vars.insert(VERSION.to_owned(), version.name.clone());
        vars.insert(BENCHMARK.to_owned(), benchmark.name.clone());
        let Benchmark { command, expect, timeout, warmup, .. } = benchmark.clone();
        let (setup, output) = (experiment.setup.clone(), experiment.output);
        let (metrics, own_metrics) = (experiment.metrics.clone(), experiment.own_metrics.clone());
        Self { command, env, vars, expect, timeout, warmup, setup, metrics, own_metrics, output }
    }

    /// The command of the run, on a host whose input directory is `input`.
    pub fn resolve(&self, input: &str) -> Result<Resolved, TemplateError> {
        self.resolve_line(&self.command, input)
    }

    /// The command of the setup, if there is one.
    pub fn resolve_setup(&self, input: &str) -> Result<Option<Resolved>, TemplateError> {
        self.setup
            .as_ref()
            .map(|setup| resolve(&setup.command, &BTreeMap::new(), &BTreeMap::new(), input))
            .transpose()
    }

    fn resolve_line(&self, line: &CommandLine, input: &str) -> Result<Resolved, TemplateError> {
        resolve(line, &self.env, &self.vars, input)
    }
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
    Ok(Resolved { argv, env })
}
