//! Table 1 of Chen 2012: fourteen benchmarks of SPLASH-2 with five runs on each machine.

use speedup_statistics::protocol::hierarchical_performance_test::{ScoreError, ScoreSuite};
use speedup_statistics::sample::Sample;

/// The speedup by which the printed scores of X are divided.
pub const SPEEDUP: f64 = 1.76;

/// Runs of each benchmark on each machine.
pub const RUNS: usize = 5;

/// In hundredths: the scores of X divided by [`SPEEDUP`], and those of Y.
const TABLE_1: [([u32; RUNS], [u32; RUNS]); 14] = [
    ([53, 54, 54, 53, 54], [100, 105, 104, 103, 104]),
    ([97, 95, 93, 96, 96], [100, 98, 101, 99, 98]),
    ([74, 76, 74, 78, 76], [100, 103, 102, 105, 103]),
    ([107, 103, 105, 102, 105], [100, 105, 104, 104, 105]),
    ([129, 126, 127, 127, 125], [100, 101, 102, 98, 100]),
    ([146, 148, 138, 153, 155], [100, 96, 104, 87, 99]),
    ([117, 115, 94, 116, 113], [100, 91, 100, 98, 86]),
    ([195, 198, 192, 193, 193], [100, 98, 97, 90, 98]),
    ([101, 101, 101, 99, 101], [100, 100, 100, 100, 100]),
    ([247, 251, 253, 244, 211], [100, 86, 95, 103, 97]),
    ([141, 139, 143, 121, 137], [100, 109, 107, 114, 107]),
    ([92, 94, 92, 92, 93], [100, 100, 100, 100, 100]),
    ([164, 166, 159, 164, 163], [100, 95, 84, 93, 96]),
    ([184, 188, 178, 180, 177], [100, 102, 98, 87, 104]),
];

/// The scores of X, multiplied back, and of Y: X is the candidate, Y the baseline.
///
/// # Errors
/// None: the table has as many scores of either machine, all of them positive.
pub fn suite() -> Result<ScoreSuite, ScoreError> {
    let row = |hundredths: &[u32; RUNS], factor: f64| {
        Sample::new(hundredths.iter().map(|h| factor * (f64::from(*h) / 100.0)).collect()).ok()
    };
    let x = TABLE_1.iter().filter_map(|(x, _)| row(x, SPEEDUP)).collect();
    let y = TABLE_1.iter().filter_map(|(_, y)| row(y, 1.0)).collect();
    ScoreSuite::of_matrices(x, y)
}
