//! Laws of scale: the unit of the observations changes no verdict, from 1e-99 to 1e99.
//!
//! The factors are powers of two, which cost no digit, so what is a ratio is the same double but for the last digits.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::Value;
use speedup_analysis::inquiry::{
    Answer, DistributionOptions, EarlierOptions, EffectOptions, Inquiry, Method, MixtureOptions,
    PerformanceTestOptions, SpeedupTestOptions, Suite,
};
use speedup_statistics::{
    inference::Alternative, inference::ConfidenceLevel, inference::Critical, inference::RatioInterval,
    inference::Side, levels::EffectSize, levels::EffectSizeError, levels::LevelTree, levels::RandomEffects,
    planning::Costs, planning::RepetitionPlan, planning::VarianceComponents,
    protocol::hierarchical_performance_test::HierarchicalPerformanceTest,
    protocol::hierarchical_performance_test::PerformanceRules,
    protocol::hierarchical_performance_test::ScoreSuite, ratio::BenchmarkWeights, ratio::MeanRatio,
    ratio::MedianRatio, ratio::PairedRatio, ratio::RatioError, ratio::SuiteMember, ratio::SuiteRatio,
    ratio::SuiteRatioError, sample::Sample, test::FTest, test::KolmogorovSmirnovStatistic, test::PairedTTest,
    test::RankSum, test::ShapiroWilk, test::StudentTTest, test::WelchTTest,
};

/// log₂ of 1e99, below.
const LARGEST_EXPONENT: i32 = 328;
const LEVEL: ConfidenceLevel = ConfidenceLevel::USUAL;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

fn power_of_two(exponent: i32) -> f64 {
    2.0_f64.powi(exponent)
}

fn scaled(values: &[f64], factor: f64) -> Vec<f64> {
    values.iter().map(|value| value * factor).collect()
}

fn sample(values: &[f64], factor: f64) -> Sample {
    Sample::new(scaled(values, factor)).unwrap()
}

/// Times between 1 and 2, which differ.
fn times() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(1.0_f64..2.0, 4..9)
        .prop_filter("times that vary", |times| times.iter().any(|time| (time - times[0]).abs() > 1e-3))
}

fn exponent() -> impl Strategy<Value = i32> {
    -LARGEST_EXPONENT..=LARGEST_EXPONENT
}

fn ends(interval: &RatioInterval) -> Vec<f64> {
    interval.bounded().map_or(Vec::new(), |interval| vec![interval.lower, interval.upper])
}

/// Everything about two samples that has no unit, or the unit of the ratio, which is divided out.
fn of_two(x: &Sample, y: &Sample, ratio: f64) -> Vec<f64> {
    let two = Alternative::TwoSided;
    let mean = MeanRatio::new(x, y).unwrap();
    let effect = EffectSize::new(RandomEffects::new(&levels(y)), RandomEffects::new(&levels(x))).unwrap();
    let member = SuiteMember { baseline: x, candidate: y };
    let suite = SuiteRatio::new(&[member, member], &BenchmarkWeights::Equal).unwrap();
    let mut found = Vec::new();
    for interval in [
        mean.interval(LEVEL),
        effect.interval(LEVEL, Critical::Student),
        effect.delta_interval(LEVEL),
        suite.interval(LEVEL),
        MedianRatio::new(x, y).unwrap().interval(LEVEL),
    ] {
        found.extend(ends(&interval).into_iter().map(|end| end / ratio));
    }
    found.extend([mean.estimate(), effect.estimate(), suite.estimate()].map(|estimate| estimate / ratio));
    found.extend([mean.p_value(ratio, two).get(), suite.p_value(ratio, two).get()]);
    found.extend([x, y].map(|one| ShapiroWilk::new(one).unwrap().p_value().get()));
    found
}

fn levels(sample: &Sample) -> LevelTree {
    LevelTree::balanced(sample.in_run_order().to_vec(), &[sample.len()]).unwrap()
}

