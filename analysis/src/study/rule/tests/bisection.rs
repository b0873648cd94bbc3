//! Bisections carried out on histories that were never run.

use super::*;
use crate::study::{BisectionReport, BisectionVerdict, LineCommitState};
use speedup_core::experiment::{Bisection, prior::LinePrior, prior::PathWeight};
use speedup_core::plan::Plan;

const RULE: Bisection = Bisection { maximum: 120, block: 4, blocks: 1 };

/// Carries it out to its end; says what it found and how often it asked for more.
fn carried_out(mut of: Virtual, law: Law<'_>) -> (BisectionReport, Virtual, u32) {
    for asked in 0..200 {
        let report = of.carry_out(7, law);
        let from = of.plan.runs();
        assert_eq!(report.from, from);
        let found = report.bisection.clone().expect("a bisection");
        match report.state {
            RuleState::Further => of.extend(&report),
            state => {
                assert_eq!((state, report.extension(&of.plan)), (RuleState::Enough, None));
                return (found, of, asked);
            }
        }
        assert!(of.plan.runs() - of.plan.builds() <= RULE.maximum);
        assert!(report.words.starts_with(&found.sentence), "{}", report.words);
        assert!(report.words.contains("Next: "), "{}", report.words);
    }
    panic!("it does not end");
}

/// A step of a tenth at these versions, with noise of one percent and hosts that differ by more.
fn steps(at: &'static [u32]) -> impl Fn(virtual_experiment::At, &mut rand_chacha::ChaCha8Rng) -> Option<f64> {
    move |run, random| {
        let steps = at.iter().filter(|step| run.version >= **step).count() as i32;
        let host = 1.0 + 0.2 * normal(&mut run.of_visit()).abs();
        Some(100e6 * host * 1.1_f64.powi(steps) * (1.0 + 0.01 * normal(random)))
    }
}

fn names(found: &BisectionReport) -> Vec<&str> {
    found.set.versions.iter().map(String::as_str).collect()
}

#[test]
fn the_version_with_the_step_is_found_and_most_are_never_built() {
    let (found, of, _) = carried_out(Virtual::bisecting(33, RULE, ""), &steps(&[20]));
    assert_eq!((found.verdict.known(), names(&found)), (Some(BisectionVerdict::Step), vec!["v20"]));
    assert!(found.sentence.starts_with("The step is at v20,"), "{}", found.sentence);
    let [lower, upper] = found.size.unwrap().interval;
    assert!(lower < 1.1 && 1.1 < upper && lower > 1.05, "{found:?}");
    assert!(of.plan.builds() < 20, "{} builds", of.plan.builds());
    let states: Vec<_> = found.commits.iter().map(|commit| commit.state.known().unwrap()).collect();
    assert!(states.contains(&LineCommitState::NotProbed));
    let report = of.report(7, &steps(&[20]));
    assert_eq!(report.rule.unwrap().bisection, Some(found));
    assert!(report.suites.is_empty() && report.benchmarks.is_empty());
}

#[test]
fn versions_that_cannot_be_built_or_run_widen_the_set() {
    let law = steps(&[6]);
    let fails: Law<'_> = &|at, random| if at.version == 7 { None } else { law(at, random) };
    let of = Virtual { broken: vec![5, 6], ..Virtual::bisecting(13, RULE, "") };
    let (found, ..) = carried_out(of, fails);
    assert_eq!(found.verdict.known(), Some(BisectionVerdict::Step));
    assert_eq!(names(&found), vec!["v5", "v6", "v7", "v8"]);
    let state = |at: usize| found.commits[at].state.known().unwrap();
    assert_eq!([5, 6, 7].map(state).iter().filter(|state| **state == LineCommitState::NotProbed).count(), 0);
    assert_eq!(state(7), LineCommitState::Failing);
    assert!(found.caveats[0].contains("3 commits of the set"), "{:?}", found.caveats);
}

#[test]
fn no_step_and_several_are_said() {
    let margin = "[analysis]\nmargin = \"5%\"\n";
    let broken = Virtual { broken: vec![8, 12], ..Virtual::bisecting(17, RULE, margin) };
    let (none, ..) = carried_out(broken, &steps(&[]));
    assert_eq!(none.verdict.known(), Some(BisectionVerdict::NoStep), "{none:?}");
    assert!(!none.caveats.iter().any(|caveat| caveat.contains("of the set")), "{:?}", none.caveats);
    assert!(none.sentence.contains("±5"), "{}", none.sentence);
    let (several, ..) = carried_out(Virtual::bisecting(17, RULE, margin), &steps(&[5, 11]));
    assert_eq!(several.verdict.known(), Some(BisectionVerdict::Several), "{several:?}");
}

#[test]
fn an_end_that_fails_ends_it() {
    let law = steps(&[6]);
    let fails: Law<'_> = &|at, random| if at.version == 12 { None } else { law(at, random) };
    let (found, of, _) = carried_out(Virtual::bisecting(13, RULE, ""), fails);
    assert_eq!(found.verdict.known(), Some(BisectionVerdict::NoEnd));
    assert!(found.sentence.contains("v12"), "{}", found.sentence);
    assert!(of.plan.runs() < 12);
}

