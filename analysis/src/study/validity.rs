//! What a verdict is worth.
//!
//! * [`independence`], [`freshness`], [`exclusion`]: what the evidence says of the hosts;
//! * [`diagnostic`], [`diagnostics`], [`host_effect`], [`canary`], [`placement`]: what the values say of them;
//! * [`missing`]: what is missing from the samples;
//! * [`disturbance`], [`built`], [`software`]: what was executed, with what, and beside what.

pub(super) mod built;
pub(super) mod canary;
pub(super) mod diagnostic;
pub(super) mod diagnostics;
pub(super) mod disturbance;
pub(super) mod exclusion;
mod freshness;
pub(super) mod host_effect;
pub(super) mod independence;
pub(super) mod missing;
pub(super) mod placement;
pub(super) mod software;
