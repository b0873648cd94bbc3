//! The hierarchical performance test; its matrices have a row a benchmark.

use crate::case::{Case, Ledger, absolute, number, relative};
use serde_json::Value;
use speedup_statistics::inference::{ConfidenceLevel, Risk, Side};
use speedup_statistics::protocol::hierarchical_performance_test::{
    BenchmarkRisk, HierarchicalPerformanceTest, PerformanceComparison, PerformanceRules,
    PerformanceTestError, RankSumRule, ReliableSpeedup, ScoreSuite, Winner,
};
use speedup_statistics::{sample::Sample, test::HalfIntegers};

const RULES: [(&str, RankSumRule); 3] = [
    ("paper_rule", RankSumRule::CriticalValues),
    ("r_default_rule", RankSumRule::RDefault),
    ("permutation_rule", RankSumRule::Permutations),
];

pub(crate) fn performance_test(case: &mut Case<'_>, ledger: &mut Ledger) {
    let (a, b) = (matrix(case, "/A"), matrix(case, "/B"));
    let positive = a.iter().chain(&b).all(|row| row.min() > 0.0);
    let suite = match ScoreSuite::of_matrices(a, b) {
        Ok(suite) => suite,
        Err(error) => {
            ledger.verdict(case, "/refusal", !positive, || error.to_string());
            ledger.skip(case, "", "we refuse scores that are not positive");
            return;
        }
    };
    ledger.number(case, "/gm_speedup", suite.geometric_mean_speedup(), relative(1e-12));
    let gamma = case.number("/gamma").expect("a speedup under test");
    let risk = Risk::new(case.number("/alpha").expect("a risk")).expect("a risk");
    for (name, rank_sum) in RULES {
        if !case.gives(&format!("/{name}")) {
            continue;
        }
        let rules =
            PerformanceRules { rank_sum, risk: BenchmarkRisk::Fixed(risk), ..PerformanceRules::default() };
        let comparison = match HierarchicalPerformanceTest::new(&suite, rules).at(gamma) {
            Ok(comparison) => comparison,
            Err(PerformanceTestError::RankSum { .. }) => {
                ledger.skip(case, &format!("/{name}"), "too many permutations to count");
                continue;
            }
            Err(error) => {
                ledger.verdict(case, &format!("/{name}"), false, || error.to_string());
                continue;
            }
        };
        one_rule(case, ledger, &format!("/{name}"), &comparison);
        let suggested = PerformanceRules { risk: BenchmarkRisk::ByRuns, ..rules };
        let suggested = HierarchicalPerformanceTest::new(&suite, suggested).at(gamma).expect("a comparison");
        let same = suggested.signed_rank == comparison.signed_rank;
        ledger.verdict(case, "/alpha", same, || "not the risk that the paper suggests".to_owned());
        let literal = PerformanceRules { half_integers: HalfIntegers::RoundedUp, ..rules };
        let literal = HierarchicalPerformanceTest::new(&suite, literal).at(gamma).expect("a comparison");
        let confidence = literal.confidence(Side::Candidate);
        ledger.number(case, &format!("/{name}/conf_A_strict"), confidence, relative(1e-12));
        reliable_speedups(case, ledger, &format!("/{name}/r_speedup"), &suite, rules);
    }
}

