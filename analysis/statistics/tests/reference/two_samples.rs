//! Files about two samples.

use crate::case::{Case, Ledger, Tolerance, absolute, number, relative};
use speedup_statistics::inference::{Alternative, ConfidenceLevel, Continuity, Interval, PValue};
use speedup_statistics::{
    sample::Sample, test::ExactRule, test::FTest, test::KolmogorovSmirnov, test::KolmogorovSmirnovStatistic,
    test::NormalRankSum, test::OneSampleTTest, test::PairedTTest, test::PermutationRankSum, test::RankSum,
    test::RankSumChoice, test::StudentTTest, test::TStatistic, test::TTestError, test::Ties,
    test::WelchTTest,
};

const ALTERNATIVES: [(&str, &str, Alternative); 3] = [
    ("two.sided", "p_two", Alternative::TwoSided),
    ("greater", "p_greater", Alternative::Greater),
    ("less", "p_less", Alternative::Less),
];

/// Against 60 digits.
const HP: Tolerance = relative(1e-10);
/// Against R, whose small upper tails carry an absolute error.
const R: Tolerance = relative(1e-9).or_absolute(1e-15);

const REFUSED: &str = "essentially constant data are refused, here and by R";

/// Whether R's own numbers lose digits: the spread is below 1e-8 of the mean.
pub(crate) fn is_tight(sample: &Sample) -> bool {
    sample.standard_deviation().is_some_and(|sd| sd < 1e-8 * sample.mean().abs())
}

fn level(case: &mut Case<'_>) -> ConfidenceLevel {
    ConfidenceLevel::new(case.number("/conf_level").unwrap_or(0.95)).expect("a confidence level")
}

fn ends(interval: &Interval) -> [f64; 2] {
    [interval.lower, interval.upper]
}

pub(crate) fn f_test(case: &mut Case<'_>, ledger: &mut Ledger) {
    let (x, y, level) = (case.sample("/x"), case.sample("/y"), level(case));
    let tight = is_tight(&x) || is_tight(&y);
    let test = match FTest::new(&x, &y) {
        Ok(test) => test,
        Err(error) => {
            let nan = case.value("/expected/two.sided/F").map(number).is_none_or(f64::is_nan);
            ledger.verdict(case, "/expected/refusal", nan, || error.to_string());
            ledger.skip(case, "/expected", "R gives NaN where we refuse");
            ledger.skip(case, "/hp", REFUSED);
            return;
        }
    };
    let refused = case.refusal("/expected").or_else(|| case.refusal("/expected/two.sided"));
    ledger.verdict(case, "/expected/refusal", refused.is_none(), || "R refuses".to_owned());
    ledger.number(case, "/hp/F", test.statistic(), HP);
    for (name, hp, alternative) in ALTERNATIVES {
        let at = |field: &str| format!("/expected/{name}/{field}");
        let p = test.p_value(alternative).get();
        ledger.number(case, &format!("/hp/{hp}"), p, HP);
        let (df1, df2) = test.degrees_of_freedom();
        ledger.number(case, &at("df1"), df1, absolute(0.0));
        ledger.number(case, &at("df2"), df2, absolute(0.0));
        if tight && case.peek("/hp").is_some() {
            for field in ["F", "p", "ci"] {
                ledger.skip(
                    case,
                    &at(field),
                    "R lost digits: the spread is below 1e-8 of the mean; hp was checked",
                );
            }
            continue;
        }
        ledger.number(case, &at("F"), test.statistic(), R);
        ledger.number(case, &at("p"), p, R);
        ledger.numbers(case, &at("ci"), &ends(&test.interval(alternative, level)), R);
    }
}

/// How large the data are against their spread, which decides what R's own numbers are worth.
struct Magnitude {
    tight: bool,
    mean: f64,
}

