//! What is declared of a track before its first point, and what is recorded of it afterwards: its experiments, and what people
//! acknowledged.

use crate::conclusion::{ReportWord, Word};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::metric::Better;
use speedup_core::{experiment::commit::Commit, value::id::ExperimentId, value::time::Timestamp};

/// What is declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackTerms {
    /// What people call the track.
    pub name: String,
    /// The branch whose commits are measured, by first parents.
    pub branch: String,
    /// The commits that each one is measured beside; ratios are to the first.
    pub references: Vec<Commit>,
    /// The commit of the branch after which the points begin.
    pub start: Commit,
    /// The benchmarks, in the plan's order.
    pub benchmarks: Vec<String>,
    /// The metric whose ratios are followed, by its name in plans.
    pub metric: String,
    /// Whether less of it is better.
    pub better: Better,
    /// Changes up to this share count as none.
    pub margin: Option<f64>,
    /// Whether builds of programs that are equally fast are said to be, within the margin. Then each block counts as a ratio; else each point is one, since its
    /// build moves all of its blocks.
    #[serde(default)]
    pub builds_alike: bool,
    /// The confidence level of sets of commits, sizes and intervals.
    pub confidence: f64,
    /// The declared number of false alarms a year, of all benchmarks together.
    pub false_alarms_a_year: f64,
    /// The points a year for which that is declared.
    pub points_a_year: f64,
}

impl TrackTerms {
    /// Whether a ratio to the reference is worse than none.
    pub fn is_worse(&self, ratio: f64) -> bool {
        match self.better {
            Better::Lower => ratio > 1.0,
            Better::Higher => ratio < 1.0,
        }
    }

    /// Whether the first points are supposed to be at the level of the reference: if they follow it, and builds add nothing.
    pub(super) fn begins_at_reference(&self) -> bool {
        self.builds_alike && self.references.first().is_some_and(|reference| reference.id == self.start.id)
    }
}

/// An experiment of a track that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackEntry {
    /// The commit that it measured.
    pub commit: Commit,
    /// The commits between the one of the entry before and this one, in the order of the branch, which nobody measured.
    pub passed: Vec<Commit>,
    pub experiment: ExperimentId,
    /// When it ended.
    pub ended: Timestamp,
    /// What became of it.
    pub state: Word<TrackEntryState>,
    /// Its values, benchmark by benchmark.
    pub benchmarks: Vec<PointBlocks>,
}

speedup_core::words! {
    /// What became of an experiment of a track.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TrackEntryState {
        /// It is a point.
        Measured = "measured",
        /// The commit could not be built.
        NotBuilt = "not_built",
        /// All runs of the commit failed.
        Failing = "failing",
        /// It says nothing of the commit: it was cancelled, or a reference could not be built or run. The commit is measured again.
        Unfinished = "unfinished",
    }
    impl ReportWord::name;
}

/// The values of a benchmark at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointBlocks {
    pub benchmark: String,
    /// Of each block on one host, a value of each reference, of the commit, and of the control: the first reference again.
    pub blocks: Vec<Vec<Option<f64>>>,
}

impl PointBlocks {
    /// The logarithms of the ratios of a version to the first reference, by blocks that have both.
    pub(super) fn ratios(&self, version: usize) -> Vec<f64> {
        let of = |block: &Vec<Option<f64>>| {
            let (value, reference) =
                (block.get(version).copied().flatten()?, block.first().copied().flatten()?);
            let ratio = (value / reference).ln();
            ratio.is_finite().then_some(ratio)
        };
        self.blocks.iter().filter_map(of).collect()
    }
}

/// That somebody takes a step for meant to stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackAcknowledgement {
    pub benchmark: String,
    /// The id of the commit whose point raised the alarm.
    pub found_at: String,
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why; may be empty.
    pub note: String,
}
