//! An experiment and its parts. In, it is a shape only: its own door, `Experiment::check`, asks whether it makes sense.

use std::collections::BTreeSet;

use speedup_core::{
    experiment::AcceptedExits, experiment::AnalysisChoice, experiment::Benchmark, experiment::Center,
    experiment::CommandLine, experiment::Expectation, experiment::Experiment, experiment::Family,
    experiment::Independence, experiment::KeepOutput, experiment::Limits, experiment::MAX_BENCHMARKS,
    experiment::MAX_TAGS, experiment::MetricVerdict, experiment::OutputChoice, experiment::Rest,
    experiment::Setup, experiment::Version, experiment::Weights, experiment::commit::Commit,
    experiment::endpoint::MAX_METRIC_VERDICTS, experiment::endpoint::MAX_QUANTILES,
    experiment::files::MAX_FILES, experiment::metric::MAX_OWN_METRICS, experiment::metric::Metric,
    repetition::MAX_LINE, value::seed::Seed, value::time::Span,
};

use super::environment::wire_environment;
use super::field::{at_most, chosen, each, enumerated, enumeration, exactly, optional, required, small};
use super::malformed::{Malformed, Within};
use super::sampling::{run_order, sameness, wire_rule, wire_run_order, wire_sameness};
use crate::v1;
use v1::command_line::Line;

enumeration!(Weights, v1::Weights, [Equal, Custom, Fraction]);
enumeration!(KeepOutput, v1::KeepOutput, [Failed, All]);

enumeration!(Center, v1::Center, [Median, Mean]);
enumeration!(Family, v1::Family, [Common, Own]);

/// The centre, where the plan declares it.
fn center(wire: i32) -> Result<Option<Center>, Malformed> {
    let is_declared = wire != v1::Center::Unspecified as i32;
    is_declared.then(|| enumerated::<v1::Center, _>(wire, "center")).transpose()
}

