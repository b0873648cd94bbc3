//! Files about Gaussian mixtures.

use crate::case::{Case, Ledger, Tolerance, absolute, number, relative};
use serde_json::Value;
use speedup_core::value::seed::Seed;
use speedup_statistics::mixture::goodness_of_fit::{GoodnessOfFit, GoodnessOfFitOptions, ResampleSize};
use speedup_statistics::mixture::variability::{empirical, modelled};
use speedup_statistics::mixture::{
    Component, FitMethod, Mixture, MixtureFit, MixtureFitError, VarianceModel,
};
use speedup_statistics::{inference::Risk, sample::Sample};

/// Numbers that follow mclust's schedule step by step.
const SCHEDULE: Tolerance = relative(1e-7).or_absolute(1e-12);
/// A choice is compared when the next model is this much worse.
const CLEAR_GAP: f64 = 0.1;
/// Resamples of our own: as many as the reference has, so that both noises are alike.
const RESAMPLES: u32 = 1500;
/// How many combined standard errors a simulated number may be off.
const STANDARD_ERRORS: f64 = 4.5;

const MODELS: [(&str, VarianceModel); 2] =
    [("bic_E", VarianceModel::Equal), ("bic_V", VarianceModel::Varying)];

pub(crate) fn gmm_fit(case: &mut Case<'_>, ledger: &mut Ledger) {
    let values = case.numbers("/x");
    let refused = case.refusal("/expected").is_some();
    let fits = Sample::new(values).map(|sample| {
        let fit = |method| MixtureFit::with_method(&sample, method);
        (fit(FitMethod::Mclust), fit(FitMethod::Converged), sample.clone())
    });
    let (as_mclust, converged, sample) = match fits {
        Ok((Ok(as_mclust), Ok(converged), sample)) => (as_mclust, converged, sample),
        Ok((Err(error), _, _) | (_, Err(error), _)) => return refusal(case, ledger, refused, &error),
        Err(error) => {
            ledger.verdict(case, "/expected/error", refused, || error.to_string());
            return skip_all(case, ledger);
        }
    };
    case.value("/source");
    if case.value("/mclust_scale_artefact").and_then(Value::as_bool) == Some(true) {
        after_rescaling(case, ledger, &as_mclust, &sample);
    } else {
        case.gives("/expected_after_rescaling");
        as_published(case, ledger, &as_mclust, &sample);
        against_polished(case, ledger, &as_mclust, &converged, &sample);
    }
    ledger.verdict(
        case,
        "converged BIC ≥ mclust's",
        converged.bic >= as_mclust.bic - 1e-9 * as_mclust.bic.abs(),
        || format!("converged {}, mclust {}", converged.bic, as_mclust.bic),
    );
}

/// R fits one component to observations that are all equal, or fails; here that is a refusal with a name.
fn refusal(case: &mut Case<'_>, ledger: &mut Ledger, refused: bool, error: &MixtureFitError) {
    let is_degenerate = matches!(error, MixtureFitError::AllEqual { .. } | MixtureFitError::TooFew { .. });
    ledger.verdict(case, "/expected/error", refused || is_degenerate, || error.to_string());
    skip_all(case, ledger);
}

fn skip_all(case: &mut Case<'_>, ledger: &mut Ledger) {
    for field in [
        "/expected",
        "/expected_after_rescaling",
        "/bic_gap_to_runner_up",
        "/source",
        "/mclust_scale_artefact",
    ] {
        ledger.skip(case, field, "a sample without spread is refused here");
    }
}

