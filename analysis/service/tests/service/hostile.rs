//! Whatever is asked, there is an answer or a refusal: never a panic, which would be an internal error.

use proptest::{collection::vec, option, prelude::*};
use speedup_proto::v1::advise_request::{Benchmarks, Levels, Question, Repetitions, repetitions::Goal};
use speedup_proto::v1::{AdviseRequest, CompareRequest, SampledBenchmark, SampledVersion};
use tonic::Code;

use crate::coordinator::{Served, serve};

/// Any double, and often one that was meant.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        0.0..1.0,
        1.0..1e9,
        Just(0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(5e-324),
        Just(1e308),
    ]
}

fn values() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![vec(number(), 0..20), vec(1.0..2.0, 2..40), vec(prop::sample::select(&[1.0, 2.0][..]), 2..40)]
}

fn advice() -> impl Strategy<Value = AdviseRequest> {
    let population = prop_oneof![Just(0), any::<u64>(), 1..100_u64];
    let benchmarks = (number(), number(), population).prop_map(|(proportion, precision, population)| {
        Question::Benchmarks(Benchmarks { proportion, precision, population })
    });
    let goal = prop_oneof![number().prop_map(Goal::RelativeHalfWidth), number().prop_map(Goal::Speedup)];
    let repetitions = (values(), values(), option::of(goal), option::of(number()), option::of(any::<u64>()));
    let repetitions = repetitions.prop_map(|(baseline, candidate, goal, power, maximum)| {
        Question::Repetitions(Repetitions { baseline, candidate, goal, power, maximum })
    });
    let counts = prop_oneof![vec(any::<u32>(), 0..6), vec(1..4_u32, 0..12)];
    let levels = (values(), counts, vec(number(), 0..4), option::of(number()));
    let shaped = (vec(1..4_usize, 1..4), vec(number(), 0..4), option::of(number())).prop_flat_map(
        |(counts, costs, budget)| {
            let values = vec(1.0..2.0, counts.iter().product::<usize>());
            let counts: Vec<u32> = counts.iter().map(|count| *count as u32).collect();
            (values, Just(counts), Just(costs), Just(budget))
        },
    );
    let levels = prop_oneof![levels.boxed(), shaped.boxed()].prop_map(|(values, counts, costs, budget)| {
        Question::Levels(Levels { values, counts, costs, budget })
    });
    let question = prop_oneof![benchmarks.boxed(), repetitions.boxed(), levels.boxed()];
    (option::of(number()), option::of(question))
        .prop_map(|(confidence, question)| AdviseRequest { confidence, question })
}

fn version() -> impl Strategy<Value = SampledVersion> {
    let counts = prop_oneof![Just(Vec::new()), vec(any::<u32>(), 0..4), vec(1..3_u32, 0..6)];
    let benchmark = ("[ab]?", values(), counts);
    let benchmark = benchmark.prop_map(|(name, values, values_of_runs)| SampledBenchmark {
        name,
        values,
        values_of_runs,
    });
    ("[xyz]?", vec(benchmark, 0..3)).prop_map(|(name, benchmarks)| SampledVersion { name, benchmarks })
}

fn comparison() -> impl Strategy<Value = CompareRequest> {
    const KINDS: [&str; 7] = [
        "speedup_test",
        "performance_test",
        "effect",
        "signed_rank",
        "brunner_munzel",
        "earlier",
        "diagnostics",
    ];
    let method = prop_oneof![
        4 => prop::sample::select(&KINDS[..]).prop_map(|kind| format!("{{\"kind\":\"{kind}\"}}")),
        1 => Just("{\"kind\":\"mixture\",\"resamples\":0}".to_owned()),
        1 => ".{0,20}",
    ];
    let numbers = (option::of(number()), vec(number(), 0..3), 0..5_i32);
    let flags = (any::<bool>(), any::<bool>(), prop_oneof![Just(0), any::<u64>()], any::<u64>());
    (vec(version(), 0..4), method, numbers, flags).prop_map(
        |(
            versions,
            method,
            (confidence, weights, weighting),
            (higher_is_better, drawn, population, seed),
        )| {
            CompareRequest {
                versions,
                method,
                confidence,
                noise_threshold: confidence,
                higher_is_better,
                weighting,
                weights,
                drawn,
                population,
                seed,
            }
        },
    )
}

fn served() -> (tokio::runtime::Runtime, Served) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let served = runtime.block_on(serve(Vec::new(), None));
    (runtime, served)
}

#[test]
fn any_question_for_advice_is_answered_or_refused() {
    let (runtime, served) = served();
    proptest!(ProptestConfig::with_cases(1_000), |(request in advice())| {
        match runtime.block_on(served.client.clone().advise(request)) {
            Ok(answer) => {
                let json: serde_json::Value = serde_json::from_str(&answer.into_inner().json).unwrap();
                prop_assert!(json["kind"].is_string());
            }
            Err(status) => prop_assert_eq!(status.code(), Code::InvalidArgument, "{}", status),
        }
    });
}

#[test]
fn any_samples_are_compared_or_refused() {
    let (runtime, served) = served();
    proptest!(ProptestConfig::with_cases(1_000), |(request in comparison())| {
        match runtime.block_on(served.client.clone().compare(request)) {
            Ok(answer) => {
                let json: serde_json::Value = serde_json::from_str(&answer.into_inner().json).unwrap();
                prop_assert!(json["findings"]["kind"].is_string());
            }
            Err(status) => prop_assert_eq!(status.code(), Code::InvalidArgument, "{}", status),
        }
    });
}
