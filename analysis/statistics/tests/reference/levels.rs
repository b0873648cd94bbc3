//! Experiments by levels: variances, intervals, plans and bootstrap of Kalibera 2012.

use crate::case::{Case, Ledger, Tolerance, number, relative};
use crate::exact_variance::exact_variance;
use serde_json::Value;
use speedup_core::value::seed::Seed;
use speedup_statistics::inference::{ConfidenceLevel, Critical, Interval, RatioInterval, Unbounded};
use speedup_statistics::levels::{
    EffectSize, HierarchicalBootstrap, LevelTree, LevelVariance, RandomEffects, Resampling, Statistic,
};
use speedup_statistics::planning::{Costs, RepetitionPlan, VarianceComponents};
use speedup_statistics::sample::Sample;

const TIGHT: Tolerance = relative(1e-10);

/// How often our bootstrap draws where the reference drew 40,000 times.
const DRAWS: u32 = 40_000;

pub(crate) fn kalibera(case: &mut Case<'_>, ledger: &mut Ledger) {
    let dims = dims(case);
    order(case, ledger);
    let level = ConfidenceLevel::new(case.number("/conf").expect("a level")).expect("a level");
    let (old, new) = (experiment(case, "/old", &dims), experiment(case, "/new", &dims));
    let (baseline, candidate) = (RandomEffects::new(&old), RandomEffects::new(&new));
    variances(case, ledger, &baseline);
    plan(case, ledger, &baseline, &dims);
    ledger.number(case, "/mean_old", baseline.mean(), TIGHT);
    ledger.number(case, "/mean_new", candidate.mean(), TIGHT);
    mean_intervals(case, ledger, &baseline, level);
    ratios(case, ledger, baseline, candidate, level);
    let exact = exact_variance(Resampling::EveryLevel, &old);
    ledger.number(case, "/bootstrap_exact_mean", RandomEffects::new(&old).mean(), TIGHT);
    ledger.number(case, "/bootstrap_exact_var", exact, TIGHT);
}

/// The order of the observations is the one that [`experiment`] reads them in.
fn order(case: &mut Case<'_>, ledger: &mut Ledger) {
    for (field, known) in [("/layout", "nested lists, highest level outermost"), ("/order", "column-major")] {
        if let Some(said) = case.value(field) {
            let agrees = said.as_str().is_some_and(|said| said.starts_with(known));
            ledger.verdict(case, field, agrees, || format!("{said} is not known to this program"));
        }
    }
}

fn dims(case: &mut Case<'_>) -> Vec<usize> {
    case.numbers("/dims").into_iter().map(|count| count as usize).collect()
}

fn experiment(case: &mut Case<'_>, pointer: &str, dims: &[usize]) -> LevelTree {
    let mut values = Vec::new();
    if let Some(nested) = case.value(pointer) {
        flatten(nested, &mut values);
    }
    LevelTree::balanced(values, dims).expect("a reference experiment is one")
}

/// The observations of lists nested to any depth.
fn flatten(value: &Value, into: &mut Vec<f64>) {
    match value.as_array() {
        Some(values) => values.iter().for_each(|value| flatten(value, into)),
        None => into.push(number(value)),
    }
}

/// S² and T²; the reference gives none of them when one level has a single repetition.
fn variances(case: &mut Case<'_>, ledger: &mut Ledger, effects: &RandomEffects) {
    let levels = effects.levels();
    let every = |of: fn(&LevelVariance) -> Option<f64>| levels.iter().map(of).collect::<Option<Vec<f64>>>();
    let (biased, unbiased) = (every(|level| level.biased), every(|level| level.unbiased));
    if case.peek("/S2").is_none() {
        let _ = case.gives("/S2");
        ledger.equal(case, "/S2", &biased, &None);
        let none = !case.gives("/T2") && unbiased.is_none();
        ledger.verdict(case, "/T2", none, || format!("got {unbiased:?} beside no S2"));
        return;
    }
    let biased = biased.unwrap_or_default();
    ledger.numbers(case, "/S2", &biased, TIGHT);
    let expected = case.numbers("/T2");
    for (at, expected) in expected.iter().enumerate() {
        let scale = biased.get(at).copied().unwrap_or(f64::NAN);
        let got = levels.get(at).and_then(|level| level.unbiased).unwrap_or(f64::NAN);
        ledger.compare(case, "/T2", got, *expected, TIGHT.or_absolute(1e-10 * scale));
    }
}

