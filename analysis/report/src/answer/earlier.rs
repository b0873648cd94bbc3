//! The earlier protocol: a row for each benchmark.

use speedup_analysis::{count::counted, inquiry::EarlierFinding, inquiry::EarlierSuite, inquiry::Preference};

use super::{Render, VerdictLine, achieved, codes, lower, method, reason};
use crate::document::Tone;
use crate::facts::{Sheet, SheetCell, hidden, level, number, words};

impl Render for Vec<EarlierSuite> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        Sheet::from_columns::<(&EarlierSuite, &EarlierFinding)>(
            &self
                .iter()
                .flat_map(|suite| suite.benchmarks.iter().map(move |one| (suite, one)))
                .collect::<Vec<_>>(),
            &[
                (words("verdict", "verdict"), |(_, one)| one.verdict.into()),
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

    fn verdict(&self, _better: Preference) -> Vec<VerdictLine> {
        self.iter().map(verdict_line).collect()
    }
}

fn verdict_line(suite: &EarlierSuite) -> VerdictLine {
    let all = counted(suite.benchmarks.len() as u64, "benchmark");
    let mut text = format!("{}: faster on {} of {all}", suite.candidate, suite.accelerated);
    if let Some(confidence) = suite.confidence {
        text += &format!(", all of them at a level of {}", level(confidence));
    }
    let tone = if suite.accelerated > 0 { Tone::Better } else { Tone::Plain };
    VerdictLine::toned(text + ".", tone)
}
