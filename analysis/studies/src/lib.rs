//! The papers' simulation studies: how the methods do where the truth is known.
//!
//! Each study is a struct of options whose `run` draws many experiments from a known law and counts what the methods say of
//! them. In reading order:
//! * [`Replication`], [`StudyRow`], [`SimulationError`]: how often and from which seed; what comes out; what is refused;
//! * [`LawShape`], [`Variation`], [`SuiteModel`]: the laws that are drawn from;
//! * [`Coverage`]: how often the intervals contain the truth (Kalibera 2012 §8.4);
//! * [`FalseAlarmStudy`]: how often equal versions are called different (Touati 2010 §4, Kalibera 2012 §8.3);
//! * [`Power`]: how often a true speedup is found (Chen 2012 §5.2), and how many runs make a mean normal (Touati 2010 App. C);
//! * [`BisectionStudy`]: how often a bisection names the commit that made a program slower;
//! * [`TrackStudy`]: how often a track of commits raises a false alarm, and how soon it finds a change;
//! * [`ScalingStudy`]: how often the intervals of scaling contain the truth, and a law is rejected;
//! * [`Estimators`]: the metrics of variability from observations and from fitted mixtures (Worms 2016 §6.5);
//! * [`table_1`]: the scores that Chen 2012 prints.
//!
//! Every replicate has a random stream of its own, by its number, and counts are added: the answers do not depend on the
//! number of threads. Every cell of a study (section, law, size) has its own name under the seed, so that asking for
//! another one does not change it.

mod bisection;
mod coverage;
mod error;
mod estimators;
mod false_alarms;
mod headline;
mod law;
mod power;
mod replication;
mod row;
mod run_counts;
mod scaling;
mod sequential_experiment;
pub mod table_1;
mod track;

pub use bisection::{BisectionSection, BisectionStudy, HistoryLaw};
pub use coverage::{Coverage, CoverageSection};
pub use error::{MOST_REPLICATES, SimulationError};
pub use estimators::{EstimatorRow, Estimators, Quantity, VariabilityMetric};
pub use false_alarms::{AlarmSection, FalseAlarmStudy};
pub use law::{LawShape, LevelModel, SuiteModel, Variation};
pub use power::{Power, PowerSection};
pub use replication::Replication;
pub use row::StudyRow;
pub use run_counts::RunCounts;
pub use scaling::ScalingStudy;
pub use track::{SeriesKind, SeriesLaw, TrackStudy};
