//! Scaling: speedups, efficiencies and serial fractions, the serial share with its test of fit, and ratios of efficiencies.

use crate::case::{Case, Ledger, relative};
use serde_json::Value;
use speedup_core::experiment::gang::ScalingLaw;
use speedup_statistics::inference::{ConfidenceLevel, RatioInterval};
use speedup_statistics::scaling::{EfficiencyRatio, ScalingCurve, ScalingPoint, SerialShare};
use speedup_statistics::{ratio::RatioError, sample::Sample};

/// Roots of polynomials and inverses of matrices lose some digits.
const TOLERANCE: f64 = 1e-9;
/// A share near zero is a difference of times.
const OF_SHARES: f64 = 1e-10;

pub(crate) fn scaling(case: &mut Case<'_>, ledger: &mut Ledger) {
    let law = case.value("/law").and_then(Value::as_str).expect("a law");
    let law = ScalingLaw::ALL.into_iter().find(|one| one.name() == law).expect("a law that is known");
    let hosts: Vec<u32> = case.numbers("/hosts").into_iter().map(|hosts| hosts as u32).collect();
    let times = samples(case, "/times");
    let curve = ScalingCurve::new(law, &points(&hosts, &times)).expect("a curve");
    for (at, effect) in curve.effects().enumerate() {
        let level = ConfidenceLevel::USUAL;
        let mut compare = |field: &str, estimate, interval| {
            let numbers = estimate_and_ends(estimate, interval);
            let tolerance = relative(TOLERANCE).or_absolute(OF_SHARES);
            ledger.numbers(case, &format!("/effects/{at}/{field}"), &numbers, tolerance);
        };
        compare("speedup", effect.speedup(), effect.speedup_interval(level));
        compare("efficiency", effect.efficiency(), effect.efficiency_interval(level));
        compare("serial_fraction", effect.serial_fraction(), effect.serial_fraction_interval(level));
    }
    serial_share(case, ledger, &curve);
    if case.gives("/candidate") {
        let candidate = samples(case, "/candidate");
        let candidate = ScalingCurve::new(law, &points(&hosts, &candidate)).expect("a curve");
        for (at, pair) in curve.effects().zip(candidate.effects()).enumerate() {
            let ratio = EfficiencyRatio::new(pair.0, pair.1).expect("the same numbers of hosts");
            let numbers = estimate_and_ends(ratio.estimate(), ratio.interval(ConfidenceLevel::USUAL));
            ledger.numbers(case, &format!("/efficiency_ratios/{at}"), &numbers, relative(TOLERANCE));
        }
    } else {
        case.gives("/efficiency_ratios");
    }
}

fn serial_share(case: &mut Case<'_>, ledger: &mut Ledger, curve: &ScalingCurve<'_>) {
    let share = SerialShare::new(curve).expect("enough runs");
    let numbers = estimate_and_ends(Ok(share.estimate()), Ok(share.interval(ConfidenceLevel::USUAL)));
    ledger.numbers(case, "/serial/share", &numbers, relative(TOLERANCE).or_absolute(OF_SHARES));
    ledger.number(case, "/serial/time", share.time_on_fewest(), relative(TOLERANCE));
    if let Some(fit) = share.lack_of_fit() {
        let numbers = [fit.statistic(), fit.df()[0], fit.df()[1], fit.p_value().get()];
        ledger.numbers(case, "/serial/fit", &numbers, relative(1e-7));
    }
}

fn samples(case: &mut Case<'_>, pointer: &str) -> Vec<Sample> {
    let all = case.value(pointer).and_then(Value::as_array).expect("times");
    let of = |times: &Value| {
        let times = times.as_array().expect("times").iter().filter_map(Value::as_f64);
        Sample::new(times.collect()).expect("a sample")
    };
    all.iter().map(of).collect()
}

fn points<'a>(hosts: &[u32], times: &'a [Sample]) -> Vec<ScalingPoint<'a>> {
    hosts.iter().zip(times).map(|(hosts, times)| ScalingPoint { hosts: *hosts, times }).collect()
}

fn estimate_and_ends(
    estimate: Result<f64, RatioError>,
    interval: Result<RatioInterval, RatioError>,
) -> Vec<f64> {
    let interval = interval.expect("times that vary");
    let ends = interval.bounded().map(|interval| [interval.lower, interval.upper]);
    [estimate.expect("times that vary")].into_iter().chain(ends.into_iter().flatten()).collect()
}
