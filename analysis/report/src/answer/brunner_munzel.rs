//! The Brunner–Munzel test: a row for each benchmark.

use speedup_analysis::inquiry::BrunnerMunzelFinding;

use super::{Told, achieved, codes, lower, method, reason, upper, verdict};
use crate::facts::{Sheet, SheetCell, hidden, number, significant, words};

impl Told for Vec<BrunnerMunzelFinding> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let headings = vec![
            words("verdict", "verdict"),
            words("candidate", "candidate"),
            words("benchmark", "benchmark"),
            hidden("baseline_runs"),
            hidden("candidate_runs"),
            number("probability_better", "P[better]"),
            hidden("lower"),
            hidden("upper"),
            hidden("interval_confidence"),
            hidden("interval_method"),
            number("statistic", "t"),
            number("df", "df"),
            number("p_value_faster", "p (faster)"),
            number("p_value_slower", "p (slower)"),
            words("reason", "reason"),
            hidden("caveats"),
        ];
        let row = |one: &BrunnerMunzelFinding| {
            vec![
                verdict(one.verdict),
                SheetCell::text(&one.candidate),
                SheetCell::text(&one.benchmark),
                SheetCell::Count(one.baseline_runs as u64),
                SheetCell::Count(one.candidate_runs as u64),
                probability(one),
                lower(&one.interval),
                upper(&one.interval),
                achieved(&one.interval),
                method(&one.interval),
                SheetCell::of(one.statistic),
                SheetCell::of(one.df),
                SheetCell::p_value(one.p_value_faster),
                SheetCell::p_value(one.p_value_slower),
                reason(one.reason.as_ref()),
                codes(one.caveats.iter().chain(one.interval.caveats())),
            ]
        };
        Sheet { headings, rows: self.iter().map(row).collect() }
    }
}

fn probability(one: &BrunnerMunzelFinding) -> SheetCell {
    let Some(probability) = one.probability_better else { return SheetCell::Absent };
    let digits = |number: f64| significant(number, 3);
    let ends = one
        .interval
        .ends()
        .map_or_else(String::new, |(lower, upper)| format!(" [{}, {}]", digits(lower), digits(upper)));
    SheetCell::Shown(probability, format!("{}{ends}", digits(probability)))
}
