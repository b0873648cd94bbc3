//! Whole-system tests with real processes on loopback.

mod analysis;
mod crash;
mod environment;
mod fault;
mod journey;
mod rebuild;
mod stranger;

/// The command under test.
const SPEEDUP: &str = env!("CARGO_BIN_EXE_speedup-under-test");
