//! Tracks: the evidence at each point, the alarm, where the change is and how large, and the noise floor.

use crate::case::{Case, Ledger, absolute, relative};
use serde_json::Value;
use speedup_statistics::inference::{ConfidenceLevel, Threshold};
use speedup_statistics::track::{AlarmRate, NoiseFloor, StretchLevel, Track, TrackPoint, TrackRule};

pub(crate) fn track(case: &mut Case<'_>, ledger: &mut Ledger) {
    if case.gives("/controls") {
        return floor(case, ledger);
    }
    let is_unknown = case.value("/unknown").and_then(Value::as_bool).expect("whether the level is known");
    let rule = TrackRule {
        alarms: AlarmRate::new(1.0, case.number("/threshold").expect("a threshold"), 1).expect("a rate"),
        level: if is_unknown { StretchLevel::Unknown } else { StretchLevel::Reference },
        margin: Threshold::new(case.number("/margin").expect("a margin")).expect("a margin"),
        confidence: ConfidenceLevel::USUAL,
    };
    let mut track = Track::new(rule);
    let points = case.value("/points").and_then(Value::as_array).expect("points");
    let mut sums = Vec::new();
    for (commit, point) in points.iter().enumerate() {
        let ratios = point.as_array().expect("ratios").iter().filter_map(Value::as_f64).collect();
        let evidence =
            track.observe(TrackPoint { commit, ratios }).expect("a point").map(|step| step.evidence);
        sums.push(evidence.unwrap_or_else(|| track.evidence()));
        if evidence.is_some() {
            break;
        }
    }
    // Both multiply up to 300 gains.
    ledger.numbers(case, "/evidence", &sums, relative(1e-9));
    let alarm = track.steps().first();
    ledger.number(case, "/alarm", alarm.map_or(f64::NAN, |step| step.found_at as f64), absolute(0.0));
    let Some(step) = alarm else { return };
    if !case.gives("/probabilities") {
        return;
    }
    // The set has the likeliest points that make 95 %; grids that differ may exchange what has less than a hundredth.
    let probabilities = case.numbers("/probabilities");
    let of_set: f64 = step.commits.commits.iter().map(|commit| probabilities[*commit]).sum();
    ledger.verdict(case, "/probabilities", (of_set - step.commits.probability).abs() < 0.02, || {
        format!("the set {:?} has {of_set}, not {}", step.commits.commits, step.commits.probability)
    });
    // Of a size of some hundredths, to some per cent of the interval.
    ledger.numbers(case, "/size", &[step.size.ratio, step.size.lower, step.size.upper], absolute(1e-3));
}

fn floor(case: &mut Case<'_>, ledger: &mut Ledger) {
    let floor = NoiseFloor::new(&case.numbers("/controls")).expect("controls");
    let power = case.number("/power").expect("a power");
    let smallest = floor.smallest_found(ConfidenceLevel::USUAL, power).expect("a power above one half");
    for (field, found) in [("/usual", floor.usual(ConfidenceLevel::USUAL)), ("/smallest", smallest)] {
        ledger.numbers(case, field, &[found.ratio, found.lower, found.upper], relative(1e-12));
    }
}
