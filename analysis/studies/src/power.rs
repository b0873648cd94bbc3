//! How often a true speedup is found (Chen 2012 §5.2), and how many runs make a mean normal (Touati 2010 App. C).

mod normal_means;
mod speedup_test;
mod suites;

use super::row::StudyRow;
use super::{LawShape, Replication, SimulationError, SuiteModel};
use serde::Serialize;

/// The study of power. A comparison without an answer has found nothing, and is counted besides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Power {
    /// How often, whence, at which level.
    pub replication: Replication,
    /// Which parts are simulated, in this order.
    pub sections: Vec<PowerSection>,
    /// The shapes of the laws.
    pub distributions: Vec<LawShape>,
    /// The runs of each benchmark on each machine, for suites.
    pub suite_runs: Vec<u64>,
    /// The law of suites.
    pub suite: SuiteModel,
    /// The runs of each version, for one benchmark.
    pub runs: Vec<u64>,
    /// The standard deviation of a run there, as a share of the mean.
    pub variation: f64,
    /// The true speedups of one benchmark and of suites.
    pub speedups: Vec<f64>,
    /// The speedups under test with the runs of Table 1.
    pub claims: Vec<f64>,
    /// The runs of which a mean is taken, where its normality is asked.
    pub mean_runs: Vec<u64>,
}

/// A part of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerSection {
    /// Suites on two machines; the size is the runs of each benchmark and the parameter the true speedup.
    Suites,
    /// The five printed runs of Table 1 of Chen 2012 drawn again with replacement; the parameter is the speedup under test.
    Table1,
    /// One benchmark by the Speedup-Test; the size is the runs of each version and the parameter the true speedup.
    SpeedupTest,
    /// Whether Shapiro–Wilk rejects the normality of sample means and medians; the size is the runs of each sample.
    NormalMeans,
}

impl PowerSection {
    /// All parts.
    pub const ALL: [Self; 4] = [Self::Suites, Self::Table1, Self::SpeedupTest, Self::NormalMeans];

    /// A short name that stays the same between releases.
    pub fn code(self) -> &'static str {
        match self {
            Self::Suites => "suites",
            Self::Table1 => "table_1",
            Self::SpeedupTest => "speedup_test",
            Self::NormalMeans => "normal_means",
        }
    }
}

impl Power {
    /// The shares of experiments in which a method is as sure of the speedup as the confidence level, and for Table 1 the
    /// average confidences.
    ///
    /// # Errors
    /// [`SimulationError`] for options out of range.
    pub fn run(&self) -> Result<Vec<StudyRow>, SimulationError> {
        self.check()?;
        let mut rows = Vec::new();
        for section in &self.sections {
            match section {
                PowerSection::Suites => rows.extend(self.of_suites()),
                PowerSection::Table1 => rows.extend(self.of_table_1()),
                PowerSection::SpeedupTest => rows.extend(self.of_speedup_test()),
                PowerSection::NormalMeans => rows.extend(self.of_normal_means()),
            }
        }
        Ok(rows)
    }

    fn check(&self) -> Result<(), SimulationError> {
        self.replication.check()?;
        self.suite.check()?;
        SimulationError::check_counts("runs of a suite's benchmarks", 2, &self.suite_runs)?;
        SimulationError::check_counts("runs", 2, &self.runs)?;
        SimulationError::check_counts("runs of a mean", 1, &self.mean_runs)?;
        SimulationError::check_variation(self.variation)?;
        SimulationError::check_range("true speedup", [0.0, 100.0], &self.speedups)?;
        SimulationError::check_range("speedup under test", [0.0, 100.0], &self.claims)
    }
}
