//! Verdicts, and how the headline is chosen between the two protocols.
//!
//! Each protocol asks two questions at the plan's confidence level, each at that level: is the candidate
//! faster, is it slower? A verdict is *faster* or *slower* when that answer is significant, *no difference
//! shown* when neither is, *not enough data* when the protocol does not allow an answer. The paper reports
//! the verdict on the mean and on the median side by side (Touati 2010 §6.2.2), and so do we, unmixed. The headline
//! is one of the two, as Touati 2010 §4 advises: the mean's when its assumptions were not rejected, else the
//! median's; the mean's with its caveats where only it can conclude.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What is said of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is significantly faster.
    Faster,
    /// It is significantly slower.
    Slower,
    /// Neither is significant, which does not show that there is no difference.
    NoDifferenceShown,
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

/// Why there is no answer: a code that stays the same between releases, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Its name.
    pub code: String,
    /// A sentence for a person, with a next step where there is one.
    pub sentence: String,
}

impl Verdict {
    /// All verdicts, in the order in which they are counted.
    pub const ALL: [Self; 4] = [Self::Faster, Self::Slower, Self::NoDifferenceShown, Self::NotEnoughData];

    /// Whether a difference was shown.
    pub(super) const fn is_effect(self) -> bool {
        match self {
            Self::Faster | Self::Slower => true,
            Self::NoDifferenceShown | Self::NotEnoughData => false,
        }
    }

    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifferenceShown => "no difference shown",
            Self::NotEnoughData => "not enough data",
        }
    }

    /// Whether it answers the question.
    pub fn is_conclusive(self) -> bool {
        match self {
            Self::Faster | Self::Slower => true,
            Self::NoDifferenceShown | Self::NotEnoughData => false,
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

impl Direction {
    /// Of a speedup.
    pub(super) fn of(speedup: f64) -> Self {
        if speedup > 1.0 {
            Self::CandidateFaster
        } else if speedup < 1.0 {
            Self::CandidateSlower
        } else {
            Self::Neither
        }
    }
}

impl Reason {
    pub(crate) fn new(code: &str, sentence: impl fmt::Display) -> Self {
        Self { code: code.to_owned(), sentence: one_sentence(&sentence.to_string()) }
    }
}

/// An error's text as a sentence: its hint after a colon, a capital first, a full stop last.
fn one_sentence(text: &str) -> String {
    let joined = text.replace("\nhint: ", ": ");
    let mut letters = joined.chars();
    let capital = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    let stop = if joined.ends_with('.') { "" } else { "." };
    format!("{capital}{}{stop}", letters.as_str())
}

/// Which protocol speaks for the benchmark. `mean_is_sound` says that no assumption of the mean was doubted.
pub(crate) fn headline(mean: Verdict, mean_is_sound: bool, median: Verdict) -> Protocol {
    let concludes = |verdict: Verdict| verdict != Verdict::NotEnoughData;
    match (concludes(mean), concludes(median)) {
        (true, _) if mean_is_sound => Protocol::Mean,
        (true, false) => Protocol::Mean,
        (true | false, _) => Protocol::Median,
    }
}
