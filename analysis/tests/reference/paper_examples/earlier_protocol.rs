//! The examples of 003, whose times are those of the second benchmark of 000 §6.3.

use super::speedup_test::benchmark;
use super::{Finding, Recomputed};
use speedup_analysis::{Alternative, ConfidenceLevel, Sample, WelchTTest};

pub(super) fn recompute(_section: &str, quantity: &str) -> Recomputed {
    let (slow, fast) = benchmark(2);
    let lower = |x: &Sample, y: &Sample, level: f64| {
        let level = ConfidenceLevel::new(level).expect("a level");
        WelchTTest::new(x, y).expect("a test").interval(Alternative::Greater, level).lower
    };
    Ok(Finding::Number(match quantity {
        "99% lower bound" => lower(&slow, &fast, 0.99),
        "95% lower bound" => lower(&slow, &fast, 0.95),
        "1% lower bound (Y,X)" => lower(&fast, &slow, 0.01),
        "mean ratio" => fast.mean() / slow.mean(),
        "median ratio" => fast.median() / slow.median(),
        _ => return Err("this program does not know the number"),
    }))
}
