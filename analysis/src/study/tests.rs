//! Known answers on synthetic attempts.

mod builds;
mod canary;
mod companions;
mod conclusions;
mod controls;
mod designs;
mod endpoints;
mod figures;
mod gangs;
mod golden;
mod hosts;
mod independence;
mod metrics;
mod placement;
mod programs;
mod ranks;
mod scaling;
mod software;
mod synthetic;

use self::synthetic::{Synthetic, Times};
use super::*;
use crate::conclusion::{Direction, Protocol, ReasonCode, Verdict, WarningCode};
use speedup_core::{
    experiment::Center, experiment::environment::Setting, machine::event::EndedAttempt, run::AfterLoss,
    run::LossReason, run::Obstacle, run::conditions::Conditions, run::conditions::FileSystem,
    run::conditions::Location, run::conditions::Unmet, run::disturbance::Disturbance, run::record::Failure,
    run::record::Record, run::timer::TimerError, value::id::Attempt, value::seed::Seed, value::time::Span,
};
use speedup_statistics::ratio::Summary;
use std::collections::BTreeMap;

/// The report of two versions when the record of each run is changed: the function is told the version and the repetition, from 0.
fn changed_report(synthetic: &Synthetic, change: impl Fn(u32, u64, &mut Record)) -> Report {
    let mut seen = BTreeMap::new();
    synthetic.changed_report(|cell, _, record| {
        let repetition: &mut u64 = seen.entry(cell).or_default();
        change(cell % 2, *repetition, record);
        *repetition += 1;
    })
}

/// Two versions of benchmarks, all at 100 ms.
fn two(benchmarks: usize, runs: u32) -> Synthetic {
    Synthetic::new(benchmarks, 2, runs, "")
}

fn only(report: &Report) -> &ComparisonReport {
    assert_eq!((report.benchmarks.len(), report.benchmarks[0].comparisons.len()), (1, 1));
    &report.benchmarks[0].comparisons[0]
}

