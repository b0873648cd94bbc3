//! The simulation studies: the same numbers on any number of threads, the numbers that theory knows to four standard
//! errors, and refusals by name.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use clap::ValueEnum;
use speedup_core::value::seed::Seed;
use speedup_statistics::distribution::{normal, student_t};
use speedup_statistics::inference::{ConfidenceLevel, Threshold};
use speedup_studies::{
    AlarmSection, BisectionSection, Coverage, CoverageSection, Estimators, FalseAlarmStudy, LawShape,
    LevelModel, Power, PowerSection, Quantity, Replication, RunCounts, SeriesKind, SimulationError, StudyRow,
    SuiteModel, VariabilityMetric, Variation,
};

fn replication(replicates: u32) -> Replication {
    Replication { replicates, seed: Seed(7), confidence: ConfidenceLevel::USUAL }
}

fn levels(name: &str) -> LevelModel {
    let (_, variation) = Variation::TABLE_VII.into_iter().find(|(known, _)| *known == name).expect("known");
    LevelModel { variation, measurements: 3, executions: 4 }
}

fn coverage(replicates: u32, sections: &[CoverageSection]) -> Coverage {
    Coverage {
        replication: replication(replicates),
        sections: sections.to_vec(),
        distributions: vec![LawShape::Normal],
        levels: levels("fft-na-opt"),
        effect: 0.95,
        binaries: vec![3, 8],
        executions: vec![30],
        draws: 60,
        runs: vec![4, 9],
        variation: 0.1,
        precision: 0.05,
        benchmarks: vec![10],
        proportions: vec![0.3, 0.5],
        scatters: vec![1.0],
    }
}

fn false_alarms(replicates: u32, sections: &[AlarmSection]) -> FalseAlarmStudy {
    FalseAlarmStudy {
        replication: replication(replicates),
        sections: sections.to_vec(),
        distributions: vec![LawShape::Normal, LawShape::Bimodal],
        runs: vec![6.into(), 12.into()],
        baseline_times: 1,
        variation: 0.1,
        thresholds: vec![Threshold::NONE, Threshold::new(0.02).unwrap()],
        levels: levels("fft-na-opt"),
        binaries: vec![4],
        executions: vec![20],
        draws: 40,
        suite: SuiteModel { benchmarks: 8, spread: 0.0 },
    }
}

fn power(replicates: u32, sections: &[PowerSection]) -> Power {
    Power {
        replication: replication(replicates),
        sections: sections.to_vec(),
        distributions: vec![LawShape::Normal],
        suite_runs: vec![5],
        suite: SuiteModel { benchmarks: 8, spread: 0.05 },
        runs: vec![10],
        variation: 0.1,
        speedups: vec![1.0, 1.1],
        claims: vec![1.2, 1.76, 3.0],
        mean_runs: vec![5, 40],
    }
}

fn estimators(replicates: u32) -> Estimators {
    Estimators {
        replication: replication(replicates),
        metrics: VariabilityMetric::value_variants().to_vec(),
        runs: vec![20],
        versions: vec![3],
        frameworks: 3,
    }
}

fn row<'a>(rows: &'a [StudyRow], method: &str, size: u64, parameter: Option<f64>) -> &'a StudyRow {
    let mut found =
        rows.iter().filter(|row| row.method == method && row.size == size && row.parameter == parameter);
    found.next().unwrap_or_else(|| panic!("no row {method} {size} {parameter:?}"))
}

/// How many standard errors a share is from `probability`.
fn off(row: &StudyRow, probability: f64) -> f64 {
    let n = row.replicates.expect("drawn") as f64;
    (row.share - probability) / (probability * (1.0 - probability) / n).sqrt()
}

fn on_threads<T: Send>(threads: usize, study: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(study)
}

/// As text, in which no answer equals no answer.
fn all_studies() -> String {
    let coverage = coverage(6, CoverageSection::value_variants()).run().unwrap();
    let false_alarms = false_alarms(6, AlarmSection::value_variants()).run().unwrap();
    let power = power(6, PowerSection::value_variants()).run().unwrap();
    format!("{coverage:?} {false_alarms:?} {power:?} {:?}", estimators(4).run().unwrap())
}

