//! Quantiles, probabilities and clusters: one row each.

use speedup_analysis::{conclusion::Reason, inquiry::DistributionFinding, inquiry::IntervalAnswer};

use super::{Render, codes, interval_cells, reason};
use crate::facts::{Sheet, SheetCell, hidden, number, significant, words};

impl Render for Vec<DistributionFinding> {
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
    let mut rows = Vec::new();
    for quantile in &one.quantiles {
        let interval = &quantile.interval;
        rows.push(DistributionRow {
            finding: "quantile",
            at: exactly(quantile.probability),
            observed: with_ends(quantile.observed, interval),
            interval: interval_cells(interval),
            modelled: SheetCell::optional(quantile.modelled),
            reason: interval.reason().or(one.reason.as_ref()),
        });
    }
    for at_most in &one.at_most {
        rows.push(DistributionRow {
            finding: "at most",
            at: exactly(at_most.bound),
            observed: with_ends(at_most.observed, &at_most.interval),
            interval: interval_cells(&at_most.interval),
            modelled: SheetCell::optional(at_most.modelled),
            reason: one.reason.as_ref(),
        });
    }
    for (number, cluster) in (1..).zip(one.clusters.iter().flatten()) {
        rows.push(DistributionRow {
            finding: "cluster",
            at: SheetCell::Count(number),
            observed: SheetCell::Absent,
            interval: [const { SheetCell::Absent }; 4],
            modelled: SheetCell::Count(*cluster as u64),
            reason: one.reason.as_ref(),
        });
    }
    rows.into_iter().map(|row| row.into_cells(one)).collect()
}

/// The content of one row of a sample's table.
struct DistributionRow<'a> {
    finding: &'static str,
    at: SheetCell,
    observed: SheetCell,
    interval: [SheetCell; 4],
    modelled: SheetCell,
    reason: Option<&'a Reason>,
}

impl DistributionRow<'_> {
    fn into_cells(self, one: &DistributionFinding) -> Vec<SheetCell> {
        let mut cells = vec![
            SheetCell::text(self.finding),
            SheetCell::text(&one.version),
            SheetCell::text(&one.benchmark),
            self.at,
            self.observed,
        ];
        cells.extend(self.interval);
        cells.extend([self.modelled, reason(self.reason), codes(&one.caveats)]);
        cells
    }
}

/// A number that was asked for, with the digits of the question.
fn exactly(number: f64) -> SheetCell {
    SheetCell::Shown(number, number.to_string())
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