fn codes(report: &Report) -> Vec<&str> {
    report.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[test]
fn a_faster_candidate_is_faster() {
    let report = two(1, 30).times(0, 1, Times::normal(80e6, 1e6)).report();
    let comparison = only(&report);
    assert_eq!((comparison.verdict, comparison.by), (Verdict::Faster, Some(Center::Trimmed)));
    assert_eq!(comparison.of(Protocol::Mean).map(|median| median.verdict), Some(Verdict::Faster));
    let headline = comparison.headline().unwrap();
    let (lower, upper) = headline.interval.ends().unwrap();
    assert!(lower < 1.25 && 1.25 < upper && upper - lower < 0.02, "{lower} {upper}");
    assert!((headline.change_percent + 20.0).abs() < 1.0);
    assert!(headline.p_value.unwrap() < 1e-3 && headline.center == Center::Trimmed);
    assert!(comparison.of(Protocol::Mean).unwrap().best.confidence.unwrap() > 0.9999);
    let suite = &report.suites[0];
    assert_eq!((suite.verdict, suite.benchmarks.faster), (Verdict::Faster, 1));
    assert!(suite.sentence.starts_with("v1 is faster than v0"), "{}", suite.sentence);
    assert_eq!((report.head.state, report.head.measured_runs), (State::Complete, 60));
}

#[test]
fn a_slower_candidate_is_slower_and_an_equal_one_is_neither() {
    let slower = two(1, 30).times(0, 1, Times::normal(120e6, 1e6)).report();
    assert_eq!(only(&slower).verdict, Verdict::Slower);
    assert_eq!(only(&slower).direction(), Some(Direction::CandidateSlower));
    assert!(slower.suites[0].sentence.contains("is slower than v0"), "{}", slower.suites[0].sentence);
    let equal = two(1, 30).report();
    assert_eq!(only(&equal).verdict, Verdict::Undecided);
    assert!(equal.suites[0].sentence.starts_with("Undecided between v1"), "{}", equal.suites[0].sentence);
}

#[test]
fn the_declared_center_speaks_whatever_the_data_look_like() {
    let report = two(1, 30)
        .times(0, 0, Times::Skewed { least: 100e6, scale: 1e6 })
        .times(0, 1, Times::Skewed { least: 90e6, scale: 1e6 })
        .report();
    let comparison = only(&report);
    assert_eq!((comparison.verdict, comparison.by), (Verdict::Faster, Some(Center::Trimmed)));
    let mean = comparison.of(Protocol::Mean).unwrap();
    assert_eq!(mean.verdict, Verdict::NotEnoughData);
    assert_eq!(mean.reason.as_ref().unwrap().code, ReasonCode::SmallNotNormal);
    assert!(!codes(&report).contains(&"mean_of_doubtful_law"));
    let declared = Synthetic::new(1, 2, 30, "[analysis]\ncenter = \"mean\"\n")
        .times(0, 0, Times::Skewed { least: 100e6, scale: 1e6 })
        .times(0, 1, Times::Skewed { least: 90e6, scale: 1e6 })
        .report();
    let comparison = only(&declared);
    assert_eq!((comparison.verdict, comparison.by), (Verdict::Faster, Some(Center::Mean)));
    assert!(codes(&declared).contains(&"mean_of_doubtful_law"), "{:?}", codes(&declared));
}

/// What was stored before trimmed means were the default has the centre of then, its interval, its columns and no other caveats.
#[test]
fn an_experiment_without_a_centre_keeps_its_rule() {
    for (runs, center, method) in
        [(30, Center::Median, "order-statistic"), (5, Center::Mean, "Satterthwaite")]
    {
        let stored = two(1, runs).times(0, 1, Times::normal(80e6, 1e6)).without_center().report();
        let comparison = only(&stored);
        assert_eq!((comparison.verdict, comparison.by), (Verdict::Faster, Some(center)));
        let interval = comparison.headline().unwrap().interval;
        assert!(interval.method().unwrap().contains(method), "{interval:?}");
        assert_eq!(stored.benchmarks[0].cells[0].wall_ns.as_ref().unwrap().trimmed_mean, None);
        let told = codes(&stored);
        assert!(!told.contains(&"median_of_close_runs") && !told.contains(&"unequal_runs"), "{told:?}");
        let declared = format!("[analysis]\ncenter = \"{}\"\n", center.name());
        let declared = Synthetic::new(1, 2, runs, &declared).times(0, 1, Times::normal(80e6, 1e6)).report();
        let wider = only(&declared).headline().unwrap().interval.ends().unwrap();
        let ends = interval.ends().unwrap();
        assert!(wider.0 <= ends.0 && ends.1 <= wider.1, "{ends:?} {wider:?}");
    }
}

/// The columns of a table have the centre of its ratio.
#[test]
fn the_trimmed_means_that_are_shown_have_the_ratio() {
    let report = two(1, 30).times(0, 1, Times::normal(80e6, 1e6)).report();
    let cells = report.benchmarks[0].cells.iter();
    let times: Vec<f64> = cells.map(|cell| cell.wall_ns.as_ref().unwrap().trimmed_mean.unwrap()).collect();
    assert!((times[0] / times[1] / only(&report).headline().unwrap().speedup - 1.0).abs() < 1e-12);
}

/// Two runs of thirty are stalls: they widen the interval of the mean, and not that of the trimmed mean.
#[test]
fn stalls_do_not_hide_a_difference_of_trimmed_means() {
    let of = |center: &str| {
        let plan = format!("[analysis]\ncenter = \"{center}\"\n");
        let report = changed_report(&Synthetic::new(1, 2, 30, &plan), |version, at, record| {
            let stall = if at % 15 == 7 { 150_000_000 } else { 0 };
            let jitter = 100_000 * (at * 7 % 13);
            endpoints::wall(record, 100_000_000 - 2_000_000 * u64::from(version) + jitter + stall);
        });
        let comparison = only(&report);
        (comparison.verdict, comparison.by, comparison.headline().unwrap())
    };
    let (verdict, by, headline) = of("trimmed");
    assert_eq!((verdict, by, headline.center), (Verdict::Faster, Some(Center::Trimmed), Center::Trimmed));
    assert!((headline.speedup - 1.02).abs() < 2e-3, "{headline:?}");
    assert_eq!(of("mean").0, Verdict::Undecided);
}

#[test]
fn same_is_shown_within_the_declared_margin_only() {
    let of = |margin: &str| {
        let analysis = format!("[analysis]\n{margin}");
        Synthetic::new(1, 2, 60, &analysis).times(0, 1, Times::normal(100.1e6, 1e6)).report()
    };
    let report = of("margin = \"2%\"\n");
    let comparison = only(&report);
    let headline = comparison.headline().unwrap();
    assert_eq!((comparison.verdict, headline.margin), (Verdict::Same, Some(0.02)));
    assert!(headline.p_same.unwrap() <= 0.05);
    assert!(report.suites[0].sentence.contains("±2\u{a0}%"), "{}", report.suites[0].sentence);
    assert_eq!(only(&of("margin = \"0.1%\"\n")).verdict, Verdict::Undecided);
    assert_eq!(only(&of("")).verdict, Verdict::Undecided);
}

/// One benchmark has most of the time and got faster, all others slower: no word for all of them, and the typical one is slower.
#[test]
fn benchmarks_that_went_both_ways_have_no_one_word() {
    let mut synthetic =
        two(5, 30).times(0, 0, Times::normal(1000e6, 5e6)).times(0, 1, Times::normal(770e6, 5e6));
    for benchmark in 1..5 {
        synthetic = synthetic.times(benchmark, 1, Times::normal(130e6, 1e6));
    }
    let report = synthetic.report();
    let suite = &report.suites[0];
    assert_eq!((suite.benchmarks.faster, suite.benchmarks.slower), (1, 4));
    assert_eq!(suite.verdict, Verdict::Undecided);
    assert_eq!(suite.reason.as_ref().unwrap().code.as_str(), "benchmarks_oppose");
    assert!(suite.speedup.unwrap() > 1.05 && suite.typical.as_ref().unwrap().speedup < 0.9, "{suite:?}");
    assert!(codes(&report).contains(&"dominated_by_one"));
    // The first of five, and the rest, are shown: the share that is faster lies between.
    let share = suite.true_share.as_ref().unwrap();
    assert_eq!((share.faster.above, share.faster.below, share.valid), (1, 4, false));
    assert!(share.faster.lower < 0.2 && 0.2 < share.faster.upper);
}

#[test]
fn failures_are_counted_with_an_example_and_not_analysed() {
    let exit = Failure::Exit { code: 3, expected: 0 };
    let report = two(1, 10)
        .fail(0, 1, 4, &exit, "\nboom\u{1b}[2J: no such file\nmore")
        .fail(0, 1, 1, &Failure::TimedOut { limit: Span::from_secs(60) }, "")
        .report();
    let cell = &report.benchmarks[0].cells[1];
    assert_eq!((cell.n, cell.mishaps.failed_runs(), cell.mishaps.timeouts()), (5, 5, 1));
    let example = &cell.mishaps.failures["exit"].example;
    assert_eq!(example.words, "exit code 3 instead of 0");
    assert_eq!(example.line.as_deref(), Some("boom [2J: no such file"));
    assert_eq!((report.mishaps.failed_runs, report.mishaps.timeouts), (5, 1));
    assert!(codes(&report).contains(&"failed_runs") && codes(&report).contains(&"timeouts_censor"));
}

#[test]
fn a_version_that_only_fails_has_no_verdict() {
    let exit = Failure::Exit { code: 1, expected: 0 };
    let report = two(2, 10).fail(1, 1, 10, &exit, "broken").report();
    let comparison = &report.benchmarks[1].comparisons[0];
    assert_eq!(comparison.verdict, Verdict::NotEnoughData);
    assert_eq!(comparison.baseline_n, 10);
    assert_eq!(comparison.candidate_n, 0);
    let reason = comparison.reason.as_ref().unwrap();
    assert_eq!(reason.code, ReasonCode::NotMeasured);
    assert!(reason.sentence.contains("v1") && reason.sentence.contains("10 runs failed"), "{reason:?}");
    let suite = &report.suites[0];
    assert_eq!((suite.over, suite.benchmarks.not_enough_data), (1, 1));
    assert_eq!((suite.proportions[0].benchmarks, suite.proportions[0].not_enough_data), (2, 1));
    assert!(codes(&report).contains(&"suite_incomplete"));
}

#[test]
fn lost_late_and_abandoned_are_counted_apart() {
    let report = two(1, 10)
        .lose(0, 0, 0, LossReason::HostLost, AfterLoss::Again(Attempt(2)))
        .lose(0, 1, 1, LossReason::Expired, AfterLoss::Abandoned)
        .late()
        .report();
    let [baseline, candidate] = &report.benchmarks[0].cells[..] else { panic!("two cells") };
    assert_eq!((baseline.n, baseline.mishaps.lost["host_lost"].attempts), (10, 1));
    assert_eq!((candidate.n, candidate.mishaps.abandoned_runs, candidate.mishaps.late_reports), (9, 1, 1));
    assert_eq!((report.mishaps.lost_attempts, report.mishaps.late_reports), (2, 1));
    assert!(codes(&report).contains(&"retries_can_bias") && codes(&report).contains(&"abandoned_runs"));
}

#[test]
fn a_host_that_loses_most_attempts_is_named() {
    let losing = |lost: u32| {
        let mut synthetic = two(1, 4).hosts(1);
        for run in 0..lost {
            let full = LossReason::JobEnded { words: "no space left".to_owned(), is_excused: false };
            synthetic = synthetic.lose(0, run % 2, run / 2, full, AfterLoss::Abandoned);
        }
        let report = synthetic.report();
        report.warnings.iter().find(|one| one.code.as_str() == "losing_hosts").map(|one| one.sentence.clone())
    };
    assert_eq!(losing(4), None, "half is not most");
    let sentence = losing(5).unwrap();
    assert!(sentence.contains("lost 5 of 8 attempts (") && sentence.contains("no space left"), "{sentence}");
}

#[test]
fn unlike_shapes_at_equal_centres_are_named() {
    let narrow = Times::normal(100e6, 1e6);
    let unlike = two(3, 60).times(1, 0, narrow).times(1, 1, Times::normal(100e6, 5e6)).report();
    let warning = unlike.warnings.iter().find(|warning| warning.code == WarningCode::UnlikeShapes);
    assert_eq!(warning.map(|warning| &warning.concerns[..]), Some(&["b1".to_owned()][..]), "{warning:?}");
    let alike = two(3, 60).times(1, 0, narrow).times(1, 1, narrow).report();
    assert!(!codes(&alike).contains(&"unlike_shapes"));
    // What is shown to be faster needs no other name.
    let faster = two(1, 60).times(0, 1, Times::normal(80e6, 5e6)).report();
    assert!(!codes(&faster).contains(&"unlike_shapes"));
}

#[test]
fn constant_data_are_refused_by_name() {
    let constant = two(1, 10).times(0, 0, Times::Constant(5e6)).times(0, 1, Times::Constant(5e6)).report();
    let comparison = only(&constant);
    assert_eq!(comparison.verdict, Verdict::Undecided);
    assert_eq!(comparison.headline().unwrap().interval.ends(), Some((1.0, 1.0)));
    let median = comparison.of(Protocol::Median).unwrap();
    assert_eq!(median.reason.as_ref().unwrap().code, ReasonCode::TooManyTies);
    let mean = comparison.of(Protocol::Mean).unwrap();
    assert_eq!(mean.verdict, Verdict::NotEnoughData);
    assert_eq!(mean.reason.as_ref().unwrap().code.as_str(), "sub_test_refused");
    let IntervalReport::Missing { reason } = &mean.interval else { panic!("an interval of constants") };
    assert_eq!(reason.code, ReasonCode::Constant);
}

/// One run beside nine of one length is left out, and nothing varies after that: the medians tell a version of twice the time.
#[test]
fn what_does_not_vary_after_trimming_is_compared_by_its_medians() {
    let report = changed_report(&two(1, 10), |version, repetition, record| {
        let ms = [20, 10][version as usize];
        endpoints::wall(record, 1_000_000 * (ms + u64::from(repetition == 3)));
    });
    let headline = only(&report).headline().unwrap();
    assert_eq!((headline.verdict, headline.speedup), (Verdict::Faster, 2.0));
    let Some((lower, upper)) = headline.interval.ends() else { panic!("no interval") };
    assert!(lower <= 2.0 && upper >= 2.0 && lower > 1.8, "{lower} {upper}");
}

#[test]
fn too_few_runs_are_not_enough_data() {
    let one = two(1, 1).report();
    assert_eq!(only(&one).reason.as_ref().unwrap().code, ReasonCode::TooFewRuns);
    assert!(only(&one).observed.is_some() && only(&one).mean.is_none());
    // Two runs of each version, and three, exclude nothing, however far they are apart.
    for (runs, verdict) in [(2, Verdict::NotEnoughData), (3, Verdict::NotEnoughData), (4, Verdict::Faster)] {
        let report = two(1, runs).times(0, 1, Times::normal(50e6, 1e6)).report();
        let comparison = only(&report);
        assert_eq!((comparison.verdict, comparison.by), (verdict, Some(Center::Trimmed)));
        assert!(codes(&report).contains(&"few_runs"), "{:?}", codes(&report));
        let reason = comparison.reason.as_ref();
        assert!(reason.is_none_or(|reason| reason.sentence.contains(" 4 independent runs")), "{reason:?}");
    }
    let declared = Synthetic::new(1, 2, 5, "[analysis]\ncenter = \"median\"\n").report();
    let reason = only(&declared).reason.as_ref().unwrap();
    assert_eq!((only(&declared).verdict, reason.code.as_str()), (Verdict::NotEnoughData, "too_few_runs"));
    assert!(reason.sentence.contains(" 6 "), "{}", reason.sentence);
}

#[test]
fn an_empty_experiment_and_a_partial_one_say_so() {
    let empty = two(2, 30).take(0).running().report();
    assert_eq!((empty.head.state, empty.independence.kind), (State::Empty, IndependenceKind::NoRuns));
    assert_eq!((empty.suites[0].verdict, empty.suites[0].over), (Verdict::NotEnoughData, 0));
    assert_eq!(codes(&empty)[0], "empty");
    let partial = two(2, 30).take(50).running().report();
    assert_eq!((partial.head.state, partial.head.measured_runs), (State::Partial, 50));
    assert_eq!(codes(&partial)[0], "partial");
    assert_eq!(partial.head.finished, None);
}

fn sentence<'a>(report: &'a Report, code: &str) -> &'a str {
    let warning = report.warnings.iter().find(|warning| warning.code.as_str() == code);
    &warning.unwrap_or_else(|| panic!("no {code} in {:?}", codes(report))).sentence
}

