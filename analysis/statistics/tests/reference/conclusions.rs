//! What is concluded: shares of a finite population, signed ranks with ties, which of two tends to smaller values.

use crate::case::{Case, Ledger, absolute, relative};
use speedup_statistics::inference::{Alternative, ConfidenceLevel};
use speedup_statistics::test::{
    BrunnerMunzel, BrunnerMunzelError, Proportion, ProportionMethod, Selection, SignedRank,
};

pub(crate) fn finite_population(case: &mut Case<'_>, ledger: &mut Ledger) {
    let mut count = |pointer| case.number(pointer).expect("a count") as u64;
    let (size, drawn, accelerated) = (count("/population"), count("/drawn"), count("/accelerated"));
    let level = ConfidenceLevel::new(case.number("/conf_level").expect("a level")).expect("a level");
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
    let level = ConfidenceLevel::new(case.number("/conf_level").expect("a level")).expect("a level");
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