/// Rows name sections, metrics and laws as the options do.
#[test]
fn a_code_is_the_value_of_its_option() {
    fn check<T: ValueEnum>(code: fn(T) -> &'static str) {
        for value in T::value_variants() {
            assert_eq!(value.to_possible_value().unwrap().get_name(), code(value.clone()));
        }
    }
    check(AlarmSection::code);
    check(BisectionSection::code);
    check(CoverageSection::code);
    check(LawShape::code);
    check(PowerSection::code);
    check(SeriesKind::code);
    check(VariabilityMetric::code);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    assert_eq!(on_threads(1, all_studies), on_threads(3, all_studies));
}

#[test]
fn another_cell_of_a_study_changes_none() {
    let one = coverage(20, &[CoverageSection::Levels]);
    let more = Coverage {
        binaries: vec![5, 8],
        sections: CoverageSection::value_variants().to_vec(),
        ..one.clone()
    };
    let (one, more) = (one.run().unwrap(), more.run().unwrap());
    assert_eq!(row(&one, "mean_bootstrap_flat", 8, None), row(&more, "mean_bootstrap_flat", 8, None));
    let seeded = Replication { seed: Seed(8), ..replication(20) };
    let other = Coverage { replication: seeded, ..coverage(20, &[CoverageSection::Levels]) };
    assert_ne!(one, other.run().unwrap());
}

#[test]
fn coverage_by_levels_is_what_theory_says() {
    let study = Coverage { draws: 0, ..coverage(3000, &[CoverageSection::Levels]) };
    let rows = study.run().unwrap();
    for binaries in [3, 8] {
        let df = binaries as f64 - 1.0;
        let of_mean = row(&rows, "mean_t", binaries, None);
        assert!(off(of_mean, 0.95).abs() < 4.0, "{of_mean:?}");
        let normal_critical = normal::two_sided_critical(0.05);
        let within = |critical: f64, df: f64| 1.0 - 2.0 * student_t::tails(critical, df).upper;
        let of_mean = row(&rows, "mean_normal", binaries, None);
        assert!(off(of_mean, within(normal_critical, df)).abs() < 4.0, "{of_mean:?}");
        // Both versions vary alike, so that the error of the ratio has twice the degrees of freedom that Kalibera 2012 takes.
        let of_ratio = row(&rows, "ratio_fieller_t", binaries, None);
        let expected = within(student_t::two_sided_critical(0.05, df), 2.0 * df);
        assert!(off(of_ratio, expected).abs() < 4.0, "{of_ratio:?} for {expected}");
        let of_ratio = row(&rows, "ratio_fieller_normal", binaries, None);
        assert!(off(of_ratio, within(normal_critical, 2.0 * df)).abs() < 4.0, "{of_ratio:?}");
    }
}

#[test]
fn a_flat_bootstrap_is_too_narrow_and_one_binary_knows_nothing_of_others() {
    let study = coverage(300, &[CoverageSection::Levels, CoverageSection::OneBinary]);
    let rows = study.run().unwrap();
    // The variance of the mean that 8 × 4 × 3 measurements have by levels, and that of as many independent ones.
    let Variation { compilation, execution, measurement } = study.levels.variation;
    let [c, e, m] = [compilation, execution, measurement].map(|sd| sd * sd);
    let (by_levels, flat) = (c / 8.0 + e / 32.0 + m / 96.0, (c + e + m) / 96.0);
    let reach = normal::two_sided_critical(0.05) * (flat / by_levels).sqrt();
    let expected = 1.0 - 2.0 * normal::tails(reach).upper;
    let of_flat = row(&rows, "mean_bootstrap_flat", 8, None);
    assert!((0.5..0.75).contains(&expected) && off(of_flat, expected).abs() < 5.0, "{of_flat:?}, {expected}");
    assert!(off(row(&rows, "mean_bootstrap_rrr", 8, None), expected) > 4.0);
    // With 30 executions of one binary the error of the ratio lacks compilation's share.
    let one = row(&rows, "ratio_fieller_t", 30, None);
    let reach = student_t::two_sided_critical(0.05, 29.0)
        * ((e / 30.0 + m / 90.0) / (c + e / 30.0 + m / 90.0)).sqrt();
    let expected = 1.0 - 2.0 * normal::tails(reach).upper;
    assert!(off(one, expected).abs() < 4.0, "{one:?} for {expected}");
}

