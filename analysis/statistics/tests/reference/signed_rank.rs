//! The signed-rank test: R's, and that of Chen 2012.

use crate::case::{Case, Ledger, absolute, number, relative};
use speedup_statistics::{
    inference::Alternative, inference::Continuity, inference::PValue, sample::Sample, test::HalfIntegers,
    test::NormalSignedRank, test::SignedRank, test::SignedRankError, test::ZerosKeptSignedRank,
};

const ALTERNATIVES: [(&str, Alternative); 3] =
    [("two.sided", Alternative::TwoSided), ("greater", Alternative::Greater), ("less", Alternative::Less)];

pub(crate) fn signed_rank(case: &mut Case<'_>, ledger: &mut Ledger) {
    let differences = case.sample("/d");
    let zeros = differences.in_run_order().iter().filter(|d| **d == 0.0).count();
    ledger.number(case, "/zeros", zeros as f64, absolute(0.0));
    let default = SignedRank::r_default(&differences);
    let normal = NormalSignedRank::new(&differences, Continuity::Uncorrected);
    for (name, alternative) in ALTERNATIVES {
        let made = default.as_ref().map(|test| (test.statistic().v(), test.p_value(alternative)));
        one_test(case, ledger, &format!("/r_default/{name}"), made);
        let made = normal.as_ref().map(|test| (test.statistic().v(), test.p_value(alternative)));
        one_test(case, ledger, &format!("/r_normal_uncorrected/{name}"), made);
    }
    zeros_kept(case, ledger, &differences);
}

fn one_test(
    case: &mut Case<'_>,
    ledger: &mut Ledger,
    at: &str,
    made: Result<(f64, PValue), &SignedRankError>,
) {
    let (v, p) = (format!("{at}/V"), format!("{at}/p"));
    let nan = case.peek(&p).is_none_or(|p| number(p).is_nan());
    let refused = case.refusal(at).is_some() || nan;
    match made {
        Ok((statistic, p_value)) => {
            ledger.verdict(case, &format!("{at}/error"), !refused, || "R refuses".to_owned());
            ledger.number(case, &v, statistic, absolute(0.0));
            ledger.number(case, &p, p_value.get(), relative(1e-11));
        }
        Err(error) => {
            ledger.verdict(case, &format!("{at}/error"), refused, || error.to_string());
            ledger.skip(case, at, "R gives no number where we refuse");
        }
    }
}

fn zeros_kept(case: &mut Case<'_>, ledger: &mut Ledger, differences: &Sample) {
    let test = ZerosKeptSignedRank::new(differences);
    let exact = relative(1e-11);
    ledger.numbers(case, "/hpt/ranks", &ZerosKeptSignedRank::ranks(differences), absolute(0.0));
    ledger.number(case, "/hpt/R_A", test.positive_sum(), absolute(0.0));
    let all = (differences.len() * (differences.len() + 1) / 2) as f64;
    ledger.number(case, "/hpt/R_B", all - test.positive_sum(), absolute(0.0));
    ledger.number(case, "/hpt/z_A", test.z(), exact.or_absolute(1e-15));
    ledger.number(case, "/hpt/z_B", -test.z(), exact.or_absolute(1e-15));
    let (down, up) = (HalfIntegers::RoundedDown, HalfIntegers::RoundedUp);
    let better = test.p_value(Alternative::Greater, down).get();
    ledger.number(case, "/hpt/p_A_better", better, exact);
    ledger.number(case, "/hpt/p_B_better", test.p_value(Alternative::Less, down).get(), exact);
    ledger.number(case, "/hpt/p_A_better_strict", test.p_value(Alternative::Greater, up).get(), exact);
    ledger.number(case, "/hpt/confidence_A_better", 1.0 - better, relative(1e-11).or_absolute(1e-15));
}
