//! Laws of mixtures, their fit, its test, and the metrics of variability: for any data.

use proptest::prelude::*;
use speedup_core::value::seed::Seed;
use speedup_statistics::mixture::{
    Component, FitMethod, Mixture, MixtureCaveat, MixtureFit, MixtureFitError, Refits, VarianceModel,
    goodness_of_fit::Drawing, goodness_of_fit::ENOUGH_FARTHER, goodness_of_fit::GoodnessOfFit,
    goodness_of_fit::GoodnessOfFitCaveat, goodness_of_fit::GoodnessOfFitError,
    goodness_of_fit::GoodnessOfFitOptions, goodness_of_fit::MOST_TESTED, goodness_of_fit::ResampleSize,
    variability::empirical, variability::modelled,
};
use speedup_statistics::{inference::Risk, sample::Sample};

use crate::data::{close, sample};

const METHODS: [FitMethod; 3] = [FitMethod::Mclust, FitMethod::Drafted, FitMethod::Converged];

fn mixtures() -> impl Strategy<Value = Mixture> {
    let component = (0.05..1.0_f64, 10.0..60.0_f64, 0.01..5.0_f64);
    prop::collection::vec(component, 1..6).prop_map(|components| {
        let sum: f64 = components.iter().map(|(weight, ..)| weight).sum();
        let component = |&(weight, mean, sd): &(f64, f64, f64)| Component { weight: weight / sum, mean, sd };
        Mixture::new(components.iter().map(component).collect()).expect("a mixture")
    })
}

/// Run times in up to three clusters; rounded to a grid, with ties, when `grid`.
fn clustered() -> impl Strategy<Value = Vec<f64>> {
    let one = (0..3_u8, -1.0..1.0_f64, -1.0..1.0_f64);
    (prop::collection::vec(one, 4..60), prop::bool::ANY).prop_map(|(values, grid)| {
        let value = |(cluster, a, b)| 20.0 + 5.0 * f64::from(cluster) + a + b;
        let rounded = |x: f64| if grid { (x * 10.0).round() / 10.0 } else { x };
        values.into_iter().map(value).map(rounded).collect()
    })
}

