//! What is lost when something dies, stands still or is damaged: nothing.

mod backup;
mod coordinator_standstill;
mod crash;
mod data_directories;
mod failing_benchmarks;
pub(crate) mod failing_parts;
mod kills;
mod misbehaving_programs;
mod orphans;
mod power;
mod rebuild;
pub(crate) mod resuming;
mod shutdown;
mod standstill;
mod stored;
