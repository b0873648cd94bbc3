//! Whole-system tests with real processes on loopback.

mod cli;
mod files;
mod freshness;
mod provision;
mod recovery;
mod report;
mod security;

/// The command under test.
const SPEEDUP: &str = env!("CARGO_BIN_EXE_speedup-under-test");