/// Any finite numbers that a sample takes, the awkward ones often.
fn anything() -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![
        -1e150..1e150_f64,
        prop::sample::select(vec![
            0.0,
            -0.0,
            1.0,
            1e150,
            -1e150,
            5e-324,
            1e-300,
            1e-160,
            1.0 + f64::EPSILON,
            1e16
        ]),
        -1.0..1.0_f64,
    ];
    prop::collection::vec(value, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_distribution_function_rises_and_the_quantile_inverts_it(law in mixtures(), p in 1e-9..1.0_f64, a in 0.0..80.0_f64, step in 0.0..9.0_f64) {
        let p = p.min(1.0 - 1e-9);
        prop_assert!(law.cdf(a) <= law.cdf(a + step));
        prop_assert!((law.cdf(a) + law.sf(a) - 1.0).abs() < 1e-14);
        prop_assert!(close(law.cdf(law.quantile(p).unwrap()), p, 1e-9));
        let shares: f64 = law.posterior(a).iter().sum();
        prop_assert!((shares - 1.0).abs() < 1e-14 && law.cluster(a) < law.components().len());
    }

    #[test]
    fn modes_are_local_maxima_no_more_than_components(law in mixtures()) {
        let modes = law.modes();
        prop_assert!(!modes.is_empty() && modes.len() <= law.components().len());
        prop_assert!(modes.windows(2).all(|pair| pair[0] < pair[1]));
        for mode in modes {
            for step in [-1e-4, 1e-4] {
                prop_assert!(law.density(mode) >= law.density(mode + step));
            }
        }
    }

    #[test]
    fn modelled_metrics_swap_and_add_up(x in mixtures(), y in mixtures(), z in mixtures(), delta in -5.0..5.0_f64) {
        prop_assert!(close(modelled::mean_difference(&x, &y), modelled::mean_difference(&y, &x), 1e-13));
        let there = modelled::probability_below(&x, &y, delta).below;
        let back = modelled::probability_below(&y, &x, -delta).below;
        prop_assert!((there + back - 1.0).abs() < 1e-14);
        let shares = modelled::probability_shortest(&[&x, &y, &z]).shares;
        prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-10, "{:?}", shares);
        let pair = modelled::probability_shortest(&[&x, &y]).shares;
        prop_assert!((pair[0] - modelled::probability_below(&x, &y, 0.0).below).abs() < 1e-11);
    }

    #[test]
    fn counted_metrics_swap_and_add_up(x in clustered(), y in clustered(), z in clustered()) {
        let (x, y, z) = (sample(&x), sample(&y), sample(&z));
        prop_assert!(close(empirical::mean_difference(&x, &y), empirical::mean_difference(&y, &x), 1e-12));
        let there = empirical::probability_below(&x, &y, 0.0);
        let back = empirical::probability_below(&y, &x, 0.0);
        prop_assert!((there.below + back.below + there.tied - 1.0).abs() < 1e-14 && there.tied == back.tied);
        let shortest = empirical::probability_shortest(&[&x, &y, &z]);
        prop_assert!((shortest.shares.iter().sum::<f64>() + shortest.tied - 1.0).abs() < 1e-12);
        let pair = empirical::probability_shortest(&[&x, &y]);
        prop_assert!((pair.shares[0] - there.below).abs() < 1e-12 && (pair.tied - there.tied).abs() < 1e-12);
    }

    #[test]
    fn convergence_never_lowers_the_criterion_of_any_model(values in clustered()) {
        let sample = sample(&values);
        if sample.is_constant() {
            return Ok(());
        }
        let schedule = MixtureFit::with_method(&sample, FitMethod::Mclust).unwrap();
        let converged = MixtureFit::with_method(&sample, FitMethod::Converged).unwrap();
        prop_assert!(converged.bic >= schedule.bic);
        for model in VarianceModel::ALL {
            for components in 1..=9 {
                if let Some(bic) = schedule.criterion.bic(model, components) {
                    prop_assert!(converged.criterion.bic(model, components).is_some_and(|better| better >= bic));
                }
            }
        }
    }

    #[test]
    fn run_order_changes_nothing(values in clustered(), seed in 0..1000_u64) {
        let mut shuffled = values.clone();
        speedup_core::value::seed::shuffle(&mut shuffled, &mut Seed(seed).child("order"));
        for method in METHODS {
            let fits = [&values, &shuffled].map(|values| MixtureFit::with_method(&sample(values), method));
            prop_assert_eq!(&fits[0], &fits[1]);
        }
    }

    #[test]
    fn shift_and_scale_move_the_mixture_along(values in clustered(), shift in -8..8_i32, power in -30..30_i32) {
        let original = sample(&values);
        if original.is_constant() {
            return Ok(());
        }
        // Powers of two and shifts by whole numbers keep equal observations equal and distances nearly exact.
        let scale = f64::from(power).exp2();
        let moved = sample(&values.iter().map(|x| (x + f64::from(shift)) * scale).collect::<Vec<_>>());
        let before = MixtureFit::new(&original).unwrap();
        let after = MixtureFit::new(&moved).unwrap();
        let n = original.len() as f64;
        let clear = [&before, &after].iter().all(|fit| {
            fit.criterion.lead().is_none_or(|lead| lead > 0.5) && !fit.caveats.contains(&MixtureCaveat::NotConverged)
        })
            // mclust's tolerances hold in the unit of the data, so starts may stop elsewhere.
            && (-3..=10).contains(&power);
        if clear && before.mixture.components().len() == after.mixture.components().len() {
            prop_assert!((after.bic + 2.0 * n * scale.ln() - before.bic).abs() < 1.0 + 1e-3 * before.bic.abs());
        }
        prop_assert!(after.bic.is_finite() && after.mixture.components().iter().all(|c| c.sd > 0.0));
    }

    #[test]
    fn any_sample_is_fitted_or_refused_by_name(values in anything()) {
        let Ok(sample) = Sample::new(values.clone()) else { return Ok(()) };
        for method in METHODS {
            match MixtureFit::with_method(&sample, method) {
                Ok(fit) => {
                    prop_assert!(fit.bic.is_finite() && fit.log_likelihood.is_finite(), "{:?}", fit);
                    let weights: f64 = fit.mixture.components().iter().map(|c| c.weight).sum();
                    prop_assert!((weights - 1.0).abs() < 1e-9);
                    prop_assert!(fit.mixture.components().iter().all(|c| c.mean.is_finite() && c.sd >= 0.0));
                    prop_assert!(fit.caveats.iter().all(|caveat| !caveat.sentence().is_empty()));
                }
                Err(MixtureFitError::TooFew { n }) => prop_assert_eq!(n, 1),
                Err(MixtureFitError::AllEqual { .. }) => prop_assert!(sample.is_constant()),
                Err(MixtureFitError::NoFit { .. }) => prop_assert!(false, "no fit of {:?}", values),
            }
        }
    }
}