#[test]
fn blocks_of_a_round_are_spread_and_the_last_is_as_long_as_the_runs_allow() {
    let rule = Bisection { maximum: 22, block: 4, blocks: 3 };
    let mut of = Virtual::bisecting(33, rule, "");
    let law = steps(&[20]);
    let first = of.carry_out(7, &law);
    assert_eq!(
        first.bisection.as_ref().unwrap().next.as_ref().unwrap().builds.len(),
        6,
        "two probes of each block"
    );
    of.extend(&first);
    let second = of.carry_out(7, &law);
    let blocks = second.bisection.as_ref().unwrap().next.clone().unwrap().blocks;
    assert_eq!(blocks.len(), 3);
    assert!(
        blocks.iter().all(|block| block.len() == 4 && block.contains(&0) && block.contains(&32)),
        "{blocks:?}"
    );
    let mut last = Vec::new();
    let mut report = second;
    while report.state == RuleState::Further {
        of.extend(&report);
        report = of.carry_out(7, &law);
        let next = report.bisection.as_ref().unwrap().next.clone();
        last.extend(next.filter(|next| next.builds.is_empty()).map(|next| next.blocks));
    }
    let planned = of.plan.runs() - of.plan.builds();
    assert!(planned <= 22, "{planned}");
    assert_eq!(of.plan.clone().stages().iter().map(|stage| stage.shape.boots).max(), Some(1), "{last:?}");
}

/// With this prior of the commits from the second on.
fn with_prior(of: Virtual, weights: Vec<f64>) -> Virtual {
    let mut experiment = of.plan.experiment.clone();
    let path = |path: &str, weight| PathWeight { path: path.to_owned(), weight };
    let paths = vec![path("src/io", 5.0), path("docs", 0.1), path("src/codec", 5.0)];
    experiment.analysis.prior = Some(LinePrior { paths, weights });
    experiment.check().expect("a bisection");
    Virtual { plan: Plan::draw(experiment), ..of }
}

#[test]
fn a_prior_is_named_and_leads_to_its_commits_first() {
    let mut weights = vec![1.0; 32];
    (weights[19], weights[4]) = (1000.0, 1000.0);
    let of = with_prior(Virtual::bisecting(33, RULE, ""), weights.clone());
    let first = of.carry_out(7, &steps(&[20])).bisection.unwrap();
    let beforehand: Vec<f64> = first.commits.iter().filter_map(|commit| commit.beforehand).collect();
    let sum: f64 = weights.iter().sum();
    assert_eq!((beforehand.len(), beforehand[0], beforehand[20]), (33, 0.0, 1000.0 / sum));
    // What divides the probability: between the two that are likely.
    assert_eq!(first.next.unwrap().builds, [5, 19]);
    let (found, of, asked) = carried_out(of, &steps(&[20]));
    let (plain, _, asked_without) = carried_out(Virtual::bisecting(33, RULE, ""), &steps(&[20]));
    assert_eq!((names(&found), names(&plain)), (vec!["v20"], vec!["v20"]));
    assert!(asked < asked_without, "{asked} rounds, and {asked_without} without the prior");
    for part in ["src/io or src/codec", " 5 times", "docs 0.1 times"] {
        assert!(found.caveats[0].contains(part), "{part}: {}", found.caveats[0]);
    }
    assert_eq!(found.prior.len(), 3);
    assert!(of.report(7, &steps(&[20])).rule.unwrap().method.contains("prior of the commits"));
    assert!(plain.prior.is_empty() && plain.commits[0].beforehand.is_none());
    let json = serde_json::to_value(&plain).unwrap();
    assert!(json.get("prior").is_none() && json["commits"][0].get("beforehand").is_none());
}

/// The runs outweigh a prior that is wrong.
#[test]
fn a_step_where_nobody_thought_it_is_found_all_the_same() {
    let mut weights = vec![50.0; 32];
    weights[19] = 1.0;
    let of = with_prior(Virtual::bisecting(33, RULE, ""), weights);
    let (found, ..) = carried_out(of, &steps(&[20]));
    assert_eq!((found.verdict.known(), names(&found)), (Some(BisectionVerdict::Step), vec!["v20"]));
}

/// What is known is known before the end, and after a cancellation.
#[test]
fn an_answer_is_given_at_any_time() {
    let law = steps(&[6]);
    let mut of = Virtual::bisecting(13, RULE, "");
    for _ in 0..4 {
        let report = of.carry_out(7, &law);
        of.extend(&report);
    }
    of.outstanding = 1;
    let pending = of.carry_out(7, &law);
    let found = pending.bisection.clone().unwrap();
    assert_eq!((pending.state, found.next.clone()), (RuleState::Pending, None));
    assert!(found.size.is_some());
    of.outstanding = 0;
    of.cancelled = true;
    let cancelled = of.carry_out(7, &law);
    assert_eq!((cancelled.state, cancelled.extension(&of.plan)), (RuleState::BrokenOff, None));
    assert!(cancelled.bisection.unwrap().caveats.iter().any(|caveat| caveat.contains("cancelled")));
}
