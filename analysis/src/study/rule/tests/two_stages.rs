//! A pilot and what it asks for: the interval that the plan wants, or a plain word that it is not there.

use super::virtual_experiment::{At, Law, Virtual, normal};
use super::{BY_MEANS, Promise, RuleState, laws::to_the_end, row};
use crate::conclusion::Verdict;
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;

const RULE: &str = "pilot = 10\nprecision = \"2%\"\nmaximum = 2000\n";
const BY_TRIMMED_MEANS: &str = "[analysis]\ncenter = \"trimmed\"\n";
const REPLICATES: u64 = 200;

fn uniform(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Times that vary by 3 %, of which a share takes twice as long; the candidate is faster by 4 %.
fn with_stalls(share: f64) -> impl Fn(At, &mut ChaCha8Rng) -> Option<f64> {
    move |at, random| {
        let usual = 1e8 * (1.0 + 0.03 * normal(random)) / if at.version == 1 { 1.04 } else { 1.0 };
        Some(if uniform(random) < share { 2.0 * usual } else { usual })
    }
}

/// The shares of experiments whose interval holds the true speedup, that are said to have what was asked for, and that are said so and
/// miss.
fn shares(law: Law<'_>, more: &str, truth: impl Fn(&super::super::RuleRow) -> bool) -> [f64; 3] {
    let mut counts = [0_u64; 3];
    for seed in 0..REPLICATES {
        let (_, reports) = to_the_end(Virtual::new(1, 2, RULE, more), seed, law);
        let last = &reports[reports.len() - 1];
        let is_kept = row(last).promise == Some(Promise::Kept);
        assert_eq!(is_kept, last.state == RuleState::Enough);
        counts[0] += u64::from(truth(row(last)));
        counts[1] += u64::from(is_kept);
        counts[2] += u64::from(is_kept && !truth(row(last)));
    }
    counts.map(|count| count as f64 / REPLICATES as f64)
}

/// Three stalls of a hundred runs, and ten: the trimmed means bear the first, and where the second spoil them it is said.
#[test]
fn trimmed_means_keep_the_promise_that_is_said_to_be_kept() {
    let holds = |row: &super::super::RuleRow| {
        let [lower, upper] = row.speedup_interval.unwrap();
        (lower..=upper).contains(&1.04)
    };
    let allowed = 0.05 + 3.3 * (0.05 * 0.95 / REPLICATES as f64).sqrt();
    for (share, least_kept) in [(0.0, 0.97), (0.03, 0.9), (0.1, 0.3)] {
        let [covered, kept, missed] = shares(&with_stalls(share), BY_TRIMMED_MEANS, holds);
        assert!(missed < allowed && kept > least_kept, "{share}: {covered} {kept} {missed}");
        assert!(share > 0.05 || covered > 1.0 - allowed, "{share}: {covered}");
    }
}

#[test]
fn stalls_spoil_means_and_the_rule_says_so() {
    // The stalls take as long on average, whichever version.
    let truth = 1e8 * 1.03 * (1.0 - 1.0 / 1.04);
    let holds = |row: &super::super::RuleRow| {
        row.interval_ns.is_some_and(|[lower, upper]| (lower..=upper).contains(&truth))
    };
    let [covered, kept, missed] = shares(&with_stalls(0.03), BY_MEANS, holds);
    assert!(covered < 0.85, "means bear stalls: {covered}");
    assert!(missed < 0.1 && kept < 0.9, "{covered} {kept} {missed}");
}

#[test]
fn the_ratio_is_as_narrow_as_asked_for() {
    for order in ["", "[design]\norder = \"blocked\"\n"] {
        let more = format!("{BY_TRIMMED_MEANS}{order}");
        let (_, reports) = to_the_end(Virtual::new(1, 2, RULE, &more), 5, &with_stalls(0.0));
        let last = &reports[reports.len() - 1];
        let row = row(last);
        let [lower, upper] = row.speedup_interval.unwrap();
        assert!(upper / lower <= 1.02_f64.powi(2) * (1.0 + 1e-9), "{lower} {upper}");
        assert_eq!((row.half_width_ns, row.interval_ns), (None, None));
        assert_eq!((row.verdict, row.promise), (Verdict::Faster, Some(Promise::Kept)));
        assert!(row.observations[0] >= row.required.unwrap());
    }
}

/// As reported from the field: 681 runs asked for, 40 there, and "has enough".
#[test]
fn a_bound_that_cuts_the_runs_leaves_the_promise_unkept() {
    let rule = "pilot = 10\nprecision = \"0.5%\"\nmaximum = 40\n";
    for more in [BY_MEANS, BY_TRIMMED_MEANS] {
        let (_, reports) = to_the_end(Virtual::new(1, 2, rule, more), 2, &with_stalls(0.0));
        let last = &reports[reports.len() - 1];
        assert_eq!((last.state, row(last).promise), (RuleState::Exhausted, Some(Promise::Short)));
        assert!(row(last).required.unwrap() > 40 && row(last).observations == [40, 40]);
    }
}
