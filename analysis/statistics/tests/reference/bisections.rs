//! Bisections: where the step is, whether there is one, and which commit runs next.

use crate::case::{Case, Ledger, absolute, relative};
use serde_json::Value;
use speedup_statistics::bisection::{
    CommitLine, FailureRate, OutcomeBisection, RunOutcome, StepBisection, StepRule,
};
use speedup_statistics::inference::{ConfidenceLevel, Threshold};

fn line(case: &mut Case<'_>) -> CommitLine {
    CommitLine::new(case.number("/commits").expect("a count") as usize).expect("a line")
}

/// The rows of numbers at `pointer`.
fn pairs(value: Option<&Value>) -> Vec<(usize, f64)> {
    let pair = |pair: &Value| Some((pair[0].as_u64()? as usize, pair[1].as_f64()?));
    value.and_then(Value::as_array).map_or(Vec::new(), |pairs| pairs.iter().filter_map(pair).collect())
}

pub(crate) fn outcomes(case: &mut Case<'_>, ledger: &mut Ledger) {
    let line = line(case).with_prior(&case.numbers("/weights")).expect("a prior");
    let rates = ["/old", "/new"].map(|pointer| {
        let counts = case.numbers(pointer);
        FailureRate { failed: counts[0], passed: counts[1] }
    });
    let mut bisection = OutcomeBisection::new(line, rates);
    for (commit, failed) in pairs(case.value("/runs")) {
        let outcome = if failed == 1.0 { RunOutcome::Failed } else { RunOutcome::Passed };
        bisection.observe(commit, outcome).expect("a commit of the line");
    }
    // Both subtract logarithms of gamma functions of up to 60 outcomes.
    ledger.numbers(
        case,
        "/probabilities",
        &bisection.probabilities()[1..],
        relative(1e-10).or_absolute(1e-14),
    );
    ledger.number(case, "/next", bisection.next_commit() as f64, absolute(0.0));
}

/// With weights of the commits, where the case has them.
pub(crate) fn steps(case: &mut Case<'_>, ledger: &mut Ledger) {
    let line = line(case);
    let weights = case.peek("/weights").map(|_| case.numbers("/weights"));
    let line = weights.map_or(Ok(line.clone()), |weights| line.with_prior(&weights)).expect("a prior");
    let margin = Threshold::new(case.number("/margin").expect("a margin")).expect("a margin");
    let mut bisection = StepBisection::new(line, StepRule { confidence: ConfidenceLevel::USUAL, margin });
    let blocks = case.value("/blocks").and_then(Value::as_array).expect("blocks");
    for (block, runs) in (0..).zip(blocks) {
        for (commit, value) in pairs(Some(runs)) {
            bisection.observe(block, commit, value).expect("a run of the line");
        }
    }
    // What two grids leave out is less than a hundredth of the probability; a tenth where runs of both ends stall, so that two sizes far apart are
    // likely and the grid between them is coarse.
    let tolerance = absolute(if case.id() == "sb-002" { 0.1 } else { 0.01 });
    ledger.numbers(case, "/probabilities", &bisection.probabilities()[1..], tolerance);
    ledger.number(case, "/no_step", bisection.answer().no_step, tolerance);
}