impl From<&Experiment> for v1::Experiment {
    fn from(experiment: &Experiment) -> Self {
        let Independence { policy, scope, hosts, rest } = experiment.independence;
        let AnalysisChoice { confidence, center, margin, weights, precision, .. } = experiment.analysis;
        let AnalysisChoice { quantiles, verdicts, prior, .. } = &experiment.analysis;
        Self {
            name: experiment.name.clone(),
            description: experiment.description.clone(),
            tags: experiment.tags.clone(),
            selection: experiment.selection.clone(),
            seed: experiment.seed.0,
            versions: experiment.versions.iter().map(Into::into).collect(),
            baseline_again: experiment.baseline_again,
            benchmarks: experiment.benchmarks.iter().map(Into::into).collect(),
            drawn: experiment.drawn,
            runs: experiment.runs,
            own_metrics: experiment.own_metrics.iter().map(Into::into).collect(),
            metrics: experiment.metrics.iter().map(|metric| v1::Metric::from(*metric).into()).collect(),
            policy: v1::Policy::from(policy).into(),
            scope: v1::Scope::from(scope).into(),
            confidence,
            weights: v1::Weights::from(weights).into(),
            precision,
            center: center.map_or(v1::Center::Unspecified, Into::into).into(),
            margin,
            quantiles: quantiles.clone(),
            verdicts: verdicts.iter().map(Into::into).collect(),
            prior: prior.as_ref().map(Into::into),
            setup: experiment.setup.as_ref().map(Into::into),
            attempts: experiment.limits.attempts,
            all_attempts: experiment.limits.all_attempts,
            host_time_ns: experiment.limits.host_time.map(|time| time.0),
            hosts: wire_sameness(hosts).into(),
            rest: (rest != Rest::default()).then(|| rest.into()),
            run_order: wire_run_order(experiment.order).into(),
            levels: experiment.levels.are_nested().then(|| experiment.levels.into()),
            rule: wire_rule(experiment.rule),
            priority: experiment.priority,
            canary: experiment.canary.as_ref().map(Into::into),
            files: experiment.files.iter().map(Into::into).collect(),
            output: Some(experiment.output.into()),
            environment: wire_environment(&experiment.environment),
            prepare: experiment.prepare.as_ref().map(Into::into),
            cleanup: experiment.cleanup.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<v1::Experiment> for Experiment {
    type Error = Malformed;

    fn try_from(wire: v1::Experiment) -> Result<Self, Malformed> {
        let independence = Independence {
            policy: enumerated::<v1::Policy, _>(wire.policy, "policy")?,
            scope: enumerated::<v1::Scope, _>(wire.scope, "scope")?,
            hosts: sameness(wire.hosts)?,
            rest: optional(wire.rest, "rest")?.unwrap_or_default(),
        };
        let analysis = AnalysisChoice {
            confidence: wire.confidence,
            center: self::center(wire.center)?,
            margin: wire.margin,
            quantiles: quantiles(wire.quantiles)?,
            verdicts: each(wire.verdicts, MAX_METRIC_VERDICTS, "verdicts")?,
            weights: enumerated::<v1::Weights, _>(wire.weights, "weights")?,
            precision: wire.precision,
            prior: optional(wire.prior, "prior")?,
        };
        let host_time = wire.host_time_ns.map(Span);
        let limits = Limits { attempts: wire.attempts, all_attempts: wire.all_attempts, host_time };
        Ok(Self {
            name: wire.name,
            description: wire.description,
            tags: tags(wire.tags)?,
            selection: wire.selection,
            seed: Seed(wire.seed),
            versions: each(wire.versions, MAX_LINE, "versions")?,
            baseline_again: wire.baseline_again,
            benchmarks: each(wire.benchmarks, MAX_BENCHMARKS, "benchmarks")?,
            drawn: wire.drawn,
            runs: wire.runs,
            metrics: metrics(&wire.metrics)?,
            own_metrics: each(wire.own_metrics, MAX_OWN_METRICS, "own_metrics")?,
            independence,
            analysis,
            setup: optional(wire.setup, "setup")?,
            prepare: optional(wire.prepare, "prepare")?,
            cleanup: optional(wire.cleanup, "cleanup")?,
            environment: optional(wire.environment, "environment")?.unwrap_or_default(),
            limits,
            levels: optional(wire.levels, "levels")?.unwrap_or_default(),
            order: run_order(wire.run_order)?,
            rule: optional(wire.rule, "rule")?.unwrap_or_default(),
            priority: wire.priority,
            canary: optional(wire.canary, "canary")?,
            files: each(wire.files, MAX_FILES, "files")?,
            output: required(wire.output, "output")?,
        })
    }
}

/// Tags, no more than an experiment may have.
pub(super) fn tags(wire: Vec<String>) -> Result<Vec<String>, Malformed> {
    at_most(wire.len(), MAX_TAGS, "tags")?;
    Ok(wire)
}

fn quantiles(wire: Vec<f64>) -> Result<Vec<f64>, Malformed> {
    at_most(wire.len(), MAX_QUANTILES, "quantiles")?;
    Ok(wire)
}

impl From<&MetricVerdict> for v1::MetricVerdict {
    fn from(verdict: &MetricVerdict) -> Self {
        let MetricVerdict { metric, margin, family } = verdict.clone();
        Self { metric, margin, family: v1::Family::from(family).into() }
    }
}

impl TryFrom<v1::MetricVerdict> for MetricVerdict {
    type Error = Malformed;

    fn try_from(wire: v1::MetricVerdict) -> Result<Self, Malformed> {
        let v1::MetricVerdict { metric, margin, family } = wire;
        Ok(Self { metric, margin, family: enumerated::<v1::Family, _>(family, "family")? })
    }
}

pub(super) fn metrics(wire: &[i32]) -> Result<Vec<Metric>, Malformed> {
    at_most(wire.len(), Metric::ALL.len(), "metrics")?;
    let metric = |(index, value): (usize, &i32)| {
        enumerated::<v1::Metric, _>(*value, "metric").within_nth("metrics", index)
    };
    wire.iter().enumerate().map(metric).collect()
}

impl From<&Version> for v1::Version {
    fn from(version: &Version) -> Self {
        let Version { name, env, vars, command, build, software, commit } = version.clone();
        Self {
            name,
            env,
            vars,
            command: command.map(Into::into),
            build: build.map(Into::into),
            software: software.as_ref().map(Into::into),
            commit: commit.map(Into::into),
        }
    }
}

impl TryFrom<v1::Version> for Version {
    type Error = Malformed;

    fn try_from(wire: v1::Version) -> Result<Self, Malformed> {
        let v1::Version { name, env, vars, command, build, software, commit } = wire;
        let (command, build) = (optional(command, "command")?, optional(build, "build")?);
        let software = optional(software, "software")?;
        Ok(Self { name, env, vars, command, build, software, commit: commit.map(Into::into) })
    }
}

impl From<Commit> for v1::Commit {
    fn from(commit: Commit) -> Self {
        let Commit { id, revision, subject } = commit;
        Self { id, revision, subject }
    }
}

impl From<v1::Commit> for Commit {
    fn from(wire: v1::Commit) -> Self {
        let v1::Commit { id, revision, subject } = wire;
        Self { id, revision, subject }
    }
}

impl From<&Benchmark> for v1::Benchmark {
    fn from(benchmark: &Benchmark) -> Self {
        Self {
            name: benchmark.name.clone(),
            command: Some(benchmark.command.clone().into()),
            env: benchmark.env.clone(),
            expect: Some((&benchmark.expect).into()),
            timeout_ns: benchmark.timeout.0,
            warmup: benchmark.warmup,
            directory: benchmark.directory.clone(),
            weight: benchmark.weight,
            gang: benchmark.gang.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<v1::Benchmark> for Benchmark {
    type Error = Malformed;

    fn try_from(wire: v1::Benchmark) -> Result<Self, Malformed> {
        Ok(Self {
            name: wire.name,
            command: required(wire.command, "command")?,
            env: wire.env,
            expect: required(wire.expect, "expect")?,
            timeout: Span(wire.timeout_ns),
            warmup: wire.warmup,
            directory: wire.directory,
            weight: wire.weight,
            gang: optional(wire.gang, "gang")?,
        })
    }
}

impl From<CommandLine> for v1::CommandLine {
    fn from(command: CommandLine) -> Self {
        let line = match command {
            CommandLine::Exact(words) => Line::Exact(v1::Argv { words }),
            CommandLine::Shell(line) => Line::Shell(line),
        };
        Self { line: Some(line) }
    }
}

impl TryFrom<v1::CommandLine> for CommandLine {
    type Error = Malformed;

    fn try_from(wire: v1::CommandLine) -> Result<Self, Malformed> {
        Ok(match chosen(wire.line, "line")? {
            Line::Exact(argv) => Self::Exact(argv.words),
            Line::Shell(line) => Self::Shell(line),
        })
    }
}

impl From<&Expectation> for v1::Expectation {
    fn from(expect: &Expectation) -> Self {
        let stdout_blake3 = expect.stdout_blake3.map(|hash| hash.to_vec());
        let (accept, accept_all) = match &expect.accept {
            AcceptedExits::None => (Vec::new(), false),
            AcceptedExits::These(codes) => (codes.iter().map(|code| u32::from(*code)).collect(), false),
            AcceptedExits::All => (Vec::new(), true),
        };
        Self { exit: u32::from(expect.exit), stdout_blake3, accept, accept_all }
    }
}

impl TryFrom<v1::Expectation> for Expectation {
    type Error = Malformed;

    fn try_from(wire: v1::Expectation) -> Result<Self, Malformed> {
        let hash = |bytes: Vec<u8>| exactly(&bytes, "stdout_blake3");
        let codes = wire.accept.into_iter().map(|code| small(code, "accept"));
        let codes = codes.collect::<Result<BTreeSet<u8>, _>>()?;
        let accept = match (wire.accept_all, codes.is_empty()) {
            (true, _) => AcceptedExits::All,
            (false, true) => AcceptedExits::None,
            (false, false) => AcceptedExits::These(codes),
        };
        let stdout_blake3 = wire.stdout_blake3.map(hash).transpose()?;
        Ok(Self { exit: small(wire.exit, "exit")?, accept, stdout_blake3 })
    }
}

impl From<&Setup> for v1::Setup {
    fn from(setup: &Setup) -> Self {
        setup.clone().into()
    }
}

impl From<Setup> for v1::Setup {
    fn from(setup: Setup) -> Self {
        Self { command: Some(setup.command.into()), timeout_ns: setup.timeout.0 }
    }
}

impl TryFrom<v1::Setup> for Setup {
    type Error = Malformed;

    fn try_from(wire: v1::Setup) -> Result<Self, Malformed> {
        Ok(Self { command: required(wire.command, "command")?, timeout: Span(wire.timeout_ns) })
    }
}

impl From<OutputChoice> for v1::Output {
    fn from(output: OutputChoice) -> Self {
        let OutputChoice { limit, keep, keep_of } = output;
        Self { limit, keep, keep_of: v1::KeepOutput::from(keep_of).into() }
    }
}

impl TryFrom<v1::Output> for OutputChoice {
    type Error = Malformed;

    fn try_from(wire: v1::Output) -> Result<Self, Malformed> {
        let v1::Output { limit, keep, keep_of } = wire;
        Ok(Self { limit, keep, keep_of: enumerated::<v1::KeepOutput, _>(keep_of, "keep_of")? })
    }
}
