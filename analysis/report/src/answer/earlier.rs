//! The earlier protocol: a row for each benchmark.

use speedup_analysis::count::counted;
use speedup_analysis::inquiry::{EarlierFinding, EarlierSuite};

use super::{Told, achieved, codes, lower, method, reason, verdict};
use crate::facts::{Sheet, SheetCell, hidden, level, number, words};

impl Told for Vec<EarlierSuite> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let headings = vec![
            words("verdict", "verdict"),
            words("candidate", "candidate"),
            words("benchmark", "benchmark"),
            number("median_speedup", "by the median"),
            number("mean_speedup", "by the mean"),
            number("difference_lower", "difference above"),
            hidden("interval_confidence"),
            hidden("interval_method"),
            number("best_confidence", "best level"),
            words("reason", "reason"),
            hidden("caveats"),
        ];
        let of_suite = |suite: &EarlierSuite| {
            let row = |one: &EarlierFinding| {
                vec![
                    verdict(one.verdict),
                    SheetCell::text(&suite.candidate),
                    SheetCell::text(&one.benchmark),
                    SheetCell::speedup(Some(one.median_speedup), None),
                    SheetCell::speedup(Some(one.mean_speedup), None),
                    lower(&one.difference),
                    achieved(&one.difference),
                    method(&one.difference),
                    SheetCell::percent(one.best_confidence),
                    reason(one.reason.as_ref()),
                    codes(suite.caveats.iter().chain(one.difference.caveats())),
                ]
            };
            suite.benchmarks.iter().map(row).collect::<Vec<_>>()
        };
        Sheet { headings, rows: self.iter().flat_map(of_suite).collect() }
    }

    fn sentences(&self) -> Vec<String> {
        let of_suite = |suite: &EarlierSuite| {
            let sure = suite
                .confidence
                .map_or_else(String::new, |share| format!(", all of them at a level of {}", level(share)));
            let all = counted(suite.benchmarks.len() as u64, "benchmark");
            format!("{}: faster on {} of {all}{sure}.", suite.candidate, suite.accelerated)
        };
        self.iter().map(of_suite).collect()
    }
}
