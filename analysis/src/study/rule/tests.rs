//! Rules carried out on experiments that were never run.

mod bisection;
mod builds;
mod laws;
mod two_stages;
mod verdicts;
mod virtual_experiment;

use super::{Promise, RuleKind, RuleReport, RuleState};
use crate::conclusion::Verdict;
use speedup_core::plan::Shape;
use virtual_experiment::{Law, Virtual, normal};

const PILOT: &str = "pilot = 5\nprecision = \"1%\"\nmaximum = 200\n";
/// Verdicts of means.
const BY_MEANS: &str = "[analysis]\ncenter = \"mean\"\n";
const LOOKS: &str = "looks = 4\nmaximum = 40\n";

fn row(report: &RuleReport) -> &super::RuleRow {
    assert_eq!(report.rows.len(), 1);
    &report.rows[0]
}

/// n = ⌈2 (t · s / d)²⌉ with t = qt(0.975, 8) = 2.306004 (R), s² = 2.5 ms², d = 1 % of 100 ms: ⌈26.59⌉.
#[test]
fn the_pilot_asks_for_steins_number() {
    let values = [99e6, 100e6, 101e6, 102e6, 98e6];
    let law: Law<'_> =
        &|at, _| Some(values[at.visit as usize % 5] - if at.version == 1 { 20e6 } else { 0.0 });
    let mut experiment = Virtual::new(1, 2, PILOT, BY_MEANS);
    let first = experiment.carry_out(1, law);
    assert_eq!((row(&first).required, row(&first).further, first.state), (Some(27), 22, RuleState::Further));
    assert_eq!(row(&first).half_width_ns, Some(1e6));
    assert_eq!(first.further.as_ref().unwrap().visits, [22, 22]);
    experiment.extend(&first);
    let last = experiment.carry_out(1, law);
    assert_eq!((last.state, row(&last).promise), (RuleState::Enough, Some(Promise::Kept)));
    assert_eq!(last.further.clone(), None);
    assert_eq!(row(&last).verdict, Verdict::Faster);
    let [lower, upper] = row(&last).interval_ns.unwrap();
    assert!(upper - lower <= 2e6 + 1e-3, "{lower} {upper}");
    assert!(last.words.contains("not adjusted"), "{}", last.words);
}

#[test]
fn runs_outstanding_are_not_looked_at() {
    let law: Law<'_> = &|_, random| Some(100e6 + 1e6 * normal(random));
    let mut experiment = Virtual::new(2, 2, LOOKS, "");
    experiment.outstanding = 1;
    let report = experiment.carry_out(1, law);
    assert_eq!((report.state, report.rows.len(), report.further), (RuleState::Pending, 0, None));
    experiment.outstanding = 0;
    experiment.cancelled = true;
    let report = experiment.carry_out(1, law);
    assert_eq!((report.state, report.rows.len(), report.further), (RuleState::BrokenOff, 0, None));
}

/// Nothing varies after trimming, and the medians tell a version of twice the time.
#[test]
fn looks_at_nearly_constant_times_conclude() {
    let law: Law<'_> =
        &|at, _| Some([20e6, 10e6][at.version as usize] + if at.visit == 3 { 1e6 } else { 0.0 });
    let mut experiment = Virtual::new(1, 2, LOOKS, "");
    let mut report = experiment.carry_out(1, law);
    while report.further.is_some() {
        experiment.extend(&report);
        report = experiment.carry_out(1, law);
    }
    assert_eq!((report.state, row(&report).verdict), (RuleState::Enough, Verdict::Faster));
}

#[test]
fn what_has_concluded_gets_no_further_runs() {
    let law: Law<'_> = &|at, random| {
        let faster = at.version == 1 && at.benchmark == 0;
        Some(if faster { 80e6 } else { 100e6 } + 1e6 * normal(random))
    };
    let mut experiment = Virtual::new(2, 2, LOOKS, "");
    let mut looks = Vec::new();
    loop {
        let report = experiment.carry_out(3, law);
        let enough = matches!(report.state, RuleState::Enough | RuleState::Exhausted);
        looks.push(report);
        if enough {
            break;
        }
        experiment.extend(looks.last().unwrap());
    }
    let last = looks.last().unwrap();
    assert_eq!(last.state, RuleState::Exhausted, "one of two is not concluded");
    assert_eq!(last.rows[0].verdict, Verdict::Faster);
    let concluded = last.rows[0].look.unwrap();
    assert!(concluded.concluded && concluded.number <= 2 && concluded.of == 4, "{concluded:?}");
    assert_eq!((last.rows[1].verdict, last.rows[1].observations), (Verdict::Undecided, [40, 40]));
    assert_eq!(looks.len(), 4);
    assert_eq!(last.rows[0].observations, [u64::from(concluded.number) * 10; 2]);
}

