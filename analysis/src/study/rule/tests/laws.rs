//! What holds of every rule, and how often rules err where the truth is known.

use super::virtual_experiment::{Law, Virtual, normal};
use crate::{conclusion::Verdict, study::rule::RuleReport, study::rule::RuleState};
use proptest::prelude::*;

/// Replicates of a calibration in the normal test run.
const REPLICATES: u64 = 400;

/// Carries an experiment out to its end; every answer of its rule.
pub(super) fn to_the_end(mut experiment: Virtual, seed: u64, law: Law<'_>) -> (Virtual, Vec<RuleReport>) {
    let mut reports = Vec::new();
    loop {
        let report = experiment.carry_out(seed, law);
        reports.push(report);
        let last = &reports[reports.len() - 1];
        if matches!(last.state, RuleState::Enough | RuleState::Exhausted) {
            return (experiment, reports);
        }
        assert!(reports.len() <= 60, "a rule that never has enough: {last:?}");
        experiment.extend(last);
    }
}

fn runs_of_cells(experiment: &Virtual) -> Vec<u32> {
    let mut runs = vec![0; experiment.plan.cells() as usize];
    experiment.plan.order().iter().for_each(|cell| runs[*cell as usize] += 1);
    runs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// No rule exceeds its maximum or the plan's attempts, all versions get as many runs, and every rule ends.
    #[test]
    fn rules_keep_to_their_bounds(
        seed in 0_u64..1_000,
        (benchmarks, versions) in (1_u32..4, 2_u32..4),
        kind in 0..3,
        blocked: bool,
        nested: bool,
        deviation in 0.0..30e6,
        failing in 0_u32..5,
        all_attempts in prop::option::of(20_u64..400),
    ) {
        let nested = nested && kind != 1;
        let levels = if nested { "hosts = 2\nboots = 2\n" } else { "" };
        let (rule, maximum) = match kind {
            0 => ("pilot = 3\nprecision = \"1%\"\nmaximum = 64\n", 64),
            1 => ("looks = 5\nmaximum = 30\n", 30),
            _ => ("pilot = 3\nbudget = \"300s\"\nmaximum = 64\n", 64),
        };
        let order = if blocked { "[design]\norder = \"blocked\"\n" } else { "" };
        let limits = all_attempts.map_or(String::new(), |all| format!("[limits]\nall_attempts = {all}\n"));
        let experiment = Virtual::new(benchmarks, versions, &format!("{levels}{rule}"), &format!("{order}{limits}"));
        let submitted = u64::from(experiment.plan.runs());
        let law: Law<'_> = &|at, random| {
            let value: f64 = 100e6 + deviation * normal(random) - f64::from(at.version * at.benchmark) * 1e6;
            (failing == 0 || at.visit % 7 != failing).then_some(value.max(1.0))
        };
        let (experiment, reports) = to_the_end(experiment, seed, law);
        let runs = runs_of_cells(&experiment);
        prop_assert!(runs.iter().all(|runs| *runs <= maximum), "{runs:?}");
        prop_assert!(runs.chunks(versions as usize).all(|of_one| of_one.windows(2).all(|two| two[0] == two[1])), "{runs:?}");
        prop_assert!(reports.len() <= if kind == 1 { 5 } else { 2 }, "{}", reports.len());
        if let Some(all) = all_attempts {
            prop_assert!(u64::from(experiment.plan.runs()) <= all.max(submitted));
        }
        let last = &reports[reports.len() - 1];
        prop_assert!(last.rows.iter().all(|row| row.further == 0 && !row.sentence.is_empty()));
        prop_assert_eq!(&experiment.carry_out(seed, law), last);
    }
}

