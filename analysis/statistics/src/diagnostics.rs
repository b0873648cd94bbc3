//! Whether the runs are what the methods take them for.
//!
//! * [`run_order`]: independent of when they ran; [`host_effect`]: independent of where;
//! * [`Granularity`]: of a continuous law;
//! * [`aa`]: not told apart where there is nothing to tell.

pub mod aa;
mod granularity;
pub mod host_effect;
pub mod run_order;

pub use granularity::{Granularity, MetricKind};
