//! An experiment and its parts. Only the shape of what comes in is checked; `Experiment::check` validates its content.

pub(super) mod build;
mod environment;
pub(super) mod metric;
pub(super) mod plan;

use std::collections::BTreeSet;

use speedup_core::experiment::gang::{Gang, GangLauncher, ScalingLaw, ScalingSeries};
use speedup_core::experiment::prior::{LinePrior, MAX_PRIOR_PATHS, PathWeight};
use speedup_core::experiment::{Bisection, Levels, Policy, Rest, Rule, Scope, Spending};
use speedup_core::{
    experiment::AcceptedExits, experiment::AnalysisChoice, experiment::Benchmark, experiment::Center,
    experiment::CommandLine, experiment::Expectation, experiment::Experiment, experiment::Family,
    experiment::Independence, experiment::KeepOutput, experiment::Limits, experiment::MAX_BENCHMARKS,
    experiment::MAX_TAGS, experiment::MetricVerdict, experiment::Order, experiment::OutputChoice,
    experiment::Sameness, experiment::Setup, experiment::Version, experiment::Weights,
    experiment::commit::Commit, experiment::endpoint::MAX_METRIC_VERDICTS,
    experiment::endpoint::MAX_QUANTILES, experiment::files::MAX_FILES, experiment::metric::MAX_OWN_METRICS,
    experiment::metric::Metric, repetition::MAX_LINE,
};

use super::wire::malformed::{Malformed, Why};
use super::wire::{
    Choices, Each, OrDefault, PlainList, Unwritten, Wire, enumeration, oneof, structure, wire,
};
use crate::v1;
use v1::command_line::Line;
use v1::rule::{Budget, Pilot, Rule as WireRule, Sequential};
enumeration!(Weights, v1::Weights, [Equal, Custom, Fraction]);
enumeration!(KeepOutput, v1::KeepOutput, [Failed, All]);

enumeration!(Center, v1::Center, [Median, Mean, Trimmed]);
enumeration!(Family, v1::Family, [Common, Own]);

structure!(
    Experiment {
        name, description, tags, selection, seed, versions, baseline_again, benchmarks, drawn, runs, metrics, own_metrics,
        independence: Independence { policy, scope, hosts, rest },
        analysis: AnalysisChoice { confidence, center, trim, margin, quantiles, verdicts, weights, precision, prior },
        limits: Limits { attempts, all_attempts, host_time },
        setup, prepare, cleanup, environment, levels, order, rule, priority, canary, files, output
    },
    v1::Experiment,
    [
        policy, scope,
        hosts => Unwritten(Sameness::Unchecked),
        rest => OrDefault,
        confidence,
        center, trim, margin,
        quantiles => PlainList(MAX_QUANTILES),
        verdicts => Each(MAX_METRIC_VERDICTS),
        weights, precision, prior, attempts, all_attempts,
        host_time = host_time_ns,
        name, description,
        tags => PlainList(MAX_TAGS),
        selection, seed,
        versions => Each(MAX_LINE),
        baseline_again,
        benchmarks => Each(MAX_BENCHMARKS),
        drawn, runs,
        metrics => METRICS,
        own_metrics => Each(MAX_OWN_METRICS),
        setup, prepare, cleanup,
        environment => OrDefault,
        levels => OrDefault,
        order = run_order => Unwritten(Order::Randomized),
        rule => OrDefault,
        priority, canary,
        files => Each(MAX_FILES),
        output,
    ]
);

// The centre is written where the plan declares it.
wire! {
    Option<Center> as i32:
        |center| center.map_or(0, |center| center.to_wire()),
        |wire, field| (wire != 0).then(|| Center::from_wire(wire, field)).transpose();
}

pub(super) const METRICS: Choices = Choices("metric", Metric::ALL.len());

structure!(MetricVerdict, v1::MetricVerdict, [metric, margin, family]);
structure!(Version, v1::Version, [command, build, software, name, env, vars, commit]);
structure!(Commit, v1::Commit, [id, revision, subject]);
structure!(
    Benchmark,
    v1::Benchmark,
    [name, command, env, expect, timeout = timeout_ns, warmup, directory, weight, gang]
);
oneof! {
    CommandLine, v1::CommandLine { line: Line }, [
        Exact(words) = Exact(v1::Argv { words }),
        Shell(line) = Shell(line),
    ]
}
structure!(Setup, v1::Setup, [command, timeout = timeout_ns]);
structure!(OutputChoice, v1::Output, [limit, keep, keep_of]);

