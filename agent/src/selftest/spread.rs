//! Times in a few numbers.

use serde::{Deserialize, Serialize};

/// The five numbers of a set of times, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    pub min_ns: u64,
    /// A quarter is not above it.
    pub lower_quartile_ns: u64,
    /// The median; of an even number the lower of the two in the middle.
    pub median_ns: u64,
    /// A quarter is not below it.
    pub upper_quartile_ns: u64,
    pub max_ns: u64,
}

impl Spread {
    /// Of these times; zeroes when there are none.
    pub fn of(mut times_ns: Vec<u64>) -> Self {
        times_ns.sort_unstable();
        let last = times_ns.len().saturating_sub(1);
        let at = |quarter: usize| times_ns.get(last * quarter / 4).copied().unwrap_or(0);
        Self {
            min_ns: at(0),
            lower_quartile_ns: at(1),
            median_ns: at(2),
            upper_quartile_ns: at(3),
            max_ns: at(4),
        }
    }

    /// Upper less lower quartile, nanoseconds.
    pub fn interquartile_range_ns(&self) -> u64 {
        self.upper_quartile_ns - self.lower_quartile_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_of_the_sorted_times() {
        let spread = Spread::of(vec![50, 10, 40, 20, 30]);
        assert_eq!([spread.min_ns, spread.lower_quartile_ns, spread.median_ns], [10, 20, 30]);
        assert_eq!([spread.upper_quartile_ns, spread.max_ns, spread.interquartile_range_ns()], [40, 50, 20]);
        assert_eq!(Spread::of(vec![]).max_ns, 0);
    }
}