#[test]
fn coverage_of_two_samples_is_what_the_methods_promise() {
    let rows = coverage(1500, &[CoverageSection::Samples]).run().unwrap();
    for runs in [4, 9] {
        for method in ["mean_t", "difference_welch", "mean_ratio_fieller", "stein_mean", "stein_difference"] {
            let row = row(&rows, method, runs, None);
            // Satterthwaite's degrees of freedom are approximate: half a point at four runs.
            let slack = if row.method.starts_with("stein") || row.method == "mean_t" { 4.0 } else { 5.0 };
            assert!(off(row, 0.95).abs() < slack, "{row:?}");
        }
        let of_median = row(&rows, "median_ratio", runs, None);
        assert!(of_median.unanswered > 0 || off(of_median, 0.95) > -4.0, "{of_median:?}");
    }
    assert_eq!(row(&rows, "pseudo_median", 4, None).unanswered, 1500, "no interval of four pairs has 95 %");
}

/// Of trimmed means; with unequal errors; of means. Medians of few runs have errors that are estimated too large.
#[test]
fn coverage_of_a_suite_is_what_is_promised() {
    let study = Coverage {
        runs: vec![10],
        scatters: vec![0.0, 1.0, 5.0],
        ..coverage(1000, &[CoverageSection::Suites])
    };
    for row in study.run().unwrap() {
        let is_width = row.method.ends_with("width");
        let is_right = if is_width {
            row.share > 0.7 && row.share < 3.0
        } else {
            row.share > 0.93 - 4.0 * row.standard_error
        };
        assert!(is_right || row.method.ends_with("median"), "{row:?}");
    }
    let totals = coverage(1000, &[CoverageSection::Totals]).run().unwrap();
    for row in totals {
        assert!((row.share - 0.96).abs() < 0.03, "{row:?}");
    }
}

#[test]
fn coverage_of_a_proportion_is_exact() {
    let rows = coverage(1, &[CoverageSection::Proportions]).run().unwrap();
    // Of ten, Wald's interval contains ½ from 3 to 7: 1 − 2(1 + 10 + 45)/1024.
    let wald = row(&rows, "wald", 10, Some(0.5));
    assert!((wald.share - (1.0 - 112.0 / 1024.0)).abs() < 1e-14 && wald.standard_error == 0.0, "{wald:?}");
    for proportion in [0.3, 0.5] {
        assert!(row(&rows, "clopper_pearson", 10, Some(proportion)).share >= 0.95);
    }
}

#[test]
fn false_alarms_are_near_the_risk_and_the_foils_are_not() {
    let rows = false_alarms(1500, &[AlarmSection::Samples, AlarmSection::OneBinary]).run().unwrap();
    let normal = |method: &str, runs: u64, parameter: Option<f64>| {
        let rows: Vec<StudyRow> =
            rows.iter().filter(|row| row.distribution == Some(LawShape::Normal)).cloned().collect();
        row(&rows, method, runs, parameter).clone()
    };
    assert!(off(&normal("welch_two_sided", 12, None), 0.05).abs() < 4.0);
    assert!(off(&normal("rank_sum_two_sided", 12, None), 0.05) < 4.0);
    assert!(off(&normal("signed_rank_two_sided", 12, None), 0.05) < 4.0);
    assert!(off(&normal("intervals_do_not_overlap", 12, None), 0.05) < -4.0, "the foil hardly ever alarms");
    assert!(off(&normal("effect_size", 12, Some(0.02)), 0.05) < 0.0);
    let mean = normal("speedup_test_mean", 12, None);
    assert!(off(&mean, 0.05) < 4.0 && mean.unanswered > 0, "Shapiro–Wilk stops one in ten: {mean:?}");
    let one_binary = normal("ratio_fieller_t", 20, Some(0.0));
    assert!(one_binary.share > 0.15, "compilation is not seen: {one_binary:?}");
}

#[test]
fn power_is_what_the_formula_says_and_the_risk_at_no_speedup() {
    let rows = power(1500, &[PowerSection::SpeedupTest, PowerSection::Suites, PowerSection::NormalMeans]);
    let rows = rows.run().unwrap();
    for speedup in [1.0, 1.1] {
        let welch = row(&rows, "welch_one_sided", 10, Some(speedup));
        let formula = welch.expected.expect("a formula");
        assert!(off(welch, formula).abs() < 4.0, "{welch:?}");
    }
    for method in ["hierarchical_performance_test", "paired_t_of_means", "interval_of_means"] {
        let none = row(&rows, method, 5, Some(1.0));
        assert!(off(none, 0.05) < 4.0, "{none:?}");
        assert!(row(&rows, method, 5, Some(1.1)).share > none.share + 0.2);
    }
    for runs in [5, 40] {
        let normal = row(&rows, "sample_mean_not_normal", runs, None);
        assert!(off(normal, 0.05).abs() < 4.0, "{normal:?}");
    }
}

