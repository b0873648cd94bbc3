//! Verdicts: of a headline, and of a protocol of the Speedup-Test.
//!
//! A headline asks one two-sided question at the report's level, about the centre that the plan declares. A protocol asks two,
//! each at that level: is the candidate faster, is it slower? The paper reports the verdict on the mean and on the
//! median side by side (Touati 2010 §6.2.2), and so do we, unmixed and beside the headline.

use serde::{Deserialize, Serialize};
use speedup_statistics::ratio::Summary;

/// What is said of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is significantly faster.
    Faster,
    /// It is significantly slower.
    Slower,
    /// Its times are shown to be the same, but for the declared margin.
    Same,
    /// None of these is shown, which does not show that there is no difference.
    #[serde(alias = "no_difference_shown")]
    Undecided,
    /// The data do not allow an answer.
    NotEnoughData,
}

/// A protocol of the Speedup-Test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Of the mean (Touati 2010 §4.1).
    Mean,
    /// Of the median (Touati 2010 §4.2).
    Median,
}

/// What the observed times say, significant or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The candidate's are the smaller.
    CandidateFaster,
    /// The candidate's are the larger.
    CandidateSlower,
    /// They are equal.
    Neither,
}

impl Verdict {
    /// All verdicts, in the order in which they are counted.
    pub const ALL: [Self; 5] = [Self::Faster, Self::Slower, Self::Same, Self::Undecided, Self::NotEnoughData];

    /// Whether a difference was shown.
    pub(crate) const fn is_effect(self) -> bool {
        match self {
            Self::Faster | Self::Slower => true,
            Self::Same | Self::Undecided | Self::NotEnoughData => false,
        }
    }

    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Undecided => "undecided",
            Self::NotEnoughData => "not enough data",
        }
    }

    /// Whether it answers the question.
    pub fn is_conclusive(self) -> bool {
        match self {
            Self::Faster | Self::Slower | Self::Same => true,
            Self::Undecided | Self::NotEnoughData => false,
        }
    }
}

impl Protocol {
    /// What it is about, in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
        }
    }
}

impl From<Protocol> for Summary {
    fn from(by: Protocol) -> Self {
        match by {
            Protocol::Mean => Self::Mean,
            Protocol::Median => Self::Median,
        }
    }
}

impl Direction {
    pub(crate) fn of(speedup: f64) -> Self {
        if speedup > 1.0 {
            Self::CandidateFaster
        } else if speedup < 1.0 {
            Self::CandidateSlower
        } else {
            Self::Neither
        }
    }
}
