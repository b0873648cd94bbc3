//! How often a true speedup is found (Chen 2012 §5.2), and how many runs make a mean normal (Touati 2010 App. C).

mod headlines;
mod normal_means;
mod plans;
mod speedup_test;
mod suites;

use super::{LawShape, Replication, SimulationError, SuiteModel, row::StudyRow};
use clap::{Args, ValueEnum};

/// The study of power. A comparison without an answer has found nothing, and is counted besides.
#[derive(Clone, Debug, PartialEq, Args)]
#[command(mut_arg("spread", |arg| arg.default_value("0.1")))]
pub struct Power {
    /// How often, whence, at which level.
    #[command(flatten)]
    pub replication: Replication,
    /// Which parts are simulated, in this order.
    #[arg(long = "section", value_enum, value_delimiter = ',', default_values_t = PowerSection::value_variants())]
    pub sections: Vec<PowerSection>,
    /// The shapes of the laws.
    #[arg(long = "distribution", value_enum, value_delimiter = ',', default_values_t = [LawShape::Lognormal])]
    pub distributions: Vec<LawShape>,
    /// The runs of each benchmark on each machine, for suites.
    #[arg(long, value_delimiter = ',', default_values_t = [3, 5, 12])]
    pub suite_runs: Vec<u64>,
    /// The law of suites.
    #[command(flatten)]
    pub suite: SuiteModel,
    /// The runs of each version, for one benchmark.
    #[arg(long, value_delimiter = ',', default_values_t = [5, 10, 31, 50])]
    pub runs: Vec<u64>,
    /// The standard deviation of a run there, as a share of the mean.
    #[arg(long, default_value_t = 0.1)]
    pub variation: f64,
    /// The true speedups of one benchmark and of suites.
    #[arg(long = "speedup", value_delimiter = ',', default_values_t = [1.0, 1.02, 1.05, 1.1, 1.2])]
    pub speedups: Vec<f64>,
    /// The speedups under test with the runs of Table 1.
    #[arg(long = "claim", value_delimiter = ',', default_values_t = [1.4, 1.6, 1.7, 1.76, 1.8, 2.0])]
    pub claims: Vec<f64>,
    /// The runs of which a mean is taken, where its normality is asked.
    #[arg(long, value_delimiter = ',', default_values_t = [5, 10, 15, 20, 25, 30, 35, 50, 75, 100])]
    pub mean_runs: Vec<u64>,
}

speedup_core::words! {
    /// A part of the study.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    #[value(rename_all = "snake_case")]
    pub enum PowerSection {
        /// Suites on two machines; the size is the runs of each benchmark and the parameter the true speedup.
        Suites = "suites",
        #[value(name = "table_1")]
        /// The five printed runs of Table 1 of Chen 2012 drawn again with replacement; the parameter is the speedup under test.
        Table1 = "table_1",
        /// One benchmark by the Speedup-Test; the size is the runs of each version and the parameter the true speedup.
        SpeedupTest = "speedup_test",
        /// The headline by each centre, two-sided; the size is the runs of each version and the parameter the true speedup. `_width`: the
        /// median width of the interval, on the scale of logarithms.
        Headlines = "headlines",
        /// Whether Shapiro–Wilk rejects the normality of sample means and medians; the size is the runs of each sample.
        NormalMeans = "normal_means",
        /// The smallest speedup that the plan of the test of trimmed means promises to find with probability 0.8; the size is the runs of each
        /// version and the parameter that speedup.
        Plans = "plans",
    }
    /// A short name that stays the same between releases.
    fn code;
}

impl Power {
    /// The shares of experiments in which a method is as sure of the speedup as the confidence level, and for Table 1 the
    /// average confidences.
    pub fn run(&self) -> Result<Vec<StudyRow>, SimulationError> {
        self.check()?;
        let mut rows = Vec::new();
        for section in &self.sections {
            match section {
                PowerSection::Suites => rows.extend(self.suite_rows()),
                PowerSection::Table1 => rows.extend(self.table_1_rows()),
                PowerSection::SpeedupTest => rows.extend(self.speedup_test_rows()),
                PowerSection::Headlines => rows.extend(self.headline_rows()),
                PowerSection::NormalMeans => rows.extend(self.normal_mean_rows()),
                PowerSection::Plans => rows.extend(self.plan_rows()),
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
