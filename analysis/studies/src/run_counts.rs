//! The numbers of runs of a comparison's two versions.

use std::{num::ParseIntError, str::FromStr};

/// How many runs each of the two versions has, written `30` or `20x200`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunCounts {
    /// The baseline's.
    pub baseline: u64,
    /// The candidate's.
    pub candidate: u64,
}

impl From<u64> for RunCounts {
    fn from(runs: u64) -> Self {
        Self { baseline: runs, candidate: runs }
    }
}

impl FromStr for RunCounts {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (baseline, candidate) = text.split_once('x').unwrap_or((text, text));
        Ok(Self { baseline: baseline.parse()?, candidate: candidate.parse()? })
    }
}
