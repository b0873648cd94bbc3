//! Runs: executes and times one run at a time on its host.

pub mod launch;
