//! Any experiment and any plan, sensible or not.

use proptest::{collection::btree_set, collection::vec, option, prelude::*, sample::select};
use speedup_core::{
    experiment::build::Build, experiment::commit::Commit, experiment::files::Content,
    experiment::files::ContentHash, experiment::files::FileSource, experiment::files::StagedFile,
    experiment::gang::Gang, experiment::gang::GangLauncher, experiment::gang::ScalingLaw,
    experiment::gang::ScalingSeries, experiment::metric::Better, experiment::metric::Pattern,
    experiment::metric::Stream, experiment::prior::LinePrior, experiment::prior::PathWeight, experiment::*,
    plan::Plan, plan::Shape, plan::Stage, value::id::BenchmarkIndex, value::seed::Seed, value::time::Span,
};

use super::{environment::environment, environment::software, text, texts};

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(0.95), Just(f64::INFINITY), any::<f64>()]
}

pub(crate) fn command() -> impl Strategy<Value = CommandLine> {
    prop_oneof![vec(text(), 0..4).prop_map(CommandLine::Exact), text().prop_map(CommandLine::Shell)]
}

pub(crate) fn expectation() -> impl Strategy<Value = Expectation> {
    let accept = prop_oneof![
        Just(AcceptedExits::None),
        btree_set(any::<u8>(), 1..4).prop_map(AcceptedExits::These),
        Just(AcceptedExits::All),
    ];
    let parts = (any::<(u8, Option<[u8; 32]>)>(), accept);
    parts.prop_map(|((exit, stdout_blake3), accept)| Expectation { exit, accept, stdout_blake3 })
}

pub(crate) fn setup() -> impl Strategy<Value = Setup> {
    (command(), any::<u64>()).prop_map(|(command, timeout)| Setup { command, timeout: Span(timeout) })
}

pub(crate) fn output_choice() -> impl Strategy<Value = OutputChoice> {
    let keep_of = prop_oneof![Just(KeepOutput::Failed), Just(KeepOutput::All)];
    (any::<(u64, u64)>(), keep_of).prop_map(|((limit, keep), keep_of)| OutputChoice { limit, keep, keep_of })
}

fn version() -> impl Strategy<Value = Version> {
    let parts = (
        text(),
        texts(),
        texts(),
        option::of(command()),
        option::of(build()),
        option::of(software()),
        option::of(commit()),
    );
    parts.prop_map(|(name, env, vars, command, build, software, commit)| Version {
        name,
        env,
        vars,
        command,
        build,
        software,
        commit,
    })
}

fn commit() -> impl Strategy<Value = Commit> {
    (text(), text(), text()).prop_map(|(id, revision, subject)| Commit { id, revision, subject })
}

fn build() -> impl Strategy<Value = Build> {
    (command(), 0..4_u32, texts(), any::<u64>()).prop_map(|(command, builds, products, timeout)| Build {
        command,
        builds,
        products,
        timeout: Span(timeout),
    })
}

fn benchmark() -> impl Strategy<Value = Benchmark> {
    let parts = (
        text(),
        command(),
        texts(),
        expectation(),
        any::<(u64, u32)>(),
        option::of(number()),
        option::of(text()),
        option::of(gang()),
    );
    parts.prop_map(|(name, command, env, expect, (timeout, warmup), weight, directory, gang)| Benchmark {
        name,
        command,
        env,
        expect,
        timeout: Span(timeout),
        warmup,
        directory,
        weight,
        gang,
    })
}

fn gang() -> impl Strategy<Value = Gang> {
    let launcher = prop_oneof![
        Just(GangLauncher::None),
        Just(GangLauncher::OpenMpi),
        Just(GangLauncher::Mpich),
        Just(GangLauncher::Srun),
        vec(text(), 1..4).prop_map(GangLauncher::Own),
    ];
    let law = select(vec![ScalingLaw::Strong, ScalingLaw::Weak]);
    let series = (text(), law).prop_map(|(name, law)| ScalingSeries { name, law });
    (any::<(u32, u32, bool)>(), launcher, option::of(series)).prop_map(
        |((hosts, ranks_per_host, times_ranks), launcher, series)| Gang {
            hosts,
            ranks_per_host,
            launcher,
            times_ranks,
            series,
        },
    )
}

