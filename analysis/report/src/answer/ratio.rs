//! The ratio of the declared centres: what the report of an experiment says first, a row for each benchmark, and one for each
//! quantile that was asked for.

use speedup_analysis::count::about;
use speedup_analysis::study::{ControlRow, ControlsReport, EndpointReport, EndpointRow, IntervalReport};
use speedup_analysis::{inquiry::Preference, inquiry::RatioFinding, inquiry::RatioSuite};
use speedup_core::experiment::Center;

use super::{Render, VerdictLine, reason};
use crate::facts::{Heading, Sheet, SheetCell, hidden, number, words};
use crate::section::{endpoint_sentence, share_in_words};

/// The columns that all rows have.
#[derive(Clone, Copy)]
struct RatioColumns {
    /// Whether some comparison is one of pairs.
    pairs: bool,
    /// Whether verdicts share their risk with others.
    family: bool,
}

impl RatioColumns {
    fn new(suites: &[RatioSuite]) -> Self {
        let mut findings = suites.iter().flat_map(|suite| &suite.benchmarks);
        Self {
            pairs: findings.any(|finding| finding.comparison.design.is_some()),
            family: suites.iter().any(|suite| suite.benchmarks.len() > 1 || !suite.endpoints.is_empty()),
        }
    }

    fn headings(self) -> Vec<Heading> {
        let mut headings = vec![
            words("verdict", "verdict"),
            words("candidate", "candidate"),
            words("benchmark", "benchmark"),
            hidden("baseline_runs"),
            hidden("candidate_runs"),
        ];
        if self.pairs {
            headings.push(number("pairs", "pairs"));
        }
        headings.extend([
            words("of", "of"),
            number("speedup", "speedup"),
            hidden("lower"),
            hidden("upper"),
            hidden("interval_confidence"),
            hidden("interval_method"),
            number("p_value", "p"),
        ]);
        headings.extend(match self.family {
            true => [number("adjusted_p_value", "adjusted p"), words("adjusted_verdict", "adjusted verdict")],
            // Alone, a row's adjusted columns equal the plain ones.
            false => ["adjusted_p_value", "adjusted_verdict"].map(hidden),
        });
        headings.push(number("smallest_effect", "would show"));
        headings.push(words("reason", "reason"));
        headings
    }

    /// What a row begins with.
    fn start(self, verdict: SheetCell, candidate: &str, one: &RatioFinding) -> Vec<SheetCell> {
        let comparison = &one.comparison;
        let mut row = vec![
            verdict,
            SheetCell::text(candidate),
            SheetCell::text(&one.benchmark),
            SheetCell::Count(comparison.baseline_n),
            SheetCell::Count(comparison.candidate_n),
        ];
        if self.pairs {
            let pairs = comparison.design.as_ref().map(|design| SheetCell::Count(design.baseline_units));
            row.push(pairs.unwrap_or_default());
        }
        row
    }

    fn headline(self, candidate: &str, one: &RatioFinding) -> Vec<SheetCell> {
        let comparison = &one.comparison;
        let headline = comparison.headline();
        let headline = headline.as_ref();
        let mut row = self.start(comparison.verdict.into(), candidate, one);
        row.push(comparison.by.map(Center::name).map_or(SheetCell::Absent, SheetCell::text));
        row.extend(ratio(
            headline.map(|headline| headline.speedup),
            headline.map(|headline| &headline.interval),
        ));
        row.push(SheetCell::p_value(headline.and_then(|headline| headline.p_value)));
        let (adjusted_verdict, adjusted_p_value) = comparison.familywise();
        row.extend([SheetCell::p_value(adjusted_p_value), adjusted_verdict.into()]);
        row.push(smallest_effect(headline.and_then(|headline| headline.smallest_effect)));
        row.push(reason(comparison.reason.as_ref()));
        row
    }

