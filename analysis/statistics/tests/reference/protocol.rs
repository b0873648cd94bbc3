//! The whole Speedup-Test: published program, its variants, and the exact search.

use crate::case::{Case, Ledger, absolute, number, relative};
use serde_json::Value;
use speedup_statistics::{
    inference::Caveat, inference::ConfidenceLevel, inference::PValue, inference::Risk, inference::Side,
    protocol::speedup_test::ProtocolConclusion, protocol::speedup_test::ProtocolOutcome,
    protocol::speedup_test::ProtocolVerdict, protocol::speedup_test::Question, protocol::speedup_test::Rules,
    protocol::speedup_test::SpeedupTest, protocol::speedup_test::StopReason, protocol::speedup_test::SubTest,
    protocol::speedup_test::published, ratio::BenchmarkWeights, ratio::Overall, ratio::RatioError,
    ratio::SuiteError, ratio::SuiteMember, ratio::Summary, sample::Sample, test::KolmogorovSmirnov,
    test::KolmogorovSmirnovStatistic, test::Proportion, test::ProportionMethod, test::Selection,
    test::benchmarks_by_wald,
};
use std::collections::BTreeSet;

const FASTER: Question = Question::CandidateFaster;

/// One benchmark of a case, with its options.
struct Benchmark {
    name: Option<String>,
    baseline: Sample,
    candidate: Sample,
    own_level: Option<f64>,
    coefficient: Option<f64>,
}

/// Which of the file's expectations, and how it decides.
struct Variant {
    name: &'static str,
    rules: Rules,
    search: fn(&dyn Fn(Risk) -> ProtocolConclusion) -> ProtocolVerdict,
    own_level_first: bool,
}

const VARIANTS: [Variant; 4] = [
    Variant { name: "expected_tool", rules: Rules::PUBLISHED, search: bisection, own_level_first: false },
    Variant {
        name: "expected_grid",
        rules: Rules::PUBLISHED,
        search: whole_percents,
        own_level_first: false,
    },
    Variant {
        name: "expected_legacy_ks",
        rules: Rules::PUBLISHED_BEFORE_R_4_2,
        search: bisection,
        own_level_first: false,
    },
    Variant {
        name: "expected_doc_precedence",
        rules: Rules::PUBLISHED,
        search: bisection,
        own_level_first: true,
    },
];

fn bisection(protocol: &dyn Fn(Risk) -> ProtocolConclusion) -> ProtocolVerdict {
    published::search(protocol)
}

/// The least whole percent, 1 to 49, that does; else what the bisection says of none.
fn whole_percents(protocol: &dyn Fn(Risk) -> ProtocolConclusion) -> ProtocolVerdict {
    let risks = (1..50).map(|percent| f64::from(percent) / 100.0);
    let conclusions = risks.map(|risk| (risk, protocol(Risk::new(risk).expect("a risk"))));
    match conclusions.into_iter().find(|(_, conclusion)| conclusion.is_significant()) {
        Some((risk, conclusion)) => ProtocolVerdict {
            significant: Some(true),
            confidence: Some(1.0 - risk),
            no_level_above_half: false,
            conclusion,
        },
        None => {
            let conclusion = protocol(Risk::new(0.5).expect("a risk"));
            let stopped = matches!(conclusion.outcome, ProtocolOutcome::CannotConclude { .. });
            ProtocolVerdict {
                significant: Some(false),
                confidence: (!stopped).then_some(0.99),
                no_level_above_half: true,
                conclusion,
            }
        }
    }
}

