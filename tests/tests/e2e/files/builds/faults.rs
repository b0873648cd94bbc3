//! Builds that fail, and what is no product: each ends the experiment with its reason.

use speedup_core::{machine::event::AttemptEnd, run::record::Failure, run::record::Outcome};
use speedup_proto::convert::StatusPhase;
use speedup_tests::pool::Pool;

use super::{Told, plan};
use crate::SPEEDUP;

/// What becomes of an experiment whose first build is so.
fn ended(build: &str) -> (Failure, String) {
    let pool = Pool::start(SPEEDUP, 1);
    let told = Told::of(&pool, &pool.finish(&plan(build, 1, 1, "any")));
    assert!(matches!(told.status.phase, StatusPhase::Finished { cancelled: true, .. }), "{:?}", told.status);
    assert_eq!(told.status.tally.measured, 0, "{:?}", told.status);
    let failures = told.attempts.iter().filter_map(|ended| match &ended.end {
        AttemptEnd::Reported(record) => match &record.outcome {
            Outcome::Failed(failure) => Some(failure.clone()),
            Outcome::Measured | Outcome::NotExecuted { .. } => None,
        },
        AttemptEnd::Lost { .. } => None,
    });
    let failures: Vec<_> = failures.collect();
    let [failure] = &failures[..] else { panic!("one build failed: {:?}", told.attempts) };
    (failure.clone(), told.status.words)
}

#[test]
fn a_build_that_fails_ends_the_experiment_with_its_reason() {
    let (failure, words) = ended("echo broken >&2; exit 3");
    assert_eq!(failure, Failure::Exit { code: 3, expected: 0 });
    assert!(words.contains("build 1 of version") && words.contains("exit code 3 instead of 0"), "{words}");
}

#[test]
fn what_is_no_regular_file_of_the_build_is_no_product() {
    for (build, told) in [
        ("true", "no out "),
        ("mkdir out", "no out/prog "),
        ("mkdir out; ln -s /bin/sh out/prog", "out/prog is a symbolic"),
        ("mkdir real; cp /bin/sh real/prog; ln -s real out", "out is a symbolic"),
        ("mkdir -p out/prog", "out/prog is a dir"),
        ("mkdir out; mkfifo out/prog", "out/prog is a pipe"),
    ] {
        let (failure, words) = ended(build);
        let Failure::NoProduct { name, reason } = &failure else { panic!("{failure:?}") };
        assert!(name == "prog" && reason.contains(told), "{build}: {failure:?}");
        assert!(words.contains("`prog`") && words.contains(reason), "{words}");
    }
}

#[test]
fn a_product_larger_than_the_cache_is_a_loss_of_that_host() {
    let pool = Pool::with_agent(SPEEDUP, &["--file-cache", "1KiB"]);
    let large =
        plan("mkdir out; head -c 2000 /dev/zero > out/prog", 1, 1, "any") + "[limits]\nattempts = 2\n";
    let told = Told::of(&pool, &pool.finish(&large));
    let losses = told.losses();
    assert!(losses.len() >= 2, "{losses:?}");
    for words in losses.iter().chain([&told.status.words]) {
        assert!(words.contains("2000 bytes") && words.contains(" 1024"), "{words}");
    }
}
