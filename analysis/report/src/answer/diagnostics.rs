//! Diagnostics: a row for each of a sample.

use speedup_analysis::inquiry::{Diagnostic, DiagnosticsFinding};
use speedup_statistics::diagnostics::MetricKind;

use super::{Render, codes, reason};
use crate::facts::{Sheet, SheetCell, hidden, number, words};

impl Render for Vec<DiagnosticsFinding> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        Sheet::from_columns::<(&DiagnosticsFinding, &Diagnostic)>(
            &self
                .iter()
                .flat_map(|one| one.diagnostics.iter().map(move |diagnostic| (one, diagnostic)))
                .collect::<Vec<_>>(),
            &[
                (words("verdict", "verdict"), |(one, diagnostic)| verdict(one, diagnostic)),
                (words("version", "version"), |(one, _)| SheetCell::text(&one.version)),
                (words("benchmark", "benchmark"), |(one, _)| SheetCell::text(&one.benchmark)),
                (words("diagnostic", "diagnostic"), |(_, diagnostic)| SheetCell::text(diagnostic.code)),
                (number("statistic", "statistic"), |(_, diagnostic)| {
                    SheetCell::optional(diagnostic.statistic)
                }),
                (number("p_value", "p"), |(_, diagnostic)| SheetCell::p_value(diagnostic.p_value)),
                (words("metric_kind", "values"), |(one, _)| SheetCell::text(kind(one.metric_kind))),
                (number("tied_share", "tied"), |(one, _)| SheetCell::share(one.tied_share)),
                (hidden("grid"), |(one, _)| SheetCell::optional(one.grid)),
                (hidden("slope"), |(one, _)| SheetCell::optional(one.slope)),
                (hidden("test"), |(_, diagnostic)| SheetCell::text(diagnostic.method)),
                (words("reason", "reason"), |(_, diagnostic)| reason(diagnostic.reason.as_ref())),
                (hidden("caveats"), |(one, _)| codes(&one.caveats)),
            ],
        )
    }
}

fn verdict(one: &DiagnosticsFinding, diagnostic: &Diagnostic) -> SheetCell {
    SheetCell::text(match diagnostic.p_value {
        None => "not made",
        Some(_) if one.signs.contains(&diagnostic.code) => "order matters",
        Some(_) => "no sign",
    })
}

fn kind(kind: MetricKind) -> &'static str {
    match kind {
        MetricKind::Continuous => "continuous",
        MetricKind::Coarse => "coarse",
        MetricKind::Discrete => "discrete",
        MetricKind::Constant => "constant",
        MetricKind::Unknown => "too few to tell",
    }
}