#[test]
fn an_extended_experiment_says_so() {
    let report = two(1, 10).extended(20).report();
    assert_eq!((report.head.planned_runs_per_cell, report.head.runs_per_cell), (Some(10), 30));
    let sentence = sentence(&report, "extended");
    assert!(sentence.contains("from 10 to 30 runs"), "{sentence}");
    assert!(!codes(&two(1, 10).report()).contains(&"extended"));
}

#[test]
fn nobody_is_advised_to_wait_for_a_cancelled_experiment_or_to_extend_a_finished_one() {
    let cancelled = two(1, 30).take(50).cancelled().report();
    assert_eq!((cancelled.head.state, cancelled.head.phase.as_str()), (State::Partial, "cancelled"));
    assert!(!sentence(&cancelled, "partial").contains("wait"));
    assert!(sentence(&two(1, 30).take(50).running().report(), "partial").contains("wait"));
    assert!(sentence(&two(1, 30).take(0).cancelled().report(), "empty").contains("none will be"));
    let abandoned = || two(1, 10).lose(0, 1, 1, LossReason::Expired, AfterLoss::Abandoned);
    assert!(sentence(&abandoned().report(), "abandoned_runs").contains("submit a new experiment"));
    assert!(sentence(&abandoned().running().report(), "abandoned_runs").contains("extend the experiment"));
}

