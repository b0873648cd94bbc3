//! Whether a version is faster: several methods in the order that a paper gives them.
//!
//! * [`speedup_test`]: the Speedup-Test (Touati 2010); [`EarlierProtocol`]: the one of its authors' earlier paper;
//! * [`hierarchical_performance_test`]: over a set of benchmarks (Chen 2012).

mod earlier;
pub mod hierarchical_performance_test;
pub mod speedup_test;

pub use earlier::{Acceleration, EARLIER_LARGE_SAMPLE, EarlierError, EarlierProtocol, NormalityReading};
