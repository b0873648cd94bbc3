//! The records of an experiment's attempts, as the study stores them.
//!
//! * [`cell`]: values and where they are from; [`ranks`]: the times of the ranks of gangs;
//! * [`evidence`]: evidence of independence, with [`numbers`] for names;
//! * [`mishap`]: failures and losses; `software`: what was executed, and with what.

pub(super) mod cell;
pub(super) mod evidence;
pub(super) mod mishap;
pub(super) mod numbers;
pub(super) mod ranks;
mod software;
