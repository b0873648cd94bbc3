//! The ratio of the declared centres: what the report of an experiment says first, a row for each benchmark, and one for each
//! quantile that was asked for.

use speedup_analysis::count::about;
use speedup_analysis::study::{ControlRow, ControlsReport, EndpointReport, EndpointRow, IntervalReport};
use speedup_analysis::{inquiry::Preference, inquiry::RatioFinding, inquiry::RatioSuite};
use speedup_core::experiment::Center;

use super::{Told, reason, verdict};
use crate::facts::{Heading, Sheet, SheetCell, hidden, number, words};
use crate::section::{of_endpoint, share_in_words};

/// What stands in all rows alike.
#[derive(Clone, Copy)]
struct Columns {
    /// Whether some comparison is one of pairs.
    pairs: bool,
    /// Whether verdicts share their risk with others.
    family: bool,
}

impl Columns {
    fn of(suites: &[RatioSuite]) -> Self {
        let mut all = suites.iter().flat_map(|suite| &suite.benchmarks);
        Self {
            pairs: all.any(|one| one.comparison.design.is_some()),
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
        let mut row = self.start(verdict(comparison.verdict), candidate, one);
        row.push(comparison.by.map(Center::name).map_or(SheetCell::Absent, SheetCell::text));
        row.extend(ratio(
            headline.map(|headline| headline.speedup),
            headline.map(|headline| &headline.interval),
        ));
        row.push(SheetCell::p_value(headline.and_then(|headline| headline.p_value)));
        let (adjusted_verdict, adjusted_p_value) = comparison.familywise();
        row.extend([SheetCell::p_value(adjusted_p_value), verdict(adjusted_verdict)]);
        row.push(smallest_effect(headline.and_then(|headline| headline.smallest_effect)));
        row.push(reason(comparison.reason.as_ref()));
        row
    }

    fn endpoint(self, endpoint: &EndpointReport, of: &EndpointRow, one: &RatioFinding) -> Vec<SheetCell> {
        let mut row = self.start(SheetCell::text(of.verdict.words()), &of.candidate, one);
        row.push(SheetCell::text(endpoint.name()));
        row.extend(ratio(of.ratio, of.interval.as_ref()));
        row.push(SheetCell::p_value(of.p_value));
        let (adjusted_verdict, adjusted_p_value) = of.familywise();
        row.extend([SheetCell::p_value(adjusted_p_value), SheetCell::text(adjusted_verdict.words())]);
        row.push(SheetCell::Absent);
        row.push(reason(of.reason.as_ref()));
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
        SheetCell::of(ends.map(|(lower, _)| lower)),
        SheetCell::of(ends.map(|(_, upper)| upper)),
        SheetCell::of(achieved),
        interval.and_then(IntervalReport::method).map_or(SheetCell::Absent, SheetCell::text),
    ]
}

impl Told for Vec<RatioSuite> {
    fn sheet(&self, _versions: &[String]) -> Sheet {
        let columns = Columns::of(self);
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

    fn sentences(&self, _better: Preference) -> Vec<String> {
        let of = |suite: &RatioSuite| {
            let share = share_in_words(&suite.suite);
            let endpoints = suite.endpoints.iter().map(|one| of_endpoint(one, &suite.suite.candidate));
            let lines = std::iter::once(suite.suite.sentence.clone()).chain(share).chain(endpoints);
            lines.collect::<Vec<_>>().join("\n")
        };
        self.iter().map(of).collect()
    }
}

/// The rows with those of the controls, and columns that tell them apart.
pub(super) fn with_controls(mut sheet: Sheet, controls: &ControlsReport) -> Sheet {
    let columns: Vec<&str> = sheet.headings.iter().map(|heading| heading.name).collect();
    let control = |row: &ControlRow| -> Vec<SheetCell> {
        let [speedup, lower, upper, confidence, method] = ratio(row.ratio, row.interval.as_ref());
        let named = [
            ("verdict", verdict(row.verdict)),
            ("candidate", SheetCell::text(&row.version)),
            ("benchmark", SheetCell::text(&row.benchmark)),
            ("speedup", speedup),
            ("lower", lower),
            ("upper", upper),
            ("interval_confidence", confidence),
            ("interval_method", method),
            ("smallest_effect", smallest_effect(row.smallest_effect)),
            ("reason", reason(row.reason.as_ref())),
        ];
        let cell =
            |column: &&str| named.iter().find(|(name, _)| name == column).map(|(_, cell)| cell.clone());
        let own = [SheetCell::text("control")];
        columns.iter().map(|column| cell(column).unwrap_or_default()).chain(own).collect()
    };
    let controls: Vec<Vec<SheetCell>> = controls.rows.iter().map(control).collect();
    sheet.headings.push(hidden("role"));
    sheet.rows.iter_mut().for_each(|row| row.push(SheetCell::text("candidate")));
    sheet.rows.extend(controls);
    sheet
}
