//! What is recorded of a track as it goes on: its experiments, and what people acknowledged.

use crate::conclusion::{Spelled, Word};
use serde::{Deserialize, Serialize};
use speedup_core::{experiment::commit::Commit, value::id::ExperimentId, value::time::Timestamp};

/// An experiment of a track that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackEntry {
    /// The commit that it measured.
    pub commit: Commit,
    /// The commits between the one of the entry before and this one, in the order of the branch, which nobody measured.
    pub passed: Vec<Commit>,
    /// The experiment.
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
    impl Spelled::name;
}

/// The values of a benchmark at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointBlocks {
    /// The benchmark.
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
    /// The benchmark.
    pub benchmark: String,
    /// The id of the commit whose point raised the alarm.
    pub found_at: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why; may be empty.
    pub note: String,
}
