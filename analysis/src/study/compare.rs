//! Versions compared: on each benchmark and over all of them.
//!
//! * [`comparison`]: one benchmark: its headline and the Speedup-Test, or the plan's rule ([`rule_verdict`]);
//! * [`endpoint`]: the verdicts that the plan declares beside it, on [`tail`]s and on metrics;
//! * [`metric`], [`own_metric`], [`mixture`]: what else was measured; [`controls`]: comparisons whose answer is known;
//! * [`plain`]: plain samples, in the same way;
//! * [`suite`]: a candidate over all benchmarks, from its [`members`]; [`proportion`], [`multiplicity`] and [`family`]: in the light
//!   of their number.

pub(super) mod comparison;
pub(crate) mod controls;
pub(crate) mod endpoint;
pub(super) mod family;
pub(super) mod members;
pub(super) mod metric;
pub(super) mod mixture;
pub(super) mod multiplicity;
pub(super) mod own_metric;
pub(crate) mod plain;
pub(super) mod proportion;
pub(super) mod rule_verdict;
pub(super) mod suite;
pub(crate) mod tail;
pub(super) mod verdict_counts;