pub(crate) fn metric() -> impl Strategy<Value = Metric> {
    proptest::sample::select(Metric::ALL.as_slice())
}

fn own_metric() -> impl Strategy<Value = OwnMetric> {
    let pattern = prop_oneof![
        text().prop_map(Pattern::Regex),
        text().prop_map(Pattern::Pointer),
        text().prop_map(Pattern::GoogleBenchmark),
        text().prop_map(Pattern::Go),
    ];
    let from = prop_oneof![Just(Stream::Stdout), Just(Stream::Stderr)];
    let better = prop_oneof![Just(Better::Lower), Just(Better::Higher)];
    let parts = (text(), pattern, from, text(), better);
    parts.prop_map(|(name, pattern, from, unit, better)| OwnMetric { name, pattern, from, unit, better })
}

pub(crate) fn measured() -> impl Strategy<Value = (Vec<Metric>, Vec<OwnMetric>)> {
    (vec(metric(), 0..=Metric::ALL.len()), vec(own_metric(), 0..4))
}

/// When a host has rested.
pub(crate) fn rest() -> impl Strategy<Value = Rest> {
    let numbers = any::<(u64, Option<u32>, Option<i32>, Option<u32>, u64)>();
    numbers.prop_map(|(idle, load_percent, temperature_mc, frequency_percent, patience)| {
        let (idle, patience) = (Span(idle), Span(patience));
        Rest { idle, load_percent, temperature_mc, frequency_percent, patience }
    })
}

fn file() -> impl Strategy<Value = StagedFile> {
    let content = any::<([u8; 32], u64, bool)>().prop_map(|(blake3, bytes, executable)| {
        FileSource::Content(Content { blake3: ContentHash(blake3), bytes, executable })
    });
    let shared = (text(), any::<[u8; 32]>(), any::<Option<u64>>());
    let shared = shared.prop_map(|(path, blake3, bytes)| FileSource::Shared {
        path,
        blake3: ContentHash(blake3),
        bytes,
    });
    let source = prop_oneof![content, shared];
    (text(), source).prop_map(|(name, source)| StagedFile { name, source })
}

pub(crate) fn files() -> impl Strategy<Value = Vec<StagedFile>> {
    vec(file(), 0..4)
}