/// Optimal counts, where the reference has them, and the cost of the experiment as it was.
fn plan(case: &mut Case<'_>, ledger: &mut Ledger, effects: &RandomEffects, dims: &[usize]) {
    let costs = case.numbers("/costs");
    let costs = Costs::new(costs).expect("reference costs are costs");
    let counts: Vec<u64> = dims.iter().map(|&count| count as u64).collect();
    ledger.number(case, "/cost", costs.total(&counts).expect("as many costs as levels"), TIGHT);
    let variances: Option<Vec<f64>> = effects.levels().iter().map(|level| level.unbiased).collect();
    let Some(expected) = case.value("/optimal").and_then(Value::as_array) else {
        let none = !case.gives("/optimal_unrounded")
            && variances.is_none_or(|all| all.iter().any(|variance| *variance <= 0.0));
        return ledger.verdict(case, "/optimal", none, || "the reference has no plan".to_owned());
    };
    let variances = variances.unwrap_or_default();
    let components = VarianceComponents::new(effects.mean(), variances.clone()).expect("finite variances");
    let plan = match RepetitionPlan::new(components, costs) {
        Ok(plan) => plan,
        Err(refusal) => {
            ledger.skip(case, "/optimal_unrounded", &format!("refused: {refusal}"));
            let none = variances.iter().all(|variance| *variance <= 0.0);
            return ledger.verdict(case, "/optimal", none, || format!("refused: {refusal}"));
        }
    };
    let below = dims.len() - 1;
    let unrounded: Vec<f64> = plan.unrounded()[..below].iter().map(|n| n.unwrap_or(f64::NAN)).collect();
    // T² is as exact as the S² it is a difference of, and so is what follows from it.
    let pairs = effects.levels().iter().filter_map(|level| Some(level.biased? / level.unbiased?));
    let tolerance = relative(1e-10 * pairs.fold(1.0, f64::max));
    ledger.numbers(case, "/optimal_unrounded", &unrounded, tolerance);
    let expected: Vec<f64> = expected.iter().map(number).collect();
    let repetitions: Vec<f64> = plan.repetitions().iter().map(|&count| count as f64).collect();
    ledger.equal(case, "/optimal", &repetitions, &expected);
}

fn mean_intervals(case: &mut Case<'_>, ledger: &mut Ledger, effects: &RandomEffects, level: ConfidenceLevel) {
    for (at, critical) in [("/ci_old", Critical::Student), ("/ci_old_normal", Critical::Normal)] {
        match effects.interval(level, critical) {
            Ok(interval) => {
                let half = (interval.upper - interval.lower) / 2.0;
                // The half-width is read off the ends, which round by the mean's last digit.
                let rounding = 4.0 * f64::EPSILON * effects.mean().abs();
                ledger.number(case, &format!("{at}/half"), half, TIGHT.or_absolute(rounding));
                ends(case, ledger, at, &interval, half);
            }
            Err(refusal) => {
                let half = case.number(&format!("{at}/half"));
                for end in ["lower", "upper"] {
                    let _ = case.value(&format!("{at}/{end}"));
                }
                let none = half.is_none_or(|half| half == 0.0 || !half.is_finite());
                ledger.verdict(case, at, none, || format!("refused: {refusal}, expected {half:?}"));
            }
        }
    }
    ledger.number(case, "/ci_old/df", (effects.highest_units() - 1) as f64, TIGHT);
}

/// The ends of an interval; one near zero is as good as the interval is wide.
fn ends(case: &mut Case<'_>, ledger: &mut Ledger, at: &str, interval: &Interval, width: f64) {
    let tolerance = TIGHT.or_absolute(1e-10 * width);
    ledger.number(case, &format!("{at}/lower"), interval.lower, tolerance);
    ledger.number(case, &format!("{at}/upper"), interval.upper, tolerance);
}

