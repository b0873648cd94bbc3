//! Laws of scaling, for any times: unit, law and order of versions; intervals and tests that agree; and refusals.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use speedup_core::experiment::gang::ScalingLaw;
use speedup_statistics::{
    inference::Alternative, inference::ConfidenceLevel, inference::RatioInterval, inference::Unbounded,
    ratio::RatioError, sample::Sample, scaling::EfficiencyRatio, scaling::ScalingCurve,
    scaling::ScalingError, scaling::ScalingPoint, scaling::SerialShare, scaling::SerialShareError,
};

const LEVEL: ConfidenceLevel = ConfidenceLevel::USUAL;

/// Times on 1, 2, 4, … hosts, around what a serial share makes of them.
fn times(points: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<f64>>> {
    let runs = prop::collection::vec(0.9..1.1_f64, 5..12);
    (prop::collection::vec(runs, points), 0.0..1.0_f64).prop_map(|(mut all, share)| {
        for (at, times) in all.iter_mut().enumerate() {
            let factor = f64::from(1_u32 << at);
            times.iter_mut().for_each(|time| *time *= share + (1.0 - share) / factor);
        }
        all
    })
}

fn samples(times: &[Vec<f64>], of: impl Fn(usize, f64) -> f64) -> Vec<Sample> {
    let sample =
        |(at, times): (usize, &Vec<f64>)| Sample::new(times.iter().map(|time| of(at, *time)).collect());
    times.iter().enumerate().map(|one| sample(one).unwrap()).collect()
}

fn curve(law: ScalingLaw, samples: &[Sample]) -> ScalingCurve<'_> {
    let point = |(at, times)| ScalingPoint { hosts: 1_u32 << at, times };
    let points: Vec<ScalingPoint<'_>> = samples.iter().enumerate().map(point).collect();
    ScalingCurve::new(law, &points).unwrap()
}