#[test]
fn processes_left_behind_are_told() {
    let report = two(2, 5).survivors(2).report();
    let sentence = sentence(&report, "survivors");
    assert!(sentence.contains(" 20 "), "{sentence}");
    assert!(!codes(&two(2, 5).report()).contains(&"survivors"));
}

#[test]
fn an_effect_near_the_timers_error_is_named() {
    let effect = || two(1, 30).times(0, 1, Times::normal(99e6, 1e5));
    let near = TimerError { bias_ns: -400_000, spread_ns: 700_000 };
    let report = effect().timer(near).report();
    assert_eq!((only(&report).verdict, report.benchmarks[0].cells[1].timer), (Verdict::Faster, Some(near)));
    assert!(sentence(&report, "near_timer").contains("selftest"));
    let fine = TimerError { bias_ns: 400, spread_ns: 700 };
    assert!(!codes(&effect().timer(fine).report()).contains(&"near_timer"));
    assert!(!codes(&effect().report()).contains(&"near_timer"));
    assert!(!codes(&two(1, 30).timer(near).report()).contains(&"near_timer"));
}

#[test]
fn disturbed_runs_are_told_and_stay_in_their_samples() {
    let stolen = Disturbance::Stolen { ns: 1 };
    let unmet = Unmet { setting: Setting::Governor, reason: "no".to_owned() };
    let odd = Conditions {
        disturbances: vec![stolen, Disturbance::Throttled { count: 2 }],
        unmet: vec![unmet],
        ..Conditions::default()
    };
    let quiet = two(2, 20);
    let report = two(2, 20).conditions(0, 3, &odd).conditions(1, 4, &odd).report();
    let cells: Vec<_> = report.benchmarks.iter().flat_map(|benchmark| &benchmark.cells).collect();
    assert!(cells.iter().all(|cell| cell.n == 20), "none is dropped");
    let of_first = &cells[0].conditions;
    assert_eq!((of_first.recorded, of_first.disturbed, of_first.disturbances["throttled"]), (20, 3, 3));
    let told = sentence(&report, "host_disturbed");
    assert!(told.contains("(stolen 14, throttled 14)"), "{told}");
    assert!(sentence(&report, "environment_unmet").contains("(governor 14)"));
    assert!(!codes(&report).contains(&"disturbed_unevenly"));
    assert_eq!(report.benchmarks[0].comparisons, quiet.report().benchmarks[0].comparisons);
    assert!(!codes(&quiet.report()).contains(&"host_disturbed"));
}