pub(crate) fn t_test(case: &mut Case<'_>, ledger: &mut Ledger) {
    let (x, y, level) = (case.sample("/x"), case.sample("/y"), level(case));
    let data = Magnitude { tight: is_tight(&x) || is_tight(&y), mean: x.mean().abs().max(y.mean().abs()) };
    let student = StudentTTest::new(&x, &y);
    let welch = WelchTTest::new(&x, &y);
    for (name, hp, alternative) in ALTERNATIVES {
        let made = student.map(|t| (*t.statistic(), t.p_value(alternative), t.interval(alternative, level)));
        one_t_test(case, ledger, &format!("/student/{name}"), Some(("/hp/student", hp)), &data, made);
        let made = welch.map(|t| (*t.statistic(), t.p_value(alternative), t.interval(alternative, level)));
        one_t_test(case, ledger, &format!("/welch/{name}"), Some(("/hp/welch", hp)), &data, made);
    }
    let two = Alternative::TwoSided;
    let made = OneSampleTTest::new(&x, 0.0).map(|t| (*t.statistic(), t.p_value(two), t.interval(two, level)));
    one_t_test(case, ledger, "/one_sample_x", None, &data, made);
    let has_pairs = case.gives("/paired");
    if case.is_null("/paired") {
        let none = x.len() != y.len();
        ledger.verdict(case, "/paired", none, || "samples of one length are pairs".to_owned());
    }
    if has_pairs {
        let greater = Alternative::Greater;
        let made = PairedTTest::new(&x, &y)
            .map(|t| (*t.statistic(), t.p_value(greater), t.interval(greater, level)));
        one_t_test(case, ledger, "/paired", None, &data, made);
    }
}

fn one_t_test(
    case: &mut Case<'_>,
    ledger: &mut Ledger,
    at: &str,
    hp: Option<(&str, &str)>,
    data: &Magnitude,
    made: Result<(TStatistic, PValue, Interval), TTestError>,
) {
    let nan = case.peek(&format!("{at}/t")).is_some_and(|t| number(t).is_nan());
    let refused = case.refusal(at).is_some() || nan;
    let (statistic, p_value, interval) = match made {
        Ok(made) => made,
        Err(error) => {
            ledger.verdict(case, &format!("{at}/error"), refused, || error.to_string());
            case.value(at);
            if let Some((hp, p)) = hp {
                for field in ["t", "df", p] {
                    ledger.skip(case, &format!("{hp}/{field}"), REFUSED);
                }
            }
            return;
        }
    };
    ledger.verdict(case, &format!("{at}/error"), !refused, || "R refuses".to_owned());
    if let Some((hp, p)) = hp {
        ledger.number(case, &format!("{hp}/t"), statistic.t(), HP);
        ledger.number(case, &format!("{hp}/df"), statistic.df, HP);
        ledger.number(case, &format!("{hp}/{p}"), p_value.get(), HP);
    }
    if data.tight {
        ledger.skip(
            case,
            at,
            "R lost digits: the spread is below 1e-8 of the mean; hp was checked where given",
        );
        return;
    }
    // R subtracts rounded means; what that takes from t, and so from p, is hidden from it.
    let r = R.or_absolute(1e-15 + 4.0 * f64::EPSILON * data.mean / statistic.standard_error);
    ledger.number(case, &format!("{at}/t"), statistic.t(), r);
    ledger.number(case, &format!("{at}/df"), statistic.df, R);
    ledger.number(case, &format!("{at}/stderr"), statistic.standard_error, R);
    ledger.number(case, &format!("{at}/p"), p_value.get(), r);
    let lost = 1e-9 * statistic.standard_error + 4.0 * f64::EPSILON * data.mean;
    let scale = relative(1e-9).or_absolute(lost);
    ledger.numbers(case, &format!("{at}/ci"), &ends(&interval), scale);
}