fn ends(interval: &RatioInterval) -> [f64; 2] {
    let interval = interval.bounded().unwrap();
    [interval.lower, interval.upper]
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * (1.0 + one.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With two points the share of the work is the fraction that Karp and Flatt have, and so is its interval.
    #[test]
    fn two_points_leave_karp_and_flatts_fraction(times in times(2..3)) {
        for law in ScalingLaw::ALL {
            let samples = samples(&times, |_, time| time);
            let curve = curve(law, &samples);
            let (effect, share) = (curve.effects().next().unwrap(), SerialShare::new(&curve).unwrap());
            prop_assert!(near(effect.serial_fraction().unwrap(), share.estimate()));
            let [one, other] = [effect.serial_fraction_interval(LEVEL).unwrap(), share.interval(LEVEL)].map(|interval| ends(&interval));
            prop_assert!(near(one[0], other[0]) && near(one[1], other[1]), "{one:?} {other:?}");
            prop_assert!(share.lack_of_fit().is_none());
        }
    }

    #[test]
    fn the_unit_of_time_changes_nothing(times in times(2..7), exponent in -40..40_i32) {
        let unit = 10_f64.powi(exponent);
        let [one, other] = [1.0, unit].map(|unit| samples(&times, |_, time| time * unit));
        for law in ScalingLaw::ALL {
            let [one, other] = [curve(law, &one), curve(law, &other)];
            for (a, b) in one.effects().zip(other.effects()) {
                prop_assert!(near(a.speedup().unwrap(), b.speedup().unwrap()));
                let [a, b] = [a, b].map(|effect| ends(&effect.efficiency_interval(LEVEL).unwrap()));
                prop_assert!(near(a[0], b[0]) && near(a[1], b[1]));
            }
            let [one, other] = [SerialShare::new(&one).unwrap(), SerialShare::new(&other).unwrap()];
            prop_assert!(near(one.estimate(), other.estimate()));
            prop_assert!(near(one.time_on_fewest(), other.time_on_fewest() / unit));
            let p = |share: SerialShare| share.lack_of_fit().map_or(1.0, |fit| fit.p_value().get());
            prop_assert!(near(p(one), p(other)));
        }
    }

    /// A problem that stays is one that grows, each part of it done at once.
    #[test]
    fn the_laws_differ_by_the_size_of_the_problem(times in times(2..7)) {
        let strong = samples(&times, |_, time| time);
        let weak = samples(&times, |at, time| time * f64::from(1_u32 << at));
        let (strong, weak) = (curve(ScalingLaw::Strong, &strong), curve(ScalingLaw::Weak, &weak));
        for (a, b) in strong.effects().zip(weak.effects()) {
            prop_assert!(near(a.efficiency().unwrap(), b.efficiency().unwrap()));
            prop_assert!(near(a.speedup().unwrap(), b.speedup().unwrap()));
        }
        prop_assert!(near(SerialShare::new(&strong).unwrap().estimate(), SerialShare::new(&weak).unwrap().estimate()));
    }

    #[test]
    fn interval_and_test_of_the_share_agree(times in times(2..7)) {
        for law in ScalingLaw::ALL {
            let samples = samples(&times, |_, time| time);
            let share = SerialShare::new(&curve(law, &samples)).unwrap();
            let [lower, upper] = ends(&share.interval(LEVEL));
            prop_assert!(lower < share.estimate() && share.estimate() < upper);
            for end in [lower, upper] {
                prop_assert!((share.p_value(end, Alternative::TwoSided).get() - 0.05).abs() < 1e-6);
            }
            prop_assert!((share.p_value(share.estimate(), Alternative::TwoSided).get() - 1.0).abs() < 1e-6);
            prop_assert!(share.p_value(lower, Alternative::Greater).get() < 0.026);
        }
    }

    #[test]
    fn exchanged_versions_have_the_inverse_ratio(one in times(3..4), other in times(3..4)) {
        let [one, other] = [one, other].map(|times| samples(&times, |_, time| time));
        let [one, other] = [curve(ScalingLaw::Strong, &one), curve(ScalingLaw::Strong, &other)];
        for (a, b) in one.effects().zip(other.effects()) {
            let [there, back] = [EfficiencyRatio::new(a, b).unwrap(), EfficiencyRatio::new(b, a).unwrap()];
            prop_assert!(near(there.estimate().unwrap(), 1.0 / back.estimate().unwrap()));
            let [there, back] = [there, back].map(|ratio| ends(&ratio.interval(LEVEL).unwrap()));
            prop_assert!(near(there[0], 1.0 / back[1]) && near(there[1], 1.0 / back[0]));
            prop_assert!(there[0] < there[1]);
        }
    }

    /// More numbers of hosts are more to be wrong about.
    #[test]
    fn intervals_of_more_points_are_wider(times in times(3..7)) {
        let samples = samples(&times, |_, time| time);
        let (all, two) = (curve(ScalingLaw::Strong, &samples), curve(ScalingLaw::Strong, &samples[..2]));
        let [wide, narrow] = [all, two].map(|curve| ends(&curve.effects().next().unwrap().speedup_interval(LEVEL).unwrap()));
        prop_assert!(wide[0] < narrow[0] && narrow[1] < wide[1]);
    }
}

/// Means that lie on a line exactly: the share is theirs, and no test can object.
#[test]
fn the_share_of_exact_means_is_exact() {
    for share in [-0.05, 0.0, 0.25, 1.0] {
        let spread = [0.75, 0.875, 1.0, 1.125, 1.25];
        let times: Vec<Vec<f64>> = (0..4)
            .map(|at| {
                let factor = f64::from(1_u32 << at);
                spread.iter().map(|one| one * (share + (1.0 - share) / factor)).collect()
            })
            .collect();
        let samples = samples(&times, |_, time| time);
        let found = SerialShare::new(&curve(ScalingLaw::Strong, &samples)).unwrap();
        assert!((found.estimate() - share).abs() < 1e-12, "{} for {share}", found.estimate());
        assert!((found.time_on_fewest() - 1.0).abs() < 1e-12);
        assert!(found.lack_of_fit().unwrap().p_value().get() > 0.999);
    }
}

#[test]
fn what_has_no_curve_is_refused() {
    let sample = Sample::new(vec![1.0, 1.1, 1.2]).unwrap();
    let new = |hosts: &[u32]| {
        let points: Vec<_> =
            hosts.iter().map(|hosts| ScalingPoint { hosts: *hosts, times: &sample }).collect();
        ScalingCurve::new(ScalingLaw::Weak, &points).map(|_| ())
    };
    assert_eq!(new(&[1]), Err(ScalingError::TooFewPoints { points: 1 }));
    assert_eq!(new(&[0, 1]), Err(ScalingError::NoHosts));
    assert_eq!(new(&[1, 4, 4]), Err(ScalingError::Order { hosts: 4, previous: 4 }));
    assert_eq!(new(&(1..=65).collect::<Vec<_>>()), Err(ScalingError::TooManyPoints { points: 65 }));
    assert_eq!(new(&[3, 7]), Ok(()));
}

#[test]
fn what_has_no_error_has_no_share() {
    let of = |second: Vec<f64>| {
        let samples = [vec![1.0, 1.1, 1.2, 1.3, 1.4], second].map(|times| Sample::new(times).unwrap());
        let curve = curve(ScalingLaw::Strong, &samples);
        let effect = curve.effects().next().unwrap();
        (SerialShare::new(&curve).map(|share| share.interval(LEVEL)), effect.speedup_interval(LEVEL))
    };
    // One constant sample leaves the speedup an error, and the fit without a weight.
    let (share, speedup) = of(vec![0.5; 5]);
    assert_eq!(share, Err(SerialShareError::Constant { hosts: 2 }));
    assert!(speedup.unwrap().bounded().is_some());
    let (share, speedup) = of(vec![0.5, 0.6]);
    assert_eq!(share, Err(SerialShareError::TooFew { hosts: 2, runs: 2 }));
    assert!(speedup.is_ok());
    let (share, speedup) = of(vec![0.5, 0.6, 0.7, 0.8, -0.1]);
    assert_eq!(share, Err(SerialShareError::NotPositive { hosts: 2, value: -0.1 }));
    assert!(matches!(speedup, Err(RatioError::NotPositive { .. })));
}

/// A time on the fewest hosts that could be next to nothing bounds neither serial fraction nor share, and no number is told.
#[test]
fn what_the_data_do_not_bound_is_said_to_be_unbounded() {
    let noisy = Sample::new(vec![0.01, 0.02, 0.01, 30.0, 0.03]).unwrap();
    let quiet = Sample::new(vec![1.0, 1.1, 1.2, 1.1, 1.0]).unwrap();
    let samples = [noisy, quiet];
    let curve = curve(ScalingLaw::Strong, &samples);
    let effect = curve.effects().next().unwrap();
    assert!(effect.speedup_interval(LEVEL).unwrap().bounded().is_some());
    for interval in
        [effect.serial_fraction_interval(LEVEL).unwrap(), SerialShare::new(&curve).unwrap().interval(LEVEL)]
    {
        assert!(
            matches!(interval, RatioInterval::Unbounded { reason: Unbounded::DenominatorNearZero, .. }),
            "{interval:?}"
        );
    }
    let ratio = EfficiencyRatio::new(effect, effect).unwrap();
    assert!(ratio.interval(LEVEL).unwrap().bounded().is_none());
}
