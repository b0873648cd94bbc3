//! The pairs that a blocked design made: both versions of a benchmark on one host.

use crate::sample::{Sample, SampleError};
use thiserror::Error;

/// What is left of one block: a version whose run was lost is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    pub baseline: Option<f64>,
    pub candidate: Option<f64>,
}

/// The complete pairs of a blocked design, in the order of the blocks.
///
/// Only a plan that made blocks has them: pairing independent samples afterwards would invent a dependence.
///
/// ```
/// use speedup_statistics::test::block_pairs::{Block, BlockPairs};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let blocks = [
///     Block { baseline: Some(3.0), candidate: Some(2.0) },
///     Block { baseline: None, candidate: Some(9.0) },
///     Block { baseline: Some(5.0), candidate: Some(3.5) },
/// ];
/// // The block that lost a run is left out.
/// let pairs = BlockPairs::new(&blocks)?;
/// assert_eq!(pairs.incomplete(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BlockPairs {
    baseline: Sample,
    candidate: Sample,
    incomplete: usize,
}

/// Why blocks have no pairs.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum BlockPairsError {
    #[error("none of the {blocks} blocks has a run of both versions")]
    NonePaired { blocks: usize },
    #[error("a block holds what is no observation")]
    Observation(#[source] SampleError),
}

speedup_core::hints! { BlockPairsError:
    Self::NonePaired { .. } => "retry the runs that were lost",
    Self::Observation(error) => error.hint(),
}

impl BlockPairs {
    /// The pairs of `blocks`; blocks that lost a run are counted and left out, since half a pair compares nothing.
    ///
    /// # Errors
    /// [`BlockPairsError`] without any complete block, or for observations that are not finite.
    pub fn new(blocks: &[Block]) -> Result<Self, BlockPairsError> {
        let (baseline, candidate): (Vec<f64>, Vec<f64>) =
            blocks.iter().filter_map(|block| block.baseline.zip(block.candidate)).unzip();
        if baseline.is_empty() {
            return Err(BlockPairsError::NonePaired { blocks: blocks.len() });
        }
        let incomplete = blocks.len() - baseline.len();
        let sample = |values| Sample::new(values).map_err(BlockPairsError::Observation);
        Ok(Self { baseline: sample(baseline)?, candidate: sample(candidate)?, incomplete })
    }

    /// The baseline's observations of the complete blocks.
    pub fn baseline(&self) -> &Sample {
        &self.baseline
    }

    /// The candidate's, in the same order.
    pub fn candidate(&self) -> &Sample {
        &self.candidate
    }

    /// The blocks that lost a run.
    pub fn incomplete(&self) -> usize {
        self.incomplete
    }
}