#[test]
fn runs_on_file_systems_of_others_are_told() {
    let on = |kind: &str, location| Conditions {
        file_system: Some(FileSystem { kind: kind.to_owned(), location }),
        ..Conditions::default()
    };
    for (kind, location) in [("nfs4", Location::Network), ("fuse.sshfs", Location::Program)] {
        let report = two(2, 20).conditions(0, 3, &on(kind, location)).report();
        let told = report
            .warnings
            .iter()
            .find(|warning| warning.code == WarningCode::NetworkFileSystem)
            .expect("told");
        assert!(told.sentence.contains(&format!("({kind} 6)")), "{}", told.sentence);
        assert_eq!(told.concerns, ["b0", "b1"]);
    }
    let local = two(2, 20).conditions(0, 3, &on("ext4", Location::Local)).report();
    assert!(!codes(&local).contains(&"network_file_system"));
}

#[test]
fn a_candidate_that_was_disturbed_more_often_is_told() {
    let odd = Conditions { disturbances: vec![Disturbance::OtherLoad { ns: 9 }], ..Conditions::default() };
    // 2 of 40 against 12 of 40: Fisher's exact test says 0.0064; against 8, 0.087.
    let codes_of = |disturbed| {
        let report = two(2, 20).conditions(0, 1, &odd).conditions(1, disturbed, &odd).report();
        codes(&report).contains(&"disturbed_unevenly")
    };
    assert!(codes_of(6) && !codes_of(4));
}

