//! What is concluded: shares of a finite population and of what is truly accelerated, the typical speedup, signed ranks with
//! ties, which of two tends to smaller values, equality but for a margin.

use crate::case::{Case, Ledger, absolute, relative};
use speedup_statistics::inference::{Alternative, ConfidenceLevel, Interval, Risk};
use speedup_statistics::ratio::{HeterogeneityEstimator, LogEffect, RandomEffectsMean};
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

pub(crate) fn random_effects_mean(case: &mut Case<'_>, ledger: &mut Ledger) {
    let (estimates, variances) = (case.numbers("/log_ratio"), case.numbers("/variance"));
    let level = level(case);
    let effects = estimates.iter().zip(&variances);
    let effects: Vec<LogEffect> =
        effects.map(|(estimate, variance)| LogEffect { estimate: *estimate, variance: *variance }).collect();
    // The search of metafor for the greatest likelihood ends at a millionth of the largest variance, and all that follows
    // from its τ² is off by as much.
    let largest = variances.iter().copied().fold(0.0, f64::max);
    for (name, estimator, relative_error, of_variances) in [
        ("DL", HeterogeneityEstimator::DerSimonianLaird, 1e-9, 0.0),
        ("REML", HeterogeneityEstimator::Reml, 1e-6, 1e-6 * largest),
    ] {
        let mean = RandomEffectsMean::new(&effects, estimator).expect("effects with variances");
        let near = relative(relative_error);
        let near_length = relative(relative_error).or_absolute(of_variances.sqrt() * 1e-3);
        ledger.number(
            case,
            &format!("/expected/{name}/tau2"),
            mean.tau_squared(),
            near.or_absolute(of_variances),
        );
        for field in ["Q", "Q_p", "se", "ci_z"] {
            let reason = "nothing here asks it: reports have I², and the error of Knapp and Hartung";
            ledger.skip(case, &format!("/expected/{name}/{field}"), reason);
        }
        for (field, got) in [("mean", mean.mean()), ("se_knha", mean.standard_error())] {
            ledger.number(case, &format!("/expected/{name}/{field}"), got, near_length);
        }
        let share = near.or_absolute(if of_variances > 0.0 { 1e-3 } else { 0.0 });
        ledger.number(case, &format!("/expected/{name}/I2"), 100.0 * mean.heterogeneity(), share);
        let ends = |interval: Interval| [interval.lower, interval.upper];
        for (field, got) in
            [("ci_knha", ends(mean.interval(level))), ("prediction_knha", ends(mean.prediction(level)))]
        {
            ledger.numbers(case, &format!("/expected/{name}/{field}"), &got, near_length);
        }
    }
}
