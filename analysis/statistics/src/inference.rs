//! What is asked of a method, and what it answers with.
//!
//! In reading order:
//! * [`ConfidenceLevel`], [`Risk`], [`PValue`], [`Alternative`]: what is asked;
//! * [`Interval`], [`RatioInterval`], [`Caveat`]: what comes out;
//! * [`Critical`], [`Continuity`]: which law, and how it is corrected;
//! * [`Threshold`], [`ThresholdDecision`]: whether a difference is of a size that matters;
//! * [`Adjustment`]: p-values of many tests at once.

mod alternative;
mod caveat;
mod confidence;
mod interval;
mod multiplicity;
mod threshold;

pub use alternative::{Alternative, Continuity};
pub use caveat::{Caveat, Side};
pub use confidence::{ConfidenceLevel, LEAST_TOLD, LevelError, PValue, Risk, percent_beside};
pub use interval::{Critical, Interval, RatioInterval, Unbounded};
pub use multiplicity::{Adjustment, ErrorRate};
pub use threshold::{Threshold, ThresholdDecision, ThresholdError};
