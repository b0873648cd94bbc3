//! How many runs, and when to look.
//!
//! * [`power`], [`required_repetitions`], [`two_stage`]: how many runs;
//! * [`RepetitionPlan`]: how often to repeat each level;
//! * [`group_sequential`]: looks in between.

pub mod group_sequential;
pub mod power;
mod repetition_plan;
pub mod required_repetitions;
pub mod two_stage;

pub use repetition_plan::{
    BudgetedPlan, Costs, OneLevelDesign, RepetitionPlan, RepetitionPlanError, VarianceComponents,
};