/// Rejections of a true null hypothesis over all looks: binomial with 0.05, so 0.05 ± 3.3 deviations.
#[test]
fn looks_keep_their_risk_together() {
    let means = "[analysis]\ncenter = \"mean\"\n";
    for (spending, looks, more) in [
        ("obrien_fleming", 4, means.to_owned()),
        ("pocock", 4, means.to_owned()),
        ("pocock", 4, format!("{means}[design]\norder = \"blocked\"\n")),
        // At the first of four, draws would take minutes.
        ("obrien_fleming", 2, String::new()),
        ("pocock", 4, String::new()),
        ("pocock", 4, "[design]\norder = \"blocked\"\n".to_owned()),
    ] {
        let more = more.as_str();
        let rule = format!("looks = {looks}\nmaximum = 80\nspending = \"{spending}\"\n");
        let law: Law<'_> = &|_, random| Some(100e6 + 1e6 * normal(random));
        // Trimmed means are compared with draws.
        let replicates = if more.contains("mean") { REPLICATES } else { REPLICATES / 4 };
        let alarms = (0..replicates)
            .filter(|seed| {
                let (_, reports) = to_the_end(Virtual::new(1, 2, &rule, more), *seed, law);
                matches!(reports[reports.len() - 1].rows[0].verdict, Verdict::Faster | Verdict::Slower)
            })
            .count();
        let share = alarms as f64 / replicates as f64;
        let deviation = (0.05 * 0.95 / replicates as f64).sqrt();
        assert!(share - 0.05 < 3.3 * deviation, "{spending} {more}: {share}");
        // The wider of two intervals mostly keeps to less.
        let least = if more.contains("mean") { 0.05 - 3.3 * deviation } else { 0.01 };
        assert!(share > least, "{spending} {more}: {share}");
    }
}

/// The estimate after the looks is above the truth as often as below it, where the observed speedup is above it too often: with
/// a true speedup that is found at the second or third look, mostly.
#[test]
fn the_unbiased_speedup_is_too_large_as_often_as_too_small() {
    let truth = 1.02_f64;
    let law: Law<'_> =
        &|at, random| Some(100e6 / if at.version == 1 { truth } else { 1.0 } + 2.5e6 * normal(random));
    for center in ["mean", "median"] {
        let more = format!("[analysis]\ncenter = \"{center}\"\n");
        let rule = "looks = 4\nmaximum = 80\nspending = \"pocock\"\n";
        let (mut unbiased, mut observed, mut told) = (0, 0, 0);
        for seed in 0..REPLICATES {
            let (_, reports) = to_the_end(Virtual::new(1, 2, rule, &more), seed, law);
            let row = &reports[reports.len() - 1].rows[0];
            let Some(estimate) = row.look.and_then(|look| look.unbiased) else { continue };
            told += 1;
            unbiased += u64::from(estimate > truth);
            observed += u64::from(row.speedup.is_some_and(|speedup| speedup > truth));
        }
        assert!(told * 100 >= REPLICATES * 99, "{center}: {told} of {REPLICATES}");
        let share = |count: u64| count as f64 / told as f64;
        let deviation = (0.25 / told as f64).sqrt();
        assert!((share(unbiased) - 0.5).abs() < 3.3 * deviation, "{center}: {}", share(unbiased));
        assert!(share(observed) > 0.5 + 3.3 * deviation, "{center}: {}", share(observed));
    }
}

/// The rule's interval contains the truth as often as its level says, whatever the number of runs it led to; so does the
/// one of pairs, and the one after lost runs.
#[test]
fn intervals_after_a_pilot_keep_their_level() {
    for (more, losing) in [("", false), ("[design]\norder = \"blocked\"\n", false), ("", true)] {
        let more = &format!("{more}[analysis]\ncenter = \"mean\"\n");
        let rule = "pilot = 6\nprecision = \"1%\"\nmaximum = 400\n";
        let law: Law<'_> = &|at, random| {
            let lost = losing && at.version == 1 && at.visit % 4 == 0;
            (!lost).then(|| 100e6 - 4e6 * f64::from(at.version) + 2e6 * normal(random))
        };
        let covered = (0..REPLICATES)
            .filter(|seed| {
                let (_, reports) = to_the_end(Virtual::new(1, 2, rule, more), *seed, law);
                let [lower, upper] = reports[reports.len() - 1].rows[0].interval_ns.unwrap();
                (lower..=upper).contains(&4e6)
            })
            .count();
        let share = covered as f64 / REPLICATES as f64;
        let deviation = (0.05 * 0.95 / REPLICATES as f64).sqrt();
        // Rounding up and short pilots only ever make it wider.
        assert!(share > 0.95 - 3.3 * deviation && share < 0.995, "{more} {losing}: {share}");
    }
}

#[test]
fn the_pilot_ends_where_the_submission_did() {
    let law: Law<'_> = &|_, random| Some(100e6 + 5e6 * normal(random));
    let (experiment, reports) = to_the_end(Virtual::new(1, 2, super::PILOT, ""), 1, law);
    assert_eq!((reports.len(), reports[0].from), (2, 10));
    assert_eq!(reports[1].from, experiment.plan.runs());
    assert_eq!(experiment.plan.runs(), reports[0].from + 2 * reports[0].rows[0].further);
}
