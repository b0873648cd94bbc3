//! How many benchmarks have which verdict.

use crate::{conclusion::Verdict, count};
use serde::{Deserialize, Serialize};

/// How many benchmarks have which headline verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Faster.
    pub faster: u64,
    /// Slower.
    pub slower: u64,
    /// Shown to be the same, but for the margin.
    #[serde(default)]
    pub same: u64,
    /// None of these is shown.
    #[serde(alias = "no_difference_shown")]
    pub undecided: u64,
    /// Not enough data.
    pub not_enough_data: u64,
}

impl VerdictCounts {
    /// How many benchmarks have which verdict.
    pub(super) fn in_words(&self) -> String {
        let of =
            |number: u64, words: &str| (number > 0).then(|| format!("{words} on {}", count::grouped(number)));
        let counts = [
            Some(format!(
                "faster on {} of {}",
                count::grouped(self.faster),
                count::counted(self.total(), "benchmark")
            )),
            Some(format!("slower on {}", count::grouped(self.slower))),
            of(self.same, "same"),
            of(self.undecided, "undecided"),
            of(self.not_enough_data, "not enough data"),
        ];
        counts.into_iter().flatten().collect::<Vec<String>>().join(", ")
    }

    pub(crate) fn of<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Faster => &mut counts.faster,
                Verdict::Slower => &mut counts.slower,
                Verdict::Same => &mut counts.same,
                Verdict::Undecided => &mut counts.undecided,
                Verdict::NotEnoughData => &mut counts.not_enough_data,
            } += 1;
        }
        counts
    }

    /// All benchmarks.
    pub fn total(&self) -> u64 {
        self.faster + self.slower + self.same + self.undecided + self.not_enough_data
    }
}
