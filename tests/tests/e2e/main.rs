//! Whole-system tests with real processes on loopback.

mod analysis;
mod attacks;
mod backup;
mod baselines;
mod bench;
mod builds;
mod bundles;
mod crash;
mod doctor;
mod ending;
mod environment;
mod fault;
mod files;
mod forms;
mod freshness;
mod fuzz;
mod gates;
mod guide;
mod hostile_plan;
mod hosts;
mod identity;
mod journey;
mod limits;
mod metrics;
mod misbehaviour;
mod page;
mod programs;
mod provision;
mod rebuild;
mod renewal;
mod rules;
mod security;
mod selftest;
mod sharing;
mod silence;
mod stored;
mod stranger;
mod watch;

/// The command under test.
const SPEEDUP: &str = env!("CARGO_BIN_EXE_speedup-under-test");
