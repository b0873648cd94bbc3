//! The values of a series in their two levels.

use crate::Name;

/// Finite values, grouped by run: a run is one execution of the benchmark's program, and its values are the iterations that
/// the program measured inside it, in order.
///
/// There is at least one run, and none is empty. A tool that starts the program for every value (hyperfine) gives runs of
/// one value each; one that repeats inside a process (criterion, Google Benchmark) gives one run. The levels are never
/// pooled, since values of one process depend on each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    values: Vec<f64>,
    /// Where each run ends in `values`.
    ends: Vec<usize>,
    /// The block of each run; empty where there are none.
    blocks: Vec<Option<Name>>,
}

/// Values that are no runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunsError {
    #[error("there is no run")]
    NoRun,
    /// A run, counted from 0, without a value.
    #[error("run {run} has no value")]
    EmptyRun { run: usize },
    /// A value that is NaN or infinite, by its run and its place in it, both counted from 0.
    #[error("value {iteration} of run {run} is not finite")]
    NotFinite { run: usize, iteration: usize },
}

impl Runs {
    /// Runs of the values given, in order.
    pub fn new<R: AsRef<[f64]>>(groups: impl IntoIterator<Item = R>) -> Result<Self, RunsError> {
        let mut runs = Self { values: Vec::new(), ends: Vec::new(), blocks: Vec::new() };
        for (run, group) in groups.into_iter().enumerate() {
            let group = group.as_ref();
            if group.is_empty() {
                return Err(RunsError::EmptyRun { run });
            }
            if let Some(iteration) = group.iter().position(|value| !value.is_finite()) {
                return Err(RunsError::NotFinite { run, iteration });
            }
            runs.values.extend_from_slice(group);
            runs.ends.push(runs.values.len());
        }
        if runs.ends.is_empty() { Err(RunsError::NoRun) } else { Ok(runs) }
    }

    /// Adds further runs, which have no blocks.
    pub(crate) fn extend(&mut self, further: &Self) {
        let before = self.values.len();
        self.values.extend_from_slice(&further.values);
        self.ends.extend(further.ends.iter().map(|end| before + end));
    }

    /// The same runs in `blocks`, one for each.
    pub(crate) fn in_blocks(self, blocks: Vec<Option<Name>>) -> Self {
        assert_eq!(blocks.len(), self.ends.len(), "each run has a block, or is known to have none");
        Self { blocks, ..self }
    }

    /// The block of each run, where the blocks of a table hold runs of several versions and so make pairs: runs of two versions
    /// in one block are one. No two runs of a series share a block. Empty where there are no such blocks.
    pub fn blocks(&self) -> &[Option<Name>] {
        &self.blocks
    }

    /// How many runs there are: at least one.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The values of each run, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        (0..self.count()).map(|run| self.get(run).unwrap_or_default())
    }

    /// The values of one run.
    pub fn get(&self, run: usize) -> Option<&[f64]> {
        let end = *self.ends.get(run)?;
        let start = if run == 0 { 0 } else { self.ends[run - 1] };
        Some(&self.values[start..end])
    }

    /// All values in order, if every run has exactly one: then, and only then, they are a sample of independent runs.
    pub fn one_value_each(&self) -> Option<&[f64]> {
        (self.values.len() == self.ends.len()).then_some(&self.values)
    }

    /// All values in order, whatever run they are of.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}
