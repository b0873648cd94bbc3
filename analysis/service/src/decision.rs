//! What a rule decides, as the coordinator is told.

use speedup_analysis::study::{RuleReport, RuleState, Study};
use speedup_core::plan::Extension;
use speedup_core::run::record::MAX_REASON_BYTES;
use tonic::Status;

/// What a rule decides of an experiment that awaits it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    /// The runs of the plan that it was computed from.
    pub(crate) from: u32,
    /// What is to be appended; nothing where the runs are enough.
    pub(crate) further: Option<Extension>,
    /// Why.
    pub(crate) words: String,
}

/// The decision for `study`.
///
/// # Errors
/// When the rule cannot decide yet or there is none, which the coordinator would not ask for.
pub(crate) fn decide(study: &Study) -> Result<Decision, Status> {
    let rule = study.rule().map_err(|error| Status::failed_precondition(error.to_string()))?;
    let rule = rule.ok_or_else(|| Status::failed_precondition("the plan says the number of runs"))?;
    match rule.state {
        RuleState::Pending | RuleState::BrokenOff => Err(Status::failed_precondition(rule.words)),
        RuleState::Further | RuleState::Enough => {
            let further = rule.extension(study.plan());
            Ok(Decision { from: rule.from, further, words: words(rule) })
        }
    }
}

/// The words as the journal keeps them; a long end is cut at a character.
fn words(rule: RuleReport) -> String {
    let mut words = rule.words;
    if words.len() > MAX_REASON_BYTES {
        const CUT: &str = "…";
        words.truncate(words.floor_char_boundary(MAX_REASON_BYTES - CUT.len()));
        words += CUT;
    }
    words
}