fn independence() -> impl Strategy<Value = Independence> {
    let policy = select(&Policy::ALL[..]);
    let scope = select(&[Scope::Benchmark, Scope::Experiment, Scope::Cell][..]);
    let hosts = select(&[Sameness::Identical, Sameness::Classes, Sameness::Unchecked][..]);
    (policy, scope, hosts, rest()).prop_map(|(policy, scope, hosts, rest)| Independence {
        policy,
        scope,
        hosts,
        rest,
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let spending = select(&[Spending::ObrienFleming, Spending::Pocock][..]);
    prop_oneof![
        Just(Rule::Fixed),
        (number(), any::<u32>()).prop_map(|(precision, maximum)| Rule::Pilot { precision, maximum }),
        (any::<u64>(), any::<u32>()).prop_map(|(time, maximum)| Rule::Budget { time: Span(time), maximum }),
        any::<[u32; 3]>().prop_map(|[maximum, block, blocks]| Rule::Bisection(Bisection {
            maximum,
            block,
            blocks
        })),
        (any::<(u32, u32)>(), spending).prop_map(|((looks, maximum), spending)| Rule::Sequential {
            looks,
            maximum,
            spending
        }),
    ]
}

/// What says how often and in which order.
fn repetitions() -> impl Strategy<Value = (Levels, Order, Rule, Limits, i32)> {
    let levels = any::<(Option<u32>, Option<u32>)>().prop_map(|(hosts, boots)| Levels { hosts, boots });
    let order = select(&[Order::Randomized, Order::Interleaved, Order::Blocked][..]);
    let limits = any::<(u32, Option<u64>, Option<u64>)>();
    let limits = limits.prop_map(|(attempts, all_attempts, host_time)| Limits {
        attempts,
        all_attempts,
        host_time: host_time.map(Span),
    });
    (levels, order, rule(), limits, any::<i32>())
}

fn analysis() -> impl Strategy<Value = AnalysisChoice> {
    let weights = prop_oneof![Just(Weights::Equal), Just(Weights::Custom), Just(Weights::Fraction)];
    let center = option::of(select(&[Center::Median, Center::Mean][..]));
    let family = select(&[Family::Common, Family::Own][..]);
    let verdict = (text(), option::of(number()), family);
    let verdict = verdict.prop_map(|(metric, margin, family)| MetricVerdict { metric, margin, family });
    let further = (vec(number(), 0..3), vec(verdict, 0..3));
    let path = (text(), number()).prop_map(|(path, weight)| PathWeight { path, weight });
    let prior =
        (vec(path, 0..3), vec(number(), 0..4)).prop_map(|(paths, weights)| LinePrior { paths, weights });
    let numbers = (number(), option::of(number()), number());
    let parts = (numbers, center, further, weights, option::of(prior));
    parts.prop_map(|((confidence, margin, precision), center, (quantiles, verdicts), weights, prior)| {
        AnalysisChoice { confidence, center, margin, quantiles, verdicts, weights, precision, prior }
    })
}

pub(crate) fn experiment() -> BoxedStrategy<Experiment> {
    let compared = (vec(version(), 0..4), vec(benchmark(), 0..5), measured(), files());
    let outside =
        (option::of(setup()), option::of(setup()), option::of(setup()), option::of(setup()), repetitions());
    let choices = (independence(), analysis(), outside, output_choice(), environment());
    let numbers = any::<(u64, Option<u32>, u32, bool)>();
    let parts = ((text(), vec(text(), 0..4)), (text(), text()), compared, choices, numbers);
    parts
        .prop_map(
            |(
                (name, tags),
                (description, selection),
                (versions, benchmarks, (metrics, own_metrics), files),
                choices,
                numbers,
            )| {
                let (independence, analysis, outside, output, environment) = choices;
                let (setup, prepare, cleanup, canary, (levels, order, rule, limits, priority)) = outside;
                let (seed, drawn, runs, baseline_again) = numbers;
                let seed = Seed(seed);
                Experiment {
                    name,
                    description,
                    tags,
                    selection,
                    seed,
                    priority,
                    versions,
                    baseline_again,
                    benchmarks,
                    files,
                    drawn,
                    runs,
                    levels,
                    order,
                    rule,
                    metrics,
                    own_metrics,
                    independence,
                    analysis,
                    setup,
                    prepare,
                    cleanup,
                    canary,
                    environment,
                    limits,
                    output,
                }
            },
        )
        .boxed()
}

pub(crate) fn plan() -> BoxedStrategy<Plan> {
    (experiment(), any::<u8>(), vec(any::<u32>(), 0..20))
        .prop_map(|(experiment, mask, order)| {
            let taken = |index: &u32| mask & (1 << index) != 0;
            let benchmarks: Vec<_> =
                (0..experiment.benchmarks.len() as u32).filter(taken).map(BenchmarkIndex).collect();
            let cells = (benchmarks.len() * experiment.versions.len()) as u32;
            let builds = |version: &Version| version.build.as_ref().map_or(0, |build| build.builds as usize);
            let versions = (cells..).zip(&experiment.versions);
            let built = versions.flat_map(|(number, of)| std::iter::repeat_n(number, builds(of)));
            let measured = order.into_iter().filter(|_| cells > 0).map(|cell| cell % cells);
            if experiment.bisection().is_some() {
                // What is planned together builds or is measured, in blocks.
                let (built, measured): (Vec<u32>, Vec<u32>) = (built.collect(), measured.collect());
                let whole = measured.len() / 2 * 2;
                let blocks = Stage { from: built.len() as u32, shape: Shape { boots: 1, runs: 2 } };
                let builds = Stage { from: 0, shape: Shape::SINGLE };
                let stages: Vec<Stage> =
                    [(!built.is_empty()).then_some(builds), (whole > 0).then_some(blocks)]
                        .into_iter()
                        .flatten()
                        .collect();
                let order = built.into_iter().chain(measured.into_iter().take(whole)).collect();
                return Plan::restore(experiment, benchmarks, order, &stages).unwrap();
            }
            let order = built.chain(measured).collect();
            Plan::restore(experiment, benchmarks, order, &[]).unwrap()
        })
        .boxed()
}
