//! The verdicts of the original Speedup-Test program (Touati 2010 §6), quirks included.
//!
//! Kept so that published results can be reproduced; for one's own, [`super::MeanTest::best`] is exact. The
//! quirks: the search bisects [0.01, 0.5] although the set of risks that do is not an interval; a search that
//! ends in "not significant" reports a confidence level of 0.99; a protocol that stops counts as not
//! significant at a given level.

use super::{ProtocolConclusion, ProtocolOutcome, ProtocolVerdict, StopReason};
use crate::{inference::ConfidenceLevel, inference::Risk, ratio::BenchmarkWeights};

/// The least risk of the search, and the width at which it ends.
const LEAST_RISK: f64 = 0.01;
/// The greatest risk of the search.
const GREATEST_RISK: f64 = 0.5;

/// The program's verdict at a level, or at the highest above one half.
pub fn verdict(
    level: Option<ConfidenceLevel>,
    protocol: impl Fn(Risk) -> ProtocolConclusion,
) -> ProtocolVerdict {
    match level {
        Some(level) => at(level, protocol),
        None => search(protocol),
    }
}

/// The program's verdict at a given level.
fn at(level: ConfidenceLevel, protocol: impl Fn(Risk) -> ProtocolConclusion) -> ProtocolVerdict {
    let conclusion = protocol(level.risk());
    ProtocolVerdict {
        significant: significance(&conclusion.outcome),
        confidence: Some(level.get()),
        no_level_above_half: false,
        conclusion,
    }
}

/// A sub-test's error is NA to the program; a protocol that stops on its assumptions is FALSE.
fn significance(outcome: &ProtocolOutcome) -> Option<bool> {
    match outcome {
        ProtocolOutcome::Significant => Some(true),
        ProtocolOutcome::NotSignificant => Some(false),
        ProtocolOutcome::CannotConclude { reason: StopReason::SubTestRefused { .. } } => None,
        ProtocolOutcome::CannotConclude {
            reason: StopReason::SmallNotNormal { .. } | StopReason::SmallNoLocationShift { .. },
        } => Some(false),
    }
}

/// The program's search for the highest level above one half.
pub fn search(protocol: impl Fn(Risk) -> ProtocolConclusion) -> ProtocolVerdict {
    let first = conclude(&protocol, LEAST_RISK);
    if first.is_significant() {
        return ProtocolVerdict {
            significant: Some(true),
            confidence: Some(1.0 - LEAST_RISK),
            no_level_above_half: false,
            conclusion: first,
        };
    }
    let last = conclude(&protocol, GREATEST_RISK);
    if !last.is_significant() {
        let stopped = matches!(last.outcome, ProtocolOutcome::CannotConclude { .. });
        return ProtocolVerdict {
            significant: Some(false),
            confidence: (!stopped).then_some(1.0 - LEAST_RISK),
            no_level_above_half: true,
            conclusion: last,
        };
    }
    // The program bisects as if every risk above one that does did too.
    let mut fails = LEAST_RISK;
    let mut succeeds = GREATEST_RISK;
    while succeeds - fails > LEAST_RISK {
        let middle = (fails + succeeds) / 2.0;
        if conclude(&protocol, middle).is_significant() { succeeds = middle } else { fails = middle }
    }
    let whole_percent = (succeeds * 100.0).ceil() / 100.0;
    let conclusion = conclude(&protocol, whole_percent);
    ProtocolVerdict {
        significant: significance(&conclusion.outcome),
        confidence: Some(1.0 - whole_percent),
        no_level_above_half: false,
        conclusion,
    }
}

fn conclude(protocol: &impl Fn(Risk) -> ProtocolConclusion, risk: f64) -> ProtocolConclusion {
    protocol(Risk::new(risk).unwrap_or(Risk::literal(GREATEST_RISK)))
}

/// The weights that the original program makes of its `Coef` column: custom where every one is given.
///
/// A missing coefficient makes all weights equal, and so does a column of whole numbers, which the program's
/// reader takes for another type.
pub fn weights(coefficients: &[Option<f64>]) -> BenchmarkWeights {
    match coefficients.iter().copied().collect::<Option<Vec<f64>>>() {
        Some(given) if given.iter().any(|coefficient| coefficient.fract() != 0.0) => {
            BenchmarkWeights::Custom(given)
        }
        Some(_) | None => BenchmarkWeights::Equal,
    }
}