    fn endpoint(self, endpoint: &EndpointReport, found: &EndpointRow, one: &RatioFinding) -> Vec<SheetCell> {
        let mut row = self.start(found.verdict.into(), &found.candidate, one);
        row.push(SheetCell::text(endpoint.name()));
        row.extend(ratio(found.ratio, found.interval.as_ref()));
        row.push(SheetCell::p_value(found.p_value));
        let (adjusted_verdict, adjusted_p_value) = found.familywise();
        row.extend([SheetCell::p_value(adjusted_p_value), adjusted_verdict.into()]);
        row.push(SheetCell::Absent);
        row.push(reason(found.reason.as_ref()));
        row
    }

    /// A control, which has no centre of its own, no p-value and no family.
    fn control(self, control: &ControlRow) -> Vec<SheetCell> {
        let mut row = vec![
            control.verdict.into(),
            SheetCell::text(&control.version),
            SheetCell::text(&control.benchmark),
            SheetCell::Absent,
            SheetCell::Absent,
        ];
        if self.pairs {
            row.push(SheetCell::Absent);
        }
        row.push(SheetCell::Absent);
        row.extend(ratio(control.ratio, control.interval.as_ref()));
        row.extend([const { SheetCell::Absent }; 3]);
        row.push(smallest_effect(control.smallest_effect));
        row.push(reason(control.reason.as_ref()));
        row
    }
}

/// About the smallest change that would have been found with a probability of 80 %.
fn smallest_effect(share: Option<f64>) -> SheetCell {
    share.map_or(SheetCell::Absent, |share| SheetCell::Shown(share, about(share)))
}

/// A ratio with its interval: `speedup` to `interval_method`.
fn ratio(ratio: Option<f64>, interval: Option<&IntervalReport>) -> [SheetCell; 5] {
    let ends = interval.and_then(IntervalReport::ends);
    let achieved = match interval {
        Some(IntervalReport::Bounded { confidence, .. }) => Some(*confidence),
        Some(IntervalReport::Missing { .. }) | None => None,
    };
    [
        SheetCell::speedup(ratio, ends),
        SheetCell::optional(ends.map(|(lower, _)| lower)),
        SheetCell::optional(ends.map(|(_, upper)| upper)),
        SheetCell::optional(achieved),
        interval.and_then(IntervalReport::method).map_or(SheetCell::Absent, SheetCell::text),
    ]
}

impl Render for Vec<RatioSuite> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let columns = RatioColumns::new(self);
        let mut rows = Vec::new();
        for suite in self {
            for one in &suite.benchmarks {
                rows.push(columns.headline(&suite.suite.candidate, one));
                for endpoint in &suite.endpoints {
                    let own = endpoint.rows.iter().filter(|row| row.benchmark == one.benchmark);
                    rows.extend(own.map(|row| columns.endpoint(endpoint, row, one)));
                }
            }
        }
        Sheet { headings: columns.headings(), rows }
    }

    fn verdict(&self, _better: Preference) -> Vec<VerdictLine> {
        let mut lines = Vec::new();
        for RatioSuite { suite, endpoints, .. } in self {
            lines.push(VerdictLine::toned(&suite.sentence, suite.verdict));
            lines.extend(share_in_words(suite).map(VerdictLine::plain));
            for endpoint in endpoints {
                lines.push(VerdictLine::plain(endpoint_sentence(endpoint, &suite.candidate)));
            }
        }
        lines
    }
}

/// The rows with those of the controls after them, and a column that tells both apart.
pub(super) fn sheet_with_controls(suites: &Vec<RatioSuite>, controls: &ControlsReport) -> Sheet {
    let columns = RatioColumns::new(suites);
    let mut sheet = suites.sheet(&[]);
    sheet.headings.push(hidden("role"));
    for row in &mut sheet.rows {
        row.push(SheetCell::text("candidate"));
    }
    for control in &controls.rows {
        let mut row = columns.control(control);
        row.push(SheetCell::text("control"));
        sheet.rows.push(row);
    }
    sheet
}