structure!(
    Expectation,
    v1::Expectation,
    [accept = (accept, accept_all) => (wire_accept, accept_in), stdout_blake3, exit]
);

fn wire_accept(accept: &AcceptedExits) -> (Vec<u32>, bool) {
    match accept {
        AcceptedExits::None => (Vec::new(), false),
        AcceptedExits::These(codes) => (codes.iter().map(Wire::to_wire).collect(), false),
        AcceptedExits::All => (Vec::new(), true),
    }
}

fn accept_in((codes, all): (Vec<u32>, bool), field: &str) -> Result<AcceptedExits, Malformed> {
    let codes =
        codes.into_iter().map(|code| u8::from_wire(code, field)).collect::<Result<BTreeSet<_>, _>>()?;
    Ok(match (all, codes.is_empty()) {
        (true, _) => AcceptedExits::All,
        (false, true) => AcceptedExits::None,
        (false, false) => AcceptedExits::These(codes),
    })
}

// How often, in which order, on which hosts. What older plans do not say has its default here.
enumeration!(Policy, v1::Policy, [Distinct, DistinctSets, Rebooted, Reallocated, Rested, Any]);
enumeration!(Scope, v1::Scope, [Benchmark, Experiment, Cell]);
enumeration!(Sameness, v1::Sameness, [Identical, Classes, Unchecked]);
enumeration!(Order, v1::RunOrder, [Randomized, Interleaved, Blocked]);
enumeration!(Spending, v1::Spending, [ObrienFleming, Pocock]);
structure!(Levels, v1::Levels, [hosts, boots]);
structure!(Bisection, v1::rule::Bisection, [maximum, block, blocks]);

structure!(LinePrior, v1::LinePrior, [paths => Each(MAX_PRIOR_PATHS), weights => PlainList(MAX_LINE)]);
structure!(PathWeight, v1::PathWeight, [path, weight]);
structure!(
    Rest,
    v1::Rest,
    [idle = idle_ns, load_percent, temperature_mc, frequency_percent, patience = patience_ns]
);

// A plan that says the number of runs has no rule.
oneof!(Rule, v1::Rule { rule: WireRule } never [Fixed], [
    Pilot { precision, maximum } = Pilot(Pilot { precision, maximum }),
    Sequential { looks, maximum, spending } = Sequential(Sequential { looks, maximum, spending }),
    Budget { time, maximum } = Budget(Budget { time_ns: time, maximum }),
    Bisection(bisection) = Bisection(bisection),
]);

// How a run is spread over hosts.
enumeration!(ScalingLaw, v1::ScalingLaw, [Strong, Weak]);

structure!(ScalingSeries, v1::ScalingSeries, [name, law]);
structure!(
    Gang,
    v1::Gang,
    [
        hosts, ranks_per_host,
        launcher = (launcher, launch) => (wire_launcher, launcher_in),
        times_ranks, series,
    ]
);

fn wire_launcher(launcher: &GangLauncher) -> (i32, Vec<String>) {
    let (kind, words) = match launcher.clone() {
        GangLauncher::None => (v1::GangLauncher::None, Vec::new()),
        GangLauncher::OpenMpi => (v1::GangLauncher::Openmpi, Vec::new()),
        GangLauncher::Mpich => (v1::GangLauncher::Mpich, Vec::new()),
        GangLauncher::Srun => (v1::GangLauncher::Srun, Vec::new()),
        GangLauncher::Own(words) => (v1::GangLauncher::Own, words),
    };
    (kind.into(), words)
}

fn launcher_in((kind, words): (i32, Vec<String>), field: &str) -> Result<GangLauncher, Malformed> {
    match v1::GangLauncher::try_from(kind) {
        Ok(v1::GangLauncher::None) => Ok(GangLauncher::None),
        Ok(v1::GangLauncher::Openmpi) => Ok(GangLauncher::OpenMpi),
        Ok(v1::GangLauncher::Mpich) => Ok(GangLauncher::Mpich),
        Ok(v1::GangLauncher::Srun) => Ok(GangLauncher::Srun),
        Ok(v1::GangLauncher::Own) => Ok(GangLauncher::Own(words)),
        Ok(v1::GangLauncher::Unspecified) => Err(Malformed::new(field, Why::Unspecified)),
        Err(_) => Err(Malformed::new(field, Why::Unknown(kind))),
    }
}
