//! Versions compared: on each benchmark and over all of them.
//!
//! * [`comparison`]: one benchmark: its [`headline`], what the Speedup-Test says ([`protocol`], by the design [`paired`] or
//!   [`stratified`]), or the plan's looks ([`looked`]);
//! * [`endpoint`]: the verdicts that the plan declares beside it, of [`tail`]s and of metrics, by their [`difference`] where values may be
//!   zero; [`metric`], [`own_metric`], [`mixture`]: what else was measured;
//! * [`plain`]: plain samples, in the same way;
//! * [`suite`]: a candidate over all benchmarks, from its [`members`]; [`proportion`], [`multiplicity`]: in the light of their
//!   number.

pub(super) mod comparison;
mod difference;
pub(crate) mod endpoint;
pub(crate) mod headline;
pub(super) mod looked;
pub(super) mod members;
pub(super) mod metric;
pub(super) mod mixture;
pub(super) mod multiplicity;
pub(super) mod own_metric;
pub(crate) mod paired;
pub(crate) mod plain;
pub(super) mod proportion;
pub(crate) mod protocol;
pub(super) mod stratified;
pub(super) mod suite;
pub(crate) mod tail;