fn ratios(
    case: &mut Case<'_>,
    ledger: &mut Ledger,
    baseline: RandomEffects,
    candidate: RandomEffects,
    level: ConfidenceLevel,
) {
    let fields = ["/fieller", "/fieller_normal", "/delta"];
    let effect = match EffectSize::new(baseline, candidate) {
        Ok(effect) => effect,
        Err(refusal) => {
            for field in fields {
                ledger.skip(case, field, &format!("refused: {refusal}"));
            }
            return;
        }
    };
    for field in fields {
        ledger.number(case, &format!("{field}/ratio"), effect.estimate(), TIGHT);
    }
    ratio(case, ledger, "/fieller", &effect.interval(level, Critical::Student));
    ratio(case, ledger, "/fieller_normal", &effect.interval(level, Critical::Normal));
    ratio(case, ledger, "/delta", &effect.delta_interval(level));
}

fn ratio(case: &mut Case<'_>, ledger: &mut Ledger, at: &str, interval: &RatioInterval) {
    let kind = match interval {
        RatioInterval::Bounded(interval) => {
            ends(case, ledger, at, interval, interval.upper - interval.lower);
            "bounded"
        }
        RatioInterval::Unbounded { reason: Unbounded::NoRatioExcluded, .. } => "whole_line",
        RatioInterval::Unbounded { .. } => "exclusive",
    };
    if let Some(expected) = case.value(&format!("{at}/kind")).and_then(Value::as_str) {
        ledger.equal(case, &format!("{at}/kind"), &kind, &expected);
        if kind != "bounded" {
            let none = ["lower", "upper"].map(|end| !case.gives(&format!("{at}/{end}")));
            ledger.equal(case, &format!("{at} has no ends"), &none, &[true; 2]);
        }
    } else if kind != "bounded" {
        for end in ["lower", "upper"] {
            ledger.skip(case, &format!("{at}/{end}"), "the delta method's interval is no number here");
        }
    }
}

/// Quantiles of draws against quantiles of other draws.
pub(crate) fn bootstrap(case: &mut Case<'_>, ledger: &mut Ledger) {
    let dims = dims(case);
    order(case, ledger);
    let (old, new) = (experiment(case, "/old", &dims), experiment(case, "/new", &dims));
    let their_draws = case.number("/B").unwrap_or(f64::NAN);
    let bootstrap = HierarchicalBootstrap {
        resampling: Resampling::EveryLevel,
        statistic: Statistic::Mean,
        draws: DRAWS,
        seed: Seed(2012),
    };
    let means = bootstrap.of(&old).expect("replicates");
    quantiles(case, ledger, "/mean_boot", means.replicates(), their_draws);
    let ratios = bootstrap.ratio(&old, &new).expect("replicates");
    match ratios.replicates() {
        Some(ratios) => quantiles(case, ledger, "/ratio_boot", ratios, their_draws),
        None => ledger.skip(case, "/ratio_boot", "a replicate of the baseline reached zero"),
    }
    let exact = exact_variance(Resampling::EveryLevel, &old);
    // Standard errors of the two variances; the fourth moment is near the normal law's 3, or below.
    let error = |draws: f64| exact * (2.0 / draws).sqrt();
    let bound = 5.0 * error(their_draws);
    if let Some(expected) = case.number("/mean_var") {
        let ours = means.replicates().variance().unwrap_or(f64::NAN);
        ledger.compare(case, "/mean_var exact", exact, expected, crate::case::absolute(bound));
        let bound = 5.0 * error(their_draws).hypot(error(f64::from(DRAWS)));
        ledger.compare(case, "/mean_var drawn", ours, expected, crate::case::absolute(bound));
    }
}

fn quantiles(case: &mut Case<'_>, ledger: &mut Ledger, at: &str, ours: &Sample, their_draws: f64) {
    let [probabilities, expected, errors] =
        ["probs", "quantiles", "se"].map(|field| case.numbers(&format!("{at}/{field}")));
    for ((p, expected), error) in probabilities.iter().zip(&expected).zip(&errors) {
        let got = ours.quantile(*p).expect("a probability");
        let own_error = error * (their_draws / f64::from(DRAWS)).sqrt();
        let tolerance = crate::case::absolute(5.0 * error.hypot(own_error));
        ledger.compare(case, &format!("{at}/quantiles {p}"), got, *expected, tolerance);
    }
}
