//! The agent: it joins its host to the pool, executes one run at a time, times it, and reports. It chooses nothing: what
//! is done stands in the work order, what is said in the machine of `speedup-core`.
//!
//! It has one thread. While a run is timed that thread waits for the run's end and for nothing else, so nothing of the
//! agent wakes, sends, receives or logs; the connection is kept alive by the kernels.
//!
//! In reading order: `service` (what starts, and the loop), `entry` (how it is let in), `limits` (what its owner lets plans do), `link` (the connection), `unreached` (what is left where there is none), `outbox` (reports on disk),
//! `files` (what a run needs beside the system), `runner` (a work order into a record) with `series` (what the output says) on `workplace` (its directories) in `scratch` (on which `file_system` they are), in
//! `surroundings` (the environment that the plan wants, and how the host was) with [`launch`] (the instrument),
//! [`selftest`] (what the instrument is worth), [`probe`] (what the host is), `reboot` (how it boots anew), and below them `leash` (nothing outlives its parent) and `wall_clock`.

mod entry;
mod file_system;
mod files;
pub mod launch;
mod leash;
mod limits;
mod link;
mod outbox;
pub mod probe;
mod reboot;
mod runner;
mod scratch;
pub mod selftest;
mod series;
mod service;
mod stop;
mod surroundings;
mod unreached;
mod wall_clock;
mod workplace;

pub use entry::{AccessFile, Admittance, EntryError};
pub use limits::LimitsError;
pub use reboot::RebootCommand;
pub use service::{AgentError, Options, TimerTesting, run, waiting_reports};