#[test]
fn scales_far_from_one_give_the_same_mixture() {
    let base: Vec<f64> =
        (0..60).map(|i| f64::from(i % 2) * 6.0 + (f64::from(i) * 0.7).sin() + 20.0).collect();
    let expected = MixtureFit::new(&sample(&base)).unwrap();
    // Below and above, the differences of observations cannot be squared, and samples are refused.
    for scale in [1e-130, 1e-100, 1e-9, 1e9, 1e140] {
        let scaled = sample(&base.iter().map(|x| x * scale).collect::<Vec<_>>());
        let fit = MixtureFit::new(&scaled).unwrap();
        assert_eq!(fit.mixture.components().len(), expected.mixture.components().len(), "{scale:e}");
        for (a, b) in fit.mixture.components().iter().zip(expected.mixture.components()) {
            assert!(close(a.mean, b.mean * scale, 1e-6), "{scale:e} {a:?} {b:?}");
            assert!(close(a.sd, b.sd * scale, 1e-5), "{scale:e} {a:?} {b:?}");
        }
    }
}

#[test]
fn a_spread_in_the_last_digits_has_a_caveat() {
    let values: Vec<f64> = (0..40).map(|i| 1.0 + f64::from(i % 7) * f64::EPSILON).collect();
    let fit = MixtureFit::new(&sample(&values)).unwrap();
    assert!(fit.caveats.iter().any(|caveat| matches!(caveat, MixtureCaveat::CoarseAgainstSpread { .. })));
    assert!(fit.caveats.iter().any(|caveat| matches!(caveat, MixtureCaveat::Ties { .. })));
}

#[test]
fn two_adjacent_numbers_are_one_component_with_caveats() {
    let values: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 1.0 } else { 1.0_f64.next_up() }).collect();
    for method in METHODS {
        let fit = MixtureFit::with_method(&sample(&values), method).unwrap();
        assert_eq!(fit.mixture.components().len(), 1, "{method:?}");
        let coarse = |caveat: &MixtureCaveat| matches!(caveat, MixtureCaveat::CoarseAgainstSpread { .. });
        assert!(fit.caveats.iter().any(coarse), "{method:?}");
    }
}

fn three_clusters() -> Sample {
    sample(&(0..50).map(|i| f64::from(i % 3) * 4.0 + (f64::from(i) * 1.3).cos() + 30.0).collect::<Vec<_>>())
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let sample = three_clusters();
    for refits in [Refits::Drafted, Refits::Exhaustive] {
        let size = ResampleSize::NineTenths;
        let options =
            GoodnessOfFitOptions { resamples: 200, size, refits, ..GoodnessOfFitOptions::usual(Seed(7)) };
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| GoodnessOfFit::new(&sample, options).unwrap())
        };
        let one = with_threads(1);
        assert_eq!(one.resampled_distances(), with_threads(3).resampled_distances());
        let other = GoodnessOfFit::new(&sample, GoodnessOfFitOptions { seed: Seed(8), ..options }).unwrap();
        assert_ne!(one.resampled_distances(), other.resampled_distances());
        assert_eq!(one.resample_size, 45);
    }
}