#[test]
fn no_share_is_known_without_data() {
    let suite = &two(3, 1).report().suites[0];
    assert!(suite.proportions[0].nothing_known() && suite.proportions[0].interval.ends().is_none());
    assert_eq!(suite.required, None);
}

#[test]
fn three_versions_are_each_compared_with_the_baseline() {
    let report = Synthetic::new(3, 3, 20, "")
        .times(0, 1, Times::normal(80e6, 1e6))
        .times(1, 1, Times::normal(81e6, 1e6))
        .times(2, 1, Times::normal(82e6, 1e6))
        .times(0, 2, Times::normal(140e6, 1e6))
        .report();
    assert_eq!(report.suites.len(), 2);
    assert_eq!((report.suites[0].verdict, report.suites[0].benchmarks.faster), (Verdict::Faster, 3));
    assert_eq!((report.suites[1].verdict, report.suites[1].benchmarks.slower), (Verdict::Slower, 1));
    let overall = &report.suites[0].overall;
    assert_eq!(overall.iter().map(|by| by.summary).collect::<Vec<_>>(), Summary::ALL);
    assert!((overall[1].speedup - 300.0 / 243.0).abs() < 0.01);
}

#[test]
fn a_drawn_suite_has_a_valid_proportion_and_a_chosen_one_has_not() {
    let chosen = two(4, 10).report();
    let accelerated = &chosen.suites[0].proportions[0];
    assert!(!accelerated.valid && !accelerated.condition_holds);
    assert!(accelerated.selection.contains("not drawn at random"));
    let drawn = Synthetic::new(12, 2, 10, "[population]\nsample = 5\n").report();
    let accelerated = &drawn.suites[0].proportions[0];
    assert!(accelerated.valid);
    assert_eq!((accelerated.benchmarks, drawn.benchmarks.len()), (5, 5));
    assert!(accelerated.selection.contains("12"), "{}", accelerated.selection);
    assert!(drawn.suites[0].required.as_ref().unwrap().wilson <= 12);
}

