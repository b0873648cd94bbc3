//! Versions that are built several times: runs of a build are not independent.

use super::{codes, only, synthetic::Synthetic, synthetic::Times};
use crate::{conclusion::ReasonCode, conclusion::Verdict, conclusion::WarningCode, study::*};
use speedup_core::{experiment::build::Product, experiment::files::Content, experiment::files::ContentHash};
use speedup_statistics::levels::EffectSize;

const BLOCKED: &str = "[independence]\npolicy = \"distinct\"\n[design]\norder = \"blocked\"\n";

/// Two versions that are alike but for what each build happens to be.
fn alike(benchmarks: usize, runs: u32, builds: u32, more: &str, seed: u32) -> Synthetic {
    Synthetic::new(benchmarks, 2, runs, more).all_built(builds).build_spread(0.1, seed)
}

/// Builds differ by several times as much as runs do, and versions not at all.
#[test]
fn builds_that_differ_raise_no_false_alarm() {
    let false_alarms = |of: &dyn Fn(u32) -> Synthetic, by_builds: bool| {
        let alarm = |seed: &u32| {
            let synthetic = of(*seed);
            let report = if by_builds { synthetic.report() } else { synthetic.told_of_one_build().report() };
            matches!(report.suites[0].verdict, Verdict::Faster | Verdict::Slower)
        };
        (0..60).filter(alarm).count()
    };
    // Of 60 at a level of 95 %, 3 are to be expected; 10 and more with a probability of 0.001.
    const MEAN: &str = "[analysis]\ncenter = \"mean\"\n";
    let blocked = format!("{BLOCKED}{MEAN}");
    for (benchmarks, more) in [(1, MEAN), (1, blocked.as_str()), (4, MEAN), (4, &blocked)] {
        let of = |seed: u32| {
            let synthetic = alike(benchmarks, 24, 6, more, seed);
            if more == MEAN { synthetic } else { synthetic.visits() }
        };
        let found = false_alarms(&of, true);
        assert!(found < 10, "{found} of 60 with {benchmarks} benchmarks, {more}");
        let ignored = false_alarms(&of, false);
        assert!(
            ignored > 15,
            "{ignored} of 60 are found where builds are ignored, or nothing is tested here"
        );
    }
}

/// Tails of builds that differ by several times as much as runs do: by each build's own, or by a run of each, no more are called
/// different than the level allows; with all runs as independent, many are.
#[test]
fn tails_of_builds_raise_no_false_alarm() {
    const TAILS: &str = "[analysis]\nquantiles = [0.9]\n";
    let blocked = format!("{BLOCKED}{TAILS}");
    for (runs, builds, more) in [(120, 12, TAILS), (84, 42, TAILS), (120, 12, &blocked), (100, 50, &blocked)]
    {
        let found = |by_builds: bool| {
            let alarm = |seed: &u32| {
                let synthetic = alike(1, runs, builds, more, *seed);
                let synthetic = if more == TAILS { synthetic } else { synthetic.visits() };
                let report =
                    if by_builds { synthetic.report() } else { synthetic.told_of_one_build().report() };
                let row = &report.endpoints[0].rows[0];
                assert_eq!(row.reason, None, "{row:?}");
                assert!(!by_builds || row.unit == RunUnit::Build, "{row:?}");
                matches!(row.verdict, EndpointVerdict::Better | EndpointVerdict::Worse)
            };
            (0..60).filter(alarm).count()
        };
        // Of 60 at a level of 95 %, 3 are to be expected; 10 and more with a probability of 0.001.
        assert!(found(true) < 10, "{} of 60 with {builds} builds, {more}", found(true));
        if more == TAILS && builds == 12 {
            assert!(
                found(false) > 15,
                "{} of 60 are found where builds are ignored, or nothing is tested here",
                found(false)
            );
        }
    }
}

#[test]
fn what_is_independent_are_the_builds() {
    let undecided = alike(1, 24, 6, "", 3).times(0, 1, Times::normal(99e6, 1e6)).report();
    let advice = only(&undecided).advice.as_ref().unwrap();
    assert_eq!(advice.unit, Some(RunUnit::Build.into()));
    assert!(matches!(advice.detection.reach, ReachReport::MoreRuns { needed } if needed > 6), "{advice:?}");
    let report = alike(1, 24, 6, "", 3).times(0, 1, Times::normal(80e6, 1e6)).report();
    let comparison = only(&report);
    let design = comparison.design.as_ref().unwrap();
    assert_eq!((design.kind, design.unit.as_str()), (DesignKind::Builds, "build"));
    assert_eq!((comparison.baseline_n, design.baseline_units, design.candidate_units), (24, 6, 6));
    assert_eq!(comparison.verdict, Verdict::Faster);
    let interval = &comparison.mean.as_ref().unwrap().interval;
    let is_by_levels =
        matches!(interval, IntervalReport::Bounded { method, .. } if method == EffectSize::NAME_FIELLER);
    assert!(is_by_levels, "{interval:?}");
    assert!(!codes(&report).contains(&"one_build"), "{:?}", codes(&report));
    assert!(report.method.notes.iter().any(|note| note.subject == "builds"));
}