#[test]
fn a_test_that_ends_early_has_the_first_resamples_and_their_p_value() {
    let rounded: Vec<f64> = three_clusters().in_run_order().iter().map(|x| (x * 2.0).round() / 2.0).collect();
    let mut early = 0;
    for (sample, drawing) in [
        (three_clusters(), Drawing::UntilFarther(ENOUGH_FARTHER)),
        (three_clusters(), Drawing::UntilFarther(1)),
        (sample(&rounded), Drawing::UntilFarther(ENOUGH_FARTHER)),
    ] {
        let all = GoodnessOfFitOptions { resamples: 200, ..GoodnessOfFitOptions::usual(Seed(5)) };
        let with_threads = |threads, options| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| GoodnessOfFit::new(&sample, options).unwrap())
        };
        let options = GoodnessOfFitOptions { drawing, ..all };
        let [one, three] = [1, 3].map(|threads| with_threads(threads, options));
        assert_eq!(one.resampled_distances(), three.resampled_distances());
        let (full, drawn) = (with_threads(2, all), one.resampled_distances());
        assert!(drawn.iter().all(|distance| full.resampled_distances().contains(distance)));
        let farther = drawn.iter().filter(|distance| **distance > one.distance).count();
        let Drawing::UntilFarther(enough) = drawing else { unreachable!() };
        if drawn.len() < 200 {
            early += 1;
            assert_eq!(farther, enough as usize);
            assert_eq!(one.p_value().get(), f64::from(enough) / drawn.len() as f64);
        } else {
            assert!(farther <= enough as usize);
            assert_eq!(one.p_value(), full.p_value());
        }
    }
    assert!(early >= 1, "no test ended early");
}

#[test]
fn drafted_refits_hardly_move_the_test() {
    let [drafted, exhaustive] = [Refits::Drafted, Refits::Exhaustive].map(|refits| {
        let options = GoodnessOfFitOptions { refits, ..GoodnessOfFitOptions::usual(Seed(3)) };
        GoodnessOfFit::new(&three_clusters(), options).unwrap()
    });
    // A draft takes mclust's steps of the models that it does not give up; that it gives up the best one is rare.
    let risk = Risk::new(0.05).unwrap();
    let critical = |test: &GoodnessOfFit| test.critical_distance(risk).unwrap();
    assert!((critical(&drafted) / critical(&exhaustive) - 1.0).abs() < 0.005);
    assert!((drafted.p_value().get() - exhaustive.p_value().get()).abs() < 0.01);
}

#[test]
fn the_test_refuses_by_name() {
    let usual = GoodnessOfFitOptions::usual(Seed(1));
    let few = GoodnessOfFit::new(&sample(&[1.0, 2.0]), GoodnessOfFitOptions { resamples: 199, ..usual });
    assert_eq!(few.unwrap_err(), GoodnessOfFitError::Resamples(199));
    let equal = GoodnessOfFit::new(&sample(&[3.0, 3.0]), usual);
    assert!(matches!(equal, Err(GoodnessOfFitError::Mixture(MixtureFitError::AllEqual { n: 2, .. }))));
}

#[test]
fn a_test_of_many_observations_is_of_some_of_them_and_says_so() {
    let law = Mixture::new(vec![
        Component { weight: 0.7, mean: 50.0, sd: 2.0 },
        Component { weight: 0.3, mean: 65.0, sd: 1.0 },
    ]);
    let mut values = Vec::new();
    law.unwrap().draw(MOST_TESTED + 5_000, &mut Seed(3).child("many"), &mut values);
    let options = GoodnessOfFitOptions {
        resamples: 200,
        drawing: Drawing::UntilFarther(3),
        ..GoodnessOfFitOptions::usual(Seed(4))
    };
    let test = GoodnessOfFit::new(&sample(&values), options).unwrap();
    let of = values.len();
    assert!(test.is_of_subset());
    assert!(test.caveats.contains(&GoodnessOfFitCaveat::Subset { tested: MOST_TESTED, of }));
    assert_eq!(test.resample_size, MOST_TESTED);
    assert!(test.p_value().get() > 0.01, "{}", test.p_value().get());
    assert_eq!(GoodnessOfFit::new(&sample(&values), options).unwrap(), test);
    values.truncate(MOST_TESTED);
    assert!(!GoodnessOfFit::new(&sample(&values), options).unwrap().is_of_subset());
}
