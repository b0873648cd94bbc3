//! Intervals of a proportion.

use crate::case::{Case, Ledger, absolute};
use speedup_statistics::inference::ConfidenceLevel;
use speedup_statistics::test::{Proportion, ProportionMethod, Selection, benchmarks_by_wald};

pub(crate) fn proportion(case: &mut Case<'_>, ledger: &mut Ledger) {
    let count = |value: Option<f64>| value.unwrap_or(0.0) as u64;
    let (a, b) = (count(case.number("/a")), count(case.number("/b")));
    let level = ConfidenceLevel::new(case.number("/conf_level").unwrap_or(0.95)).expect("a confidence level");
    let proportion = Proportion::new(a, b, Selection::Drawn).expect("a proportion");
    let tolerance = absolute(1e-9);
    for (field, method) in [
        ("/wilson_cc/ci", ProportionMethod::WilsonCorrected),
        ("/wilson/ci", ProportionMethod::Wilson),
        ("/clopper_pearson", ProportionMethod::ClopperPearson),
        ("/agresti_coull/ci", ProportionMethod::AgrestiCoull),
        ("/jeffreys", ProportionMethod::Jeffreys),
        ("/wald", ProportionMethod::Wald),
    ] {
        let interval = proportion.interval(method, level);
        // R's ends of Wald and of Agresti and Coull may lie outside the shares there are; ours are cut there.
        let cut: Vec<f64> = case.numbers(field).into_iter().map(|end| end.clamp(0.0, 1.0)).collect();
        for (got, expected) in [interval.lower, interval.upper].into_iter().zip(&cut) {
            ledger.compare(case, field, got, *expected, tolerance);
        }
        ledger.verdict(case, field, cut.len() == 2, || "two ends are expected".to_owned());
        if method == ProportionMethod::AgrestiCoull && interval.lower > 0.0 && interval.upper < 1.0 {
            let centre = (interval.lower + interval.upper) / 2.0;
            ledger.number(case, "/agresti_coull/centre", centre, tolerance);
        } else if method == ProportionMethod::AgrestiCoull {
            ledger.skip(case, "/agresti_coull/centre", "an end is cut at 0 or 1");
        }
    }
    for field in ["/wilson_cc/chisq", "/wilson_cc/p", "/wilson/chisq", "/wilson/p", "/binom_test_p"] {
        ledger.skip(case, field, "no method here tests that the proportion is one half");
    }
    let valid = case.value("/wald_valid").and_then(serde_json::Value::as_bool);
    ledger.equal(case, "/wald_valid", &Some(proportion.satisfies_condition()), &valid);
    for (field, precision) in [("/min_b/r0.01", 0.01), ("/min_b/r0.05", 0.05), ("/min_b/r0.1", 0.1)] {
        let needed = benchmarks_by_wald(proportion.estimate(), precision, level, Selection::Drawn);
        ledger.number(case, field, needed.expect("a precision") as f64, absolute(0.0));
    }
    ledger.skip(case, "/jeffreys_untrimmed", "the end points at a = 0 and a = b are 0 and 1 here");
}
