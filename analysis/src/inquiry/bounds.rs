//! What an inquiry may ask for, and the values that can be computed with.

/// The most versions of an inquiry: more than anybody compares, few enough to compare each with the baseline.
pub const MOST_VERSIONS: usize = 256;
/// The most values of all samples together: 128 MiB of them, held a few times over.
pub const MOST_VALUES: usize = 16 << 20;
/// The least value: far below any measurement, and squares of differences in its last digits are still doubles.
pub(super) const LEAST_VALUE: f64 = 1e-100;
/// The largest value, likewise: the ratio of any two is a double.
pub(super) const LARGEST_VALUE: f64 = 1e100;

/// The most quantiles, and the most probabilities, of a sample: a curve that fills a screen.
pub(super) const MOST_ASKED: usize = 1_000;

/// The most amounts that are asked for: each is an analysis of its own.
pub(super) const MOST_SHARES: usize = 16;