#[test]
fn table_1_bears_out_small_claims_and_no_large_ones() {
    let rows = power(200, &[PowerSection::Table1]).run().unwrap();
    let share = |claim| row(&rows, "hierarchical_performance_test", 5, Some(claim)).share;
    assert!(share(1.2) == 1.0 && share(3.0) == 0.0, "{} {}", share(1.2), share(3.0));
    let average = row(&rows, "hierarchical_performance_test_average_confidence", 5, Some(1.76));
    assert!((0.93..0.98).contains(&average.share) && average.standard_error < 0.01, "{average:?}");
}

#[test]
fn observations_estimate_a_probability_without_bias() {
    let study =
        Estimators { frameworks: 1, metrics: vec![VariabilityMetric::ProbabilityBelow], ..estimators(400) };
    let rows = study.run().unwrap();
    let of = |quantity| rows.iter().find(|row| row.quantity == quantity).expect("a row");
    let bias = of(Quantity::BiasEmpirical);
    assert!(bias.mean.abs() < 4.0 * bias.standard_error, "{bias:?}");
    let ratio = of(Quantity::SquaredErrorRatio);
    assert!((0.5..1.2).contains(&ratio.mean) && ratio.standard_error < 0.2, "{ratio:?}");
}

#[test]
fn what_is_out_of_range_is_refused() {
    let study = coverage(1, &[]);
    let refused = |study: &Coverage| study.run().expect_err("a refusal");
    assert_eq!(
        refused(&Coverage { replication: replication(0), ..study.clone() }),
        SimulationError::Replicates(0)
    );
    assert!(matches!(
        refused(&Coverage { binaries: vec![1], ..study.clone() }),
        SimulationError::Count { what: "binaries", given: 1, fewest: 2 }
    ));
    assert!(matches!(
        refused(&Coverage {
            binaries: vec![10_000],
            levels: LevelModel { measurements: 10_000, ..study.levels },
            ..study.clone()
        }),
        SimulationError::TooLarge { .. }
    ));
    // So large a spread makes times that are not positive, so small a one is rounding.
    for variation in [0.5, 1e-16, 0.0] {
        assert_eq!(refused(&Coverage { variation, ..study.clone() }), SimulationError::Variation(variation));
    }
    assert!(matches!(
        refused(&Coverage { effect: f64::NAN, ..study.clone() }),
        SimulationError::Range { .. }
    ));
    assert!(matches!(refused(&Coverage { draws: u32::MAX, ..study }), SimulationError::Bootstrap(_)));
}

/// What is concluded of equal versions keeps its risk where units are independent, and does not where runs of one host count as such.
#[test]
fn conclusions_of_equal_versions_keep_their_risk() {
    let study = |runs: u64, sections: &[AlarmSection]| FalseAlarmStudy {
        distributions: vec![LawShape::Normal],
        runs: vec![runs.into()],
        ..false_alarms(400, sections)
    };
    let suites = study(10, &[AlarmSection::Gates]).run().unwrap();
    let of = |method: &str| row(&suites, method, 10, Some(0.0));
    for method in ["gate", "gate_by_median", "gate_by_mean", "suite_verdict", "any_adjusted"] {
        assert!(off(of(method), 0.05) < 4.0, "{:?}", of(method));
    }
    assert!(of("suite_verdict").share > 0.01, "{suites:?}");
    assert!(of("any_plain").share > of("any_adjusted").share, "{suites:?}");
    assert!(of("any_adjusted").share >= of("gate").share, "a gate asks for one direction: {suites:?}");
    // Slower by just the threshold, and with many more runs of one version.
    let unequal = FalseAlarmStudy { baseline_times: 10, ..study(3, &[AlarmSection::Gates]) }.run().unwrap();
    for rows in [&suites, &unequal] {
        for row in rows.iter().filter(|row| ["gate", "gate_by_median"].contains(&row.method)) {
            assert!(off(row, 0.05) < 4.0, "{row:?}");
        }
    }
    let hosts = study(60, &[AlarmSection::Hosts]).run().unwrap();
    let of = |method: &str| row(&hosts, method, 60, None);
    assert!(of("runs_as_units").share > 0.15, "{hosts:?}");
    for method in ["hosts_as_units", "a_host_each", "twenty_hosts_as_units"] {
        assert!(off(of(method), 0.05) < 4.0, "{:?}", of(method));
    }
    let too_few = study(4, &[AlarmSection::Hosts]).run().unwrap_err().to_string();
    assert!(too_few.contains("runs of the section hosts must be 5 to"), "{too_few}");
    let dependent = study(35, &[AlarmSection::Dependent]).run().unwrap();
    let of = |method: &str| row(&dependent, method, 35, None);
    assert!(of("mean_ratio").share > 0.15 && of("order_told").share > 0.5, "{dependent:?}");
}