fn matrix(case: &mut Case<'_>, pointer: &str) -> Vec<Sample> {
    let rows = case.value(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let row = |row: &Value| row.as_array().map_or(Vec::new(), |row| row.iter().map(number).collect());
    rows.iter().map(|values| Sample::new(row(values)).expect("a row is a sample")).collect()
}

fn one_rule(case: &mut Case<'_>, ledger: &mut Ledger, at: &str, comparison: &PerformanceComparison) {
    let benchmarks = &comparison.benchmarks;
    let each = |of: &dyn Fn(usize) -> f64| -> Vec<f64> { (0..benchmarks.len()).map(of).collect() };
    let wins = each(&|i| match benchmarks[i].winner {
        Winner::Candidate => 1.0,
        Winner::Tie => 0.0,
        Winner::Baseline => -1.0,
    });
    ledger.numbers(case, &format!("{at}/wins"), &wins, absolute(0.0));
    let p = relative(1e-11);
    ledger.numbers(case, &format!("{at}/p_a"), &each(&|i| benchmarks[i].candidate_better.get()), p);
    ledger.numbers(case, &format!("{at}/p_b"), &each(&|i| benchmarks[i].baseline_better.get()), p);
    let sums = each(&|i| benchmarks[i].candidate_rank_sum);
    ledger.numbers(case, &format!("{at}/rank_sum_a"), &sums, absolute(0.0));
    // The reference rounds differences at 1e-12.
    let differences = each(&|i| benchmarks[i].difference);
    ledger.numbers(case, &format!("{at}/d"), &differences, relative(1e-12).or_absolute(2e-12));
    ledger.numbers(case, &format!("{at}/ranks"), &each(&|i| benchmarks[i].rank), absolute(0.0));
    ledger.number(case, &format!("{at}/R_A"), comparison.signed_rank.positive_sum(), absolute(0.0));
    let all = (benchmarks.len() * (benchmarks.len() + 1) / 2) as f64;
    ledger.number(case, &format!("{at}/R_B"), all - comparison.signed_rank.positive_sum(), absolute(0.0));
    let confidence = relative(1e-12).or_absolute(1e-15);
    ledger.number(case, &format!("{at}/conf_A"), comparison.confidence(Side::Candidate), confidence);
    ledger.number(case, &format!("{at}/conf_B"), comparison.confidence(Side::Baseline), confidence);
}

/// Nearer to one half than any other probability of so few ranks.
const ABOVE_HALF: f64 = 0.5 + 1e-12;

/// Whether the reference takes a confidence of exactly one half as less: R computes 2⁻ⁿ as e^(−n ln 2), and for
/// some n that rounds to more, so that a probability of one half comes out above it.
fn loses_one_half(benchmarks: usize) -> bool {
    let n = i32::try_from(benchmarks).expect("few benchmarks");
    (-f64::from(n) * std::f64::consts::LN_2).exp() > 2.0_f64.powi(-n)
}

fn reliable_speedups(
    case: &mut Case<'_>,
    ledger: &mut Ledger,
    at: &str,
    suite: &ScoreSuite,
    rules: PerformanceRules,
) {
    if !case.gives(at) {
        return;
    }
    let Some(asked) = case.peek(at).and_then(Value::as_object) else { return };
    for name in asked.keys() {
        let level: f64 = name.trim_start_matches('r').parse().expect("a confidence level");
        let level = if level == 0.5 && loses_one_half(suite.benchmarks().len()) { ABOVE_HALF } else { level };
        let level = ConfidenceLevel::new(level).expect("a confidence level");
        let test = HierarchicalPerformanceTest::new(suite, rules);
        let speedup = test.reliable_speedup(level).expect("a speedup");
        let field = |leaf: &str| format!("{at}/{name}/{leaf}");
        let (supremum, attained, monotone) = match speedup {
            ReliableSpeedup::NotFaster => (None, None, None),
            ReliableSpeedup::Supremum { speedup, attained, all_below_hold } => {
                (Some(speedup), Some(attained), Some(all_below_hold))
            }
            ReliableSpeedup::Unbounded => (Some(f64::INFINITY), None, None),
        };
        let expected = case.value(&field("sup")).map(number);
        match (supremum, expected) {
            (Some(got), Some(expected)) => {
                ledger.compare(case, &field("sup"), got, expected, relative(1e-9));
            }
            (got, expected) => ledger.equal(case, &field("sup"), &got, &expected),
        }
        for (leaf, got) in [("attained", attained), ("monotone", monotone)] {
            let expected = case.value(&field(leaf)).and_then(Value::as_bool);
            if supremum.is_some_and(f64::is_infinite) {
                ledger.skip_named(&field(leaf), "every speedup is confirmed");
            } else {
                ledger.equal(case, &field(leaf), &got, &expected);
            }
        }
    }
}
