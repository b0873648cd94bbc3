//! Blocked and nested designs: what is independent is what is compared.

use super::{codes, only, synthetic::Synthetic, synthetic::Times};
use crate::{conclusion::ReasonCode, conclusion::Verdict, conclusion::WarningCode, study::*};
use speedup_core::{run::AfterLoss, run::LossReason, run::record::Failure, value::id::Attempt};
use speedup_statistics::test::VanElteren;

const DISTINCT: &str = "[independence]\npolicy = \"distinct\"\n";

fn blocked(runs: u32) -> Synthetic {
    Synthetic::new(1, 2, runs, &format!("{DISTINCT}[design]\norder = \"blocked\"\n")).visits()
}

/// Hosts differ by far more than the versions do: only in pairs can that be seen.
#[test]
fn pairs_see_through_what_hosts_differ_by() {
    let effect = |synthetic: Synthetic| {
        let sides = [Times::normal(100e6, 2e5), Times::normal(99e6, 2e5)];
        synthetic.times(0, 0, sides[0]).times(0, 1, sides[1]).host_spread(0.1).report()
    };
    let report = effect(blocked(20));
    let comparison = only(&report);
    assert_eq!(comparison.verdict, Verdict::Faster);
    let design = comparison.design.as_ref().unwrap();
    assert_eq!((design.kind, design.baseline_units, design.incomplete), (DesignKind::Pairs, 20, 0));
    for protocol in [&comparison.mean, &comparison.median] {
        let (lower, upper) = protocol.as_ref().unwrap().interval.ends().unwrap();
        assert!(lower > 1.005 && upper < 1.015, "{lower} {upper}");
    }
    let names = [&comparison.mean, &comparison.median]
        .map(|protocol| protocol.as_ref().unwrap().at_level.main_test.method.clone());
    assert_eq!(names, ["paired t test", "Wilcoxon signed-rank test (exact)"]);
    assert_eq!(report.independence.kind, IndependenceKind::Pairs);
    assert!(!codes(&report).contains(&"dependent_through_host"));
    let apart = effect(Synthetic::new(1, 2, 20, DISTINCT).visits());
    assert_eq!((only(&apart).verdict, &only(&apart).design), (Verdict::Undecided, &None));
}

#[test]
fn a_broken_pair_is_counted_and_left_out_of_the_pairs_alone() {
    let exit = Failure::Exit { code: 1, expected: 0 };
    let again = AfterLoss::Again(Attempt(2));
    let report = blocked(12)
        .fail(0, 1, 2, &exit, "")
        .lose(0, 0, 5, LossReason::HostLost, AfterLoss::Abandoned)
        .lose(0, 0, 6, LossReason::HostLost, again)
        .report();
    let comparison = only(&report);
    assert_eq!((comparison.baseline_n, comparison.candidate_n), (11, 10), "they are in their samples");
    let design = comparison.design.as_ref().unwrap();
    assert_eq!(design.baseline_units + design.incomplete, 12);
    assert!((2..=3).contains(&design.incomplete) && design.candidate_units == design.baseline_units);
    assert!(codes(&report).contains(&"broken_pairs"), "{:?}", codes(&report));
    assert!(!codes(&blocked(12).report()).contains(&"broken_pairs"));
}

/// One benchmark alone is the suite; of several the pairs of each are taken with their covariance.
#[test]
fn a_suite_of_pairs_is_compared_in_pairs() {
    let plan = format!("{DISTINCT}[design]\norder = \"blocked\"\n");
    let mut synthetic = Synthetic::new(3, 2, 15, &plan).visits().host_spread(0.1);
    for benchmark in 0..3 {
        synthetic = synthetic.times(benchmark, 1, Times::normal(98e6, 1e6));
    }
    let report = synthetic.report();
    let (lower, upper) = report.suites[0].interval.as_ref().unwrap().ends().unwrap();
    assert_eq!(report.suites[0].verdict, Verdict::Faster);
    assert!(lower > 1.01 && upper < 1.03, "{lower} {upper}");
}

fn nested(hosts: u32, policy: &str) -> Synthetic {
    let repetitions = format!("hosts = {hosts}\nboots = 2\nruns = 5\n");
    Synthetic::nested(1, 2, &repetitions, &format!("[independence]\npolicy = \"{policy}\"\n")).visits()
}

/// A hundred runs of ten hosts are no hundred observations.
#[test]
fn by_levels_hosts_are_what_is_independent() {
    let report = nested(10, "distinct").host_spread(0.05).report();
    let comparison = only(&report);
    let design = comparison.design.as_ref().unwrap();
    assert_eq!((design.kind, design.unit.as_str()), (DesignKind::Levels, "host"));
    assert_eq!((comparison.baseline_n, design.baseline_units, design.candidate_units), (100, 10, 10));
    assert_eq!(report.independence.kind, IndependenceKind::Levels);
    let IntervalReport::Bounded { method, lower, upper, .. } = &comparison.mean.as_ref().unwrap().interval
    else {
        panic!("no interval")
    };
    assert!(method.starts_with("Fieller") && method.ends_with("by levels"), "{method}");
    // Runs taken as independent would be known to ±0.8 %.
    assert!(upper - lower > 0.03, "{lower} {upper}");
    assert_eq!(comparison.advice.as_ref().and_then(|advice| advice.unit.clone()), Some(RunUnit::Host.into()));
    // Hosts lie within ±5 %, runs vary by 1 %, and the boots of a host do not differ.
    let levels = &comparison.levels;
    assert_eq!(levels.iter().map(|one| one.level.as_str()).collect::<Vec<_>>(), ["host", "boot", "run"]);
    for of in [|one: &LevelSpread| one.baseline_sd_ns, |one: &LevelSpread| one.candidate_sd_ns] {
        let [host, boot, run] = [0, 1, 2].map(|at| of(&levels[at]).unwrap());
        assert!(host > 1.5 * run && boot < run && run > 0.0, "{levels:?}");
    }
    let raised = codes(&report);
    assert!(!raised.contains(&"autocorrelation") && !raised.contains(&"extended"), "{raised:?}");
}

