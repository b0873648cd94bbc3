//! What the plan's rule of repetition asked for and concludes.

use speedup_analysis::study::{Report, RuleState};

use crate::document::{Document, Kind, Tone};

/// Comparisons that are shown one by one; JSON has all.
const SHOWN: usize = 50;

pub(super) fn write(document: &mut Document, report: &Report) {
    // What a bisection found is the verdict.
    let Some(rule) = report.rule.as_ref().filter(|rule| rule.bisection.is_none()) else { return };
    document.section(Kind::Rule, "Rule of repetition");
    let state = match rule.state {
        RuleState::Pending => "pending",
        RuleState::Further => "asks for further runs",
        RuleState::Enough => "has enough",
        RuleState::BrokenOff => "broken off",
    };
    document.paragraph(format!("{} ({state}). {}. {}", rule.rule, rule.method, rule.words), Tone::Plain);
    for row in rule.rows.iter().take(SHOWN) {
        document.item(row.sentence.as_str());
    }
    if let Some(more) = rule.rows.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        document.paragraph(format!("and {more} more; --format json has all"), Tone::Plain);
    }
}
