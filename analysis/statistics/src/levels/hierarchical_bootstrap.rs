//! The bootstrap of an experiment of several levels: new experiments are drawn from the old one, and the
//! statistic of each shows how it varies (Kalibera 2012 §6.2, figures 1 and 2).
//!
//! At each level as many members are drawn, with replacement, as the unit has; at the levels that a scheme
//! leaves out, all members are taken as they are. The interval is the percentile one (§7.2.1). The paper finds
//! replacement at all levels to be the safe choice (§8.6); the others are there to study.
//!
//! * [`Replicates`]: what one experiment's draws gave, [`RatioReplicates`]: the ratio of two's;
//! * `mean`: draws for the mean, as sums over tuples of members (`tuple_sums`, `joint_sums`); `median`: draws for the median, by counting;
//! * `generator`, `index_draw`, `index_block`: where the numbers come from.
//!
//! Every unit of the highest level (for the mean) or block of replicates (for the median) has a random stream
//! of its own, and their sums are added in order: the replicates do not depend on the number of threads.

mod generator;
mod index_block;
mod index_draw;
mod joint_sums;
mod mean;
mod median;
mod replicates;
mod tuple_sums;

pub use replicates::{RatioReplicates, Replicates};

use crate::{inference::Caveat, levels::LevelTree, sample::Sample};
use serde::{Deserialize, Serialize};
use speedup_core::value::seed::Seed;
use thiserror::Error;

/// The most draws: more than an interval at any level in use can show, few enough to keep them all.
pub const MOST_DRAWS: u32 = 1_000_000;

/// How to draw, and what from each draw.
///
/// ```
/// use speedup_core::value::seed::Seed;
/// use speedup_statistics::inference::ConfidenceLevel;
/// use speedup_statistics::levels::{HierarchicalBootstrap, LevelTree};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // 3 binaries of 2 executions of 2 measurements.
/// let times = vec![9.0, 5.0, 8.0, 3.0, 10.0, 6.0, 7.0, 11.0, 1.0, 12.0, 2.0, 4.0];
/// let levels = LevelTree::balanced(times, &[2, 2, 3])?;
/// let bootstrap = HierarchicalBootstrap::usual(Seed(1));
/// let replicates = bootstrap.of(&levels)?;
/// assert_eq!((replicates.estimate(), replicates.replicates().len()), (6.5, 1000));
/// let interval = replicates.interval(ConfidenceLevel::USUAL);
/// assert!(interval.lower < 6.5 && 6.5 < interval.upper);
/// // One seed, one result.
/// assert_eq!(bootstrap.of(&levels)?.interval(ConfidenceLevel::USUAL), interval);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HierarchicalBootstrap {
    /// Which levels are drawn with replacement.
    pub resampling: Resampling,
    /// What is computed from each replicate.
    pub statistic: Statistic,
    /// How many replicates are drawn.
    pub draws: u32,
    /// What the draws follow from.
    pub seed: Seed,
}

/// Which levels are drawn with replacement; in the paper's letters for three levels, the highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resampling {
    /// All levels: RRR.
    EveryLevel,
    /// All but the lowest: RRN. An experiment of one level is drawn all the same.
    AboveLowest,
    /// The highest only: RNN.
    HighestOnly,
    /// All observations as one sample, as if there were no levels: FLAT.
    Flat,
}

/// What is computed from each replicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The mean: of all observations if the experiment is balanced, else of the units' means.
    Mean,
    /// The median of all observations.
    Median,
}

/// Why nothing was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum BootstrapError {
    /// No draws, or more than [`MOST_DRAWS`].
    #[error("a bootstrap makes 1 to {MOST_DRAWS} draws, not {0}")]
    Draws(u32),
    /// The observed statistic below the line is zero.
    #[error("the baseline's statistic is zero, so there is no ratio to it")]
    BaselineZero,
    /// A replicate of the ratio is beyond what a sample may hold.
    #[error("a ratio is as large as {0:e}")]
    RatioTooLarge(f64),
}

