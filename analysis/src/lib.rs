//! Concludes: the statistics of program speed.
mod alternative;
mod compensated_sum;
mod confidence;
pub mod distribution;
mod sample;
pub use alternative::Alternative;
pub use confidence::{ConfidenceLevel, LevelError, PValue, Risk};
pub use sample::{LARGEST_OBSERVATION, QuantileError, Sample, SampleError};
