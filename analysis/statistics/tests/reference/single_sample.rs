//! Files about one sample.

use crate::case::{Case, Ledger, relative};
use speedup_statistics::{sample::Sample, test::ShapiroWilk};

pub(crate) fn describe(case: &mut Case<'_>, ledger: &mut Ledger) {
    let sample = case.sample("/x");
    let tolerance = relative(1e-12);
    // R's own mean and variance lose digits where the spread is tiny against the mean; there 60 digits
    // decide.
    ledger.number(case, "/hp/mean", sample.mean(), tolerance);
    ledger.number(case, "/hp/var", sample.variance().unwrap_or(f64::NAN), tolerance);
    ledger.number(case, "/mean", sample.mean(), tolerance);
    let against_r = if super::two_samples::is_tight(&sample) { relative(1e-6) } else { tolerance };
    ledger.number(case, "/var", sample.variance().unwrap_or(f64::NAN), against_r);
    ledger.number(case, "/sd", sample.standard_deviation().unwrap_or(f64::NAN), against_r);
    ledger.number(case, "/median", sample.median(), tolerance);
    ledger.number(case, "/min", sample.min(), tolerance);
    ledger.number(case, "/max", sample.max(), tolerance);
    let quantile = |p: &f64| sample.quantile(*p).expect("a probability");
    let quantiles: Vec<f64> = case.numbers("/probs").iter().map(quantile).collect();
    ledger.numbers(case, "/quantile_type7", &quantiles, tolerance);
    for other in ["/quantile_type1", "/quantile_type6", "/quantile_type8", "/mad"] {
        ledger.skip(case, other, "no method here uses it");
    }
}

pub(crate) fn shapiro_wilk(case: &mut Case<'_>, ledger: &mut Ledger) {
    let values = case.numbers("/x");
    let test = Sample::new(values).map(|sample| ShapiroWilk::new(&sample));
    let refused = case.refusal("/expected").is_some();
    match test {
        Ok(Ok(test)) => {
            ledger.verdict(case, "/expected/error", !refused, || "R refuses".to_owned());
            ledger.number(case, "/expected/W", test.statistic(), relative(1e-10));
            ledger.number(case, "/expected/p", test.p_value().get(), relative(1e-8).or_absolute(1e-12));
        }
        Ok(Err(error)) => ledger.verdict(case, "/expected/error", refused, || error.to_string()),
        Err(error) => ledger.verdict(case, "/expected/error", refused, || error.to_string()),
    }
}
