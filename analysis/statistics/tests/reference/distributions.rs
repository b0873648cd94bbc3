//! Distribution functions, each named by its function in R.

use crate::case::{Case, Ledger, relative};
use speedup_statistics::distribution::{
    Tails, beta, beta::UnitPoint, fisher_f, kolmogorov, normal, student_t,
};
use speedup_statistics::{distribution, test::RankSumLaw, test::SignedRankLaw};
use std::collections::BTreeMap;

pub(crate) fn distribution(case: &mut Case<'_>, ledger: &mut Ledger) {
    const ARGUMENTS: [&str; 13] =
        ["q", "p", "mean", "sd", "df", "df1", "df2", "shape1", "shape2", "size", "prob", "m", "n"];
    let name = case.value("/fn").and_then(|v| v.as_str()).unwrap_or("").to_owned();
    let lower = case.value("/args/lower.tail").and_then(serde_json::Value::as_bool).unwrap_or(true);
    let mut given = BTreeMap::new();
    for name in ARGUMENTS {
        if let Some(value) = case.number(&format!("/args/{name}")) {
            given.insert(name, value);
        }
    }
    let argument = |field: &str| given.get(field).copied().unwrap_or(f64::NAN);
    let (q, p) = (argument("q"), argument("p"));
    let asked = if lower { Tails::from_lower(p) } else { Tails::from_upper(p) };
    let side = |tails: Tails| if lower { tails.lower } else { tails.upper };
    let standard = |z: f64| (z - argument("mean")) / argument("sd");
    let got = match name.as_str() {
        "pnorm" => Ok(side(normal::tails(standard(q)))),
        "qnorm" => Ok(argument("mean") + argument("sd") * normal::quantile(asked)),
        "pt" => Ok(side(student_t::tails(q, argument("df")))),
        "qt" => Ok(student_t::quantile(asked, argument("df"))),
        "pf" => Ok(side(fisher_f::tails(q, argument("df1"), argument("df2")))),
        "qf" => Ok(fisher_f::quantile(asked, argument("df1"), argument("df2"))),
        "pbeta" => Ok(side(beta::tails(UnitPoint::new(q), argument("shape1"), argument("shape2")))),
        "qbeta" => Ok(beta::quantile(asked, argument("shape1"), argument("shape2")).x),
        "pbinom" => Ok(side(binomial(q, argument("size"), argument("prob")))),
        "pwilcox" => rank_sum(q, argument("m"), argument("n")).map(side),
        "kolmogorov_limit_sf" => Ok(kolmogorov::upper_tail(q)),
        "psignrank" => signed_rank(q, argument("n")).map(side),
        "pchisq" => Err("no method uses the χ² law"),
        "psmirnov_sf_noties" => Err("its tail is of two samples alone: ks_two_sample compares it"),
        _ => return ledger.unknown(case, &name, "this program does not know the function"),
    };
    let field = format!("/{name}");
    let expected = case.number("/expected");
    match (got, expected) {
        (Ok(got), Some(expected)) => {
            ledger.compare(case, &field, got, expected, relative(1e-11));
        }
        (Ok(got), None) => ledger.verdict(case, &field, false, || format!("got {got:e}, expected none")),
        (Err(reason), _) => ledger.skip_named(&field, reason),
    }
}

/// Below the least value, where a count cannot be.
const NOTHING_BELOW: Tails = Tails { lower: 0.0, upper: 1.0 };

fn binomial(q: f64, trials: f64, success: f64) -> Tails {
    if q < 0.0 { NOTHING_BELOW } else { distribution::binomial::tails(q as u64, trials as u64, success) }
}

fn rank_sum(q: f64, m: f64, n: f64) -> Result<Tails, &'static str> {
    let law = RankSumLaw::new(m as usize, n as usize).map_err(|_| "more orders than 128 bits hold")?;
    if q < 0.0 {
        return Ok(NOTHING_BELOW);
    }
    let q = q as u64;
    Ok(Tails { lower: law.at_most(q), upper: law.at_least(q + 1) })
}

fn signed_rank(q: f64, n: f64) -> Result<Tails, &'static str> {
    let law = SignedRankLaw::new(n as usize).map_err(|_| "more choices of signs than 128 bits hold")?;
    if q < 0.0 {
        return Ok(NOTHING_BELOW);
    }
    let q = q as u64;
    Ok(Tails { lower: law.at_most(q), upper: law.at_least(q + 1) })
}
