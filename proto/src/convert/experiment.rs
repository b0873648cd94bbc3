//! An experiment and its parts. In, it is a shape only: its own door, `Experiment::check`, asks whether it makes sense.

use std::collections::BTreeSet;

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

use super::malformed::Malformed;
use super::wire::{AtMost, Choices, Each, OrDefault, Unwritten, Wire, enumeration, oneof, structure, wire};
use crate::v1;
use v1::command_line::Line;

enumeration!(Weights, v1::Weights, [Equal, Custom, Fraction]);
enumeration!(KeepOutput, v1::KeepOutput, [Failed, All]);

enumeration!(Center, v1::Center, [Median, Mean]);
enumeration!(Family, v1::Family, [Common, Own]);

structure!(
    Experiment {
        name, description, tags, selection, seed, versions, baseline_again, benchmarks, drawn, runs, metrics, own_metrics,
        independence: Independence { policy, scope, hosts, rest },
        analysis: AnalysisChoice { confidence, center, margin, quantiles, verdicts, weights, precision, prior },
        limits: Limits { attempts, all_attempts, host_time },
        setup, prepare, cleanup, environment, levels, order, rule, priority, canary, files, output
    },
    v1::Experiment,
    [
        policy, scope,
        hosts => Unwritten(Sameness::Unchecked),
        rest => OrDefault,
        confidence,
        center, margin,
        quantiles => AtMost(MAX_QUANTILES),
        verdicts => Each(MAX_METRIC_VERDICTS),
        weights, precision, prior, attempts, all_attempts,
        host_time = host_time_ns,
        name, description,
        tags => AtMost(MAX_TAGS),
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

/// Metrics that a plan asks for.
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