/// Everything that mclust says of a sample, by its own schedule.
fn as_published(case: &mut Case<'_>, ledger: &mut Ledger, fit: &MixtureFit, sample: &Sample) {
    for (field, model) in MODELS {
        let expected: Vec<f64> = case.numbers(&format!("/expected/{field}"));
        for (place, expected) in expected.into_iter().enumerate() {
            let got = fit.criterion.bic(model, place + 1);
            let place_name = format!("/expected/{field}/{place}");
            match got {
                Some(got) => ledger.compare(case, &place_name, got, expected, SCHEDULE),
                None => ledger
                    .verdict(case, &place_name, expected.is_nan(), || format!("no fit, expected {expected}")),
            }
        }
    }
    if case.number("/bic_gap_to_runner_up").is_some_and(|gap| gap <= CLEAR_GAP) {
        ledger.skip(case, "/expected", "the next model is within 0.1 of BIC, so the choice is open");
        return;
    }
    let components = fit.mixture.components();
    ledger.number(case, "/expected/K", components.len() as f64, absolute(0.0));
    let letter = if components.len() == 1 { 'X' } else { fit.model.letter() };
    let expected = case.value("/expected/model").and_then(Value::as_str).unwrap_or_default().to_owned();
    ledger.equal(case, "/expected/model", &letter.to_string(), &expected);
    parameters(case, ledger, "/expected", &fit.mixture, SCHEDULE);
    ledger.number(case, "/expected/loglik", fit.log_likelihood, SCHEDULE);
    let at_parameters = sample.in_run_order().iter().map(|x| fit.mixture.density(*x).ln()).sum();
    ledger.number(case, "/expected/loglik_at_parameters", at_parameters, SCHEDULE);
    ledger.number(case, "/expected/bic", fit.bic, SCHEDULE);
    ledger.number(case, "/expected/n_params", fit.parameters as f64, absolute(0.0));
    ledger.number(case, "/expected/ks", fit.mixture.distance(sample.sorted()), SCHEDULE);
    ledger.numbers(case, "/expected/modes", &fit.mixture.modes(), SCHEDULE);
    ledger.number(case, "/expected/I4", fit.mixture.modes().len() as f64, absolute(0.0));
}

/// Weights, means and standard deviations, both sides in ascending order of the means.
fn parameters(
    case: &mut Case<'_>,
    ledger: &mut Ledger,
    under: &str,
    mixture: &Mixture,
    tolerance: Tolerance,
) {
    let means = case.numbers(&format!("{under}/means"));
    let mut order: Vec<usize> = (0..means.len()).collect();
    order.sort_by(|a, b| means[*a].total_cmp(&means[*b]));
    let of = |get: fn(&Component) -> f64| mixture.components().iter().map(get).collect::<Vec<f64>>();
    for (name, got) in [("weights", of(|c| c.weight)), ("means", of(|c| c.mean)), ("sds", of(|c| c.sd))] {
        let field = format!("{under}/{name}");
        let expected = case.numbers(&field);
        ledger.equal(case, &field, &got.len(), &expected.len());
        for (got, place) in got.iter().zip(&order).filter(|(_, place)| **place < expected.len()) {
            ledger.compare(case, &field, *got, expected[*place], tolerance);
        }
    }
}

/// mclust's absolute tolerances fail on data in small units; the reference then is its fit in a larger unit.
fn after_rescaling(case: &mut Case<'_>, ledger: &mut Ledger, fit: &MixtureFit, sample: &Sample) {
    ledger.skip(case, "/expected", "mclust's absolute tolerances decide in so small a unit, not the data");
    case.value("/bic_gap_to_runner_up");
    let under = "/expected_after_rescaling";
    let scale = case.number(&format!("{under}/scale")).expect("a scale");
    let scaled: Vec<Component> = fit
        .mixture
        .components()
        .iter()
        .map(|c| Component { weight: c.weight, mean: c.mean * scale, sd: c.sd * scale })
        .collect();
    ledger.number(case, &format!("{under}/K"), scaled.len() as f64, absolute(0.0));
    let letter = if scaled.len() == 1 { 'X' } else { fit.model.letter() };
    let expected =
        case.value(&format!("{under}/model")).and_then(Value::as_str).unwrap_or_default().to_owned();
    ledger.equal(case, &format!("{under}/model"), &letter.to_string(), &expected);
    parameters(case, ledger, under, &Mixture::new(scaled).expect("a mixture"), SCHEDULE);
    let log_scale = sample.len() as f64 * scale.ln();
    ledger.number(case, &format!("{under}/loglik"), fit.log_likelihood - log_scale, SCHEDULE);
    ledger.number(case, &format!("{under}/bic"), fit.bic - 2.0 * log_scale, SCHEDULE);
}

