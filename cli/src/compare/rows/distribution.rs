//! Quantiles, probabilities and clusters: one row each.

use speedup_analysis::inquiry::{DistributionFinding, IntervalAnswer};

use super::{lower, reason, upper};
use crate::compare::sheet::{Cell, Sheet, hidden, number, significant, words};

pub(super) fn sheet(of: &[DistributionFinding]) -> Sheet {
    let headings = vec![
        words("finding", "finding"),
        words("version", "version"),
        words("benchmark", "benchmark"),
        number("at", "at"),
        number("observed", "observed"),
        hidden("lower"),
        hidden("upper"),
        number("modelled", "by the mixture"),
        words("reason", "reason"),
    ];
    Sheet { headings, rows: of.iter().flat_map(rows).collect() }
}

fn rows(one: &DistributionFinding) -> Vec<Vec<Cell>> {
    let why = || reason(one.reason.as_ref());
    let row =
        |finding: &str, at: Cell, observed: Cell, [lower, upper]: [Cell; 2], modelled: Cell, reason: Cell| {
            let about = [Cell::text(finding), Cell::text(&one.version), Cell::text(&one.benchmark)];
            about.into_iter().chain([at, observed, lower, upper, modelled, reason]).collect::<Vec<_>>()
        };
    let exactly = |number: f64| Cell::Shown(number, number.to_string());
    let mut rows = Vec::new();
    for quantile in &one.quantiles {
        let interval = &quantile.interval;
        let observed = with_ends(quantile.observed, interval);
        let reason = interval.reason().map_or_else(why, |missing| reason(Some(missing)));
        let ends = [lower(interval), upper(interval)];
        rows.push(row(
            "quantile",
            exactly(quantile.probability),
            observed,
            ends,
            Cell::of(quantile.modelled),
            reason,
        ));
    }
    for at_most in &one.at_most {
        let observed = with_ends(at_most.observed, &at_most.interval);
        let ends = [lower(&at_most.interval), upper(&at_most.interval)];
        rows.push(row("at most", exactly(at_most.bound), observed, ends, Cell::of(at_most.modelled), why()));
    }
    for (at, cluster) in one.clusters.iter().flatten().enumerate() {
        let none = [Cell::Absent, Cell::Absent];
        rows.push(row(
            "cluster",
            Cell::Count(at as u64 + 1),
            Cell::Absent,
            none,
            Cell::Count(*cluster as u64),
            why(),
        ));
    }
    rows
}

/// A number with its interval, whose ends may be open.
fn with_ends(number: f64, interval: &IntervalAnswer) -> Cell {
    let digits = |number: f64| significant(number, 4);
    let text = match interval {
        IntervalAnswer::Missing { .. } => digits(number),
        IntervalAnswer::Bounded { lower, upper, .. } => {
            let lower = lower.map_or_else(|| "−∞".to_owned(), digits);
            let upper = upper.map_or_else(|| "∞".to_owned(), digits);
            format!("{} [{lower}, {upper}]", digits(number))
        }
    };
    Cell::Shown(number, text)
}
