//! The ratio of the declared centres: what the report of an experiment says first, a row for each benchmark.

use speedup_analysis::inquiry::{RatioFinding, RatioSuite};
use speedup_analysis::study::{AdjustedReport, IntervalReport, Protocol};

use super::{Told, reason, verdict};
use crate::facts::{Sheet, SheetCell, hidden, number, words};
use crate::section::share_in_words;

impl Told for Vec<RatioSuite> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let several = self.iter().any(|suite| suite.benchmarks.len() > 1);
        let mut headings = vec![
            words("verdict", "verdict"),
            words("candidate", "candidate"),
            words("benchmark", "benchmark"),
            hidden("baseline_runs"),
            hidden("candidate_runs"),
            words("of", "of"),
            number("speedup", "speedup"),
            hidden("lower"),
            hidden("upper"),
            hidden("interval_confidence"),
            hidden("interval_method"),
            number("p_value", "p"),
        ];
        if several {
            headings.push(number("adjusted_p_value", "adjusted p"));
            headings.push(words("adjusted_verdict", "adjusted verdict"));
        }
        headings.push(words("reason", "reason"));
        let rows = self.iter().flat_map(|suite| {
            suite.benchmarks.iter().map(move |one| {
                let mut row = of(&suite.suite.candidate, one);
                if several {
                    let holm = one.comparison.adjusted.iter().find(|one| one.is_familywise());
                    row.push(SheetCell::p_value(holm.map(|adjusted| adjusted.p_value)));
                    let of_verdict = |adjusted: &AdjustedReport| verdict(adjusted.verdict);
                    row.push(holm.map_or(SheetCell::Absent, of_verdict));
                }
                row.push(reason(one.comparison.reason.as_ref()));
                row
            })
        });
        Sheet { headings, rows: rows.collect() }
    }

    fn sentences(&self) -> Vec<String> {
        let of = |suite: &RatioSuite| {
            let share = share_in_words(&suite.suite);
            let lines = std::iter::once(suite.suite.sentence.clone()).chain(share);
            lines.collect::<Vec<_>>().join("\n")
        };
        self.iter().map(of).collect()
    }
}

fn of(candidate: &str, one: &RatioFinding) -> Vec<SheetCell> {
    let comparison = &one.comparison;
    let headline = comparison.headline();
    let headline = headline.as_ref();
    let ends = headline.and_then(|headline| headline.interval.ends());
    let achieved = headline.and_then(|headline| match &headline.interval {
        IntervalReport::Bounded { confidence, .. } => Some(*confidence),
        IntervalReport::Missing { .. } => None,
    });
    let method = headline.and_then(|headline| headline.interval.method());
    vec![
        verdict(comparison.verdict),
        SheetCell::text(candidate),
        SheetCell::text(&one.benchmark),
        SheetCell::Count(comparison.baseline_n),
        SheetCell::Count(comparison.candidate_n),
        comparison.by.map(Protocol::name).map_or(SheetCell::Absent, SheetCell::text),
        SheetCell::speedup(headline.map(|headline| headline.speedup), ends),
        SheetCell::of(ends.map(|(lower, _)| lower)),
        SheetCell::of(ends.map(|(_, upper)| upper)),
        SheetCell::of(achieved),
        method.map_or(SheetCell::Absent, SheetCell::text),
        SheetCell::p_value(headline.and_then(|headline| headline.p_value)),
    ]
}
