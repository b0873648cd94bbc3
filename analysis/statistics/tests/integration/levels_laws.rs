//! Laws of experiments by levels that hold for any data: shift, scale, order, exchange, balance, threads.

use crate::data::level;

#[path = "../reference/exact_variance.rs"]
mod exact_variance;

use exact_variance::exact_variance;
use proptest::prelude::*;
use speedup_core::value::seed::Seed;
use speedup_statistics::inference::{ConfidenceLevel, Critical, Interval, RatioInterval, Unbounded};
use speedup_statistics::levels::{
    BootstrapError, EffectSize, EffectSizeError, HierarchicalBootstrap, LevelTree, LevelVariance,
    MeanErrorUnknown, RandomEffects, Resampling, Reshaped, Statistic,
};
use speedup_statistics::planning::{Costs, RepetitionPlan, RepetitionPlanError, VarianceComponents};
use speedup_statistics::sample::Sample;

const SCHEMES: [Resampling; 4] =
    [Resampling::EveryLevel, Resampling::AboveLowest, Resampling::HighestOnly, Resampling::Flat];

/// Counts of 1 to 4 levels, the highest at least 2, and that many values.
fn balanced() -> impl Strategy<Value = (Vec<f64>, Vec<usize>)> {
    (prop::collection::vec(1..5_usize, 0..4), 2..5_usize).prop_flat_map(|(mut dims, highest)| {
        dims.push(highest);
        (prop::collection::vec(1.0..2.0_f64, dims.iter().product::<usize>()), Just(dims))
    })
}

/// Counts of an unbalanced experiment of three levels, and values for the most there can be.
fn unbalanced() -> impl Strategy<Value = (Vec<f64>, Vec<Vec<usize>>)> {
    let binaries = prop::collection::vec(prop::collection::vec(1..4_usize, 1..4), 2..5);
    binaries.prop_flat_map(|binaries| {
        let lowest = binaries.concat();
        let middle: Vec<usize> = binaries.iter().map(Vec::len).collect();
        let counts = vec![lowest.clone(), middle, vec![binaries.len()]];
        (prop::collection::vec(1.0..2.0_f64, lowest.iter().sum::<usize>()), Just(counts))
    })
}

fn close(a: f64, b: f64, relative: f64, absolute: f64) -> bool {
    a == b || (a - b).abs() <= relative * a.abs().max(b.abs()) + absolute
}

fn effects(values: &[f64], dims: &[usize]) -> RandomEffects {
    RandomEffects::new(&LevelTree::balanced(values.to_vec(), dims).expect("an experiment"))
}

/// S² and T² of `a` are `factor` times those of `b`, to rounding.
fn same_variances(a: &[LevelVariance], b: &[LevelVariance], factor: f64) -> Result<(), TestCaseError> {
    let largest = b.iter().filter_map(|level| level.biased).fold(0.0, f64::max) * factor;
    for (a, b) in a.iter().zip(b) {
        for (a, b) in [(a.biased, b.biased), (a.unbiased, b.unbiased)] {
            prop_assert_eq!(a.is_some(), b.is_some());
            if let (Some(a), Some(b)) = (a, b) {
                prop_assert!(close(a, b * factor, 1e-9, 1e-12 * largest), "{} is not {}", a, b * factor);
            }
        }
    }
    Ok(())
}

