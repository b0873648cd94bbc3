//! What is kept of the attempts of an experiment, and the samples that the methods take from it.
//!
//! * [`cell`]: values and where they are from; [`evidence`]: of independence; [`condition`], [`mishap`]: what went otherwise;
//! * [`sampled`]: the samples.

pub(super) mod cell;
pub(super) mod condition;
pub(super) mod evidence;
pub(super) mod mishap;
pub(super) mod sampled;
