//! The signed-rank test: a row for each benchmark.

use speedup_analysis::inquiry::SignedRankFinding;

use super::{Told, achieved, codes, lower, method, reason, upper, verdict};
use crate::facts::{Sheet, SheetCell, hidden, number, words};

impl Told for Vec<SignedRankFinding> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let headings = vec![
            words("verdict", "verdict"),
            words("candidate", "candidate"),
            words("benchmark", "benchmark"),
            number("pairs", "pairs"),
            number("speedup", "speedup of a pair"),
            hidden("lower"),
            hidden("upper"),
            hidden("interval_confidence"),
            hidden("interval_method"),
            hidden("test"),
            number("statistic", "V"),
            number("p_value_faster", "p (faster)"),
            number("p_value_slower", "p (slower)"),
            words("reason", "reason"),
            hidden("caveats"),
        ];
        let row = |one: &SignedRankFinding| {
            vec![
                verdict(one.verdict),
                SheetCell::text(&one.candidate),
                SheetCell::text(&one.benchmark),
                SheetCell::Count(one.pairs as u64),
                SheetCell::speedup(one.speedup, one.interval.ends()),
                lower(&one.interval),
                upper(&one.interval),
                achieved(&one.interval),
                method(&one.interval),
                one.test.as_ref().map_or(SheetCell::Absent, SheetCell::text),
                SheetCell::of(one.statistic),
                SheetCell::p_value(one.p_value_faster),
                SheetCell::p_value(one.p_value_slower),
                reason(one.reason.as_ref()),
                codes(one.caveats.iter().chain(one.interval.caveats())),
            ]
        };
        Sheet { headings, rows: self.iter().map(row).collect() }
    }
}