speedup_core::hints! { BootstrapError:
    Self::Draws(_) => "1000 are usual",
    Self::RatioTooLarge(_) => "give the observations of both versions in one unit",
}

impl HierarchicalBootstrap {
    /// The paper's choice: the mean, replacement at every level, 1000 draws.
    pub fn usual(seed: Seed) -> Self {
        Self { resampling: Resampling::EveryLevel, statistic: Statistic::Mean, draws: 1000, seed }
    }

    /// The replicates of the statistic of one experiment.
    ///
    /// # Errors
    /// [`BootstrapError::Draws`] for a number of draws out of range.
    pub fn of(&self, levels: &LevelTree) -> Result<Replicates, BootstrapError> {
        let drawn = self.draw(levels, "one")?;
        let replicates = Sample::new(drawn).map_err(|_| BootstrapError::Draws(self.draws))?;
        let caveats = self.caveats(&[levels]);
        Ok(Replicates { bootstrap: *self, estimate: self.observed(levels), replicates, caveats })
    }

    /// The replicates of the ratio of the statistics, `candidate` over `baseline`, drawn independently (Kalibera 2012
    /// §7.3.1).
    ///
    /// # Errors
    /// [`BootstrapError`] for a number of draws out of range, or a ratio that is none.
    pub fn ratio(
        &self,
        baseline: &LevelTree,
        candidate: &LevelTree,
    ) -> Result<RatioReplicates, BootstrapError> {
        let below = self.observed(baseline);
        if below == 0.0 {
            return Err(BootstrapError::BaselineZero);
        }
        let estimate = self.observed(candidate) / below;
        let caveats = self.caveats(&[baseline, candidate]);
        let baseline = self.draw(baseline, "baseline")?;
        let candidate = self.draw(candidate, "candidate")?;
        RatioReplicates::new(*self, estimate, below, &baseline, &candidate, caveats)
    }

    fn draw(&self, levels: &LevelTree, purpose: &str) -> Result<Vec<f64>, BootstrapError> {
        if self.draws == 0 || self.draws > MOST_DRAWS {
            return Err(BootstrapError::Draws(self.draws));
        }
        let levels = &self.resampling.view(levels);
        let purpose = format!("bootstrap {purpose}");
        Ok(match self.statistic {
            Statistic::Mean => mean::replicates(levels, self, &purpose),
            Statistic::Median => median::replicates(levels, self, &purpose),
        })
    }

    fn caveats(&self, experiments: &[&LevelTree]) -> Vec<Caveat> {
        // Taken as one sample, the observations have no units to be unlike.
        let unlike =
            self.resampling != Resampling::Flat && !experiments.iter().all(|levels| levels.is_balanced());
        if unlike { vec![Caveat::Unbalanced] } else { Vec::new() }
    }

    /// The statistic of the experiment as it was.
    fn observed(&self, levels: &LevelTree) -> f64 {
        let levels = &self.resampling.view(levels);
        match self.statistic {
            Statistic::Mean => mean::observed(levels),
            Statistic::Median => median::observed(levels),
        }
    }
}

impl Resampling {
    /// The levels as the scheme sees them.
    fn view(self, levels: &LevelTree) -> std::borrow::Cow<'_, LevelTree> {
        match self {
            Self::Flat => std::borrow::Cow::Owned(levels.flattened()),
            Self::EveryLevel | Self::AboveLowest | Self::HighestOnly => std::borrow::Cow::Borrowed(levels),
        }
    }

    /// Whether the members of `level` are drawn, in an experiment of `depth` levels.
    fn draws_level(self, level: usize, depth: usize) -> bool {
        match self {
            Self::EveryLevel | Self::Flat => true,
            Self::AboveLowest => level > 1 || depth == 1,
            Self::HighestOnly => level == depth,
        }
    }
}
