//! The data of Kalibera 2012: Tables III and V, and the costs of §8.5 for the variations of Table VII.

use speedup_statistics::planning::{BudgetedPlan, Costs, RepetitionPlan, VarianceComponents};
use speedup_statistics::{inference::ConfidenceLevel, levels::LevelTree};

/// 3 binaries of 2 executions of 2 measurements.
fn three_levels(values: [f64; 12]) -> LevelTree {
    LevelTree::balanced(values.to_vec(), &[2, 2, 3]).expect("an experiment")
}

pub(crate) fn table_iii() -> LevelTree {
    three_levels([9.0, 5.0, 8.0, 3.0, 10.0, 6.0, 7.0, 11.0, 1.0, 12.0, 2.0, 4.0])
}

/// The old and the new system.
pub(crate) fn table_v() -> (LevelTree, LevelTree) {
    let old = [9.0, 11.0, 5.0, 6.0, 16.0, 13.0, 12.0, 8.0, 15.0, 7.0, 10.0, 14.0];
    let new = [10.0, 12.0, 6.0, 7.0, 9.0, 1.0, 11.0, 4.0, 8.0, 5.0, 3.0, 2.0];
    (three_levels(old), three_levels(new))
}

/// A plan for the variations of Table VII, in percent of the mean, for 20 minutes of compilation that would
/// suffice for 5343 measurements and 19 measurements of warm-up.
pub(crate) fn dimension(compilation: f64, execution: f64, measurement: f64, hours: f64) -> BudgetedPlan {
    let squares = [measurement, execution, compilation].map(|percent| percent * percent);
    let components = VarianceComponents::new(100.0, squares.to_vec()).expect("finite variances");
    let costs = Costs::new(vec![19.0, 5343.0]).expect("costs");
    let plan = RepetitionPlan::new(components, costs).expect("a plan");
    let measurement_s = 20.0 * 60.0 / 5343.0;
    plan.within(hours * 3600.0 / measurement_s, ConfidenceLevel::USUAL).expect("hours suffice")
}
