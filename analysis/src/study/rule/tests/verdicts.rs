//! The verdicts of reports under rules: each keeps the risk that it states.

use super::virtual_experiment::{Law, Virtual, normal};
use super::{BY_MEANS, LOOKS, RuleState, laws::to_the_end};
use crate::conclusion::{Protocol, ReasonCode, Verdict};
use crate::study::{Report, first_decisive_look};
use speedup_core::experiment::Center;

const BY_MEDIANS: &str = "[analysis]\ncenter = \"median\"\n";

fn to_report(experiment: Virtual, seed: u64, law: Law<'_>) -> Report {
    to_the_end(experiment, seed, law).0.report(seed, law)
}

/// Of one candidate and as many benchmarks as are given speedups.
fn speedups(
    factors: &'static [f64],
) -> impl Fn(super::virtual_experiment::At, &mut rand_chacha::ChaCha8Rng) -> Option<f64> {
    move |at, random| {
        let factor = if at.version == 1 { factors[at.benchmark as usize] } else { 1.0 };
        Some(1e8 / factor + 1e6 * normal(random))
    }
}

#[test]
fn under_looks_the_verdict_is_the_rules_and_no_other() {
    under_looks(BY_MEDIANS, Center::Median);
    under_looks("", Center::Trimmed);
    under_looks(BY_MEANS, Center::Mean);
}

fn under_looks(more: &str, center: Center) {
    let report = to_report(Virtual::new(3, 2, LOOKS, more), 3, &speedups(&[1.25, 1.0, 0.8]));
    let rule = report.rule.as_ref().unwrap();
    for (benchmark, row) in report.benchmarks.iter().zip(&rule.rows) {
        let comparison = &benchmark.comparisons[0];
        assert_eq!((comparison.verdict, comparison.by), (row.verdict, Some(center)));
        assert_eq!(
            [Protocol::Mean, Protocol::Median].map(|by| comparison.of(by).is_some()),
            [center == Center::Mean, center == Center::Median]
        );
        assert_eq!((comparison.one_sided, &comparison.advice), (None, &None));
        let headline = comparison.headline().unwrap();
        assert_eq!((headline.center, headline.p_value), (center, row.look.unwrap().p));
        let (lower, upper) = headline.interval.ends().unwrap();
        assert!(lower < headline.speedup && headline.speedup < upper);
        let is_apart = lower > 1.0 || upper < 1.0;
        assert_eq!(is_apart, row.look.unwrap().concluded, "{}: {lower} {upper}", benchmark.name);
        let unbiased = row.look.unwrap().unbiased.unwrap();
        assert!((lower..=upper).contains(&unbiased), "{unbiased} {lower} {upper}");
        assert!(row.sentence.contains("median-unbiased"), "{}", row.sentence);
        assert!(comparison.adjusted.is_empty());
    }
    let verdicts: Vec<Verdict> = report.benchmarks.iter().map(|one| one.comparisons[0].verdict).collect();
    assert_eq!(verdicts, [Verdict::Faster, Verdict::Undecided, Verdict::Slower]);
    let suite = &report.suites[0];
    assert_eq!((suite.verdict, suite.p_value), (Verdict::NotEnoughData, None));
    assert_eq!(suite.reason.as_ref().unwrap().code, ReasonCode::NoSuiteByLooks);
    assert!(suite.interval.as_ref().unwrap().ends().is_none() && suite.multiplicity.is_empty());
    let by: Vec<_> = suite.proportions.iter().map(|of| (of.by, of.of, of.count)).collect();
    assert_eq!(by, [(None, Verdict::Faster, 1), (None, Verdict::Slower, 1)]);
}

/// The peeking that the plan's looks are to prevent is not done by whoever watches the report either.
#[test]
fn between_looks_there_is_no_verdict() {
    let law = speedups(&[1.25]);
    let mut experiment = Virtual::new(1, 2, LOOKS, "");
    experiment.outstanding = 1;
    let report = experiment.report(1, &law);
    let comparison = &report.benchmarks[0].comparisons[0];
    assert_eq!((comparison.verdict, comparison.mean.is_some()), (Verdict::NotEnoughData, false));
    assert_eq!(comparison.reason.as_ref().unwrap().code, ReasonCode::LookPending);
    experiment.outstanding = 0;
    let open = experiment.report(1, &speedups(&[1.0]));
    let comparison = &open.benchmarks[0].comparisons[0];
    assert_eq!(comparison.reason.as_ref().unwrap().code, ReasonCode::LookOpen);
    assert_eq!(open.rule.unwrap().state, RuleState::Further);
    experiment.cancelled = true;
    let report = experiment.report(1, &law);
    assert_eq!(report.benchmarks[0].comparisons[0].reason.as_ref().unwrap().code, ReasonCode::LooksBrokenOff);
}

