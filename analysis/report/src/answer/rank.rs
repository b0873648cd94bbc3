//! Tests by ranks: a row for each benchmark.

use speedup_analysis::inquiry::{BrunnerMunzelFinding, SignedRankFinding};

use super::{Render, achieved, codes, lower, method, reason, upper};
use crate::facts::{Sheet, SheetCell, hidden, number, significant, words};

impl Render for Vec<SignedRankFinding> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        Sheet::from_columns(
            self,
            &[
                (words("verdict", "verdict"), |one| one.verdict.into()),
                (words("candidate", "candidate"), |one| SheetCell::text(&one.candidate)),
                (words("benchmark", "benchmark"), |one| SheetCell::text(&one.benchmark)),
                (number("pairs", "pairs"), |one| SheetCell::Count(one.pairs as u64)),
                (number("speedup", "speedup of a pair"), |one| {
                    SheetCell::speedup(one.speedup, one.interval.ends())
                }),
                (hidden("lower"), |one| lower(&one.interval)),
                (hidden("upper"), |one| upper(&one.interval)),
                (hidden("interval_confidence"), |one| achieved(&one.interval)),
                (hidden("interval_method"), |one| method(&one.interval)),
                (hidden("test"), |one| one.test.as_ref().map_or(SheetCell::Absent, SheetCell::text)),
                (number("statistic", "V"), |one| SheetCell::optional(one.statistic)),
                (number("p_value_faster", "p (faster)"), |one| SheetCell::p_value(one.p_value_faster)),
                (number("p_value_slower", "p (slower)"), |one| SheetCell::p_value(one.p_value_slower)),
                (words("reason", "reason"), |one| reason(one.reason.as_ref())),
                (hidden("caveats"), |one| codes(one.caveats.iter().chain(one.interval.caveats()))),
            ],
        )
    }
}

impl Render for Vec<BrunnerMunzelFinding> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        Sheet::from_columns(
            self,
            &[
                (words("verdict", "verdict"), |one| one.verdict.into()),
                (words("candidate", "candidate"), |one| SheetCell::text(&one.candidate)),
                (words("benchmark", "benchmark"), |one| SheetCell::text(&one.benchmark)),
                (hidden("baseline_runs"), |one| SheetCell::Count(one.baseline_runs as u64)),
                (hidden("candidate_runs"), |one| SheetCell::Count(one.candidate_runs as u64)),
                (number("probability_better", "P[better]"), |one| probability(one)),
                (hidden("lower"), |one| lower(&one.interval)),
                (hidden("upper"), |one| upper(&one.interval)),
                (hidden("interval_confidence"), |one| achieved(&one.interval)),
                (hidden("interval_method"), |one| method(&one.interval)),
                (number("statistic", "t"), |one| SheetCell::optional(one.statistic)),
                (number("df", "df"), |one| SheetCell::optional(one.df)),
                (number("p_value_faster", "p (faster)"), |one| SheetCell::p_value(one.p_value_faster)),
                (number("p_value_slower", "p (slower)"), |one| SheetCell::p_value(one.p_value_slower)),
                (words("reason", "reason"), |one| reason(one.reason.as_ref())),
                (hidden("caveats"), |one| codes(one.caveats.iter().chain(one.interval.caveats()))),
            ],
        )
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
