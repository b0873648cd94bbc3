//! How often a bisection names the commit that has the step, beside halving by midpoints.

mod history_law;
mod midpoints;
mod outcomes;
mod search;

use super::{LawShape, Replication, SimulationError, row::StudyRow};
use clap::{Args, ValueEnum};
pub use history_law::HistoryLaw;
use speedup_core::experiment::prior::MAX_PRIOR_WEIGHT;

/// The study of bisections.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(mut_arg("replicates", |arg| arg.default_value("200")))]
pub struct BisectionStudy {
    /// How often, whence, at which level.
    #[command(flatten)]
    pub replication: Replication,
    /// Which parts are simulated, in this order.
    #[arg(long = "section", value_enum, value_delimiter = ',', default_values_t = BisectionSection::value_variants())]
    pub sections: Vec<BisectionSection>,
    /// The shapes of a run's noise.
    #[arg(long = "distribution", value_enum, value_delimiter = ',', default_values_t = [LawShape::Normal])]
    pub distributions: Vec<LawShape>,
    /// The law of the runs of a history.
    #[command(flatten)]
    pub history: HistoryLaw,
    /// The commits after the good end.
    #[arg(long, value_delimiter = ',', default_values_t = [64, 256])]
    pub commits: Vec<u64>,
    /// The runs of a search, those of the ends included.
    #[arg(long, value_delimiter = ',', default_values_t = [50, 200])]
    pub runs: Vec<u64>,
    /// The runs of a block, of which two are of the ends.
    #[arg(long, default_value_t = 4)]
    pub block_runs: u64,
    /// The share of failures before the step and from it on, where runs pass or fail.
    #[arg(skip = [0.05, 0.5])]
    pub failures: [f64; 2],
    /// How many times as likely as others one commit of eight is held to be, where some are.
    #[arg(long, default_value_t = 10.0)]
    pub prior_weight: f64,
}

speedup_core::words! {
    /// A part of the study. The size is the runs of the search, and the parameter the commits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    #[value(rename_all = "snake_case")]
    pub enum BisectionSection {
        /// One step, at a commit that is drawn.
        OneStep = "one_step",
        /// No step.
        NoStep = "no_step",
        /// A step in the first half of the commits, and another of the same size in the second.
        TwoSteps = "two_steps",
        /// A step in the first half of the commits that is taken back in the second.
        Reverted = "reverted",
        /// One step, and one commit of five does not build.
        Unbuildable = "unbuildable",
        /// Runs that pass or fail, more often from a commit on that is drawn.
        Outcomes = "outcomes",
        /// One step, at a commit that is drawn by a prior that the search has.
        Prior = "prior",
        /// One step, at a commit that the search holds to be unlikely.
        WrongPrior = "wrong_prior",
    }
    /// A short name that stays the same between releases.
    fn code;
}

/// Fewer do not fill a block.
const FEWEST_BLOCK_RUNS: u64 = 3;
const MOST_BLOCK_RUNS: u64 = 64;

impl BisectionStudy {
    /// The shares of searches that find what there is, and the average sizes of their sets.
    pub fn run(&self) -> Result<Vec<StudyRow>, SimulationError> {
        self.check()?;
        let mut rows = Vec::new();
        for section in &self.sections {
            let of_cell = |shape, commits: &u64, runs: &u64| match (section, shape) {
                (_, Some(shape)) => self.search_rows(*section, shape, *commits, *runs),
                (_, None) => self.outcome_rows(*commits, *runs),
            };
            // Outcomes have no noise that could have a shape.
            let shapes: Vec<Option<LawShape>> = match section {
                BisectionSection::Outcomes => vec![None],
                _ => self.distributions.iter().copied().map(Some).collect(),
            };
            for shape in shapes {
                for commits in &self.commits {
                    rows.extend(self.runs.iter().flat_map(|runs| of_cell(shape, commits, runs)));
                }
            }
        }
        Ok(rows)
    }

    fn check(&self) -> Result<(), SimulationError> {
        self.replication.check()?;
        self.history.check()?;
        SimulationError::check_counts("commits", 2, &self.commits)?;
        let range = [(FEWEST_BLOCK_RUNS - 1) as f64, (MOST_BLOCK_RUNS + 1) as f64];
        SimulationError::check_range("number of runs in a block", range, &[self.block_runs as f64])?;
        SimulationError::check_range("share of failures", [0.0, 1.0], &self.failures)?;
        SimulationError::check_range(
            "weight of likely commits",
            [0.0, MAX_PRIOR_WEIGHT],
            &[self.prior_weight],
        )?;
        SimulationError::check_counts("runs", self.block_runs, &self.runs)
    }
}
