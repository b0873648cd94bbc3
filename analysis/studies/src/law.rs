//! The laws that are drawn from: of runs, of levels, of sets of benchmarks.

pub(crate) mod draws;
pub(crate) mod level_model;
mod shape;
pub(crate) mod suite_model;

pub use level_model::{LevelModel, Variation};
pub use shape::LawShape;
pub use suite_model::SuiteModel;
