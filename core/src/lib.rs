//! The pure heart of Speedup: what an experiment is, how its runs are planned, and the two machines that carry them
//! out. Bytes, commands, times and seeds come in; events, effects and refusals go out.
//!
//! It is not a service: there is no file, socket, clock, thread or global randomness here, and `clippy.toml` keeps it so.
//!
//! In reading order:
//!
//! 1. [`value`]: what everything is named, dated, counted and drawn by; errors in words, reading up to a bound;
//! 2. [`experiment`]: what is measured, on what and under which circumstances, how often ([`repetition`]) and how independent
//!    of each other ([`independence`]);
//! 3. [`plan`]: from the text that a user writes to every run in its order;
//! 4. [`run`]: the state of a run, the lease on it, the work it is, and the record of what was done under which conditions;
//! 5. [`host`]: what a host says of itself, and what the coordinator knows of it;
//! 6. [`machine`]: the coordinator's machine with the events that change it, whether a pool can carry a plan out, and what to
//!    ask of an engine that gives out hosts; [`agent`]: the agent's machine, and what the two say to each other;
//! 7. [`journal`]: the format in which events are kept.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod agent;
pub mod experiment;
#[cfg(test)]
mod fixture;
pub mod host;
pub mod independence;
pub mod journal;
pub mod machine;
pub mod plan;
pub mod repetition;
pub mod run;
pub mod value;
