//! The numbers printed in paper 004, to the digits printed.

use speedup_analysis::{
    BudgetedPlan, ConfidenceLevel, Costs, Critical, Decision, DroppedWhy, EffectSize, Levels, RandomEffects,
    RepetitionPlan, Reshaped, Threshold, VarianceComponents,
};

/// 3 binaries of 2 executions of 2 measurements.
fn three_levels(values: [f64; 12]) -> Levels {
    Levels::balanced(values.to_vec(), &[2, 2, 3]).expect("an experiment")
}

fn table_iii() -> Levels {
    three_levels([9.0, 5.0, 8.0, 3.0, 10.0, 6.0, 7.0, 11.0, 1.0, 12.0, 2.0, 4.0])
}

/// The old and the new system.
fn table_v() -> (Levels, Levels) {
    let old = [9.0, 11.0, 5.0, 6.0, 16.0, 13.0, 12.0, 8.0, 15.0, 7.0, 10.0, 14.0];
    let new = [10.0, 12.0, 6.0, 7.0, 9.0, 1.0, 11.0, 4.0, 8.0, 5.0, 3.0, 2.0];
    (three_levels(old), three_levels(new))
}

fn to_tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[test]
fn table_iii_and_section_6_1_the_variances_of_three_levels() {
    let effects = RandomEffects::new(&table_iii());
    let of = |pick: fn(&speedup_analysis::LevelVariance) -> Option<f64>| -> Vec<f64> {
        effects.levels().iter().map(|level| to_tenths(pick(level).expect("repeated"))).collect()
    };
    assert_eq!(of(|level| level.biased), [16.5, 2.6, 3.6]);
    assert_eq!(of(|level| level.unbiased), [16.5, -5.7, 2.3]);
    assert_eq!(to_tenths(effects.mean()), 6.5);
}

#[test]
fn table_iv_and_section_6_1_executions_are_dropped() {
    let levels = table_iii();
    let reshaped = Reshaped::new(&levels);
    assert_eq!(reshaped.dropped.len(), 1);
    assert_eq!(reshaped.dropped[0].level, 2);
    assert!(matches!(reshaped.dropped[0].why, DroppedWhy::NoVariance { unbiased } if unbiased < -5.6));
    let kept: Vec<_> = reshaped.kept.iter().map(|kept| (kept.level, kept.repetitions)).collect();
    assert_eq!(kept, [(1, Some(4)), (3, Some(3))]);
    let biased: Vec<_> = reshaped.kept.iter().map(|kept| kept.biased.map(to_tenths)).collect();
    assert_eq!(biased, [Some(12.7), Some(3.6)]);
    let unbiased: Vec<_> = reshaped.kept.iter().map(|kept| kept.unbiased.map(to_tenths)).collect();
    assert_eq!(unbiased, [Some(12.7), Some(0.4)]);

    // The paper inserts the rounded variances and finds 18; unrounded they give 19.
    let effects = RandomEffects::new(&levels);
    let plan = |variances| {
        let components = VarianceComponents::new(effects.mean(), variances).unwrap();
        RepetitionPlan::new(components, Costs::new(vec![10.0, 0.0]).unwrap()).unwrap()
    };
    assert_eq!(plan(vec![12.7, 0.0, 0.4]).repetitions(), [18, 1]);
    let unrounded = VarianceComponents::of_pilot(&effects, &reshaped);
    let plan = RepetitionPlan::new(unrounded, Costs::new(vec![10.0, 0.0]).unwrap()).unwrap();
    assert_eq!(plan.repetitions(), [19, 1]);
    assert_eq!(plan.highest(), 3);
}

#[test]
fn section_6_2_the_mean_of_the_old_system() {
    let effects = RandomEffects::new(&table_v().0);
    let interval = effects.interval(ConfidenceLevel::USUAL, Critical::Student).unwrap();
    assert_eq!(to_tenths(effects.mean()), 10.5);
    assert_eq!(to_tenths((interval.upper - interval.lower) / 2.0), 6.0);
}

#[test]
fn section_6_2_the_ratio_of_the_means() {
    let (old, new) = table_v();
    let effect = EffectSize::new(RandomEffects::new(&old), RandomEffects::new(&new)).unwrap();
    let interval = effect.interval(ConfidenceLevel::USUAL, Critical::Student);
    let bounded = interval.bounded().expect("a bounded interval");
    assert_eq!((to_tenths(bounded.lower), to_tenths(bounded.upper)), (0.1, 1.7));
    assert_eq!(Decision::of_time_ratio(&interval, Threshold::NONE), Decision::NotEnoughData);
}

/// A plan for the variations of Table VII, in percent of the mean, for 20 minutes of compilation that would
/// suffice for 5343 measurements and 19 measurements of warm-up.
fn dimension(compilation: f64, execution: f64, measurement: f64, hours: f64) -> BudgetedPlan {
    let squares = [measurement, execution, compilation].map(|percent| percent * percent);
    let components = VarianceComponents::new(100.0, squares.to_vec()).expect("finite variances");
    let costs = Costs::new(vec![19.0, 5343.0]).expect("costs");
    let plan = RepetitionPlan::new(components, costs).expect("a plan");
    let measurement_s = 20.0 * 60.0 / 5343.0;
    plan.within(hours * 3600.0 / measurement_s, ConfidenceLevel::USUAL).expect("hours suffice")
}

#[test]
fn section_8_5_fft_in_six_hours() {
    let plan = dimension(4.1, 6.7, 4.6, 6.0);
    // From the rounded standard deviations of Table VII n₁ is 3 (2.99); the paper's unrounded ones give 4.
    assert_eq!(plan.repetitions, [3, 28, 16]);
    assert_eq!(to_tenths(100.0 * plan.relative_half_width), 2.3);
    let one_level = plan.one_level.expect("two samples fit");
    assert_eq!(one_level.repetitions, 17);
    assert_eq!(to_tenths(100.0 * one_level.relative_half_width), 4.7);
}

#[test]
fn table_viii_the_designs_compared() {
    // Ours and the default for 3, 6 and 9 hours, of the benchmarks that vary at all levels and whose times
    // are those of FFT.
    for (name, [compilation, execution, measurement], printed) in [
        ("FFT NA OPT", [3.4, 8.2, 1.4], [(3.3, 7.5), (2.0, 4.6), (1.5, 3.6)]),
        ("FFT NA", [3.4, 7.8, 1.4], [(3.2, 7.1), (1.9, 4.4), (1.5, 3.4)]),
        ("FFT OPT", [4.4, 8.2, 4.3], [(4.3, 8.6), (2.5, 5.3), (2.0, 4.1)]),
        ("FFT", [4.1, 6.7, 4.6], [(3.6, 7.6), (2.3, 4.7), (1.8, 3.7)]),
    ] {
        for (hours, (ours, default)) in [3.0, 6.0, 9.0].into_iter().zip(printed) {
            let plan = dimension(compilation, execution, measurement, hours);
            let one_level = plan.one_level.expect("two samples fit");
            for (got, printed) in [(plan.relative_half_width, ours), (one_level.relative_half_width, default)]
            {
                // The standard deviations are printed to two digits, and one binary more or less is 6 %.
                let error = (100.0 * got - printed).abs() / printed;
                assert!(error < 0.15, "{name}, {hours} h: {} % for {printed} %", 100.0 * got);
            }
        }
    }
}
