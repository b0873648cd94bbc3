//! Any record of an attempt.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::btree_map, collection::vec, option, prelude::*};
use speedup_core::experiment::files::ContentHash;
use speedup_core::experiment::metric::{Absence, Metric};
use speedup_core::run::program::{Program, ProgramContent};
use speedup_core::run::record::{Failure, Outcome, Output, RankEnd, RankTime, Record, RestReading};
use speedup_core::value::time::Span;

use super::{conditions::conditions, experiment::metric, obstacle, products, text, timer_error};

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![
        any::<(u8, u8)>().prop_map(|(code, expected)| Failure::Exit { code, expected }),
        any::<(u8, bool)>().prop_map(|(signal, core_dumped)| Failure::Signal { signal, core_dumped }),
        any::<u64>().prop_map(|limit| Failure::TimedOut { limit: Span(limit) }),
        any::<([u8; 32], [u8; 32])>()
            .prop_map(|(blake3, expected)| Failure::WrongOutput { blake3, expected }),
        any::<u64>().prop_map(|limit| Failure::TooMuchOutput { limit }),
        (text(), text()).prop_map(|(metric, reason)| Failure::NoValue { metric, reason }),
        (text(), text()).prop_map(|(name, reason)| Failure::NoProduct { name, reason }),
        (any::<u32>(), text()).prop_map(|(number, failure)| Failure::Warmup { number, failure }),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Measured),
        failure().prop_map(Outcome::Failed),
        (text(), obstacle()).prop_map(|(reason, obstacle)| Outcome::NotExecuted { reason, obstacle }),
    ]
}

fn output() -> impl Strategy<Value = Output> {
    let parts = (any::<(u64, [u8; 32])>(), vec(any::<u8>(), 0..20));
    parts.prop_map(|((bytes, blake3), kept)| Output { bytes, blake3, kept })
}

fn absence() -> impl Strategy<Value = Absence> {
    prop_oneof![
        Just(Absence::Unsupported),
        Just(Absence::NotPermitted),
        Just(Absence::BelowFloor),
        Just(Absence::Multiplexed),
        Just(Absence::NotCounted),
        Just(Absence::Wrapped),
        text().prop_map(|reason| Absence::Unreadable { reason }),
    ]
}

/// What was measured: metrics with values, those of them without the kernel's part, and metrics without values.
fn metered() -> impl Strategy<Value = (BTreeMap<Metric, u64>, BTreeSet<Metric>, BTreeMap<Metric, Absence>)> {
    let values = btree_map(metric(), (any::<u64>(), any::<bool>()), 0..=Metric::ALL.len());
    let absent = btree_map(metric(), absence(), 0..=Metric::ALL.len());
    (values, absent).prop_map(|(values, mut absent)| {
        absent.retain(|metric, _| !values.contains_key(metric));
        let user_only = values.iter().filter(|(_, (_, user))| *user).map(|(metric, _)| *metric).collect();
        (values.into_iter().map(|(metric, (value, _))| (metric, value)).collect(), user_only, absent)
    })
}

fn rest_reading() -> impl Strategy<Value = RestReading> {
    any::<(u64, Option<u32>, Option<i32>, Option<u32>)>().prop_map(
        |(waited, load_percent, temperature_mc, frequency_percent)| RestReading {
            waited: Span(waited),
            load_percent,
            temperature_mc,
            frequency_percent,
        },
    )
}

fn program() -> impl Strategy<Value = Program> {
    let content = prop_oneof![
        any::<[u8; 32]>().prop_map(|hash| ProgramContent::Blake3(ContentHash(hash))),
        text().prop_map(|reason| ProgramContent::Unknown { reason }),
    ];
    (text(), content).prop_map(|(path, content)| Program { path, content })
}

pub(crate) fn record() -> BoxedStrategy<Record> {
    let finite = any::<f64>().prop_filter("finite", |value| value.is_finite());
    let series = btree_map(text(), vec(finite, 0..5), 0..4);
    let numbers = any::<(u64, u32, u64)>();
    let canary = prop_oneof![
        Just((None, None)),
        any::<u64>().prop_map(|ns| (Some(Span(ns)), None)),
        text().prop_map(|reason| (None, Some(reason))),
    ];
    let circumstances = (
        option::of(timer_error()),
        option::of(conditions()),
        option::of(rest_reading()),
        canary,
        option::of(program()),
    );
    let made = (products(), ranks());
    let parts = (outcome(), metered(), series, output(), output(), numbers, circumstances, made);
    parts
        .prop_map(|(outcome, metered, series, stdout, stderr, numbers, circumstances, (products, ranks))| {
            let (metrics, user_only, absent) = metered;
            let (started_unix_ns, survivors, agent_switches) = numbers;
            let (timer, conditions, rest, (canary, canary_failed), program) = circumstances;
            let conditions = conditions.map(Box::new);
            Record {
                outcome,
                started_unix_ns,
                metrics,
                stdout,
                stderr,
                survivors,
                agent_switches,
                timer,
                conditions,
                user_only,
                absent,
                series,
                rest,
                canary,
                canary_failed,
                products,
                program: program.map(Box::new),
                ranks,
            }
        })
        .boxed()
}

fn ranks() -> impl Strategy<Value = Vec<RankTime>> {
    let end = prop_oneof![any::<u8>().prop_map(RankEnd::Exited), any::<u8>().prop_map(RankEnd::Signalled)];
    let time = (any::<[u64; 5]>(), end);
    btree_map(any::<u32>(), time, 0..4).prop_map(|times| {
        let time = |(rank, (numbers, end)): (u32, ([u64; 5], RankEnd))| {
            let [started_unix_ns, wall, user, system, max_rss_bytes] = numbers;
            RankTime {
                rank,
                started_unix_ns,
                wall: Span(wall),
                user: Span(user),
                system: Span(system),
                max_rss_bytes,
                end,
            }
        };
        times.into_iter().map(time).collect()
    })
}