/// Quantiles keep their risk, and are refused without the runs that they take.
#[test]
fn tails_keep_their_risk() {
    let study = FalseAlarmStudy {
        distributions: vec![LawShape::Lognormal],
        runs: vec![20.into(), 60.into()],
        ..false_alarms(1000, &[AlarmSection::Tails])
    };
    let rows = study.run().unwrap();
    assert!(off(row(&rows, "p90", 60, None), 0.05) < 4.0, "{rows:?}");
    assert_eq!(row(&rows, "p90", 20, None).unanswered, 1000);
}

/// Rare stalls make versions of equal mean look unlike, and every such verdict on a mean carries a caveat.
#[test]
fn a_mean_with_rare_stalls_is_told() {
    let study = FalseAlarmStudy {
        distributions: vec![LawShape::Normal],
        runs: vec![20.into()],
        variation: 0.04,
        ..false_alarms(400, &[AlarmSection::RareStalls])
    };
    let rows = study.run().unwrap();
    assert!(row(&rows, "mean_of_5_percent", 20, None).share > 0.2, "{rows:?}");
    assert_eq!(row(&rows, "mean_of_5_percent_untold", 20, None).share, 0.0, "{rows:?}");
}

/// The ratio of trimmed means keeps its risk at any numbers of runs, alone and in a family, where the old headlines do not.
#[test]
fn trimmed_means_keep_their_risk_at_unequal_numbers_of_runs() {
    let few = RunCounts { baseline: 2, candidate: 20 };
    let study = FalseAlarmStudy {
        distributions: vec![LawShape::Normal, LawShape::Bimodal, LawShape::Cusp],
        runs: vec![10.into(), few],
        variation: 0.02,
        ..false_alarms(1000, &[AlarmSection::Headlines])
    };
    for row in study.run().unwrap().iter().filter(|row| row.method.starts_with("trimmed_ratio")) {
        let risk = row.expected.expect("a risk");
        assert!(off(row, risk) < 4.0, "{row:?}");
        assert_eq!(row.parameter, if row.size == 2 { Some(20.0) } else { None });
    }
    let study = FalseAlarmStudy { distributions: vec![LawShape::Normal], ..study };
    let rows = study.run().unwrap();
    assert!(off(row(&rows, "welch_on_logarithms", 2, Some(20.0)), 0.05) > 4.0, "{rows:?}");
    let gates = FalseAlarmStudy { sections: vec![AlarmSection::Gates], ..study };
    let refused = gates.run().expect_err("a refusal");
    assert_eq!(refused, SimulationError::UnequalRuns { runs: few, section: "gates" });
}

/// Of unlike laws each method has its own hypothesis, which is true: the medians fail beside a tight floor, the trimmed means do not.
#[test]
fn unlike_laws_have_the_ratio_of_their_own_centres() {
    let study = FalseAlarmStudy {
        distributions: vec![LawShape::Cusp, LawShape::Normal],
        runs: vec![20.into()],
        variation: 0.02,
        ..false_alarms(1000, &[AlarmSection::UnlikeShapes])
    };
    let rows = study.run().unwrap();
    let share = |method| row(&rows, method, 20, None).share;
    assert!(share("trimmed_ratio_against_normal") < 0.12, "{rows:?}");
    assert!(share("median_ratio_against_normal") > share("trimmed_ratio_against_normal"), "{rows:?}");
}

#[test]
fn the_trimmed_headline_finds_more_than_that_of_medians() {
    let study = Power {
        variation: 0.04,
        runs: vec![10],
        speedups: vec![1.03],
        ..power(500, &[PowerSection::Headlines])
    };
    let rows = study.run().unwrap();
    let share = |method| row(&rows, method, 10, Some(1.03)).share;
    assert!(share("trimmed_ratio") > share("median_ratio") + 0.05, "{rows:?}");
    assert!(share("welch_on_logarithms") >= share("trimmed_ratio"), "{rows:?}");
    assert!(share("trimmed_ratio_width") < 0.8 * share("median_ratio_width"), "{rows:?}");
}