/// As the visits do, so do the pairs: those of one build of each version are one.
#[test]
fn visits_of_one_pair_of_builds_are_one_pair() {
    let report = alike(1, 24, 6, BLOCKED, 3).visits().report();
    let design = only(&report).design.as_ref().unwrap();
    assert_eq!((design.kind, design.unit.as_str(), design.baseline_units), (DesignKind::Pairs, "build", 6));
    let uneven = |builds: [u32; 2]| Synthetic::new(1, 2, 24, BLOCKED).visits().built_each(builds).report();
    let of = |report: &Report| only(report).design.as_ref().map(|design| design.baseline_units);
    assert_eq!(of(&uneven([4, 6])), Some(2), "what hangs together is one");
    assert_eq!(of(&uneven([1, 6])), Some(6), "the one build of the baseline is in all");
}

/// Of two and three builds every visit hangs together with every other one, and yet five builds were measured.
#[test]
fn builds_that_make_no_pairs_are_compared_each_with_all() {
    let coprime = |faster: f64, seed: u32| {
        let of = Synthetic::new(1, 2, 60, BLOCKED).visits().built_each([5, 6]);
        of.times(0, 1, Times::normal(faster, 1e6)).build_spread(0.01, seed).report()
    };
    let report = coprime(80e6, 3);
    let comparison = only(&report);
    let design = comparison.design.as_ref().unwrap();
    assert_eq!((design.kind, design.unit.as_str()), (DesignKind::Builds, "build"));
    assert_eq!((design.baseline_units, design.candidate_units), (5, 6));
    assert_eq!((comparison.verdict, &comparison.reason), (Verdict::Faster, &None));
    let alarms = (0..60).filter(|seed| only(&coprime(100e6, *seed)).verdict != Verdict::Undecided);
    // Of 60 at a level of 95 %, 3 are to be expected; 10 and more with a probability of 0.001.
    assert!(alarms.count() < 10);
}

/// Fewer visits than builds leave one pair.
#[test]
fn one_whole_pair_of_builds_is_none_to_speak_of_others() {
    let one = Synthetic::new(1, 2, 1, BLOCKED).visits().all_built(3).report();
    assert_eq!(only(&one).reason.as_ref().unwrap().code, ReasonCode::OneBuildMeasured);
}

/// Nothing is known of builds where there is one: the methods are those of runs, and it is said.
#[test]
fn of_one_build_only_that_build_is_judged() {
    let report = alike(1, 24, 1, "", 3).report();
    assert_eq!(only(&report).design, None);
    assert!(codes(&report).contains(&"one_build"), "{:?}", codes(&report));
    let mixed = Synthetic::new(1, 2, 24, "").built(6).report();
    let design = only(&mixed).design.as_ref().unwrap();
    assert_eq!((design.baseline_units, design.candidate_units), (24, 6));
    let warning = mixed.warnings.iter().find(|warning| warning.code == WarningCode::OneBuild).unwrap();
    assert!(warning.sentence.contains("v0") && !warning.sentence.contains("v1"), "{warning:?}");
    assert!(!codes(&Synthetic::new(1, 2, 24, "").report()).contains(&"one_build"));
}

/// More builds than visits leave each visit a build of its own; one measured build is none to speak of others.
#[test]
fn builds_without_runs_are_no_units() {
    let report = alike(1, 10, 20, "", 3).report();
    assert_eq!(only(&report).design.as_ref().unwrap().baseline_units, 10);
    let one = Synthetic::new(1, 2, 1, "").all_built(3).report();
    assert_eq!(only(&one).reason.as_ref().unwrap().code, ReasonCode::OneBuildMeasured);
}

/// Neither the order of runs nor hosts are blamed for what the builds differ by.
#[test]
fn diagnostics_see_past_the_builds() {
    for seed in 0..10 {
        let report = alike(2, 60, 3, "", seed).hosts(6).report();
        let alarms = ["autocorrelation", "runs_in_series", "drift", "host_effect", "outlying_hosts"];
        let raised: Vec<_> = codes(&report).into_iter().filter(|code| alarms.contains(code)).collect();
        assert!(raised.is_empty(), "{seed}: {raised:?}");
    }
}

/// A deterministic compiler makes one build, however often it is asked.
#[test]
fn builds_that_are_the_same_files_are_told() {
    let synthetic = Synthetic::new(1, 2, 12, "").all_built(3);
    let report = |content: &dyn Fn(u32, u32) -> u8| {
        let mut attempts = synthetic.attempts();
        for attempt in &mut attempts {
            let version = attempt.cell;
            if let Some(build) = &mut attempt.lease.evidence.build {
                let blake3 = ContentHash([content(version, build.run.0); 32]);
                let content = Content { blake3, bytes: 9, executable: true };
                build.products = vec![Product { name: "prog".to_owned(), content }];
            }
        }
        synthetic.study_of(&attempts).report(None).unwrap()
    };
    let told = report(&|version, build| if version == 0 { 7 } else { build as u8 });
    let warning =
        told.warnings.iter().find(|one| one.code == WarningCode::EqualBuilds).expect("of the baseline");
    assert!(warning.sentence.starts_with("The builds of v0 "), "{}", warning.sentence);
    assert!(!codes(&report(&|_, build| build as u8)).contains(&"equal_builds"));
    assert!(!codes(&synthetic.report()).contains(&"equal_builds"), "of nothing nothing is known");
}
