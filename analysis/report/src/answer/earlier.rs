//! The earlier protocol: a row for each benchmark.

use speedup_analysis::{count::counted, inquiry::EarlierFinding, inquiry::EarlierSuite, inquiry::Preference};

use super::{Told, achieved, codes, lower, method, reason, verdict};
use crate::facts::{Sheet, SheetCell, hidden, level, number, words};

impl Told for Vec<EarlierSuite> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        Sheet::of::<(&EarlierSuite, &EarlierFinding)>(
            &self
                .iter()
                .flat_map(|suite| suite.benchmarks.iter().map(move |one| (suite, one)))
                .collect::<Vec<_>>(),
            &[
                (words("verdict", "verdict"), |(_, one)| verdict(one.verdict)),
                (words("candidate", "candidate"), |(suite, _)| SheetCell::text(&suite.candidate)),
                (words("benchmark", "benchmark"), |(_, one)| SheetCell::text(&one.benchmark)),
                (number("median_speedup", "by the median"), |(_, one)| {
                    SheetCell::speedup(Some(one.median_speedup), None)
                }),
                (number("mean_speedup", "by the mean"), |(_, one)| {
                    SheetCell::speedup(Some(one.mean_speedup), None)
                }),
                (number("difference_lower", "difference above"), |(_, one)| lower(&one.difference)),
                (hidden("interval_confidence"), |(_, one)| achieved(&one.difference)),
                (hidden("interval_method"), |(_, one)| method(&one.difference)),
                (number("best_confidence", "best level"), |(_, one)| SheetCell::percent(one.best_confidence)),
                (words("reason", "reason"), |(_, one)| reason(one.reason.as_ref())),
                (hidden("caveats"), |(suite, one)| {
                    codes(suite.caveats.iter().chain(one.difference.caveats()))
                }),
            ],
        )
    }

    fn sentences(&self, _better: Preference) -> Vec<String> {
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