pub(crate) fn speedup_test(case: &mut Case<'_>, ledger: &mut Ledger) {
    let global = case.number("/options/conf_level");
    let precision = case.number("/options/precision").unwrap_or(0.05);
    let weight = case.value("/options/weight").and_then(Value::as_str).unwrap_or("custom");
    let benchmarks = benchmarks(case);
    if let Some(refusal) = not_positive(&benchmarks) {
        return refused(case, ledger, &refusal);
    }
    for variant in &VARIANTS {
        let root = format!("/{}", variant.name);
        if !case.gives(&root) {
            continue;
        }
        let mut accelerated = [0, 0];
        for (index, benchmark) in benchmarks.iter().enumerate() {
            let at = format!("{root}/rows/{index}");
            let name = case.value(&format!("{at}/name")).and_then(Value::as_str).map(str::to_owned);
            ledger.equal(case, &format!("{at}/name"), &benchmark.name, &name);
            let own = benchmark.own_level;
            let level = if variant.own_level_first { own.or(global) } else { global.or(own) };
            let level = level.and_then(|level| ConfidenceLevel::new(level).ok());
            for (count, yes) in accelerated.iter_mut().zip(row(case, ledger, &at, variant, benchmark, level))
            {
                *count += u64::from(yes);
            }
        }
        overall(case, ledger, &root, &benchmarks, weight);
        for (name, count) in ["prop_mean", "prop_median"].into_iter().zip(accelerated) {
            let given = Accelerated { count, benchmarks: benchmarks.len() as u64, precision, level: global };
            proportion(case, ledger, &format!("{root}/{name}"), &given);
        }
    }
}

/// What is said of times of which no speedup can be made, by name.
fn not_positive(benchmarks: &[Benchmark]) -> Option<RatioError> {
    let of = |benchmark: &Benchmark| SpeedupTest::new(&benchmark.baseline, &benchmark.candidate).err();
    benchmarks.iter().find_map(of).filter(|error| matches!(error, RatioError::NotPositive { .. }))
}

/// All parts of the protocol refuse such times, and by the same name: what R computes from them is no speedup.
fn refused(case: &mut Case<'_>, ledger: &mut Ledger, refusal: &RatioError) {
    let benchmarks = benchmarks(case);
    let members: Vec<_> =
        benchmarks.iter().map(|b| SuiteMember { baseline: &b.baseline, candidate: &b.candidate }).collect();
    for summary in Summary::ALL {
        let overall = Overall::new(&members, summary, &BenchmarkWeights::Equal);
        let agrees = matches!(&overall, Err(SuiteError::Ratio { source, .. }) if source == refusal);
        ledger.verdict(case, "refusal", agrees, || format!("{overall:?} beside {refusal}"));
    }
    for variant in &VARIANTS {
        ledger.skip(case, &format!("/{}", variant.name), "times that are not positive are refused");
    }
}

fn benchmarks(case: &mut Case<'_>) -> Vec<Benchmark> {
    let list = case.value("/benchmarks").and_then(Value::as_array).cloned().unwrap_or_default();
    let sample = |value: &Value| {
        let numbers = value.as_array().map_or(Vec::new(), |a| a.iter().map(number).collect());
        Sample::new(numbers).expect("a sample")
    };
    let benchmark = |json: &Value| Benchmark {
        name: json["name"].as_str().map(str::to_owned),
        baseline: sample(&json["sample1"]),
        candidate: sample(&json["sample2"]),
        own_level: json["conf_level"].as_f64(),
        coefficient: json["coef"].as_f64(),
    };
    list.iter().map(benchmark).collect()
}