/// The optimum that mclust's solution leads to. Ours comes from more starts, so it may be another, better one.
fn against_polished(
    case: &mut Case<'_>,
    ledger: &mut Ledger,
    schedule: &MixtureFit,
    fit: &MixtureFit,
    sample: &Sample,
) {
    let under = "/expected/polished";
    if case.peek(under).is_none() {
        return;
    }
    let steps = case.peek("/expected/polished/iterations").map_or(0.0, number);
    ledger.skip(case, "/expected/polished/iterations", "steps are accelerated here");
    let expected = case.peek("/expected/polished/bic").map_or(f64::NAN, number);
    let slack = 1e-7 * (1.0 + expected.abs());
    ledger.verdict(case, "/expected/polished/bic", fit.bic >= expected - slack, || {
        format!("converged {}, polished {expected}", fit.bic)
    });
    let is_same = fit.model == schedule.model
        && fit.mixture.components().len() == schedule.mixture.components().len()
        && fit.bic <= expected + slack;
    if !is_same {
        ledger.skip(case, under, "the converged fit is another mixture, of larger criterion");
        return;
    }
    case.value("/expected/polished/bic");
    // Plain steps that ended after so many are still short of the maximum, which ours reaches.
    let tolerance = relative(if steps < 100.0 { 1e-5 } else { 1e-3 });
    parameters(case, ledger, under, &fit.mixture, tolerance);
    ledger.number(case, "/expected/polished/loglik", fit.log_likelihood, relative(1e-9));
    ledger.number(case, "/expected/polished/ks", fit.mixture.distance(sample.sorted()), tolerance);
}

fn mixture(value: &Value) -> Mixture {
    let numbers =
        |name: &str| -> Vec<f64> { value[name].as_array().expect("numbers").iter().map(number).collect() };
    let (weights, means, sds) = (numbers("weights"), numbers("means"), numbers("sds"));
    let component = |k: usize| Component { weight: weights[k], mean: means[k], sd: sds[k] };
    // A component without weight is no part of the law.
    let present = (0..weights.len()).filter(|k| weights[*k] > 0.0);
    Mixture::new(present.map(component).collect()).expect("a mixture")
}

pub(crate) fn gm_metrics(case: &mut Case<'_>, ledger: &mut Ledger) {
    let mixtures: Vec<Mixture> =
        case.value("/mixtures").and_then(Value::as_array).expect("mixtures").iter().map(mixture).collect();
    let samples: Vec<Sample> = case
        .value("/samples")
        .and_then(Value::as_array)
        .expect("samples")
        .iter()
        .map(|values| {
            Sample::new(values.as_array().expect("values").iter().map(number).collect()).expect("a sample")
        })
        .collect();
    let tolerance = relative(1e-9).or_absolute(1e-300);
    let (x, y) = (&mixtures[0], &mixtures[1]);
    let at = case.numbers("/at");
    ledger.numbers(case, "/cdf", &at.iter().map(|a| x.cdf(*a)).collect::<Vec<_>>(), tolerance);
    ledger.numbers(case, "/pdf", &at.iter().map(|a| x.density(*a)).collect::<Vec<_>>(), tolerance);
    let probabilities = case.numbers("/probs");
    // R gives the infinite ends of the support at 0 and 1, which are refused here.
    let end = |p: f64| if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    let quantiles: Vec<f64> =
        probabilities.iter().map(|p| x.quantile(*p).unwrap_or_else(|_| end(*p))).collect();
    ledger.numbers(case, "/quantile", &quantiles, tolerance);
    ledger.number(case, "/mean", x.mean(), tolerance);
    ledger.number(case, "/var", x.variance(), tolerance);
    ledger.numbers(case, "/modes", &x.modes(), tolerance);
    ledger.number(case, "/I4", x.modes().len() as f64, absolute(0.0));
    let delta = case.number("/delta").unwrap_or(0.0);
    ledger.number(case, "/I1", modelled::mean_difference(x, y), tolerance);
    ledger.number(case, "/I2", modelled::probability_below(x, y, 0.0).below, tolerance);
    ledger.number(case, "/I2_delta", modelled::probability_below(x, y, delta).below, tolerance);
    let shortest = modelled::probability_shortest(&mixtures.iter().collect::<Vec<_>>());
    // The reference integrates to an absolute 1e-10.
    ledger.number(case, "/I3", shortest.shares[0], relative(1e-8).or_absolute(1e-10));
    let (a, b) = (&samples[0], &samples[1]);
    let counted = relative(1e-12);
    ledger.number(case, "/np/I1", empirical::mean_difference(a, b), counted);
    ledger.number(case, "/np/I2", empirical::probability_below(a, b, 0.0).below, counted);
    ledger.number(case, "/np/I2_delta", empirical::probability_below(a, b, delta).below, counted);
    let shares = empirical::probability_shortest(&samples.iter().collect::<Vec<_>>()).shares;
    ledger.number(case, "/np/I3", shares[0], counted);
    ledger.number(case, "/ks_sample1", x.distance(a.sorted()), tolerance);
}

