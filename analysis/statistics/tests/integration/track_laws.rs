//! Laws of tracks, for any points: unit, direction and scale change nothing, what was taken before is not changed by what comes, and refusals.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use speedup_statistics::inference::{ConfidenceLevel, Threshold};
use speedup_statistics::track::{
    AlarmRate, AlarmRateError, ChangeShape, NoiseFloor, NoiseFloorError, StretchLevel, Track, TrackError,
    TrackPoint, TrackRule,
};

const LEVELS: [StretchLevel; 2] = [StretchLevel::Reference, StretchLevel::Unknown];

fn rule(level: StretchLevel, points_between: f64) -> TrackRule {
    TrackRule {
        alarms: AlarmRate::new(1.0, points_between, 1).unwrap(),
        level,
        margin: Threshold::NONE,
        confidence: ConfidenceLevel::USUAL,
    }
}

fn followed(rule: TrackRule, points: &[Vec<f64>]) -> (Track, Vec<f64>) {
    let mut track = Track::new(rule);
    let mut evidence = Vec::new();
    for (commit, ratios) in points.iter().enumerate() {
        let ratios = ratios.clone();
        let alarm = track.observe(TrackPoint { commit, ratios }).unwrap().map(|step| step.evidence);
        evidence.push(alarm.unwrap_or_else(|| track.evidence()));
    }
    (track, evidence)
}

fn near(one: &[f64], other: &[f64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| (a - b).abs() <= 1e-6 * a.abs().max(*b))
}

/// Points of a few blocks, with a step of some size somewhere.
fn series() -> impl Strategy<Value = Vec<Vec<f64>>> {
    let noise = prop::collection::vec(prop::collection::vec(-0.02..0.02_f64, 1..6), 2..30);
    (noise, 0..30_usize, -0.05..0.05_f64).prop_map(|(mut points, first, step)| {
        points.iter_mut().skip(first).flatten().for_each(|ratio| *ratio += step);
        points
    })
}

fn mapped(points: &[Vec<f64>], with: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
    points.iter().map(|point| point.iter().map(|ratio| with(*ratio)).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Commit and reference exchanged: the same alarms, and the inverse sizes.
    #[test]
    fn the_direction_changes_nothing(points in series()) {
        for level in LEVELS {
            let ((one, there), (other, back)) =
                (followed(rule(level, 100.0), &points), followed(rule(level, 100.0), &mapped(&points, |ratio| -ratio)));
            prop_assert!(near(&there, &back), "{there:?} {back:?}");
            for (a, b) in one.steps().iter().zip(other.steps()) {
                prop_assert!((a.size.ratio * b.size.ratio - 1.0).abs() < 1e-3, "{a:?} {b:?}");
                prop_assert_eq!(a.found_at, b.found_at);
            }
        }
    }

    /// Twice the noise and twice the change: the same evidence.
    #[test]
    fn the_scale_changes_nothing(points in series(), scale in 0.01..100.0_f64) {
        for level in LEVELS {
            let (there, back) =
                (followed(rule(level, 1e9), &points).1, followed(rule(level, 1e9), &mapped(&points, |ratio| ratio * scale)).1);
            prop_assert!(near(&there, &back), "{there:?} {back:?}");
        }
    }

    /// Against a level that is not known, only changes count.
    #[test]
    fn an_unknown_level_may_be_any(points in series(), level in -1.0..1.0_f64) {
        // The first blocks, before the spread is known, count by their signs, and rounding could turn one.
        let there = followed(rule(StretchLevel::Unknown, 1e9), &points).1;
        let back = followed(rule(StretchLevel::Unknown, 1e9), &mapped(&points, |ratio| ratio + level)).1;
        let close = there.iter().zip(&back).filter(|(a, b)| (*a - *b).abs() <= 1e-6 * a.abs()).count();
        prop_assert!(2 * close >= there.len(), "{there:?} {back:?}");
    }

    /// What is not known costs evidence, and so does a margin.
    #[test]
    fn less_is_shown_where_less_is_supposed(points in series(), margin in 0.001..0.05_f64) {
        let known = followed(rule(StretchLevel::Reference, 1e9), &points).1;
        let with_margin = TrackRule { margin: Threshold::new(margin).unwrap(), ..rule(StretchLevel::Reference, 1e9) };
        let within = followed(with_margin, &points).1;
        let unknown = followed(rule(StretchLevel::Unknown, 1e9), &points).1;
        // Up to an alarm, after which the level is not known.
        let before_alarm = known.iter().take_while(|known| **known < 1e9);
        for ((known, within), unknown) in before_alarm.zip(&within).zip(&unknown) {
            // A margin moves both ends outward, and every gain is smaller. One of the intervals has zero in it, though with other ends.
            prop_assert!(*within <= known * (1.0 + 1e-9), "{within} {known}");
            prop_assert!(*unknown >= 0.0 && unknown.is_finite());
        }
    }

    /// The statement by which the number of false alarms is bounded: over all signs of the ratios of a point, the mean evidence after it is at most what was owned before,
    /// and one more.
    #[test]
    fn over_all_signs_evidence_grows_by_one_at_most(points in series(), next in prop::collection::vec(0.0..0.1_f64, 1..6)) {
        let (track, evidence) = followed(rule(StretchLevel::Reference, 1e9), &points);
        prop_assume!(track.steps().is_empty());
        let signs = 0..1_u32 << next.len();
        let count = f64::from(1_u32 << next.len());
        let mean = signs.map(|signs| {
            let ratios = next.iter().enumerate().map(|(at, size)| if signs >> at & 1 == 1 { *size } else { -size }).collect();
            let mut track = track.clone();
            let alarm = track.observe(TrackPoint { commit: points.len(), ratios }).unwrap().map(|step| step.evidence);
            alarm.unwrap_or_else(|| track.evidence())
        }).sum::<f64>() / count;
        let before = evidence[evidence.len() - 1];
        prop_assert!((mean / (before + 1.0) - 1.0).abs() < 1e-9, "{mean} after {before}");
    }

    #[test]
    fn more_noise_is_a_higher_floor(controls in prop::collection::vec(-0.01..0.01_f64, 40..100), factor in 1.0..5.0_f64) {
        let level = ConfidenceLevel::USUAL;
        let (one, more) = (NoiseFloor::new(&controls).unwrap(), NoiseFloor::new(&mapped(&[controls], |c| -c * factor)[0]).unwrap());
        let (usual, smallest) = (one.usual(level), one.smallest_found(level, 0.8).unwrap());
        prop_assert!(1.0 <= usual.lower && usual.lower <= usual.ratio && usual.ratio <= usual.upper);
        prop_assert!(usual.ratio <= smallest.ratio && smallest.ratio <= one.smallest_found(level, 0.9).unwrap().ratio);
        prop_assert!((libm::log(more.usual(level).ratio) - factor * libm::log(usual.ratio)).abs() < 1e-9);
    }
}

fn noisy(points: usize, level: impl Fn(usize) -> f64) -> Vec<Vec<f64>> {
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        0.02 * ((state >> 40) as f64 / (1_u64 << 24) as f64 - 0.5)
    };
    (0..points).map(|point| (0..8).map(|_| level(point) + noise()).collect()).collect()
}

