//! Verdicts: of a headline, and of a protocol of the Speedup-Test.
//!
//! A headline asks one two-sided question at the report's level, about the centre that the plan declares. A protocol asks two,
//! each at that level: is the candidate faster, is it slower? The paper reports the verdict on the mean and on the
//! median side by side (Touati 2010 §6.2.2), and so do we, unmixed and beside the headline.

use serde::{Deserialize, Serialize};
use speedup_core::experiment::Center;
use speedup_statistics::{inference::ConfidenceLevel, inference::PValue, ratio::Summary};

speedup_core::words! {
    /// What is said of a candidate.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// It is significantly faster.
        Faster = "faster",
        /// It is significantly slower.
        Slower = "slower",
        /// Its times are shown to be the same, but for the declared margin.
        Same = "same",
        /// None of these is shown, which does not show that there is no difference.
        #[serde(alias = "no_difference_shown")]
        Undecided = "undecided",
        /// The data do not allow an answer.
        #[default]
        NotEnoughData = "not enough data",
    }
    fn words;
    /// All of them, in the order in which they are counted.
    const ALL;
}

speedup_core::words! {
    /// A protocol of the Speedup-Test.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Protocol {
        /// Of the mean (Touati 2010 §4.1).
        Mean = "mean",
        /// Of the median (Touati 2010 §4.2).
        Median = "median",
    }
    /// What it is about, in a word.
    fn name;
}

speedup_core::words! {
    /// The verdict on an endpoint.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EndpointVerdict {
        /// The candidate's values are better.
        Better = "better",
        /// The candidate's values are worse.
        Worse = "worse",
        /// They are shown to be the same, but for the margin.
        Same = "same",
        /// None of these is shown.
        Undecided = "undecided",
        /// There are too few runs, or no values.
        NotEnoughData = "not enough data",
    }
    fn words;
    /// All of them, in the order in which they are counted.
    const ALL;
}

impl From<Verdict> for EndpointVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster => Self::Better,
            Verdict::Slower => Self::Worse,
            Verdict::Same => Self::Same,
            Verdict::Undecided => Self::Undecided,
            Verdict::NotEnoughData => Self::NotEnoughData,
        }
    }
}

impl From<EndpointVerdict> for Verdict {
    fn from(change: EndpointVerdict) -> Self {
        match change {
            EndpointVerdict::Better => Self::Faster,
            EndpointVerdict::Worse => Self::Slower,
            EndpointVerdict::Same => Self::Same,
            EndpointVerdict::Undecided => Self::Undecided,
            EndpointVerdict::NotEnoughData => Self::NotEnoughData,
        }
    }
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
    /// The verdict by the one-sided p-values of the candidate being faster and slower, each direction at the level.
    pub(crate) fn one_sided(faster: PValue, slower: PValue, level: ConfidenceLevel) -> Self {
        if faster.rejects_at(level.risk()) {
            Self::Faster
        } else if slower.rejects_at(level.risk()) {
            Self::Slower
        } else {
            Self::Undecided
        }
    }

    /// Whether a difference was shown.
    pub(crate) const fn is_effect(self) -> bool {
        match self {
            Self::Faster | Self::Slower => true,
            Self::Same | Self::Undecided | Self::NotEnoughData => false,
        }
    }

    /// The p-value that it is by, of one of a difference and one of being the same.
    pub(crate) fn p_value(self, differ: Option<f64>, same: Option<f64>) -> Option<f64> {
        if self == Self::Same { same } else { differ }
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
    /// Returns the protocol of a declared centre. The paper has none for a trimmed mean.
    pub(crate) fn for_center(center: Center) -> Option<Self> {
        match center {
            Center::Mean => Some(Self::Mean),
            Center::Median => Some(Self::Median),
            Center::Trimmed => None,
        }
    }
}

impl From<Protocol> for Center {
    fn from(by: Protocol) -> Self {
        match by {
            Protocol::Mean => Self::Mean,
            Protocol::Median => Self::Median,
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
