//! What the plan's rule of repetition asked for and concludes.

use speedup_analysis::study::{Report, RuleState};

use super::layout::{Page, Tone};

/// Comparisons that are shown one by one; JSON has all.
const SHOWN: usize = 50;

pub(super) fn write(page: &mut Page, report: &Report) {
    let Some(rule) = &report.rule else { return };
    page.heading("Rule of repetition");
    let state = match rule.state {
        RuleState::Pending => "pending",
        RuleState::Further => "asks for further runs",
        RuleState::Enough => "has enough",
        RuleState::BrokenOff => "broken off",
    };
    page.paragraph(&format!("{} ({state}). {}. {}", rule.rule, rule.method, rule.words), Tone::Plain);
    for row in rule.rows.iter().take(SHOWN) {
        page.hanging("- ", &row.sentence, Tone::Plain);
    }
    if let Some(more) = rule.rows.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        page.paragraph(&format!("and {more} more; --output json has all"), Tone::Plain);
    }
}
