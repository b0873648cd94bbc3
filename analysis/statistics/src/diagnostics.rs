//! Whether the runs are what the methods take them for.
//!
//! * [`run_order`]: independent of when they ran; [`host_effect`]: independent of where;
//! * [`Granularity`]: of a continuous law;
//! * [`StratifiedKendall`]: independent of what is known of each, such as where in the network its hosts were;
//! * [`MostOften`]: which of the ranks, or hosts, of each run is the slowest, and whether it is so by chance;
//! * [`aa`]: not told apart where there is nothing to tell.

pub mod aa;
mod granularity;
pub mod host_effect;
mod most_often;
pub mod run_order;
mod stratified_kendall;

pub use granularity::{Granularity, MetricKind, common_step};
pub use most_often::{MostOften, OftenCount};
pub use stratified_kendall::StratifiedKendall;