/// Checks a row, and says whether it was accelerated on the mean and on the median.
fn row(
    case: &mut Case<'_>,
    ledger: &mut Ledger,
    at: &str,
    variant: &Variant,
    benchmark: &Benchmark,
    level: Option<ConfidenceLevel>,
) -> [bool; 2] {
    let Benchmark { baseline, candidate, .. } = benchmark;
    let test = match SpeedupTest::with_rules(baseline, candidate, variant.rules) {
        Ok(test) => test,
        Err(error) => {
            ledger.verdict(case, at, false, || error.to_string());
            return [false; 2];
        }
    };
    ledger.number(case, &format!("{at}/speedup_min"), test.speedups.min, relative(1e-12));
    ledger.number(case, &format!("{at}/speedup_mean"), test.speedups.mean, relative(1e-12));
    ledger.number(case, &format!("{at}/speedup_median"), test.speedups.median, relative(1e-12));
    sub_tests(case, ledger, at, &test, variant, benchmark);
    best_risks(case, ledger, at, &test, benchmark);
    let protocols: [(&str, &dyn Fn(Risk) -> ProtocolConclusion); 2] = [
        ("mean", &|risk| test.mean.at_risk(FASTER, risk)),
        ("median", &|risk| test.median.at_risk(FASTER, risk)),
    ];
    protocols.map(|(name, protocol)| {
        let verdict = level
            .map_or_else(|| (variant.search)(protocol), |level| published::verdict(Some(level), protocol));
        let at = format!("{at}/{name}");
        let significant = case.value(&format!("{at}/significant")).and_then(Value::as_bool);
        ledger.equal(case, &format!("{at}/significant"), &verdict.significant, &significant);
        let expected = case.number(&format!("{at}/conf_level"));
        let agrees = match (verdict.confidence, expected) {
            (Some(got), Some(expected)) => (got - expected).abs() < 1e-12,
            (got, expected) => got.is_none() && expected.is_none(),
        };
        let message = || format!("got {:?}, expected {expected:?}", verdict.confidence);
        ledger.verdict(case, &format!("{at}/conf_level"), agrees, message);
        let expected = case.value(&format!("{at}/warnings")).and_then(Value::as_array);
        let expected: BTreeSet<String> = expected
            .map_or(BTreeSet::new(), |w| w.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        ledger.equal(case, &format!("{at}/warnings"), &warnings(name, &verdict), &expected);
        verdict.significant == Some(true)
    })
}

/// The original program's names of what we say in caveats and reasons.
fn warnings(protocol: &str, verdict: &ProtocolVerdict) -> BTreeSet<String> {
    let position = |side: &Side| match side {
        Side::Baseline => 1,
        Side::Candidate => 2,
    };
    let mut names = BTreeSet::new();
    for caveat in &verdict.conclusion.caveats {
        match caveat {
            Caveat::NotNormalLarge { side, .. } => {
                names.insert(format!("mean_large_not_normal_{}", position(side)));
            }
            Caveat::NoLocationShift => {
                names.insert("median_large_no_shift".to_owned());
            }
            _ => {}
        }
    }
    if let ProtocolOutcome::CannotConclude { reason } = &verdict.conclusion.outcome {
        let (name, sides) = match reason {
            StopReason::SmallNotNormal { sides } => ("mean_small_not_normal", sides.as_slice()),
            StopReason::SmallNoLocationShift { sides } => ("median_small_no_shift", sides.as_slice()),
            StopReason::SubTestRefused { .. } => ("", [].as_slice()),
        };
        names.extend(sides.iter().map(|side| format!("{name}_{}", position(side))));
    }
    if verdict.no_level_above_half {
        names.insert(format!("no_level_above_half_{protocol}"));
    }
    names
}

fn sub_tests(
    case: &mut Case<'_>,
    ledger: &mut Ledger,
    at: &str,
    test: &SpeedupTest,
    variant: &Variant,
    benchmark: &Benchmark,
) {
    let [baseline, candidate] = test.mean.normality();
    let p = |test: SubTest| test.p_value().map(PValue::get);
    let tight = [&benchmark.baseline, &benchmark.candidate].into_iter().any(super::two_samples::is_tight);
    let ks = KolmogorovSmirnovStatistic::median_centred(&benchmark.baseline, &benchmark.candidate)
        .test(variant.rules.kolmogorov_smirnov);
    let ks_tolerance = match ks {
        KolmogorovSmirnov::Exact { .. } => absolute(1e-12),
        KolmogorovSmirnov::Asymptotic { .. } => absolute(2e-5),
    };
    let shapiro = relative(1e-8).or_absolute(1e-12);
    let means = if tight { relative(1e-5) } else { relative(1e-9).or_absolute(1e-15) };
    for (field, got, tolerance) in [
        ("shapiro1", p(baseline), shapiro),
        ("shapiro2", p(candidate), shapiro),
        ("f", p(test.mean.variances()), means),
        ("student", p(test.mean.student(FASTER)), means),
        ("welch", p(test.mean.welch(FASTER)), means),
        ("ks", p(test.median.location_shift()), ks_tolerance),
        ("wilcox", p(test.median.rank_sum(FASTER)), relative(1e-11)),
    ] {
        let at = format!("{at}/p_values/{field}");
        match (got, case.number(&at)) {
            (Some(got), Some(expected)) if !expected.is_nan() => {
                ledger.compare(case, &at, got, expected, tolerance);
            }
            (got, expected) => {
                let absent = expected.is_none_or(f64::is_nan);
                ledger.verdict(case, &at, got.is_none() && absent, || {
                    format!("got {got:?}, expected {expected:?}")
                });
            }
        }
    }
}

/// The exact search, by the variant's rules.
fn best_risks(case: &mut Case<'_>, ledger: &mut Ledger, at: &str, test: &SpeedupTest, benchmark: &Benchmark) {
    let tight = [&benchmark.baseline, &benchmark.candidate].into_iter().any(super::two_samples::is_tight);
    for (name, conclusion) in [("mean", test.mean.best(FASTER)), ("median", test.median.best(FASTER))] {
        let field = format!("{at}/best_alpha_{name}_exact");
        let expected = case.number(&field);
        let got = conclusion.risk.map(Risk::get);
        let relative_tolerance = if tight { 1e-5 } else { 1e-9 };
        let agrees = match (got, expected) {
            (Some(got), Some(expected)) => (got - expected).abs() <= relative_tolerance * expected + 1e-15,
            (got, expected) => got.is_none() && expected.is_none(),
        };
        let message = || format!("got {got:?}, expected {expected:?}");
        ledger.verdict(case, &field, agrees, message);
    }
}

/// The overall speedups, where the variant has them, and the weights in the rows, which all variants have.
fn overall(case: &mut Case<'_>, ledger: &mut Ledger, root: &str, benchmarks: &[Benchmark], option: &str) {
    let coefficients: Vec<Option<f64>> = benchmarks.iter().map(|b| b.coefficient).collect();
    let (weights, name) = match option {
        "equal" => (BenchmarkWeights::Equal, "equal"),
        "fraction" => (BenchmarkWeights::Fraction, "fraction"),
        _ => match published::weights(&coefficients) {
            BenchmarkWeights::Equal => (BenchmarkWeights::Equal, "equal"),
            weights => (weights, "custom"),
        },
    };
    if let Some(used) = case.value(&format!("{root}/weight_used")) {
        ledger.equal(case, &format!("{root}/weight_used"), &Some(name), &used.as_str());
    }
    let members: Vec<_> =
        benchmarks.iter().map(|b| SuiteMember { baseline: &b.baseline, candidate: &b.candidate }).collect();
    for (position, (summary, field)) in Summary::ALL.into_iter().zip(["min", "mean", "median"]).enumerate() {
        let overall = Overall::new(&members, summary, &weights).expect("a suite");
        let at = format!("{root}/overall/{field}");
        // The gain of nearly equal times is a difference: its error is that of the times.
        ledger.number(case, &format!("{at}/gain"), overall.gain, relative(1e-12).or_absolute(1e-14));
        ledger.number(case, &format!("{at}/speedup"), overall.speedup, relative(1e-12));
        let printed = weights.coefficients(summary, &members).expect("weights");
        for (index, got) in printed.into_iter().enumerate() {
            ledger.number(case, &format!("{root}/rows/{index}/coef/{position}"), got, relative(1e-12));
        }
    }
}

/// How many of the benchmarks were accelerated, and what is asked of that.
struct Accelerated {
    count: u64,
    benchmarks: u64,
    precision: f64,
    level: Option<f64>,
}

fn proportion(case: &mut Case<'_>, ledger: &mut Ledger, at: &str, given: &Accelerated) {
    let level = ConfidenceLevel::new(given.level.unwrap_or(0.95)).expect("a confidence level");
    let proportion = Proportion::new(given.count, given.benchmarks, Selection::Drawn).expect("a proportion");
    let interval = proportion.interval(ProportionMethod::WilsonCorrected, level);
    let needed = benchmarks_by_wald(proportion.estimate(), given.precision, level, Selection::Drawn);
    let valid = case.value(&format!("{at}/valid")).and_then(Value::as_bool);
    ledger.equal(case, &format!("{at}/valid"), &Some(proportion.satisfies_condition()), &valid);
    for (field, got) in [
        ("a", given.count as f64),
        ("b", given.benchmarks as f64),
        ("proportion", proportion.estimate()),
        ("conf", level.get()),
        ("lower", interval.lower),
        ("upper", interval.upper),
        ("min_benchmarks", needed.expect("a precision") as f64),
    ] {
        ledger.number(case, &format!("{at}/{field}"), got, absolute(1e-9));
    }
}