/// Up, and back again: two alarms, each with its commit.
#[test]
fn a_step_and_its_repair_are_two_steps() {
    for level in LEVELS {
        let points = noisy(90, |point| if (30..60).contains(&point) { 0.02 } else { 0.0 });
        let (track, _) = followed(rule(level, 1000.0), &points);
        let found: Vec<_> =
            track.steps().iter().map(|step| (step.commits.likeliest, step.size.ratio > 1.0)).collect();
        assert_eq!(found, [(30, true), (60, false)], "{level:?}");
        assert!(track.steps().iter().all(|step| step.shape != ChangeShape::Drift));
    }
}

/// Where the commit of the step became the reference, the ratio is one again, and nothing is to be found.
#[test]
fn a_new_reference_begins_anew() {
    let mut track = Track::new(rule(StretchLevel::Reference, 1000.0));
    for (commit, ratios) in noisy(60, |_| 0.0).into_iter().enumerate() {
        if commit == 30 {
            track.begin_stretch(StretchLevel::Reference);
        }
        track.observe(TrackPoint { commit, ratios }).unwrap();
    }
    assert_eq!(track.steps(), []);
}

/// A slow drift is found. The points seldom show so soon that it is one, but they do not call it a step.
#[test]
fn a_drift_is_found_and_not_called_a_step() {
    let points = noisy(200, |point| 0.0002 * point as f64);
    let (track, _) = followed(rule(StretchLevel::Reference, 1e9), &points);
    let step = &track.steps()[0];
    assert_ne!(step.shape, ChangeShape::Step, "{step:?}");
}

/// Commits between two measured ones are not told apart.
#[test]
fn commits_that_were_not_measured_are_in_the_set() {
    let mut track = Track::new(rule(StretchLevel::Reference, 365.0));
    for (point, ratios) in noisy(40, |point| if point >= 20 { 0.05 } else { 0.0 }).into_iter().enumerate() {
        track.observe(TrackPoint { commit: 10 + point * 5, ratios }).unwrap();
    }
    let set = &track.steps()[0].commits;
    assert_eq!(set.commits, [106, 107, 108, 109, 110]);
    assert!((set.probability - 1.0).abs() < 1e-3, "{set:?}");
}