pub(crate) fn ksfit_bootstrap(case: &mut Case<'_>, ledger: &mut Ledger) {
    let sample = case.sample("/x");
    let resamples = case.number("/N").expect("the number of resamples");
    let expected_mixture = mixture(case.value("/mixture").expect("a mixture"));
    let model = case.peek("/mixture/model").and_then(Value::as_str);
    let components = case.peek("/mixture/K").and_then(Value::as_u64);
    if let Ok(fit) = MixtureFit::with_method(&sample, FitMethod::Mclust) {
        let count = fit.mixture.components().len();
        let letter = if count == 1 { 'X' } else { fit.model.letter() };
        ledger.equal(case, "/mixture/model", &Some(letter.to_string().as_str()), &model);
        ledger.equal(case, "/mixture/K", &Some(count as u64), &components);
    }
    for (under, size) in [("/c1", ResampleSize::Same), ("/c09", ResampleSize::NineTenths)] {
        let options =
            GoodnessOfFitOptions { resamples: RESAMPLES, size, ..GoodnessOfFitOptions::usual(Seed(1)) };
        let test = match GoodnessOfFit::new(&sample, options) {
            Ok(test) => test,
            Err(error) => {
                ledger.verdict(case, under, case.peek(&format!("{under}/error")).is_some(), || {
                    error.to_string()
                });
                continue;
            }
        };
        let got: Vec<f64> = test.mixture.components().iter().flat_map(|c| [c.weight, c.mean, c.sd]).collect();
        let expected: Vec<f64> =
            expected_mixture.components().iter().flat_map(|c| [c.weight, c.mean, c.sd]).collect();
        let agrees = got.len() == expected.len()
            && got.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-7 * b.abs());
        ledger.verdict(case, "/mixture", agrees, || format!("got {got:?}, expected {expected:?}"));
        ledger.number(case, "/stat", test.distance, SCHEDULE);
        p_value(case, ledger, under, &test, resamples);
        critical(case, ledger, under, &test, resamples);
    }
    rank_rule(case, ledger);
}

fn p_value(case: &mut Case<'_>, ledger: &mut Ledger, under: &str, test: &GoodnessOfFit, resamples: f64) {
    let expected = case.number(&format!("{under}/pvalue")).expect("a p-value");
    let got = test.p_value().get();
    // The standard error that the reference gives is its own; one of at least one success keeps p = 0 comparable.
    let stated = case.number(&format!("{under}/se")).unwrap_or(0.0);
    let usual = |p: f64, n: f64| (p.max(1.0 / n) * (1.0 - p.min(1.0 - 1.0 / n)) / n).sqrt();
    let error = stated.max(usual(expected, resamples)).hypot(usual(got, f64::from(RESAMPLES)));
    let field = format!("{under}/pvalue");
    ledger.verdict(case, &field, (got - expected).abs() <= STANDARD_ERRORS * error, || {
        format!("got {got}, expected {expected}, combined standard error {error:.4}")
    });
}

/// The reference's critical value lies between our order statistics a few standard errors of the rank away.
fn critical(case: &mut Case<'_>, ledger: &mut Ledger, under: &str, test: &GoodnessOfFit, resamples: f64) {
    let field = format!("{under}/crit05");
    let expected = case.number(&field).expect("a critical value");
    let risk = 0.05;
    let of_rank = |n: f64| (risk * (1.0 - risk) / n).sqrt();
    let shift = STANDARD_ERRORS * of_rank(resamples).hypot(of_rank(f64::from(RESAMPLES)));
    let at = |risk: f64| test.critical_distance(Risk::new(risk.max(0.0)).expect("a risk")).expect("a rank");
    let (low, high) = (at(risk + shift), at(risk - shift));
    ledger.verdict(case, &field, low <= expected && expected <= high, || {
        format!("expected {expected}, ours between {low} and {high}")
    });
}

/// The list holds every fifth of the ordered distances: the critical value by the rule stands beside its ⌊N(1 − risk)⌋-th.
fn rank_rule(case: &mut Case<'_>, ledger: &mut Ledger) {
    let field = "/boot_sorted_for_rule_check";
    let thinned = case.numbers(field);
    let Some(expected) = case.number("/c1/crit05").filter(|_| !thinned.is_empty()) else { return };
    let place = (thinned.len() as f64 * 0.95).floor() as usize;
    let agrees = thinned[place - 1] <= expected && expected <= thinned[place];
    ledger.verdict(case, field, agrees, || format!("{expected} is not beside place {place}"));
}
