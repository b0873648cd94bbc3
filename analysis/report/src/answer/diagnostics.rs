//! Diagnostics: a row for each of a sample.

use speedup_analysis::inquiry::DiagnosticsFinding;
use speedup_statistics::diagnostics::MetricKind;

use super::{Told, codes, reason};
use crate::facts::{Sheet, SheetCell, hidden, number, words};

impl Told for Vec<DiagnosticsFinding> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let headings = vec![
            words("verdict", "verdict"),
            words("version", "version"),
            words("benchmark", "benchmark"),
            words("diagnostic", "diagnostic"),
            number("statistic", "statistic"),
            number("p_value", "p"),
            words("metric_kind", "values"),
            number("tied_share", "tied"),
            hidden("grid"),
            hidden("slope"),
            hidden("test"),
            words("reason", "reason"),
            hidden("caveats"),
        ];
        let mut rows = Vec::new();
        for one in self {
            for diagnostic in &one.diagnostics {
                let said = match diagnostic.p_value {
                    None => "not made",
                    Some(_) if one.signs.contains(&diagnostic.code) => "order matters",
                    Some(_) => "no sign",
                };
                rows.push(vec![
                    SheetCell::text(said),
                    SheetCell::text(&one.version),
                    SheetCell::text(&one.benchmark),
                    SheetCell::text(diagnostic.code),
                    SheetCell::of(diagnostic.statistic),
                    SheetCell::p_value(diagnostic.p_value),
                    SheetCell::text(kind(one.metric_kind)),
                    SheetCell::share(one.tied_share),
                    SheetCell::of(one.grid),
                    SheetCell::of(one.slope),
                    SheetCell::text(diagnostic.method),
                    reason(diagnostic.reason.as_ref()),
                    codes(&one.caveats),
                ]);
            }
        }
        Sheet { headings, rows }
    }
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