#[test]
fn independence_is_counted_from_the_hosts() {
    let one_host = two(1, 30).hosts(1).report();
    assert_eq!(one_host.independence.kind, IndependenceKind::NotProvided);
    let counts = &one_host.independence;
    assert_eq!((counts.runs, counts.hosts), (60, 1));
    assert!(counts.sentence.contains("`any`"), "{}", counts.sentence);
    let fresh = Synthetic::new(2, 2, 30, "[independence]\npolicy = \"distinct\"\n").report();
    assert_eq!(fresh.independence.kind, IndependenceKind::Provided);
    assert_eq!(fresh.independence.fresh_share, Some(1.0));
    let broken = Synthetic::new(1, 2, 30, "[independence]\npolicy = \"distinct\"\n").hosts(7).report();
    assert_eq!((broken.independence.kind, broken.independence.hosts), (IndependenceKind::Broken, 7));
    let cell = "[independence]\npolicy = \"distinct\"\nscope = \"cell\"\n";
    let shared = Synthetic::new(1, 2, 30, cell).shared_between_versions().report();
    assert_eq!(shared.independence.kind, IndependenceKind::WithinCells);
    assert!(codes(&shared).contains(&"dependent_through_host"));
}

#[test]
fn other_metrics_have_medians_and_ratios() {
    let report = two(1, 10).report();
    let rss = report.metrics.iter().find(|metric| metric.metric == "max_rss").unwrap();
    assert_eq!((rss.unit.as_str(), rss.rows[0].medians.len(), rss.rows[0].ratios.len()), ("bytes", 2, 1));
    assert!(report.metrics.iter().all(|metric| metric.metric != "wall"));
}

