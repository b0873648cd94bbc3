//! The share of benchmarks that are truly faster by an amount, with its band.

use super::*;
use crate::inquiry::{FasterShare, MissingBenchmark, MissingCause};

/// A suite whose benchmarks take the times given, with a spread of about one percent.
fn suite(version: &str, times: &[f64], runs: usize, seed: u64) -> Suite {
    let mut random = Seed(seed).child("times of a share");
    let mut benchmarks = Vec::new();
    for (at, time) in times.iter().enumerate() {
        let mut values = Vec::new();
        for _ in 0..runs {
            let uniform = f64::from(random.next_u32()) / f64::from(u32::MAX);
            values.push(vec![time * (0.98 + 0.04 * uniform)]);
        }
        benchmarks.push(NamedSample::new(format!("b{at}"), values));
    }
    Suite::new(version, benchmarks)
}

fn share(suites: Vec<Suite>, by: f64) -> FasterShare {
    let asked = Inquiry { faster_by: vec![by], ..Inquiry::new(suites, Method::ratio()) };
    asked.answer().unwrap().faster_shares.remove(0)
}

#[test]
fn what_is_clearly_faster_or_not_is_all_that_is_open() {
    let before = suite("before", &[1.0; 6], 12, 1);
    let mut after = suite("after", &[0.4, 0.45, 0.5, 0.9, 2.0], 12, 2);
    let cause = MissingCause::Failed;
    after.missing.push(MissingBenchmark { benchmark: "b5".to_owned(), cause, message: None });
    let found = share(vec![before.clone(), after.clone()], 0.5);
    assert_eq!((found.benchmarks, found.observed, found.shown, found.excluded), (6, 3, 3, 3));
    assert_eq!(found.band(), (0.5, 0.5));
    let any = share(vec![before.clone(), after.clone()], 0.0);
    assert_eq!((any.observed, any.shown, any.excluded), (4, 4, 2));
    // A rate of the inverse is the same share.
    let rates = |mut suite: Suite| {
        suite
            .benchmarks
            .iter_mut()
            .flat_map(|one| &mut one.runs)
            .flatten()
            .for_each(|value| *value = 1.0 / *value);
        suite
    };
    let inverse = Inquiry {
        faster_by: vec![0.5],
        better: Preference::Higher,
        ..Inquiry::new(vec![rates(before), rates(after)], Method::ratio())
    };
    assert_eq!(inverse.answer().unwrap().faster_shares[0], found);
}

#[test]
fn a_margin_a_control_and_crashes_do_not_widen_the_band_nor_narrow_it() {
    let mut after = suite("after", &[0.5; 6], 12, 2);
    let cause = MissingCause::FailedRuns { failed: 1, runs: 13 };
    after.missing.push(MissingBenchmark { benchmark: "b5".to_owned(), cause, message: None });
    let suites = vec![suite("before", &[1.0; 6], 12, 1), after, suite("again", &[1.0; 6], 12, 3)];
    let options =
        RatioOptions { margin: Some(0.05), control: Some("again".to_owned()), ..RatioOptions::default() };
    let asked = Inquiry { faster_by: vec![0.2], ..Inquiry::new(suites, Method::Ratio(options)) };
    let answer = asked.answer().unwrap();
    let [found] = &answer.faster_shares[..] else { panic!("{:?}", answer.faster_shares) };
    assert_eq!((found.shown, found.excluded, found.observed, found.benchmarks), (5, 1, 5, 6));
}

#[test]
fn the_band_covers_the_true_share_where_benchmarks_lie_at_the_amount() {
    // Half of the benchmarks have just the speedup that is asked about: the hardest case for both ends.
    let times = [1.0 / 1.2, 1.0 / 1.2, 1.0 / 1.2, 1.0 / 1.2, 1.0 / 1.3, 1.0 / 1.3, 1.0 / 1.1, 1.0 / 1.1];
    let mut missed = 0;
    for seed in 0..300 {
        let before = suite("before", &[1.0; 8], 8, 2 * seed);
        let after = suite("after", &times, 8, 2 * seed + 1);
        let found = share(vec![before, after], 0.2);
        // At the amount itself neither end may claim one, so that six are truly as fast and two are not.
        missed += usize::from(found.shown > 2 || found.excluded > 2);
    }
    // 5 % of 300 are 15; 28 or more have a probability below 0.1 %.
    assert!(missed < 28, "{missed}");
}

#[test]
fn shares_that_cannot_be_meant_are_refused() {
    let suites = || two(BEFORE.to_vec(), AFTER.to_vec());
    let refused = |faster_by: Vec<f64>, method| {
        Inquiry { faster_by, ..Inquiry::new(suites(), method) }.answer().unwrap_err().code()
    };
    assert_eq!(refused(vec![-0.1], Method::ratio()), "faster_by");
    assert_eq!(refused(vec![f64::NAN], Method::ratio()), "faster_by");
    assert_eq!(refused(vec![0.1; 17], Method::ratio()), "too_many_shares");
    for method in [Method::Diagnostics, Method::BrunnerMunzel, Method::speedup_test()] {
        assert_eq!(refused(vec![0.1], method), "shares_of_method");
    }
}
