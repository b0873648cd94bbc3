//! How often equal versions are called different (Touati 2010 §4, Kalibera 2012 §8.3).

mod by_levels;
mod conclusions;
mod headlines;
mod looks;
mod samples;
mod suites;

pub(super) use samples::concludes;
pub(super) use suites::{SUITE_METHODS, confidences};

use super::{LawShape, LevelModel, Replication, RunCounts, SimulationError, SuiteModel, row::StudyRow};
use clap::{Args, ValueEnum, builder::TypedValueParser as _};
use speedup_statistics::{inference::Threshold, levels::BootstrapError, levels::MOST_DRAWS};
use std::str::FromStr as _;

/// The study of false alarms. A comparison without an answer is no alarm, and counted besides.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct FalseAlarmStudy {
    /// How often, whence, at which level.
    #[command(flatten)]
    pub replication: Replication,
    /// Which parts are simulated, in this order.
    #[arg(long = "section", value_enum, value_delimiter = ',', default_values_t = AlarmSection::value_variants())]
    pub sections: Vec<AlarmSection>,
    /// The shapes of the laws.
    #[arg(long = "distribution", value_enum, value_delimiter = ',', default_values_t = [LawShape::Normal])]
    pub distributions: Vec<LawShape>,
    /// The runs of each version, for experiments of one level; 2x20 for two of the baseline and twenty of the candidate.
    #[arg(long, value_delimiter = ',', default_value = "5,10,20,31,50")]
    pub runs: Vec<RunCounts>,
    /// How many times as many runs the baseline has, where gates are studied.
    #[arg(long, default_value_t = 1)]
    pub baseline_times: u64,
    /// The standard deviation of a run there, as a share of the mean.
    #[arg(long, default_value_t = 0.1)]
    pub variation: f64,
    /// The thresholds below which a difference does not matter, for the effect size and gates.
    #[arg(long = "threshold", value_delimiter = ',', default_value = "0,0.01,0.02,0.05", value_parser = f64::from_str.try_map(Threshold::new))]
    pub thresholds: Vec<Threshold>,
    /// The law of experiments by levels.
    #[command(flatten)]
    pub levels: LevelModel,
    /// The numbers of binaries.
    #[arg(long, value_delimiter = ',', default_values_t = [3, 5, 10, 20])]
    pub binaries: Vec<u64>,
    /// The numbers of executions where compilation is not repeated.
    #[arg(id = "one-binary", long, value_delimiter = ',', default_values_t = [3, 5, 10, 20, 50, 100])]
    pub executions: Vec<u64>,
    /// Draws of each bootstrap; 0 leaves the bootstrap out.
    #[arg(long, default_value_t = 200)]
    pub draws: u32,
    /// The law of suites.
    #[command(flatten)]
    pub suite: SuiteModel,
}

speedup_core::words! {
    /// A part of the study.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    #[value(rename_all = "snake_case")]
    pub enum AlarmSection {
        /// Two samples of one law; the size is the runs of each.
        Samples = "samples",
        /// Two experiments of three levels (Kalibera 2012 Fig. 3); the size is the binaries and the parameter the threshold.
        Levels = "levels",
        /// The same with one binary each although compilation varies (Kalibera 2012 Fig. 4); the size is the executions.
        OneBinary = "one_binary",
        /// Two machines of one speed on a suite; the size is the runs of each benchmark.
        Suites = "suites",
        /// The two-sided interval of the ratio of centres, of two samples of one law; the size is the runs of the baseline, and the
        /// parameter those of the candidate where they are others. `_of_20`: at the level of the first of 20 benchmarks by Holm.
        Headlines = "headlines",
        /// The same of unlike laws with equal centres.
        UnlikeShapes = "unlike_shapes",
        /// Versions that differ by the margin, the parameter, and are called the same within it.
        Same = "same",
        /// Quantiles of two samples of one law.
        Tails = "tails",
        /// Suites in which the candidate is slower by just the threshold, the parameter, by what `speedup compare` concludes and its gate
        /// does; the size is the runs of each benchmark.
        Gates = "gates",
        /// Equal versions of which each run resembles the one before it.
        Dependent = "dependent",
        /// Equal versions on hosts that differ.
        Hosts = "hosts",
        /// Versions of equal mean, of which one has rare runs that stall.
        RareStalls = "rare_stalls",
        /// Experiments with looks, of versions that are equal or differ by the parameter; the size is the runs at the last look.
        Looks = "looks",
    }
    /// A short name that stays the same between releases.
    fn code;
}

impl FalseAlarmStudy {
    /// The shares of comparisons of equal versions that are called different.
    pub fn run(&self) -> Result<Vec<StudyRow>, SimulationError> {
        self.check()?;
        let mut rows = Vec::new();
        for section in &self.sections {
            match section {
                AlarmSection::Samples => rows.extend(self.sample_rows()),
                AlarmSection::Levels => rows.extend(self.by_levels()),
                AlarmSection::OneBinary => rows.extend(self.one_binary_rows()),
                AlarmSection::Suites => rows.extend(self.suite_rows()),
                AlarmSection::Headlines => rows.extend(self.headline_rows()),
                AlarmSection::UnlikeShapes => rows.extend(self.unlike_shape_rows()),
                AlarmSection::Same => rows.extend(self.equal_version_rows()),
                AlarmSection::Tails => rows.extend(self.tail_rows()),
                AlarmSection::Gates => rows.extend(self.gated_suite_rows()),
                AlarmSection::Dependent => rows.extend(self.dependent_run_rows()),
                AlarmSection::Hosts => rows.extend(self.host_rows()),
                AlarmSection::RareStalls => rows.extend(self.rare_stall_rows()),
                AlarmSection::Looks => rows.extend(self.look_rows()),
            }
        }
        Ok(rows)
    }

    fn check(&self) -> Result<(), SimulationError> {
        self.replication.check()?;
        let runs: Vec<u64> = self.runs.iter().flat_map(|runs| [runs.baseline, runs.candidate]).collect();
        SimulationError::check_counts("runs", 2, &runs)?;
        let unequal = self.runs.iter().find(|runs| runs.baseline != runs.candidate);
        let takes_equal = |section: &&AlarmSection| {
            !matches!(section, AlarmSection::Headlines | AlarmSection::UnlikeShapes)
        };
        if let (Some(unequal), Some(section)) = (unequal, self.sections.iter().find(takes_equal)) {
            return Err(SimulationError::UnequalRuns { runs: *unequal, section: section.code() });
        }
        if self.sections.contains(&AlarmSection::Hosts) {
            SimulationError::check_counts("runs of the section hosts", conclusions::HOSTS[0], &runs)?;
        }
        if self.sections.contains(&AlarmSection::Looks) {
            SimulationError::check_counts("runs of the section looks", looks::LOOKS, &runs)?;
        }
        SimulationError::check_variation(self.variation)?;
        self.levels.check(&self.binaries)?;
        SimulationError::check_counts("executions of one binary", 2, &self.executions)?;
        self.suite.check()?;
        if self.draws > MOST_DRAWS {
            return Err(BootstrapError::Draws(self.draws).into());
        }
        Ok(())
    }
}