#[test]
fn what_is_not_of_the_plan_is_refused() {
    let synthetic = two(1, 2);
    let attempts = synthetic.attempts();
    let mut study = synthetic.study();
    study.add(&attempts[0]).unwrap();
    assert_eq!(study.add(&attempts[0]), Err(AttemptError::ReportedTwice { run: attempts[0].lease.run }));
    let mut wrong = attempts[1].clone();
    wrong.cell = 1 - wrong.cell;
    assert!(matches!(study.add(&wrong), Err(AttemptError::Cell { .. })));
    let mut beyond = attempts[1].clone();
    beyond.lease.run = RunIndex(99);
    study.add(&beyond).unwrap();
    let report = study.report(None).unwrap();
    assert_eq!(report.mishaps.beyond_plan, 1);
    assert!(codes(&report).contains(&"plan_extended_meanwhile"));
}

#[test]
fn the_order_of_feeding_does_not_reach_the_report() {
    let synthetic = Synthetic::new(3, 3, 12, "")
        .fail(0, 1, 3, &Failure::Signal { signal: 11, core_dumped: false }, "x")
        .lose(
            1,
            1,
            2,
            {
                let reason = "no disk".to_owned();
                LossReason::NotExecuted { reason, obstacle: Obstacle::Host }
            },
            AfterLoss::Abandoned,
        );
    let bytes = |attempts: &[EndedAttempt]| {
        serde_json::to_string(&synthetic.study_of(attempts).report(None).unwrap()).unwrap()
    };
    let mut attempts = synthetic.attempts();
    let expected = bytes(&attempts);
    for seed in 0..5 {
        let mut random = Seed(seed).child("feed");
        speedup_core::value::seed::shuffle(&mut attempts, &mut random);
        assert_eq!(bytes(&attempts), expected);
    }
    let report: Report = serde_json::from_str(&expected).unwrap();
    assert_eq!(serde_json::to_string(&report).unwrap(), expected);
}

#[test]
fn another_level_than_the_plans_is_named() {
    let report = two(1, 10).study().report(Some(ConfidenceLevel::new(0.99).unwrap())).unwrap();
    assert_eq!((report.head.confidence, report.method.confidence_from), (0.99, LevelSource::Request));
}

/// What builds take is no observation, and changes nothing of what is said of the runs.
#[test]
fn builds_are_no_observations() {
    let candidate = Times::normal(80e6, 1e6);
    let without = two(2, 12).times(0, 1, candidate);
    let with = two(2, 12).times(0, 1, candidate).built(3);
    let mut study = with.study();
    for run in 0..3 {
        study.add(&with.build(run, 9e12)).unwrap();
    }
    for attempt in with.attempts() {
        study.add(&attempt).unwrap();
    }
    let (with_builds, plain) = (study.report(None).unwrap(), without.report());
    assert_eq!(with_builds.head.planned_runs, plain.head.planned_runs);
    assert_eq!(with_builds.head.measured_runs, plain.head.measured_runs);
    let mean = |report: &Report| report.benchmarks[0].cells[1].wall_ns.as_ref().map(|wall| wall.mean);
    assert!(mean(&with_builds) < Some(90e6), "{:?}", mean(&with_builds));
}

#[test]
fn a_run_that_used_another_build_is_no_run_of_the_plan() {
    let with = two(1, 4).built(2);
    let mut attempt =
        with.attempts().into_iter().find(|attempt| attempt.lease.evidence.build.is_some()).unwrap();
    let run = attempt.lease.run;
    attempt.lease.evidence.build = None;
    assert_eq!(with.study().add(&attempt), Err(AttemptError::Build { run }));
    let mut other = with.attempts().into_iter().find(|attempt| attempt.lease.run == run).unwrap();
    let used = other.lease.evidence.build.as_mut().unwrap();
    used.run = RunIndex(1 - used.run.0);
    assert_eq!(with.study().add(&other), Err(AttemptError::Build { run }));
}
