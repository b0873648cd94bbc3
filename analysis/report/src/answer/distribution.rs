//! Quantiles, probabilities and clusters: one row each.

use speedup_analysis::inquiry::{DistributionFinding, IntervalAnswer};

use super::{Told, achieved, codes, lower, method, reason, upper};
use crate::facts::{Sheet, SheetCell, hidden, number, significant, words};

impl Told for Vec<DistributionFinding> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let headings = vec![
            words("finding", "finding"),
            words("version", "version"),
            words("benchmark", "benchmark"),
            number("at", "at"),
            number("observed", "observed"),
            hidden("lower"),
            hidden("upper"),
            hidden("interval_confidence"),
            hidden("interval_method"),
            number("modelled", "by the mixture"),
            words("reason", "reason"),
            hidden("caveats"),
        ];
        Sheet { headings, rows: self.iter().flat_map(rows).collect() }
    }
}

fn rows(one: &DistributionFinding) -> Vec<Vec<SheetCell>> {
    let why = || reason(one.reason.as_ref());
    let row = |finding: &str,
               at: SheetCell,
               observed: SheetCell,
               interval: [SheetCell; 4],
               modelled: SheetCell,
               reason: SheetCell| {
        let about = [
            SheetCell::text(finding),
            SheetCell::text(&one.version),
            SheetCell::text(&one.benchmark),
            at,
            observed,
        ];
        about.into_iter().chain(interval).chain([modelled, reason, codes(&one.caveats)]).collect::<Vec<_>>()
    };
    let of = |interval| [lower(interval), upper(interval), achieved(interval), method(interval)];
    let exactly = |number: f64| SheetCell::Shown(number, number.to_string());
    let mut rows = Vec::new();
    for quantile in &one.quantiles {
        let interval = &quantile.interval;
        let observed = with_ends(quantile.observed, interval);
        let reason = interval.reason().map_or_else(why, |missing| reason(Some(missing)));
        rows.push(row(
            "quantile",
            exactly(quantile.probability),
            observed,
            of(interval),
            SheetCell::of(quantile.modelled),
            reason,
        ));
    }
    for at_most in &one.at_most {
        let observed = with_ends(at_most.observed, &at_most.interval);
        let interval = of(&at_most.interval);
        rows.push(row(
            "at most",
            exactly(at_most.bound),
            observed,
            interval,
            SheetCell::of(at_most.modelled),
            why(),
        ));
    }
    for (at, cluster) in one.clusters.iter().flatten().enumerate() {
        let none = [const { SheetCell::Absent }; 4];
        rows.push(row(
            "cluster",
            SheetCell::Count(at as u64 + 1),
            SheetCell::Absent,
            none,
            SheetCell::Count(*cluster as u64),
            why(),
        ));
    }
    rows
}

/// A number with its interval, whose ends may be open.
fn with_ends(number: f64, interval: &IntervalAnswer) -> SheetCell {
    let digits = |number: f64| significant(number, 4);
    let text = match interval {
        IntervalAnswer::Missing { .. } => digits(number),
        IntervalAnswer::Bounded { lower, upper, .. } => {
            let lower = lower.map_or_else(|| "−∞".to_owned(), digits);
            let upper = upper.map_or_else(|| "∞".to_owned(), digits);
            format!("{} [{lower}, {upper}]", digits(number))
        }
    };
    SheetCell::Shown(number, text)
}
