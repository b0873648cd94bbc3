//! Two samples of one benchmark compared, as the plan declares it and by what is independent in its design.
//!
//! * [`headline`]: the ratio of the declared centres with its interval; [`difference`]: the difference where values may be zero;
//! * [`protocol`]: what the Speedup-Test says of independent runs; [`paired`] and [`stratified`]: of pairs, and within classes;
//! * [`interval`]: the interval of either; [`advice`]: the runs that an undecided comparison would take.

pub(super) mod advice;
mod difference;
pub(crate) mod headline;
pub(super) mod interval;
pub(crate) mod paired;
pub(crate) mod protocol;
pub(super) mod stratified;
