//! A word of a report that stands for one of a few things: typed where this release knows it, and as it stands where another
//! release wrote the report, so that a report with a word more can still be read.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a report writes as one word.
pub trait ReportWord: Copy {
    /// The word, in JSON and in sentences.
    fn name(self) -> &'static str;
}

/// A word of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Word<T> {
    /// One that this release knows.
    Known(T),
    /// One of another release.
    Other(String),
}

impl<T: ReportWord> Word<T> {
    /// What it stands for, where this release knows it.
    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(known) => Some(*known),
            Self::Other(_) => None,
        }
    }

    /// The word itself.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(known) => known.name(),
            Self::Other(word) => word,
        }
    }
}

impl<T> From<T> for Word<T> {
    fn from(known: T) -> Self {
        Self::Known(known)
    }
}

impl<T: ReportWord + PartialEq> PartialEq<T> for Word<T> {
    fn eq(&self, other: &T) -> bool {
        self.known().is_some_and(|known| known == *other)
    }
}

impl<T: ReportWord> fmt::Display for Word<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusion::{ReasonCode, WarningCode};
    use crate::study::{ExclusionKind, ReportPhase, RuleKind, RunUnit};
    use serde::de::DeserializeOwned;
    use speedup_core::experiment::Weights;

    /// Each is written as it is called, and read back as itself.
    fn are_spelled<T: ReportWord + PartialEq + fmt::Debug + Serialize + DeserializeOwned>(all: &[T]) {
        for one in all {
            let json = serde_json::to_string(&Word::from(*one)).unwrap();
            assert_eq!(json, format!("\"{}\"", one.name()));
            assert_eq!(serde_json::from_str::<Word<T>>(&json).unwrap(), Word::Known(*one));
        }
    }

    #[test]
    fn words_are_spelled_alike_everywhere() {
        use RunUnit::{Block, Boot, Build, Host, Run, Visit};
        are_spelled(&[Run, Visit, Host, Boot, Build, Block]);
        use ReportPhase::{Cancelled, Cancelling, Deciding, Finished, Paused, Running, WaitingForHosts};
        are_spelled(&[Running, WaitingForHosts, Paused, Deciding, Cancelling, Cancelled, Finished]);
        are_spelled(&ReasonCode::ALL);
        are_spelled(&WarningCode::ALL);
        are_spelled(&[ExclusionKind::Drained, ExclusionKind::Quarantined]);
        are_spelled(&[RuleKind::Pilot, RuleKind::Sequential, RuleKind::Budget, RuleKind::Bisection]);
        are_spelled(&[Weights::Equal, Weights::Custom, Weights::Fraction]);
    }

    #[test]
    fn the_word_of_another_release_stays_as_it_is() {
        let word: Word<RunUnit> = serde_json::from_str("\"rack\"").unwrap();
        assert_eq!((word.as_str(), word.known()), ("rack", None));
        assert_eq!(serde_json::to_string(&word).unwrap(), "\"rack\"");
        assert!(serde_json::from_str::<Word<RunUnit>>("7").is_err());
    }
}
