//! Samples in files, without a coordinator.

pub(crate) mod compare;
pub(crate) mod named;
pub(crate) mod speedup_test;