#[test]
fn one_host_by_design_leaves_its_boots_and_one_by_accident_nothing() {
    let boots = Synthetic::nested(1, 2, "boots = 6\nruns = 4\n", "[independence]\npolicy = \"rebooted\"\n");
    let report = boots.visits().report();
    let design = only(&report).design.as_ref().unwrap();
    assert_eq!((design.unit.as_str(), design.baseline_units), ("boot", 6));
    let levels: Vec<&str> = only(&report).levels.iter().map(|one| one.level.as_str()).collect();
    assert_eq!(levels, ["boot", "run"]);
    let partial = nested(4, "distinct").take(20).running().report();
    let reason = only(&partial).reason.as_ref().unwrap();
    assert!(["one_unit", "not_measured"].contains(&reason.code.as_str()), "{reason:?}");
    let alone = Synthetic::nested(1, 2, "hosts = 1\nruns = 9\n", DISTINCT).visits().report();
    assert_eq!(only(&alone).reason.as_ref().unwrap().code, ReasonCode::OneUnit);
}

/// Visits of another shape later: units with other counts, told.
#[test]
fn stages_of_different_shapes_are_units_with_a_caveat() {
    let report = nested(6, "distinct").extended(4).host_spread(0.05).visits().report();
    let design = only(&report).design.as_ref().unwrap();
    assert_eq!(design.baseline_units, 10);
    assert!(!codes(&report).contains(&"unbalanced"));
    let uneven = nested(6, "distinct").extended_singly(4).host_spread(0.05).visits().report();
    assert_eq!(only(&uneven).design.as_ref().unwrap().baseline_units, 10);
    let interval = &only(&uneven).mean.as_ref().unwrap().interval;
    let IntervalReport::Bounded { caveats, .. } = interval else { panic!("no interval") };
    assert!(caveats.contains(&WarningCode::Unbalanced.into()), "{caveats:?}");
}

#[test]
fn versions_that_lose_or_fail_unevenly_are_told() {
    let exit = Failure::Exit { code: 1, expected: 0 };
    let failing = Synthetic::new(2, 2, 30, "").fail(0, 1, 12, &exit, "").report();
    assert!(codes(&failing).contains(&"failures_differ"));
    let missing = &failing.diagnostics.as_ref().unwrap().missing[0];
    assert_eq!((missing.of_candidate.failed, missing.of_candidate.settled, missing.losses), (12, 60, None));
    let even = Synthetic::new(2, 2, 30, "").fail(0, 1, 6, &exit, "").fail(0, 0, 6, &exit, "").report();
    assert!(!codes(&even).contains(&"failures_differ"));
    let mut losing = Synthetic::new(2, 2, 30, "");
    for repetition in 0..14 {
        losing = losing.lose(0, 1, repetition, LossReason::Expired, AfterLoss::Again(Attempt(2)));
    }
    let losing = losing.report();
    assert!(codes(&losing).contains(&"losses_differ"), "{:?}", codes(&losing));
    assert_eq!(losing.diagnostics.unwrap().missing[0].of_candidate.attempts, 74);
}

#[test]
fn an_experiment_cut_by_a_bound_says_so() {
    let bounded = || Synthetic::new(1, 2, 20, "[limits]\nall_attempts = 30\n");
    assert!(codes(&bounded().take(30).cancelled().report()).contains(&"cut_by_bound"));
    assert!(!codes(&bounded().take(29).running().report()).contains(&"cut_by_bound"));
    let timed = Synthetic::new(1, 2, 20, "[limits]\nhost_time = \"30s\"\n").take(30).cancelled().report();
    assert!(codes(&timed).contains(&"cut_by_bound"));
}

/// The candidate, a little faster, had most of its runs on the slow class.
#[test]
fn classes_are_blocks_where_the_plan_allows_several() {
    let plan = |hosts: &str| format!("{DISTINCT}hosts = \"{hosts}\"\n");
    let report = |hosts: &str| {
        let synthetic = Synthetic::new(1, 2, 36, &plan(hosts)).visits().of_two_classes();
        synthetic.times(0, 1, Times::normal(97e6, 1e6)).report()
    };
    let blocked = report("classes");
    let comparison = only(&blocked);
    let design = comparison.design.as_ref().unwrap();
    assert_eq!((design.kind, design.baseline_units, design.incomplete), (DesignKind::Classes, 36, 0));
    assert_eq!(blocked.independence.evidence.classes, 2);
    for protocol in [&comparison.mean, &comparison.median] {
        assert_eq!(protocol.as_ref().unwrap().verdict, Verdict::Faster);
    }
    let (lower, upper) = comparison.mean.as_ref().unwrap().interval.ends().unwrap();
    assert!(lower > 1.02 && upper < 1.04, "{lower} {upper}");
    assert_eq!(comparison.median.as_ref().unwrap().at_level.main_test.method, VanElteren::NAME);
    let pooled = report("any");
    assert_ne!(only(&pooled).verdict, Verdict::Faster, "the class would be taken for the version");
}