/// A counter reads the same in every run, until it does not.
#[test]
fn values_without_noise_are_told_apart() {
    let points: Vec<Vec<f64>> = (0..60).map(|point| vec![if point >= 40 { 0.001 } else { 0.0 }; 3]).collect();
    let (track, _) = followed(rule(StretchLevel::Reference, 365.0), &points);
    assert_eq!(track.steps()[0].commits.commits, [40]);
}

#[test]
fn what_is_no_point_and_no_rate_is_refused() {
    let mut track = Track::new(rule(StretchLevel::Reference, 365.0));
    let mut observe = |commit, ratios| track.observe(TrackPoint { commit, ratios }).map(Option::<&_>::cloned);
    assert_eq!(observe(3, vec![0.0]), Ok(None));
    assert_eq!(observe(3, vec![0.0]), Err(TrackError::Order { commit: 3, previous: 3 }));
    assert_eq!(observe(4, Vec::new()), Err(TrackError::Empty { commit: 4 }));
    assert!(matches!(observe(4, vec![f64::NAN]), Err(TrackError::NotFinite { commit: 4, .. })));
    for given in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(AlarmRate::new(given, 365.0, 1), Err(AlarmRateError::Range { .. })));
    }
    assert!(matches!(AlarmRate::new(365.0, 365.0, 1), Err(AlarmRateError::EveryPoint { .. })));
    assert_eq!(AlarmRate::new(0.5, 365.0, 10).map(AlarmRate::points_between), Ok(7300.0));
    let floor = NoiseFloor::new(&[0.01, -0.02]).unwrap();
    assert_eq!(floor.smallest_found(ConfidenceLevel::USUAL, 0.5), Err(NoiseFloorError::Power(0.5)));
    assert!(matches!(NoiseFloor::new(&[]), Err(NoiseFloorError::Controls(_))));
    assert_eq!(floor.usual(ConfidenceLevel::USUAL).upper, f64::INFINITY);
}

/// Changes of fifty standard deviations, there and back again: the second is found although the level between was not known, with a margin too.
#[test]
fn a_large_change_after_another_is_found() {
    let noise = |point: usize, block: usize| 0.001 * ((point * 7 + block * 5) % 11) as f64 - 0.005;
    let level = |point: usize| if (12..24).contains(&point) { 0.15 } else { 0.0 };
    let points: Vec<Vec<f64>> =
        (0..36).map(|point| (0..6).map(|block| level(point) + noise(point, block)).collect()).collect();
    for margin in [0.0, 0.03] {
        let margin = Threshold::new(margin).unwrap();
        let (track, _) = followed(TrackRule { margin, ..rule(StretchLevel::Reference, 365.0) }, &points);
        let begun: Vec<usize> = track.steps().iter().map(|step| step.commits.likeliest).collect();
        assert_eq!(begun, [12, 24], "{:?}", track.steps());
    }
}

/// One ratio a point and a level that is not known: a change of three margins is found however small the noise is beside them, and of fewer than two it is none.
#[test]
fn a_margin_that_is_large_beside_the_noise_hides_no_larger_change() {
    let margin = Threshold::new(0.03).unwrap();
    for (change, alarms) in [(0.095, 1), (-0.2, 1), (0.05, 0)] {
        let mut track = Track::new(TrackRule { margin, ..rule(StretchLevel::Unknown, 365.0) });
        for commit in 0..100 {
            let noise = |block: usize| 0.0001 * ((commit * 7 + block * 5) % 11) as f64;
            let level = if commit >= 70 { change } else { 0.0 };
            let point = TrackPoint::as_one(commit, (0..6).map(|block| level + noise(block)).collect());
            assert_eq!(point.ratios.len(), 1);
            track.observe(point).unwrap();
        }
        assert_eq!(track.steps().len(), alarms, "{change}: {:?}", track.steps());
        assert!(track.steps().iter().all(|step| step.found_at < 90 && step.commits.likeliest == 70));
    }
}

#[test]
fn a_point_as_one_is_the_median_of_its_averages() {
    assert_eq!(TrackPoint::as_one(3, vec![4.0, -1.0, 2.0]), TrackPoint { commit: 3, ratios: vec![1.75] });
    for none in [vec![], vec![f64::NAN, 1.0]] {
        let refused = Track::new(rule(StretchLevel::Reference, 365.0))
            .observe(TrackPoint::as_one(0, none))
            .map(Option::<&_>::cloned);
        assert!(refused.is_err());
    }
}
