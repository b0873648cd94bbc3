//! Table 1 of Chen 2012 and what is said of it.

use super::{Finding, Recomputed};
use speedup_statistics::inference::{ConfidenceLevel, Side};
use speedup_statistics::protocol::hierarchical_performance_test::{
    HierarchicalPerformanceTest, PerformanceComparison, PerformanceRules, ReliableSpeedup, Winner,
};
use speedup_studies::table_1::{self, SPEEDUP};

pub(super) fn recompute(section: &str, quantity: &str) -> Recomputed {
    let suite = table_1::suite().expect("scores");
    let test = HierarchicalPerformanceTest::new(&suite, PerformanceRules::default());
    let printed = test.at(SPEEDUP).expect("a comparison");
    let each = |of: &dyn Fn(usize) -> f64| Finding::Numbers((0..printed.benchmarks.len()).map(of).collect());
    Ok(match (section, quantity) {
        ("Table 1", "14 winners") => Finding::Words(winners(&printed)),
        ("Table 1", "ranks") => each(&|i| printed.benchmarks[i].rank),
        ("Table 1", "differences") => each(&|i| printed.benchmarks[i].difference),
        ("4.3", "confidence at gamma=1.76 >= 0.95") => Finding::AtLeast(printed.confidence(Side::Candidate)),
        ("5.1", "GM speedup") => Finding::Number(suite.geometric_mean_speedup()),
        ("5.1", "confidence at GM speedup") => {
            let comparison = test.at(suite.geometric_mean_speedup()).expect("a comparison");
            Finding::Number(comparison.confidence(Side::Candidate))
        }
        ("4.3", "0.95-Speedup") => match test.reliable_speedup(ConfidenceLevel::USUAL).expect("a speedup") {
            ReliableSpeedup::Supremum { speedup, .. } => Finding::Number(speedup),
            ReliableSpeedup::NotFaster | ReliableSpeedup::Unbounded => Finding::Absent,
        },
        _ => return Err("this program does not know the number"),
    })
}

fn winners(comparison: &PerformanceComparison) -> String {
    let word = |winner| match winner {
        Winner::Candidate => "X",
        Winner::Tie => "Tie",
        Winner::Baseline => "Y",
    };
    let words: Vec<&str> = comparison.benchmarks.iter().map(|b| word(b.winner)).collect();
    words.join(" ")
}
