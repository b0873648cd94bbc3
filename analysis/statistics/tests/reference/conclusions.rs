//! What is concluded: shares of a finite population and of what is truly accelerated, the typical speedup, signed ranks with
//! ties, which of two tends to smaller values, equality but for a margin.

use crate::case::{Case, Ledger, absolute, relative};
use speedup_statistics::inference::{Alternative, ConfidenceLevel, Risk};
use speedup_statistics::ratio::{LogEffect, RandomEffectsMean};
use speedup_statistics::test::{
    BrunnerMunzel, BrunnerMunzelError, Equivalence, Proportion, ProportionMethod, Selection, SignedRank,
    TrueShare,
};

fn level(case: &mut Case<'_>) -> ConfidenceLevel {
    ConfidenceLevel::new(case.number("/conf_level").expect("a level")).expect("a level")
}

pub(crate) fn finite_population(case: &mut Case<'_>, ledger: &mut Ledger) {
    let mut count = |pointer| case.number(pointer).expect("a count") as u64;
    let (size, drawn, accelerated) = (count("/population"), count("/drawn"), count("/accelerated"));
    let level = level(case);
    let selection = Selection::DrawnFromFinite { size };
    let proportion = Proportion::new(accelerated, drawn, selection).expect("a proportion");
    for method in ProportionMethod::ALL {
        let interval = proportion.interval(method, level);
        // Shares are multiples of 1/N; a product of two doubles is off by less than a part in 10¹⁵.
        ledger.number(case, "/lowest", interval.lower * size as f64, relative(1e-15));
        ledger.number(case, "/highest", interval.upper * size as f64, relative(1e-15));
    }
}

pub(crate) fn signed_rank_ties(case: &mut Case<'_>, ledger: &mut Ledger) {
    let test = SignedRank::choose(&case.sample("/differences")).expect("differences that are not zero");
    ledger.number(case, "/W", test.statistic().v(), absolute(0.0));
    for (field, alternative) in [
        ("/p_greater", Alternative::Greater),
        ("/p_less", Alternative::Less),
        ("/p_two_sided", Alternative::TwoSided),
    ] {
        ledger.number(case, field, test.p_value(alternative).get(), relative(1e-13));
    }
}

pub(crate) fn brunner_munzel(case: &mut Case<'_>, ledger: &mut Ledger) {
    let test = BrunnerMunzel::new(&case.sample("/x"), &case.sample("/y"));
    if case.refusal("").is_some() {
        for field in ["/estimate", "/conf_level"] {
            ledger.skip(case, field, "a refusal has none");
        }
        assert_eq!(test, Err(BrunnerMunzelError::NoOverlap), "{}", case.id());
        return;
    }
    let test = test.expect("samples that overlap");
    let level = level(case);
    ledger.number(case, "/estimate", test.probability(), relative(1e-10));
    ledger.number(case, "/statistic", test.statistic(), relative(1e-10));
    ledger.number(case, "/df", test.df(), relative(1e-10));
    for (field, alternative) in [
        ("/p_two_sided", Alternative::TwoSided),
        ("/p_x_smaller", Alternative::Less),
        ("/p_x_larger", Alternative::Greater),
    ] {
        ledger.number(case, field, test.p_value(alternative).get(), relative(1e-10));
    }
    let interval = test.interval(level);
    ledger.number(case, "/interval/0", interval.lower, relative(1e-10));
    ledger.number(case, "/interval/1", interval.upper, relative(1e-10));
}

pub(crate) fn equivalence(case: &mut Case<'_>, ledger: &mut Ledger) {
    let test = Equivalence::new(&case.sample("/x"), &case.sample("/y")).expect("samples with a t test");
    let margin = case.number("/margin").expect("a margin");
    let [smaller, larger] = test.p_values(margin).expect("a margin that is a factor");
    let [of_smaller, of_larger] = test.statistics(margin).expect("a margin that is a factor");
    let p_value = test.p_value(margin).expect("a margin that is a factor");
    for (field, got) in [
        ("/p", p_value.get()),
        ("/p_lower", smaller.get()),
        ("/p_upper", larger.get()),
        ("/df", test.df()),
        ("/t_lower", of_smaller),
        ("/t_upper", of_larger),
    ] {
        ledger.number(case, field, got, relative(1e-10));
    }
}

pub(crate) fn true_share(case: &mut Case<'_>, ledger: &mut Ledger) {
    let [benchmarks, faster, below] = ["/benchmarks", "/shown_faster", "/shown_below"]
        .map(|field| case.number(field).expect("a count") as u64);
    let risk = Risk::new(case.number("/risk_of_each").expect("a risk")).expect("a risk");
    let level = level(case);
    let interval =
        TrueShare::new(benchmarks, faster, below, risk).expect("counts that can be").interval(level);
    ledger.number(case, "/lower", interval.lower, absolute(1e-11));
    ledger.number(case, "/upper", interval.upper, absolute(1e-11));
}

fn effects(case: &mut Case<'_>, df: f64) -> Vec<LogEffect> {
    let estimates = case.numbers("/log_ratio");
    let variances = case.numbers("/variance");
    let effects = estimates.into_iter().zip(variances);
    effects.map(|(estimate, variance)| LogEffect { estimate, variance, df }).collect()
}

/// Of metafor's estimators none is left here, but they start from one Q.
pub(crate) fn random_effects_mean(case: &mut Case<'_>, ledger: &mut Ledger) {
    let effects = effects(case, 9.0);
    let mean = RandomEffectsMean::new(&effects).expect("effects with variances");
    let level = level(case);
    assert!(mean.interval(level).lower <= mean.mean(), "{}", case.id());
    for name in ["DL", "REML"] {
        ledger.number(case, &format!("/expected/{name}/Q"), mean.q(), relative(1e-9));
        for field in ["Q_p", "se", "ci_z", "tau2", "mean", "se_knha", "I2", "ci_knha", "prediction_knha"] {
            let reason = "another estimator of the scatter: see typical_speedup.json";
            ledger.skip(case, &format!("/expected/{name}/{field}"), reason);
        }
    }
}

pub(crate) fn typical_speedup(case: &mut Case<'_>, ledger: &mut Ledger) {
    let df = case.number("/df").expect("degrees of freedom");
    let effects = effects(case, df);
    let level = level(case);
    let mean = RandomEffectsMean::new(&effects).expect("effects with variances");
    let intervals = [("/interval", mean.interval(level)), ("/prediction", mean.prediction(level))];
    let largest = effects.iter().map(|effect| effect.variance).fold(0.0, f64::max);
    ledger.number(case, "/tau2", mean.tau_squared(), relative(1e-9).or_absolute(1e-12 * largest));
    ledger.number(case, "/I2", mean.heterogeneity(), relative(1e-9).or_absolute(1e-12));
    ledger.number(case, "/mean", mean.mean(), relative(1e-9).or_absolute(1e-12));
    for (field, interval) in intervals {
        // Of the width: the quadratures differ.
        let near = absolute(1e-5 * (interval.upper - interval.lower));
        ledger.numbers(case, field, &[interval.lower, interval.upper], near);
    }
}