pub(crate) fn rank_sum(case: &mut Case<'_>, ledger: &mut Ledger) {
    let (x, y) = (case.sample("/x"), case.sample("/y"));
    let test = RankSum::r_default(&x, &y);
    let w = test.statistic().w();
    let ties = case.value("/ties").and_then(serde_json::Value::as_bool);
    ledger.equal(case, "/ties", &Some(test.statistic().has_ties()), &ties);
    let uses_exact =
        case.value("/default_uses").and_then(|v| v.as_str()).is_some_and(|s| s.starts_with("exact"));
    ledger.equal(case, "/default_uses", &(test.reason() == RankSumChoice::FewWithoutTies), &uses_exact);
    let corrected = NormalRankSum::new(&x, &y, Continuity::Corrected);
    let uncorrected = NormalRankSum::new(&x, &y, Continuity::Uncorrected);
    let permutation = case.gives("/exact_conditional").then(|| PermutationRankSum::new(&x, &y));
    for (name, _, alternative) in ALTERNATIVES {
        let laws = [
            ("default", test.p_value(alternative)),
            ("normal_corrected", corrected.p_value(alternative)),
            ("normal_uncorrected", uncorrected.p_value(alternative)),
        ];
        for (law, p) in laws {
            ledger.number(case, &format!("/{law}/{name}/W"), w, absolute(0.0));
            rank_sum_p(case, ledger, &format!("/{law}/{name}/p"), p);
        }
        let at = format!("/exact_conditional/{name}/p");
        match &permutation {
            Some(Ok(law)) => rank_sum_p(case, ledger, &at, law.p_value(alternative)),
            Some(Err(_)) => ledger.skip(case, &at, "too many permutations to count"),
            None => {}
        }
    }
}

/// Where no two observations differ W has no spread: R divides 0 by 0, we say p = 1.
fn rank_sum_p(case: &mut Case<'_>, ledger: &mut Ledger, at: &str, p: PValue) {
    match case.number(at) {
        Some(expected) if expected.is_nan() => ledger.compare(case, at, p.get(), 1.0, absolute(0.0)),
        Some(_) | None => ledger.number(case, at, p.get(), relative(1e-11)),
    }
}

pub(crate) fn kolmogorov_smirnov(case: &mut Case<'_>, ledger: &mut Ledger) {
    let (x, y) = (case.sample("/x"), case.sample("/y"));
    one_distance(case, ledger, "/raw", &KolmogorovSmirnovStatistic::new(&x, &y));
    one_distance(case, ledger, "/median_centred", &KolmogorovSmirnovStatistic::median_centred(&x, &y));
}

fn one_distance(case: &mut Case<'_>, ledger: &mut Ledger, at: &str, statistic: &KolmogorovSmirnovStatistic) {
    let field = |name: &str| format!("{at}/{name}");
    let hp = relative(1e-12);
    let ties = case.value(&field("ties")).and_then(serde_json::Value::as_bool);
    ledger.equal(case, &field("ties"), &Some(statistic.has_ties()), &ties);
    ledger.number(case, &field("D"), statistic.d(), relative(1e-12).or_absolute(1e-15));
    ledger.number(case, &field("hp/D"), statistic.d(), hp);
    let conditional = statistic.exact(Ties::Conditional).map_or(f64::NAN, PValue::get);
    let ignored = statistic.exact(Ties::Ignored).map_or(f64::NAN, PValue::get);
    // R's exact p-values are differences: right to 1e-12 absolute; its limit law stops at 2e-5.
    ledger.number(case, &field("hp/p_exact_conditional"), conditional, hp);
    ledger.number(case, &field("p_exact_conditional"), conditional, absolute(1e-12));
    ledger.number(case, &field("hp/p_exact_noties"), ignored, hp);
    ledger.number(case, &field("p_exact_noties"), ignored, absolute(1e-12));
    ledger.number(case, &field("hp_asymptotic"), statistic.asymptotic().get(), hp);
    ledger.number(case, &field("p_asymptotic"), statistic.asymptotic().get(), absolute(2e-5));
    for (name, rule) in
        [("p_default", ExactRule::SmallProduct), ("p_legacy_default", ExactRule::SmallProductWithoutTies)]
    {
        let test = statistic.test(rule);
        let tolerance = match test {
            KolmogorovSmirnov::Exact { .. } => absolute(1e-12),
            KolmogorovSmirnov::Asymptotic { .. } => absolute(2e-5),
        };
        ledger.number(case, &field(name), test.p_value().get(), tolerance);
    }
}