#[test]
fn a_visit_of_many_runs_is_one_observation() {
    // Hosts differ, their runs do not: only visits count.
    let law: Law<'_> =
        &|at, _| Some([100e6, 102e6, 98e6, 101e6][at.visit as usize % 4] + f64::from(at.version) * 5e6);
    let nested = "hosts = 4\npilot = 8\nprecision = \"2%\"\nmaximum = 400\n";
    let report = Virtual::new(1, 2, nested, BY_MEANS).carry_out(1, law);
    assert_eq!(row(&report).observations, [4, 4]);
    // s² = 35/12 ms², t = qt(0.975, 6) = 2.446912, d = 2.005 ms: ⌈8.69⌉.
    assert_eq!((row(&report).required, row(&report).further), (Some(9), 5));
    let further = report.further.unwrap();
    assert_eq!((further.boots, further.runs, further.visits), (1, 8, vec![5, 5]));
}

#[test]
fn blocked_runs_are_pairs() {
    // The host moves both versions: apart they vary by 20 ms, their differences by 0.2 ms.
    let law: Law<'_> = &|at, random| {
        let host = f64::from(at.visit % 5) * 20e6;
        Some(100e6 + host - f64::from(at.version) * 3e6 + 0.2e6 * normal(random))
    };
    let experiment = Virtual::new(1, 2, PILOT, "[design]\norder = \"blocked\"\n");
    let report = experiment.carry_out(5, law);
    assert_eq!((row(&report).verdict, row(&report).observations), (Verdict::Faster, [5, 5]));
    assert!(row(&report).required.unwrap() < 20, "{report:?}");
}

#[test]
fn runs_that_failed_are_missing_and_said_to_be() {
    let law: Law<'_> = &|at, random| (at.visit != 0).then(|| 100e6 + 1e6 * normal(random));
    let report = Virtual::new(1, 2, PILOT, "").carry_out(2, law);
    assert_eq!((row(&report).missing, row(&report).observations), (2, [4, 4]));
    assert!(report.words.contains("lack 2 runs"), "{}", report.words);
    let none: Law<'_> = &|at, random| (at.version == 0).then(|| 100e6 + 1e6 * normal(random));
    let report = Virtual::new(1, 2, PILOT, "").carry_out(2, none);
    assert_eq!((report.state, row(&report).verdict), (RuleState::Exhausted, Verdict::NotEnoughData));
}

#[test]
fn constant_times_ask_for_nothing() {
    let law: Law<'_> = &|_, _| Some(100e6);
    for rule in [PILOT, "pilot = 5\nbudget = \"10s\"\nmaximum = 200\n"] {
        let report = Virtual::new(1, 2, rule, "").carry_out(2, law);
        assert!(report.further.is_none() || report.rule == RuleKind::Budget, "{report:?}");
    }
}

#[test]
fn limits_of_the_plan_hold_a_rule_back() {
    let law: Law<'_> = &|_, random| Some(100e6 + 10e6 * normal(random));
    let limits = "[limits]\nall_attempts = 40\n";
    let report = Virtual::new(1, 2, PILOT, &format!("{limits}{BY_MEANS}")).carry_out(2, law);
    assert_eq!(report.further.as_ref().unwrap().visits, [15, 15]);
    assert!(report.words.contains("all_attempts"), "{}", report.words);
}

/// √(c₁/c₀ · σ₁²/σ₂²) = √(9 · 4/1) = 6 runs of a visit (Kalibera 2012 eq. 14), where a visit costs nine runs.
#[test]
fn the_budget_is_split_by_variances_and_costs() {
    let law: Law<'_> = &|at, random| {
        let host = normal(&mut at.of_visit());
        Some(100e6 + 1e6 * host + 2e6 * normal(random))
    };
    let rule = "hosts = 200\npilot = 20\nbudget = \"12000s\"\nmaximum = 100000\n";
    let mut experiment = Virtual::new(1, 2, rule, "");
    experiment.visit_cost = 9.0;
    let report = experiment.carry_out(8, law);
    let further = report.further.clone().unwrap();
    assert!((5..=8).contains(&further.runs) && further.boots == 1, "{further:?}");
    let spent = experiment.spent_ns();
    experiment.extend(&report);
    let last = experiment.carry_out(8, law);
    assert_eq!(last.state, RuleState::Enough);
    let all = experiment.spent_ns();
    assert!(all > spent && all <= 12_000.0e9 && all > 11_500.0e9, "{spent} {all}: {}", report.words);
}

#[test]
fn a_budget_without_levels_buys_runs() {
    let law: Law<'_> = &|_, random| Some(1e9 + 1e6 * normal(random));
    let mut experiment = Virtual::new(2, 2, "pilot = 3\nbudget = \"100s\"\nmaximum = 200\n", "");
    let report = experiment.carry_out(4, law);
    assert_eq!(
        report.further.as_ref().map(|further| Shape { boots: further.boots, runs: further.runs }),
        Some(Shape::SINGLE)
    );
    experiment.extend(&report);
    assert_eq!(experiment.carry_out(4, law).state, RuleState::Enough);
    assert!(experiment.spent_ns() <= 100.5e9 && experiment.spent_ns() > 90e9, "{}", experiment.spent_ns());
}
