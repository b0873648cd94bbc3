//! What is kept of the attempts of an experiment, and the samples that the methods take from it.
//!
//! * [`cell`]: values and where they are from; [`evidence`]: of independence, with [`numbers`] for names; [`mishap`]: what went otherwise; `software`: what was executed, and with what; [`ranks`]: what the ranks
//!   of gangs took;
//! * [`sampled`]: the samples.

pub(super) mod cell;
pub(super) mod evidence;
pub(super) mod mishap;
pub(super) mod numbers;
pub(super) mod ranks;
pub(super) mod sampled;
mod software;