/// Hosts of a slow class have most of the candidate's runs: the pooled difference is the class's.
#[test]
fn looks_are_taken_within_classes() {
    let classes = "hosts = \"classes\"\n";
    let slow = |of_class: f64| {
        move |at: super::virtual_experiment::At, random: &mut rand_chacha::ChaCha8Rng| {
            let factor = if at.is_of_second_class() { of_class } else { 1.0 };
            let gain = if at.version == 1 { 0.98 } else { 1.0 };
            Some(factor * gain * 1e8 + 5e5 * normal(random))
        }
    };
    let methods =
        [(BY_MEANS, "within classes"), (BY_MEDIANS, "order-statistic intervals"), ("", "permutation")];
    for (more, method) in methods {
        let mut experiment = Virtual::new(1, 2, LOOKS, &format!("{classes}{more}"));
        experiment.is_of_two_classes = true;
        let report = to_report(experiment, 5, &slow(1.5));
        let comparison = &report.benchmarks[0].comparisons[0];
        assert_eq!(comparison.verdict, Verdict::Faster, "{:?}", report.rule);
        let headline = comparison.headline().unwrap();
        let row = &report.rule.as_ref().unwrap().rows[0];
        assert!(row.test.as_ref().unwrap().contains(method), "{row:?}");
        let (lower, upper) = headline.interval.ends().unwrap();
        assert!(lower > 1.002 && upper < 1.04, "{lower} {upper}");
    }
}

/// Ten runs have no order statistics at the small risk of O'Brien and Fleming's first look; a t test has its interval.
#[test]
fn the_first_look_that_can_conclude() {
    let first = |rule: &str, more: &str| first_decisive_look(&Virtual::new(1, 2, rule, more).plan.experiment);
    assert_eq!(first(LOOKS, BY_MEDIANS), Some(2));
    assert_eq!(first(LOOKS, BY_MEANS), Some(1));
    // Ten runs of each version, of which the ends are left out, have no labellings enough for the first look's risk.
    assert_eq!(first(LOOKS, ""), Some(2));
    assert_eq!(first("looks = 4\nmaximum = 40\nspending = \"pocock\"\n", ""), Some(1));
    assert_eq!(first("looks = 2\nmaximum = 4\n", "[analysis]\ncenter = \"median\"\n"), None);
    assert_eq!(first("runs = 10\n", ""), None);
}

/// What is the same within the margin needs no further looks; without a margin nobody says so.
#[test]
fn looks_conclude_that_versions_are_the_same() {
    for center in ["median", "mean"] {
        let more = |margin| format!("[analysis]\ncenter = \"{center}\"\n{margin}");
        let law = speedups(&[1.0]);
        let report = to_report(Virtual::new(1, 2, LOOKS, &more("margin = \"3%\"\n")), 2, &law);
        let (comparison, look) =
            (&report.benchmarks[0].comparisons[0], report.rule.as_ref().unwrap().rows[0].look);
        assert_eq!(comparison.verdict, Verdict::Same, "{center}: {:?}", report.rule);
        assert!(look.is_some_and(|look| look.concluded && look.number < look.of), "{look:?}");
        assert_eq!(comparison.headline().unwrap().margin, Some(0.03));
        let report = to_report(Virtual::new(1, 2, LOOKS, &more("")), 2, &law);
        assert_eq!(report.benchmarks[0].comparisons[0].verdict, Verdict::Undecided);
    }
}

#[test]
fn a_budget_ends_with_the_reports_verdicts() {
    let rule = "pilot = 6\nbudget = \"100s\"\nmaximum = 60\n";
    let report = to_report(Virtual::new(2, 2, rule, ""), 4, &speedups(&[1.25, 1.0]));
    let rule = report.rule.as_ref().unwrap();
    assert_eq!(rule.state, RuleState::Enough);
    for (benchmark, row) in report.benchmarks.iter().zip(&rule.rows) {
        assert_eq!(row.verdict, benchmark.comparisons[0].verdict);
        assert_eq!(row.speedup, benchmark.comparisons[0].headline().map(|headline| headline.speedup));
        assert!(row.sentence.contains(row.verdict.words()), "{}", row.sentence);
    }
    assert_eq!(rule.rows[0].verdict, Verdict::Faster);
    assert!(
        !rule.words.contains("not adjusted"),
        "the number of runs depends on no difference: {}",
        rule.words
    );
}

/// The claim that a budget's number of runs does not touch the level of the report's tests.
#[test]
fn verdicts_after_a_budget_keep_their_risk() {
    const REPLICATES: u64 = 400;
    let rule = "pilot = 5\nbudget = \"60s\"\nmaximum = 60\n";
    let alarms = (0..REPLICATES).filter(|seed| {
        let report = to_report(Virtual::new(1, 2, rule, ""), *seed, &speedups(&[1.0]));
        report.rule.unwrap().rows[0].verdict.is_conclusive()
    });
    let share = alarms.count() as f64 / REPLICATES as f64;
    // Two-sided at 5 %, by order statistics at most so; and 3.3 deviations.
    let deviation = (0.05 * 0.95 / REPLICATES as f64).sqrt();
    assert!(share > 0.0 && share < 0.05 + 3.3 * deviation, "{share}");
}
