//! The agent: it joins its host to the pool, executes one run at a time, times it, and reports. It chooses nothing: what
//! is done stands in the work order, what is said in the machine of `speedup-core`.
//!
//! It has one thread. While a run is timed that thread waits for the run's end and for nothing else, so nothing of the
//! agent wakes, sends, receives or logs; the connection is kept alive by the kernels.
//!
//! In reading order: `service` (what starts, and the loop), `link` (the connection), `outbox` (reports on disk),
//! `runner` (a work order into a record) on `workplace` (its directories) and [`launch`] (the instrument), `series` (what
//! the output says), `probe` (what the host is).

pub mod launch;
mod link;
mod outbox;
mod probe;
mod runner;
mod series;
mod service;
mod stop;
mod workplace;

pub use probe::ProbeError;
pub use service::{AgentError, Options, run};