/// Everything about two samples of one unit that has none.
fn of_one_unit(x: &Sample, y: &Sample) -> Vec<f64> {
    let two = Alternative::TwoSided;
    let mut found = vec![
        StudentTTest::new(x, y).unwrap().p_value(two).get(),
        WelchTTest::new(x, y).unwrap().p_value(two).get(),
        FTest::new(x, y).unwrap().p_value(two).get(),
        RankSum::choose(x, y).p_value(two).get(),
        KolmogorovSmirnovStatistic::median_centred(x, y).d(),
        WelchTTest::new(x, y).unwrap().statistic().df,
    ];
    let pairs = x.len().min(y.len());
    let [first, second] = [x, y].map(|one| sample(&one.in_run_order()[..pairs], 1.0));
    if let Ok(pairs) = PairedTTest::new(&first, &second) {
        found.push(pairs.p_value(two).get());
    }
    if let Ok(pairs) = PairedRatio::new(&first, &second) {
        found.extend(ends(&pairs.interval(LEVEL)));
    }
    found
}

fn alike(a: &[f64], b: &[f64]) -> bool {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    a.len() == b.len() && a.iter().zip(b).all(near)
}

/// Whether two answers of one inquiry say the same, the second with times `factor` times as long: words are equal, and a
/// number is the same, or so many times, or its square.
fn say_the_same(usual: &Value, far: &Value, factor: f64) -> Result<(), String> {
    match (usual, far) {
        (Value::Object(usual), Value::Object(far)) if usual.len() == far.len() => {
            let in_units_of_their_own = |name: &str| OF_OTHER_UNITS.contains(&name);
            let mut fields = usual.iter().filter(|(name, _)| !in_units_of_their_own(name));
            fields.try_for_each(|(name, value)| {
                let other = far.get(name).ok_or_else(|| format!("{name} is missing"))?;
                say_the_same(value, other, factor).map_err(|difference| format!("{name}: {difference}"))
            })
        }
        (Value::Array(usual), Value::Array(far)) if usual.len() == far.len() => {
            usual.iter().zip(far).try_for_each(|(usual, far)| say_the_same(usual, far, factor))
        }
        (Value::Number(usual), Value::Number(far)) => {
            let [usual, far] = [usual, far].map(|number| number.as_f64().unwrap_or(f64::NAN));
            let is_near = |unit: f64| (usual * unit - far).abs() <= 1e-6 * (usual * unit).abs();
            let agrees = [1.0, factor, factor * factor].into_iter().any(is_near);
            if agrees { Ok(()) } else { Err(format!("{usual:e} and {far:e}")) }
        }
        (usual, far) if usual == far => Ok(()),
        (usual, far) => Err(format!("{usual} and {far}")),
    }
}

/// Logarithms of densities, and sentences, which tell numbers in the unit of the times.
const OF_OTHER_UNITS: [&str; 4] = ["bic", "criterion", "log_likelihood", "sentence"];

fn methods() -> Vec<Method> {
    vec![
        Method::SpeedupTest(SpeedupTestOptions::default()),
        Method::PerformanceTest(PerformanceTestOptions::default()),
        Method::Effect(EffectOptions { threshold: 0.01, bootstrap: Some(50), ..Default::default() }),
        Method::SignedRank,
        Method::BrunnerMunzel,
        Method::Earlier(EarlierOptions::default()),
        Method::Diagnostics,
    ]
}