fn bounded(interval: &RatioInterval) -> Option<&Interval> {
    interval.bounded()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn shift_leaves_variances_and_scale_squares_them((values, dims) in balanced(), by in -3.0..3.0_f64) {
        let as_is = effects(&values, &dims);
        let shifted = effects(&values.iter().map(|x| x + by).collect::<Vec<f64>>(), &dims);
        same_variances(shifted.levels(), as_is.levels(), 1.0)?;
        prop_assert!(close(shifted.mean(), as_is.mean() + by, 1e-13, 1e-15));
        let factor = 2.0_f64.powi(-300);
        let scaled = effects(&values.iter().map(|x| x * factor).collect::<Vec<f64>>(), &dims);
        prop_assert_eq!(scaled.levels().len(), as_is.levels().len());
        same_variances(scaled.levels(), as_is.levels(), factor * factor)?;
    }

    #[test]
    fn the_order_within_a_unit_does_not_matter((values, dims) in balanced(), turn in 0..5_usize) {
        let as_is = effects(&values, &dims);
        // Turns the members of every unit of one level, from the lowest to the highest.
        let mut block = 1;
        for &count in &dims {
            let mut turned = values.clone();
            for unit in turned.chunks_exact_mut(block * count) {
                unit.rotate_left(block * (turn % count));
            }
            same_variances(effects(&turned, &dims).levels(), as_is.levels(), 1.0)?;
            block *= count;
        }
    }

    #[test]
    fn balanced_data_have_the_papers_formula((values, dims) in balanced()) {
        let effects = effects(&values, &dims);
        prop_assert!(effects.is_balanced());
        for pair in effects.levels().windows(2) {
            if let (Some(below), Some(biased), Some(unbiased)) =
                (pair[0].biased, pair[1].biased, pair[1].unbiased)
            {
                let papers = biased - below / pair[0].repetitions.expect("balanced") as f64;
                prop_assert!(close(unbiased, papers, 1e-10, 1e-12 * (biased + below)));
            }
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        prop_assert!(close(effects.mean(), mean, 1e-13, 0.0));
    }

    #[test]
    fn what_is_dropped_leaves_positive_variances((values, counts) in unbalanced()) {
        let levels = LevelTree::from_counts(values, &counts).unwrap();
        let reshaped = Reshaped::new(&levels);
        prop_assert_eq!(reshaped.kept.len() + reshaped.dropped.len(), 3);
        if reshaped.kept.len() > 1 {
            prop_assert!(reshaped.kept.iter().all(|kept| kept.unbiased.is_some_and(|t2| t2 > 0.0)));
        }
        let plan = RepetitionPlan::new(
            VarianceComponents::from_pilot(&RandomEffects::new(&levels), &reshaped),
            Costs::new(vec![5.0, 100.0]).unwrap(),
        );
        if let Ok(plan) = plan {
            let needed = match plan.within(0.0, ConfidenceLevel::USUAL) {
                Err(RepetitionPlanError::BudgetTooSmall { needed, .. }) => needed,
                other => panic!("nothing was bought: {other:?}"),
            };
            let budgeted = plan.within(10.0 * needed, ConfidenceLevel::USUAL).unwrap();
            prop_assert!(budgeted.cost <= 10.0 * needed && budgeted.half_width > 0.0);
            prop_assert!(budgeted.repetitions.iter().all(|&count| count >= 1));
        }
    }

    #[test]
    fn exchanged_versions_have_reciprocal_intervals((x, dims) in balanced(), factor in 0.5..2.0_f64) {
        let y: Vec<f64> = x.iter().rev().map(|x| factor * x * x).collect();
        let Ok(effect) = EffectSize::new(effects(&x, &dims), effects(&y, &dims)) else { return Ok(()) };
        let exchanged = effect.exchanged().unwrap();
        prop_assert!(close(effect.estimate() * exchanged.estimate(), 1.0, 1e-14, 0.0));
        for critical in [Critical::Student, Critical::Normal] {
            let (one, other) =
                (effect.interval(level(0.9), critical), exchanged.interval(level(0.9), critical));
            if let (Some(one), Some(other)) = (bounded(&one), bounded(&other)) {
                if one.lower > 0.0 {
                    prop_assert!(close(one.lower * other.upper, 1.0, 1e-10, 0.0));
                    prop_assert!(close(one.upper * other.lower, 1.0, 1e-10, 0.0));
                }
                prop_assert!(one.lower <= effect.estimate() && effect.estimate() <= one.upper);
            }
        }
    }

    #[test]
    fn surer_intervals_are_wider((x, dims) in balanced(), (a, b) in (0.01..0.999_f64, 0.01..0.999_f64)) {
        let (less, more) = (level(a.min(b)), level(a.max(b)));
        let within = |inner: &Interval, outer: &Interval| {
            outer.lower <= inner.lower + 1e-15 && inner.upper <= outer.upper + 1e-15
        };
        let of_x = effects(&x, &dims);
        if let Ok(outer) = of_x.interval(more, Critical::Student) {
            prop_assert!(within(&of_x.interval(less, Critical::Student).unwrap(), &outer));
        }
        let y: Vec<f64> = x.iter().rev().map(|x| x * x).collect();
        if let Ok(effect) = EffectSize::new(of_x, effects(&y, &dims)) {
            let outer = effect.interval(more, Critical::Student);
            let inner = effect.interval(less, Critical::Student);
            match (bounded(&inner), bounded(&outer)) {
                (Some(inner), Some(outer)) => prop_assert!(within(inner, outer)),
                (None, outer) => prop_assert!(outer.is_none()),
                (Some(_), None) => {}
            }
        }
        let levels = LevelTree::balanced(x, &dims).unwrap();
        let replicates = HierarchicalBootstrap::usual(Seed(1)).of(&levels).unwrap();
        prop_assert!(within(&replicates.interval(less), &replicates.interval(more)));
    }

    #[test]
    fn draws_do_not_depend_on_threads((values, counts) in unbalanced(), seed in 0..1000_u64) {
        let levels = LevelTree::from_counts(values, &counts).unwrap();
        let pools: Vec<rayon::ThreadPool> =
            [1, 3].iter().map(|&n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap()).collect();
        for statistic in [Statistic::Mean, Statistic::Median] {
            for resampling in SCHEMES {
                let bootstrap = HierarchicalBootstrap { resampling, statistic, draws: 300, seed: Seed(seed) };
                let draw = || bootstrap.of(&levels).unwrap().replicates().in_run_order().to_vec();
                prop_assert_eq!(pools[0].install(draw), pools[1].install(draw));
            }
        }
    }

    #[test]
    fn replicates_of_the_mean_have_the_exact_variance((values, counts) in unbalanced()) {
        let levels = LevelTree::from_counts(values, &counts).unwrap();
        for resampling in SCHEMES {
            let draws = 4000;
            let bootstrap =
                HierarchicalBootstrap { resampling, statistic: Statistic::Mean, draws, seed: Seed(3) };
            let exact = exact_variance(resampling, &levels);
            let drawn = bootstrap.of(&levels).unwrap();
            let variance = drawn.replicates().variance().unwrap();
            // Eight standard errors at the normal law's kurtosis, since units may be few and unlike.
            let error = exact * (2.0 / f64::from(draws)).sqrt();
            prop_assert!((variance - exact).abs() <= 8.0 * error + 1e-25, "{resampling:?}");
            let mean_error = (exact / f64::from(draws)).sqrt();
            let off = drawn.replicates().mean() - drawn.estimate();
            prop_assert!(off.abs() <= 6.5 * mean_error + 1e-14, "{:?}", resampling);
        }
    }

    #[test]
    fn replicates_are_within_the_observations((values, counts) in unbalanced()) {
        let levels = LevelTree::from_counts(values.clone(), &counts).unwrap();
        let sample = Sample::new(values).unwrap();
        for statistic in [Statistic::Mean, Statistic::Median] {
            for resampling in SCHEMES {
                let bootstrap = HierarchicalBootstrap { resampling, statistic, draws: 100, seed: Seed(5) };
                let drawn = bootstrap.of(&levels).unwrap();
                let (least, most) = (drawn.replicates().min(), drawn.replicates().max());
                prop_assert!(sample.min() <= least + 1e-12 && most <= sample.max() + 1e-12);
                if statistic == Statistic::Median {
                    prop_assert_eq!(drawn.estimate(), sample.median());
                }
            }
        }
    }

    #[test]
    fn nothing_panics(
        (values, dims) in balanced(),
        power in prop::sample::select(vec![-300, -290, -130, -120, 0, 140, 149, 151, 300]),
        sign in prop::sample::select(vec![1.0, -1.0]),
        alike in prop::bool::ANY,
    ) {
        let unit = sign * 10.0_f64.powi(power);
        let value = |x: &f64| if alike { unit } else { unit * (x - 1.5) };
        let Ok(levels) = LevelTree::balanced(values.iter().map(value).collect(), &dims) else {
            prop_assert!(!(-120..=149).contains(&power), "refused at 1e{power}");
            return Ok(());
        };
        let of_levels = RandomEffects::new(&levels);
        let reshaped = Reshaped::new(&levels);
        let components = VarianceComponents::from_pilot(&of_levels, &reshaped);
        let costs = Costs::new(vec![0.0; dims.len() - 1]).unwrap();
        if let Ok(plan) = RepetitionPlan::new(components, costs) {
            let _ = plan.within(1e6, ConfidenceLevel::USUAL);
        }
        if let Ok(effect) = EffectSize::new(of_levels.clone(), of_levels.clone()) {
            for interval in [effect.interval(level(0.99), Critical::Student), effect.delta_interval(level(0.5))] {
                if let RatioInterval::Bounded(interval) = interval {
                    prop_assert!(interval.lower.is_finite() && interval.upper.is_finite());
                    prop_assert!(interval.lower <= interval.upper);
                }
            }
        }
        for resampling in SCHEMES {
            let bootstrap = HierarchicalBootstrap { resampling, ..HierarchicalBootstrap::usual(Seed(0)) };
            match bootstrap.ratio(&levels, &levels) {
                Ok(ratios) => if let Some(ratios) = ratios.replicates() {
                    prop_assert!(ratios.min().is_finite() && ratios.max().is_finite());
                },
                Err(refusal) => prop_assert!(matches!(
                    refusal,
                    BootstrapError::BaselineZero | BootstrapError::RatioTooLarge(_)
                )),
            }
        }
    }
}

#[test]
fn what_has_no_error_is_refused_by_name() {
    let one = effects(&[1.0], &[1]);
    assert_eq!(one.interval(level(0.9), Critical::Student), Err(MeanErrorUnknown::OneUnit));
    let alike = effects(&[0.1; 6], &[2, 3]);
    assert_eq!(alike.interval(level(0.9), Critical::Student), Err(MeanErrorUnknown::Constant));
    assert_eq!(EffectSize::new(alike.clone(), alike.clone()), Err(EffectSizeError::Constant));
    assert!(matches!(EffectSize::new(one, alike.clone()), Err(EffectSizeError::NoError { .. })));
    let around_zero = effects(&[-1.0, 1.0], &[2]);
    assert_eq!(EffectSize::new(around_zero.clone(), alike.clone()), Err(EffectSizeError::BaselineZero));
    let two = effects(&[1.0, 2.0], &[2]);
    assert_eq!(two.highest_units(), 2);
    let none = RepetitionPlan::new(
        VarianceComponents::new(1.0, vec![0.0, -1.0]).unwrap(),
        Costs::new(vec![1.0]).unwrap(),
    );
    assert_eq!(none, Err(RepetitionPlanError::NothingVaries));
    assert!(matches!(Costs::new(vec![-1.0]), Err(RepetitionPlanError::Cost { level: 1, .. })));
    assert!(matches!(Costs::new(vec![f64::NAN]), Err(RepetitionPlanError::Cost { .. })));
    assert!(matches!(VarianceComponents::new(f64::NAN, vec![1.0]), Err(RepetitionPlanError::NotFinite(_))));
}

#[test]
fn ratios_without_bounds_are_named() {
    let near_zero = || effects(&[-5.0, 6.0, 1.0], &[3]);
    let far = || effects(&[10.0, 11.0, 12.0], &[3]);
    let reason = |baseline, candidate| {
        let effect = EffectSize::new(baseline, candidate).unwrap();
        match effect.interval(level(0.95), Critical::Student) {
            RatioInterval::Unbounded { reason, .. } => Some(reason),
            RatioInterval::Bounded(_) => None,
        }
    };
    assert_eq!(reason(near_zero(), far()), Some(Unbounded::DenominatorNearZero));
    assert_eq!(reason(near_zero(), near_zero()), Some(Unbounded::NoRatioExcluded));
    assert_eq!(reason(far(), near_zero()), None);
    assert_eq!(reason(far(), effects(&[-1.0, 1.0], &[2])), None);
    let levels = |values: &[f64]| LevelTree::balanced(values.to_vec(), &[values.len()]).unwrap();
    let ratio = HierarchicalBootstrap::usual(Seed(1))
        .ratio(&levels(&[-5.0, 6.0, 1.0]), &levels(&[10.0, 11.0, 12.0]))
        .unwrap();
    assert!(ratio.replicates().is_none());
    assert!(ratio.interval(level(0.95)).bounded().is_none());
}

#[test]
fn draws_are_limited() {
    let levels = LevelTree::balanced(vec![1.0, 2.0], &[2]).unwrap();
    for draws in [0, speedup_statistics::levels::MOST_DRAWS + 1] {
        let bootstrap = HierarchicalBootstrap { draws, ..HierarchicalBootstrap::usual(Seed(1)) };
        assert_eq!(bootstrap.of(&levels).unwrap_err(), BootstrapError::Draws(draws));
    }
}
