//! How often the intervals contain the truth (Kalibera 2012 §8.4), all that this crate prints.

mod by_levels;
mod proportions;
mod samples;
mod suites;
mod true_share;
mod two_stage;

use super::{LawShape, LevelModel, Replication, SimulationError, row::StudyRow};
use clap::{Args, ValueEnum};
use speedup_statistics::levels::{BootstrapError, MOST_DRAWS};

/// The study of coverage.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Coverage {
    /// How often, whence, at which level.
    #[command(flatten)]
    pub replication: Replication,
    /// Which parts are simulated, in this order.
    #[arg(long = "section", value_enum, value_delimiter = ',', default_values_t = CoverageSection::value_variants())]
    pub sections: Vec<CoverageSection>,
    /// The shapes of the laws.
    #[arg(long = "distribution", value_enum, value_delimiter = ',', default_values_t = [LawShape::Normal])]
    pub distributions: Vec<LawShape>,
    /// The law of experiments by levels.
    #[command(flatten)]
    pub levels: LevelModel,
    /// The true effect size of experiments by levels, new mean over old; 0.95 in the paper.
    #[arg(long, default_value_t = 0.95)]
    pub effect: f64,
    /// The numbers of binaries.
    #[arg(long, value_delimiter = ',', default_values_t = [3, 5, 10, 20])]
    pub binaries: Vec<u64>,
    /// The numbers of executions where compilation is not repeated.
    #[arg(id = "one-binary", long, value_delimiter = ',', default_values_t = [3, 5, 10, 20, 50, 100])]
    pub executions: Vec<u64>,
    /// Draws of each bootstrap; 0 leaves the bootstrap out.
    #[arg(long, default_value_t = 200)]
    pub draws: u32,
    /// The runs of each version, for experiments of one level.
    #[arg(long, value_delimiter = ',', default_values_t = [5, 10, 20, 50])]
    pub runs: Vec<u64>,
    /// The standard deviation of a run there, as a share of the mean.
    #[arg(long, default_value_t = 0.1)]
    pub variation: f64,
    /// Half the width that two stages are to reach, as a share of the speedup, or of the baseline's mean.
    #[arg(long, default_value_t = 0.02)]
    pub precision: f64,
    /// The numbers of benchmarks, for proportions.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 30, 100])]
    pub benchmarks: Vec<u64>,
    /// The true proportions of accelerated benchmarks.
    #[arg(long = "proportion", value_delimiter = ',', default_values_t = [0.5, 0.7, 0.9])]
    pub proportions: Vec<f64>,
    /// The standard deviations of the benchmarks' log speedups, in errors of one benchmark's: of the difference of two means of normal
    /// runs.
    #[arg(long = "scatter", value_delimiter = ',', default_values_t = [1.0])]
    pub scatters: Vec<f64>,
}

speedup_core::words! {
    /// A part of the study.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    #[value(rename_all = "snake_case")]
    pub enum CoverageSection {
        /// Experiments of three levels (Kalibera 2012 Figs. 6 and 7); the size is the binaries.
        Levels = "levels",
        /// One binary although compilation varies (Kalibera 2012 Figs. 8 and 9); the size is the executions.
        OneBinary = "one_binary",
        /// Two samples; the size is the runs of each.
        Samples = "samples",
        /// Proportions, computed exactly; the size is the benchmarks and the parameter the proportion.
        Proportions = "proportions",
        /// The share of benchmarks that are truly faster; the size is the benchmarks and the parameter the share.
        TrueShare = "true_share",
        /// Stein's two stages to a precision, which is the parameter; the size is the pilot.
        TwoStages = "two_stages",
        /// The typical speedup and a further benchmark's; the size is the benchmarks and the parameter the scatter. Widths are in those of
        /// an oracle that covers as often.
        Suites = "suites",
        /// Totals of suites; the size is the benchmarks.
        Totals = "totals",
    }
    /// A short name that stays the same between releases.
    fn code;
}

impl Coverage {
    /// The shares of intervals that contain the truth, among those that were given.
    pub fn run(&self) -> Result<Vec<StudyRow>, SimulationError> {
        self.check()?;
        let mut rows = Vec::new();
        for section in &self.sections {
            match section {
                CoverageSection::Levels => rows.extend(self.by_levels()),
                CoverageSection::OneBinary => rows.extend(self.one_binary_rows()),
                CoverageSection::Samples => rows.extend(self.sample_rows()),
                CoverageSection::Proportions => rows.extend(self.proportion_rows()),
                CoverageSection::TrueShare => rows.extend(self.true_share_rows()),
                CoverageSection::TwoStages => rows.extend(self.two_stage_rows()),
                CoverageSection::Suites => rows.extend(self.suite_rows()),
                CoverageSection::Totals => rows.extend(self.total_rows()),
            }
        }
        Ok(rows)
    }

    fn check(&self) -> Result<(), SimulationError> {
        self.replication.check()?;
        self.levels.check(&self.binaries)?;
        SimulationError::check_counts("executions of one binary", 2, &self.executions)?;
        SimulationError::check_counts("runs", 2, &self.runs)?;
        let fewest = if self.sections.contains(&CoverageSection::Suites) { 3 } else { 1 };
        SimulationError::check_counts("benchmarks", fewest, &self.benchmarks)?;
        SimulationError::check_variation(self.variation)?;
        SimulationError::check_range("precision", [0.0, 1.0], &[self.precision])?;
        SimulationError::check_range("scatter", [0.0_f64.next_down(), 100.0], &self.scatters)?;
        SimulationError::check_range("effect size", [0.0, 10.0], &[self.effect])?;
        if self.sections.iter().all(|section| *section == CoverageSection::TrueShare) {
            // None and all are shares as well.
            let within = [0.0_f64.next_down(), 1.0_f64.next_up()];
            SimulationError::check_range("proportion", within, &self.proportions)?;
        } else {
            SimulationError::check_range("proportion", [0.0, 1.0], &self.proportions)?;
        }
        if self.draws > MOST_DRAWS {
            return Err(BootstrapError::Draws(self.draws).into());
        }
        Ok(())
    }
}