fn inquiry(times: &[Vec<f64>; 4], factor: f64, method: Method) -> Answer {
    let suite = |version: &str, [sort, link]: [&Vec<f64>; 2]| {
        let mut suite = Suite::single(version, "sort", scaled(sort, factor));
        suite.benchmarks.extend(Suite::single(version, "link", scaled(link, factor)).benchmarks);
        suite
    };
    let [a, b, c, d] = times;
    Inquiry::new(vec![suite("before", [a, b]), suite("after", [c, d])], method).answer().unwrap()
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn ratios_of_two_versions_follow_the_ratio_of_their_units(
        x in times(), y in times(), of_x in exponent(), of_y in exponent(),
    ) {
        let usual = of_two(&sample(&x, 1.0), &sample(&y, 1.0), 1.0);
        let [by_x, by_y] = [of_x, of_y].map(power_of_two);
        let far = of_two(&sample(&x, by_x), &sample(&y, by_y), by_x / by_y);
        prop_assert!(alike(&usual, &far), "{usual:?}\n{far:?}");
    }

    #[test]
    fn tests_of_two_versions_have_no_unit(x in times(), y in times(), exponent in exponent()) {
        let usual = of_one_unit(&sample(&x, 1.0), &sample(&y, 1.0));
        let far = power_of_two(exponent);
        let far = of_one_unit(&sample(&x, far), &sample(&y, far));
        prop_assert!(alike(&usual, &far), "{usual:?}\n{far:?}");
    }

    #[test]
    fn the_performance_test_has_no_unit(x in times(), y in times(), exponent in exponent()) {
        let confidence = |factor: f64| {
            let suite = ScoreSuite::of_matrices(vec![sample(&x, factor)], vec![sample(&y, factor)]).unwrap();
            let test = HierarchicalPerformanceTest::new(&suite, PerformanceRules::default());
            [suite.geometric_mean_speedup(), test.at(1.0).unwrap().confidence(Side::Candidate)]
        };
        let (usual, far) = (confidence(1.0), confidence(power_of_two(exponent)));
        prop_assert!(alike(&usual, &far), "{usual:?}\n{far:?}");
    }

    #[test]
    fn a_plan_of_repetitions_has_no_unit(variances in [0.1_f64..9.0, 0.1_f64..9.0], exponent in exponent()) {
        let plan = |factor: f64| {
            let components = VarianceComponents::new(10.0 * factor, scaled(&variances, factor * factor)).unwrap();
            let plan = RepetitionPlan::new(components, Costs::new(vec![20.0]).unwrap()).unwrap();
            let within = plan.within(1000.0, LEVEL).unwrap();
            [plan.unrounded()[0].unwrap(), within.relative_half_width]
        };
        let (usual, far) = (plan(1.0), plan(power_of_two(exponent)));
        prop_assert!(alike(&usual, &far), "{usual:?}\n{far:?}");
    }
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn no_answer_depends_on_the_unit(times in [times(), times(), times(), times()], exponent in exponent()) {
        for method in methods() {
            let factor = power_of_two(exponent);
            let [usual, far] = [1.0, factor].map(|factor| {
                serde_json::to_value(inquiry(&times, factor, method.clone()).findings).unwrap()
            });
            let same = say_the_same(&usual, &far, factor);
            prop_assert!(same.is_ok(), "{:?}: {:?}", method, same);
        }
    }
}

/// What doubles make of one number is no variation, in whatever unit.
#[test]
fn a_spread_of_rounding_is_refused_by_name() {
    let step = f64::EPSILON;
    for exponent in [-LARGEST_EXPONENT, 0, LARGEST_EXPONENT] {
        let factor = power_of_two(exponent);
        let x = sample(&[1.0 + 2.0 * step, 1.0 + 3.0 * step, 1.0 + 2.0 * step, 1.0 + 3.0 * step], factor);
        let y = sample(&[1.0, 1.0 + step, 1.0, 1.0 + step], factor);
        assert_eq!(MeanRatio::new(&x, &y), Err(RatioError::EssentiallyConstant));
        let member = SuiteMember { baseline: &x, candidate: &y };
        let suite = SuiteRatio::new(&[member, member], &BenchmarkWeights::Equal);
        assert_eq!(suite, Err(SuiteRatioError::Ratio(RatioError::EssentiallyConstant)));
        let [of_x, of_y] = [&x, &y].map(|one| RandomEffects::new(&levels(one)));
        assert_eq!(EffectSize::new(of_x, of_y), Err(EffectSizeError::EssentiallyConstant));
    }
}

/// Of few values two mixtures may be equally likely, and the last digit decides; of these one is.
#[test]
fn mixtures_do_not_depend_on_the_unit() {
    let times = [0.0, 0.01, 0.02, 0.05].map(|later| {
        let time = |run: u32| {
            1.0 + later
                + f64::from(u32::from(run.is_multiple_of(3)))
                + 0.1 * (f64::from(run) * 0.7 + later).sin()
        };
        (0..60).map(time).collect::<Vec<f64>>()
    });
    for exponent in [-LARGEST_EXPONENT, LARGEST_EXPONENT] {
        for method in [
            Method::Mixture(MixtureOptions { resamples: 0, ..Default::default() }),
            Method::Distribution(DistributionOptions::default()),
        ] {
            let factor = power_of_two(exponent);
            let [usual, far] = [1.0, factor].map(|factor| {
                serde_json::to_value(inquiry(&times, factor, method.clone()).findings).unwrap()
            });
            assert_eq!(say_the_same(&usual, &far, factor), Ok(()), "{method:?}");
        }
    }
}
